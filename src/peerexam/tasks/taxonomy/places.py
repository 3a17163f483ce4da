"""Where a taxonomy's file puts its categories: a stream of places, whatever the layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import RecordFileError
from peerexam.tasks.taxonomy.domain_names import quoted

MOST_PLACES = 100_000
"""A file that holds, or unfolds to, more places than this is refused."""

MOST_LEVELS = 50
"""A category further below the root than this is refused."""


_LONGEST = 80
"""Of a path as it is shown; what is nearest to the value stays."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Step:
    """The last step of a path through JSON, whose file may be one line; written out where needed.

    Attributes:
        above: The step before; None at the root.
        key: A key, or an index from 0.
    """

    above: Step | None
    key: str | int

    def __str__(self) -> str:
        """As in `children[3].name`."""
        parts: list[str] = []
        step: Step | None = self
        length = 0
        while step is not None and length <= _LONGEST:
            parts.append(_step_text(step.key))
            length += len(parts[-1])
            step = step.above
        text = "".join(reversed(parts)).removeprefix(".")
        return text if step is None and len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"


def _step_text(key: str | int) -> str:
    if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
        return f".{key}"
    return f"[{key if isinstance(key, int) else quoted(key)}]"


@dataclass(frozen=True, slots=True)
class Place:
    """One position of a category in the tree.

    Attributes:
        line: Of the file, counted from 1.
        path: Names from the first level down to the category's own, as the file has them.
        id: The category's id, where the file gives one.
        at: The path to it in a JSON file.
    """

    line: int
    path: tuple[str, ...]
    id: str | None = None
    at: Step | None = None

    @property
    def where(self) -> str:
        """The line, and of JSON the path too, as in `1, children[3].name`."""
        return f"{self.line}" if self.at is None else f"{self.line}, {self.at}"


def bounded(places: Iterator[Place], path: Path) -> Iterator[Place]:
    """The same places, as long as there are not too many of them, nor too deep ones.

    Raises:
        RecordFileError: At the first place too many.
    """
    for number, place in enumerate(places, start=1):
        check_number(number, path, place.line)
        check_depth(len(place.path), path, place.line)
        yield place


def check_number(places: int, path: Path, line: int) -> None:
    """Refuse a taxonomy that is too large.

    Raises:
        RecordFileError: It is.
    """
    if places > MOST_PLACES:
        raise RecordFileError(
            f"the taxonomy holds, or unfolds to, more than {MOST_PLACES:,} places; write less",
            path,
            line,
        )


def check_depth(levels: int, path: Path, line: int) -> None:
    """Refuse a place that is too deep.

    Raises:
        RecordFileError: It is.
    """
    if levels > MOST_LEVELS:
        raise RecordFileError(
            f"more than {MOST_LEVELS} levels below the root; write a flatter taxonomy", path, line
        )
