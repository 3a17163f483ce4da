"""Importing another tool's results by the kind of layout (`kinds`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.importers.imported import Disagreement, Imported, ImportSummary, write_imported
from peerexam.tasks.importers.kinds import KINDS, kinds_text
from peerexam.tasks.importers.layout_guess import columns, guess
from peerexam.tasks.questions.folder import questions_of


def import_run(
    kind: str, source: Path, out: Path, disagreement: Disagreement = "tie"
) -> ImportSummary:
    """Read another tool's results and leave them as a run's folder.

    Args:
        kind: One of `KINDS`.
        source: The folder or file to read.
        out: The run's folder.
        disagreement: What two orders of a pair that disagree are worth when it is counted.

    Raises:
        SetupError: There is no such kind, the source is not there or not of that layout, or
            another run stands in the folder.
        RecordFileError: A line of the source cannot be read.
    """
    read = read_source(kind, source)
    return write_imported(kind, source.resolve().name, read, out, disagreement)


def read_source(kind: str, source: Path) -> Imported:
    """Read another tool's results and write nothing; arguments and errors as in `import_run`."""
    read = _reader(kind)
    if not source.exists():
        raise SetupError(f"{source} is not there: name the file or folder to import")
    try:
        return read(source)
    except (RecordFileError, SetupError) as error:
        other = _another_layout(kind, source, isinstance(error, SetupError))
        if other is None:
            raise
        if isinstance(error, RecordFileError):
            said = str(error).removeprefix(f"{error.path}:{error.line}: ")
            raise RecordFileError(f"{said}. {other}", error.path, error.line) from error
        raise SetupError(f"{error}. {other}") from error
    except OSError as error:
        raise SetupError(f"{error.filename or source}: {error.strerror or error}") from error


def read_questions(source: Path) -> Imported:
    """The user's own questions, of a file, a run or a data set, as `questions_of` reads them."""
    return Imported(roles={}, questions=questions_of(source))


def _another_layout(kind: str, source: Path, as_a_whole: bool) -> str | None:
    """What else the source holds, and the command that reads it; None where it may be this kind.

    Args:
        kind: What it was taken for.
        source: What was named.
        as_a_whole: Whether it was refused as such, and not for one of its rows.
    """
    found = guess(source)
    if found is None:
        seen = columns(source)
        return f"Its rows have the fields {seen}, which no kind knows" if seen else None
    layout, other, path = found
    if other == kind and (path == source or not as_a_whole):
        return None
    return f"It holds {layout}: peerexam import {other} {path}"


def _reader(kind: str) -> Callable[[Path], Imported]:
    if kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise SetupError(f"cannot import '{kind}'{hint}: there is\n{kinds_text()}")
    module, _, name = KINDS[kind][0].partition(":")
    read: Callable[[Path], Imported] = getattr(
        importlib.import_module(f"peerexam.tasks.{module}"), name
    )
    return read
