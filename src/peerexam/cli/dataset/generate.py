"""`generate`: a data set of questions."""

from __future__ import annotations

import argparse
import os
from datetime import date
from pathlib import Path

from peerexam.calls import Json
from peerexam.cli import COMPLETE, PARTIAL
from peerexam.cli.display import shown
from peerexam.cli.exam.planning import config_from, plan_text
from peerexam.cli.interrupt import run_interruptibly
from peerexam.cli.machine.commands import offer_weights
from peerexam.cli.output import columns, note, plain, say, say_json
from peerexam.errors import PeerexamError, SetupError
from peerexam.protocols.config.checks import PLAYS_DIRECTLY
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.dataset import (
    Generated,
    default_dataset_folder,
    plan_setting,
)
from peerexam.protocols.dataset import generate as generate_dataset
from peerexam.protocols.planning.plan import Plan
from peerexam.protocols.session.progress import Progress
from peerexam.report.export.dataset import finish_dataset
from peerexam.report.export.hub import Hub, how_to_push
from peerexam.report.export.parquet import pyarrow_modules

_MOST_SHORTFALLS = 10


def generate(arguments: argparse.Namespace) -> int:
    """Let examiners set a data set of questions."""
    config = config_from(arguments, setting_only=True)
    planned = plan_setting(config)
    if arguments.plan:
        if arguments.json:
            say_json(planned.to_json())
        else:
            say(plan_text(planned, columns()))
        return COMPLETE
    hub = _checked(arguments)
    offer_weights(agent.model for agent in config.agents_in("examiner"))
    if not arguments.quiet:
        note(plan_text(planned, columns()))
    made = _made(arguments, config, planned)
    finish_dataset(made.folder, parquet=not arguments.no_parquet)
    url = None if hub is None else _pushed(hub, made.folder)
    if arguments.json:
        say_json(_summary(made, url))
    else:
        _say(made, url, arguments.exam)
    return COMPLETE if made.status == "complete" else PARTIAL


def _checked(arguments: argparse.Namespace) -> Hub | None:
    """Refuse what can be known to fail, before anything is asked."""
    if arguments.stall is not None and not arguments.stall > 0:
        raise SetupError("--stall is a number of seconds above 0")
    if not arguments.no_parquet:
        pyarrow_modules()
    if arguments.push is None:
        if arguments.public:
            raise SetupError("--public says how to upload: add --push OWNER/NAME")
        return None
    hub = Hub(arguments.push, public=arguments.public)
    hub.check()
    return hub


def _made(arguments: argparse.Namespace, config: ExamConfig, planned: Plan) -> Generated:
    out = Path(arguments.out) if arguments.out else default_dataset_folder(config)
    progress = Progress(_expected_calls(config, planned), stall_warning=arguments.stall)
    with shown(progress, quiet=arguments.quiet):
        return run_interruptibly(
            generate_dataset(
                config,
                out,
                today=date.today().isoformat(),
                db=arguments.db or os.environ.get("PEEREXAM_DB") or None,
                progress=progress,
                replace=arguments.replace,
            )
        )


def _expected_calls(config: ExamConfig, planned: Plan) -> int:
    """Calls that the progress can see; simulated participants make none."""
    played = {a.name for a in config.agents if a.model.startswith(f"{PLAYS_DIRECTLY}/")}
    return round(sum(one.calls.expected for one in planned.lines if one.agent not in played))


def _pushed(hub: Hub, folder: Path) -> str:
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
            f"other questions were sealed here before, as {made.replaced}: runs on them were held "
            "on another set"
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
    note(f"examine it: peerexam run {exam} --set questions.file={made.folder}")
