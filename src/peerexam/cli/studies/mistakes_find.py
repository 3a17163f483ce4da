"""`peerexam mistakes find`: agents say where the first mistake of a trace is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

from peerexam.cli.studies.base import config_from, folder_of, perform
from peerexam.cli.studies.mistakes import tasks_from
from peerexam.errors import SetupError
from peerexam.examiners.mistakes.finding import Method
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.base import ask_study
from peerexam.protocols.studies.mistakes.finding.measures import finding_result
from peerexam.protocols.studies.mistakes.finding.plan import finding_plan
from peerexam.protocols.studies.mistakes.finding.protocol import (
    METHODS,
    Finding,
    draw_traces,
)
from peerexam.protocols.studies.result import StudyResult
from peerexam.tasks.mistakes.traces import load_traces


def find(arguments: argparse.Namespace) -> int:
    """Perform the action."""
    config = config_from(arguments, "mistakes")
    traces = load_traces(Path(arguments.path), tasks_from(arguments.tasks))
    finding = Finding(
        draw_traces(traces, arguments.limit, arguments.seed),
        methods_from(arguments.methods),
        arguments.seed,
    )
    out = folder_of(arguments, "runs/mistakes")

    async def work(progress: Progress, db: str | None) -> StudyResult:
        finds = await ask_study(config, finding, out, db=db, progress=progress)
        return finding_result(finding, finds)

    return perform(arguments, out, finding_plan(config, finding), work)


def methods_from(text: str) -> tuple[Method, ...]:
    """The methods of `--methods`, in the order given.

    Raises:
        SetupError: There is none, or one is not known.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        found = f"'{unknown[0]}' is none" if unknown else "it names none"
        raise SetupError(f"--methods takes {', '.join(METHODS)}: {found}")
    return cast(tuple[Method, ...], names)
