"""Where a taxonomy's file puts its categories: a stream of places, whatever the layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import RecordFileError

MOST_PLACES = 100_000
"""A file that holds, or unfolds to, more places than this is refused."""

MOST_LEVELS = 50
"""A category further below the root than this is refused."""


@dataclass(frozen=True, slots=True)
class Place:
    """One position of a category in the tree.

    Attributes:
        line: Of the file, counted from 1.
        path: Names from the first level down to the category's own, as the file has them.
        id: The category's id, where the file gives one.
    """

    line: int
    path: tuple[str, ...]
    id: str | None = None


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
