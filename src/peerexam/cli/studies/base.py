"""What the commands of the studies have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.arguments import agents_flag, running_flags, seed
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import SetupError
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from peerexam.cli.asking import Work
    from peerexam.protocols.config.models import ExamConfig
    from peerexam.protocols.studies.plan import StudyPlan
    from peerexam.protocols.studies.result import Measure, StudyResult


def study_flags(parser: argparse.ArgumentParser, out: str) -> None:
    """Those of a study that asks agents."""
    agents_flag(parser, "--agents")
    parser.add_argument("--limit", type=int, metavar="N", help="so many items, drawn by the seed")
    parser.add_argument("--seed", type=seed, default=0, help="of draws and intervals")
    parser.add_argument("--plan", action="store_true", help="print the plan, and stop")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="what it may cost at most")
    parser.add_argument("--concurrency", type=int, metavar="N", help="calls at once (default: 64)")
    parser.add_argument("--out", metavar="DIR", help=f"records and result (default: {out})")
    running_flags(parser, ledger="ledger.sqlite in DIR")


def names_in(text: str) -> tuple[str, ...]:
    """The names of a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def tasks_from(text: str) -> tuple[str, ...] | None:
    """The tasks of `--tasks`; None for all.

    Raises:
        SetupError: The list is empty.
    """
    names = names_in(text)
    if not names:
        raise SetupError("--tasks names no task: write some, with commas between, or all")
    return None if names == ("all",) else names


def config_from(arguments: argparse.Namespace, name: str, others: Sequence[str] = ()) -> ExamConfig:
    """The agents of a command and the limits round them.

    Args:
        arguments: With those that `study_flags` adds.
        name: Of the study.
        others: Further agents, as in `--judges`.

    Raises:
        SetupError: An agent cannot be read, or a number is out of bounds.
    """
    from peerexam.cli.agent_files import read_agents
    from peerexam.protocols.config.models import Budget, Limits
    from peerexam.protocols.studies.base import study_config

    if arguments.limit is not None and arguments.limit < 1:
        raise SetupError("--limit is a number of items, 1 or more")
    if arguments.concurrency is not None and arguments.concurrency < 1:
        raise SetupError("--concurrency is a number of calls, 1 or more")
    if arguments.budget_usd is not None and not arguments.budget_usd >= 0:
        raise SetupError("--budget-usd is an amount of dollars, 0 or more")
    limits = Limits(
        concurrency=arguments.concurrency or Limits().concurrency,
        budget=Budget(usd=arguments.budget_usd),
    )
    agents = read_agents([*arguments.agents, *others])
    return study_config(agents, name, seed=arguments.seed, limits=limits)


def folder_of(arguments: argparse.Namespace, default: str) -> Path:
    """Where records and result go."""
    from pathlib import Path

    return Path(arguments.out) if arguments.out else Path(default)


def run_study(
    arguments: argparse.Namespace, out: Path, plan: StudyPlan, work: Work[StudyResult]
) -> int:
    """Print the plan or do it: ask, write `result.json`, print the measures.

    Args:
        arguments: Of the command.
        out: The study's folder.
        plan: What it takes.
        work: The experiment.

    Returns:
        The exit status: 3 where the result is partial.
    """
    from peerexam.cli.asking import ask
    from peerexam.protocols.studies.result import write_result

    if arguments.plan:
        if arguments.json:
            say_json(plan.to_json())
        else:
            say(plan_text(plan, columns()))
        return COMPLETE
    result = ask(arguments, work, round(plan.calls.expected))
    written = write_result(out, result)
    say_result(result, written, as_json=arguments.json)
    return COMPLETE if result.status == "complete" else PARTIAL


def say_result(result: StudyResult, written: Path | None, *, as_json: bool) -> None:
    """Print a result."""
    if as_json:
        say_json({**result.to_json(), "result": None if written is None else str(written)})
        return
    say(measures_text(result.measures, columns()))
    for text in result.notes:
        note(f"- {plain(text)}")
    if written is not None:
        say("")
        say(f"result: {written}")
    if result.status == "partial":
        note(f"partial: {plain(result.status_reason or 'no reason given')}")


def measures_text(measures: Sequence[Measure], width: int | None = None) -> str:
    """Measures as a table, each with its interval and sample size.

    Args:
        measures: The result's.
        width: Columns that the table may take; None lets it be as wide as it is.
    """
    heads = ("agent", "on", "measure", "value", "interval", "n")
    return grid(heads, [_row(one) for one in measures], width=width, keys=(0, 1, 2))


def _row(one: Measure) -> tuple[str, ...]:
    estimate = one.estimate
    place = " ".join(part for part in (one.task, one.condition) if part)
    left_out = f" ({estimate.left_out} left out)" if estimate.left_out else ""
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"{_number(estimate.low, one)} to {_number(estimate.high, one)}"
    value = "none" if estimate.value is None else _number(estimate.value, one)
    reason = "" if estimate.value is not None else f" {estimate.reason or ''}"
    return (
        plain(one.agent),
        plain(place),
        one.title,
        value,
        plain(interval + reason).strip(),
        f"{estimate.n}{left_out}",
    )


def _number(value: float, one: Measure) -> str:
    # Adding 0 turns -0.0 into 0.0.
    return (
        f"{round(100 * value, 1) + 0:.1f} %"
        if one.unit == "share"
        else f"{round(value, 3) + 0:.3f}"
    )


def plan_text(plan: StudyPlan, width: int | None = None) -> str:
    """A plan as a table, as `measures_text` makes one."""
    heads = ("agent", "for", "calls: least", "expected", "most", "cost (expected)")
    rows = []
    for one, cost in zip(plan.work, plan.costs, strict=True):
        counts = (one.calls.least, one.calls.expected, one.calls.most)
        dollars = "unknown" if cost is None else f"${cost.expected:,.4f}"
        rows.append((plain(one.agent), one.task, *(f"{round(n):,}" for n in counts), dollars))
    table = grid(heads, rows, width=width, keys=(0, 1))
    return "\n".join([table, "", *(f"- {x}" for x in plan.assumptions)])
