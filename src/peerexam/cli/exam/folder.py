"""A run's folder and its ledger, for the commands that read them."""

from __future__ import annotations

import os
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.ledger.reading import reading
from peerexam.runfolder import RunFolder


def finished_run(text: str) -> Path:
    """The folder of a run that is named.

    Raises:
        SetupError: It is no folder, or holds something else or an unfinished run.
    """
    folder = Path(text)
    if not folder.is_dir():
        raise SetupError(f"{folder} is no folder; name the one that a run left")
    held = RunFolder(folder)
    if held.config_path.exists() and not held.manifest_path.exists():
        raise SetupError(
            f"{folder} holds an unfinished exam; `peerexam run` with the same config and folder "
            "resumes it (or `rejudge`, where that began it)"
        )
    manifest = held.read_manifest() if held.manifest_path.exists() else {}
    if manifest.get("kind") == "dataset" and "questions_hash" not in manifest:
        raise SetupError(
            f"{folder} holds an unfinished data set; `peerexam generate` with the same config "
            "and folder resumes it"
        )
    if manifest.get("kind") == "dataset":
        raise SetupError(
            f"{folder} holds a data set, not a run: examine it with `peerexam run EXAM.yaml --set "
            f"questions.file={folder}`"
        )
    return folder


def report_ledger(folder: Path, db: str | None) -> str | Path | None:
    """The ledger for a folder's report: the one that is named, else the folder's.

    Raises:
        LedgerFileError: One is named, and it cannot be read.
    """
    if db is None:
        return ledger_of(folder)
    with reading(db):
        return db


def ledger_of(folder: Path) -> str | Path | None:
    """Where the ledger of a folder is, if nobody says so: in it, else where runs put it."""
    inside = RunFolder(folder).ledger_path
    return inside if inside.exists() else os.environ.get("PEEREXAM_DB") or None
