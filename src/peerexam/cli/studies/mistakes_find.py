"""`mistakes find`: agents say where the first mistake of a trace is."""

from __future__ import annotations

import argparse

from peerexam.cli.studies.base import (
    config_from,
    folder_of,
    names_in,
    run_study,
    study_flags,
    tasks_from,
)
from peerexam.errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.examiners.mistakes.finding import Method
    from peerexam.protocols.session.progress import Progress
    from peerexam.protocols.studies.result import StudyResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the action."""
    parser.add_argument("path", metavar="DIR")
    parser.add_argument("--tasks", default="all", metavar="LIST", help="tasks (default: all)")
    parser.add_argument(
        "--methods", default="trace", metavar="LIST", help="of trace, step, cot (default: trace)"
    )
    study_flags(parser, "runs/mistakes")


def perform(arguments: argparse.Namespace) -> int:
    """Ask agents where the first mistake of a trace is."""
    from pathlib import Path

    from peerexam.protocols.studies.base import ask_study
    from peerexam.protocols.studies.mistakes.finding.measures import finding_result
    from peerexam.protocols.studies.mistakes.finding.plan import finding_plan
    from peerexam.protocols.studies.mistakes.finding.protocol import (
        Finding,
        draw_traces,
    )
    from peerexam.tasks.mistakes.traces import load_traces

    config = config_from(arguments, "mistakes")
    traces = load_traces(Path(arguments.path), tasks_from(arguments.tasks))
    finding = Finding(
        draw_traces(traces, arguments.limit, arguments.seed),
        _methods(arguments.methods),
        arguments.seed,
    )
    out = folder_of(arguments, "runs/mistakes")

    async def work(progress: Progress, db: str | None) -> StudyResult:
        finds = await ask_study(config, finding, out, db=db, progress=progress)
        return finding_result(finding, finds)

    return run_study(arguments, out, finding_plan(config, finding), work)


def _methods(text: str) -> tuple[Method, ...]:
    from typing import cast

    from peerexam.protocols.studies.mistakes.finding.protocol import METHODS

    names = names_in(text)
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        found = f"'{unknown[0]}' is none" if unknown else "it names none"
        raise SetupError(f"--methods takes {', '.join(METHODS)}: {found}")
    return cast("tuple[Method, ...]", names)
