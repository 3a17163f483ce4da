"""What every command that asks models does: find the ledger, show progress, hear Ctrl-C."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from peerexam.cli.display import shown
from peerexam.cli.interrupt import run_interruptibly
from peerexam.errors import SetupError
from peerexam.protocols.session.progress import Progress
from peerexam.runfolder import RunFolder

T = TypeVar("T")

Work = Callable[[Progress, str | None], Coroutine[Any, Any, T]]
"""From counters to feed and the ledger's path or URL to a result."""


def ledger_in(arguments: argparse.Namespace) -> str | None:
    """The ledger that is named on the command line, else in the environment."""
    db: str | None = arguments.db or os.environ.get("PEEREXAM_DB") or None
    return db


def ask(arguments: argparse.Namespace, work: Work[T], expected: int | None = None) -> T:
    """Do the work with its progress shown.

    Args:
        arguments: With those that `running_flags` adds.
        work: What to do.
        expected: Calls; None where nobody knows.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, and calls in flight have been waited for.
    """
    progress = Progress(expected, stall_warning=arguments.stall)
    with shown(progress, quiet=arguments.quiet):
        return run_interruptibly(work(progress, ledger_in(arguments)))


def folder_without_run(path: str) -> RunFolder:
    """A folder for a study's records.

    Raises:
        SetupError: A run is there, whose files would be overwritten.
    """
    folder = RunFolder(Path(path))
    if folder.manifest_path.exists() or folder.config_path.exists():
        raise SetupError(
            f"{path} holds a run, which would be overwritten: choose another --out "
            f"(--db {folder.ledger_path} shares its ledger)"
        )
    return folder
