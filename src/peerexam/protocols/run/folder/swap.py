"""Replacing a run's files by those of a workshop beside them: all of them, whenever it is killed.

Several files cannot be replaced at one stroke. So the workshop is filled first, then marked as
ready, then its files are moved one by one; whoever next takes the folder finishes what a killed
process left half done.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from peerexam.runfolder import RunFolder

_READY = "READY"


def workshop_of(folder: RunFolder) -> RunFolder:
    """A run's folder within the run's folder, where files are made that will replace its own."""
    return RunFolder(folder.path / ".adding")


def is_half_done(folder: RunFolder) -> bool:
    """Whether a workshop is ready, and its files not all moved."""
    return (workshop_of(folder).path / _READY).exists()


def adopt(folder: RunFolder) -> None:
    """Take over what the workshop holds. The caller has the folder to itself."""
    workshop = workshop_of(folder)
    ready = workshop.path / _READY
    ready.touch()
    _sync(workshop.path)
    finish_adoption(folder)


def finish_adoption(folder: RunFolder) -> None:
    """Move the files of a workshop that is ready; does nothing where there is none."""
    workshop = workshop_of(folder)
    if not is_half_done(folder):
        return
    for path in sorted(workshop.path.iterdir()):
        if path.name != _READY:
            os.replace(path, folder.path / path.name)
    _sync(folder.path)
    shutil.rmtree(workshop.path)


def _sync(path: Path) -> None:
    if os.name == "nt":
        return  # folders cannot be synced there
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
