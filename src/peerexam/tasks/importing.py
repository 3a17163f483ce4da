"""Importers by the kind of layout they read.

An importer is a function from a folder or file to `Imported`. To add one, write it in its own
module and name it here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.tasks.imported import Imported, ImportSummary, write_imported
from peerexam.tasks.prd import read_prd

IMPORTERS: dict[str, Callable[[Path], Imported]] = {"prd": read_prd}
"""Kind of layout to the function that reads it."""


def import_run(kind: str, source: Path, out: Path) -> ImportSummary:
    """Read another tool's results and leave them as a run's folder.

    Args:
        kind: One of `IMPORTERS`.
        source: The folder or file to read.
        out: The run's folder.

    Raises:
        SetupError: There is no such kind, the source is not of that layout, or another run stands
            in the folder.
    """
    importer = IMPORTERS.get(kind)
    if importer is None:
        raise SetupError(f"cannot import '{kind}': there is {', '.join(sorted(IMPORTERS))}")
    return write_imported(kind, source.resolve().name, importer(source), out)
