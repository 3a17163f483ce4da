"""`generate`: a data set of questions."""

from __future__ import annotations

import argparse

from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.arguments import config_flags, out_and_replace_flags, running_flags
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import PeerexamError, SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from peerexam.calls import Json
    from peerexam.protocols.dataset import Generated
    from peerexam.report.export.hub import Hub

_MOST_SHORTFALLS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    config_flags(parser)
    running_flags(parser, ledger="ledger.sqlite in the data set's folder")
    out_and_replace_flags(
        parser, "the data set (default: datasets/NAME)", "questions of another set-up"
    )
    parser.add_argument("--plan", action="store_true", help="print the plan, and stop")
    parser.add_argument("--no-parquet", action="store_true", help="JSONL only")
    parser.add_argument(
        "--push", metavar="OWNER/NAME", help="also upload it to the Hugging Face hub"
    )
    parser.add_argument("--public", action="store_true", help="with --push: visible to everyone")


def perform(arguments: argparse.Namespace) -> int:
    """Let authors write a data set of questions."""
    from datetime import date
    from pathlib import Path

    from peerexam.cli.asking import ask
    from peerexam.cli.exam.plan import plan_text, print_plan
    from peerexam.cli.exam_file import config_from, expected_calls
    from peerexam.cli.machine.weights import offer_weights
    from peerexam.protocols.dataset import default_dataset_folder, generate, plan_setting
    from peerexam.report.export.dataset import finish_dataset

    config = config_from(arguments, setting_only=True)
    planned = plan_setting(config)
    if arguments.plan:
        print_plan(planned, as_json=arguments.json)
        return COMPLETE
    hub = _checked(arguments)
    offer_weights(agent.model for agent in config.agents_in("examiner"))
    if not arguments.quiet:
        note(plan_text(planned, columns()))
    made = ask(
        arguments,
        lambda progress, db: generate(
            config,
            Path(arguments.out) if arguments.out else default_dataset_folder(config),
            today=date.today().isoformat(),
            db=db,
            progress=progress,
            replace=arguments.replace,
        ),
        expected_calls(config, planned),
    )
    finish_dataset(made.folder, parquet=not arguments.no_parquet)
    url = None if hub is None else _pushed(hub, made.folder)
    if arguments.json:
        say_json(_summary(made, url))
    else:
        _say(made, url, arguments.exam)
    return COMPLETE if made.status == "complete" else PARTIAL


def _checked(arguments: argparse.Namespace) -> Hub | None:
    """Refuse what can be known to fail, before anything is asked."""
    from peerexam.report.export.hub import Hub
    from peerexam.report.export.parquet import pyarrow_modules

    if not arguments.no_parquet:
        pyarrow_modules()
    if arguments.push is None:
        if arguments.public:
            raise SetupError("--public says how to upload: add --push OWNER/NAME")
        return None
    hub = Hub(arguments.push, public=arguments.public)
    hub.check()
    return hub


def _pushed(hub: Hub, folder: Path) -> str:
    from peerexam.report.export.hub import how_to_push

    try:
        return hub.push(folder)
    except PeerexamError as error:
        raise type(error)(
            f"{error}\nThe data set is there, in {folder}. {how_to_push(folder, hub.name)}"
        ) from error


def _summary(made: Generated, url: str | None) -> dict[str, Json]:
    questions = made.questions
    return {
        "folder": str(made.folder),
        "status": made.status,
        "reason": made.reason,
        "questions": len(questions.questions),
        "planned": questions.planned,
        "questions_hash": questions.seal,
        "replaced": made.replaced,
        "shortfalls": made.manifest["shortfalls"],
        "repeated": made.manifest["repeated"],
        "notes": list(questions.notes),
        "pushed_to": url,
    }


def _say(made: Generated, url: str | None, exam: str) -> None:
    questions = made.questions
    say(
        f"{made.folder}: {len(questions.questions)} of {questions.planned} questions, sealed as "
        f"{questions.seal}"
    )
    if made.replaced is not None:
        note(
            f"other questions were sealed here before, as {made.replaced}: earlier runs used "
            "that set"
        )
    for line in questions.notes[:_MOST_SHORTFALLS]:
        note(plain(line))
    if len(questions.notes) > _MOST_SHORTFALLS:
        more = len(questions.notes) - _MOST_SHORTFALLS
        note(f"… and {more} more notes, in {made.folder / 'manifest.json'}")
    if url is not None:
        say(f"pushed to {url}")
    if made.status == "partial":
        note(f"partial: {plain(made.reason or 'no reason given')}")
    note(f"run an exam on it: peerexam run {exam} --set questions.file={made.folder}")
