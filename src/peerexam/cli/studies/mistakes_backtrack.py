"""`mistakes backtrack` and `train`: traces regenerated from a mistake, a classifier of steps."""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE
from peerexam.cli.arguments import seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.cli.studies.base import config_from, folder_of, run_study, study_flags, tasks_from
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.protocols.session.progress import Progress
    from peerexam.protocols.studies.mistakes.backtracking.classifier_training import HeldOut
    from peerexam.protocols.studies.result import StudyResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of `backtrack`."""
    parser.add_argument("path", metavar="DIR")
    parser.add_argument("--tasks", default="all", metavar="LIST", help="tasks (default: all)")
    parser.add_argument(
        "--locations",
        default="gold,random",
        metavar="LIST",
        help="of gold, random, simulated[:SHARE], own, peers, each-peer, model:PATH (default: "
        "gold,random)",
    )
    parser.add_argument(
        "--samples", type=int, default=8, metavar="N", help="new steps drawn (default: 8)"
    )
    study_flags(parser, "runs/backtracking")


def add_training_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of `train`."""
    parser.add_argument("path", metavar="DIR")
    parser.add_argument(
        "--hold-out", default="all", metavar="TASK", help="which task (default: each)"
    )
    parser.add_argument(
        "--encoder", default="none", metavar="NAME", help="to look at meaning too, as in minilm"
    )
    parser.add_argument("--epochs", type=int, metavar="N")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--out", required=True, metavar="DIR", help="where the weights go")


def perform(arguments: argparse.Namespace) -> int:
    """Regenerate traces from where a mistake is thought to be."""
    from pathlib import Path

    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.mistakes.backtracking.locators import locators_from
    from peerexam.protocols.studies.mistakes.backtracking.measures import backtracking_result
    from peerexam.protocols.studies.mistakes.backtracking.plan import backtracking_plan
    from peerexam.protocols.studies.mistakes.backtracking.study import (
        Backtracking,
    )
    from peerexam.protocols.studies.mistakes.finding.protocol import draw_traces
    from peerexam.report.backtracking import write_curve
    from peerexam.tasks.mistakes.step_classifier import check_classifier
    from peerexam.tasks.mistakes.traces import load_traces

    config = config_from(arguments, "backtracking")
    locators = locators_from(arguments.locations)
    for locator in locators:
        if locator.path is not None:
            check_classifier(locator.path)  # before any agent is asked
    whole = load_traces(Path(arguments.path), tasks_from(arguments.tasks))
    work = Backtracking(
        draw_traces(whole, arguments.limit, arguments.seed),
        whole,
        locators,
        arguments.samples,
        arguments.seed,
    )
    out = folder_of(arguments, "runs/backtracking")
    pages: list[Path] = []

    async def perform_it(progress: Progress, db: str | None) -> StudyResult:
        done = await ask_study(config, work, out, db=db, progress=progress)
        result = backtracking_result(work, done)
        if "curve" in result.tables:
            pages.append(write_curve(out, result.tables["curve"]))
        return result

    status = run_study(arguments, out, backtracking_plan(config, work), perform_it)
    for page in () if arguments.json else pages:
        say(f"curve: {page}")
    return status


def train(arguments: argparse.Namespace) -> int:
    """Train a classifier of steps for each task held out."""
    from pathlib import Path

    from peerexam.protocols.studies.mistakes.backtracking.classifier_training import train_held_out
    from peerexam.tasks.mistakes.step_training import EPOCHS, Training
    from peerexam.tasks.mistakes.traces import load_traces

    encoder = None if arguments.encoder == "none" else arguments.encoder
    training = Training(
        encoder, EPOCHS if arguments.epochs is None else arguments.epochs, arguments.seed
    )
    traces = load_traces(Path(arguments.path))
    out = Path(arguments.out)

    def told(text: str) -> None:
        if not arguments.json:
            note(text)

    found = train_held_out(traces, training, arguments.hold_out, out, told)
    if arguments.json:
        say_json({"tasks": [one.to_json() for one in found], "out": str(out)})
        return COMPLETE
    say(_table_text(found))
    return COMPLETE


def _table_text(found: list[HeldOut]) -> str:
    """Table 7's shape: accuracy on the task held out, beside baselines."""
    head = (
        "held out",
        "accuracy",
        "interval",
        "prior",
        "own prior",
        "no mistake",
        "random",
        "n",
        "view",
    )
    table = grid(head, [_row(one) for one in found], width=columns())
    return "\n".join([table, "", *(f"{one.task}: {one.folder}" for one in found)])


def _row(one: HeldOut) -> tuple[str, ...]:
    def share(value: float) -> str:
        return f"{100 * value:.2f}"

    got = one.accuracy
    ends = "" if got.low is None or got.high is None else f"{share(got.low)} to {share(got.high)}"
    return (
        plain(one.task),
        share(got.value or 0.0),
        ends,
        share(one.prior),
        share(one.own_prior),
        share(one.none),
        share(one.random),
        str(got.n),
        one.view,
    )
