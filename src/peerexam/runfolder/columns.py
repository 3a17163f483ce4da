"""Records by the column, for readers of a million of them that need a few fields of each.

Making a record of every line costs more than reading the line. Where all lines of a block have the
shape that `RecordWriter` gives them, their fields are taken as they are, after the same checks; any
other block goes through the records, which have the words for what is wrong or missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path
from types import NoneType
from typing import Any, Generic, TypeVar, get_args

from peerexam.calls import Json, State
from peerexam.errors import RecordFileError
from peerexam.records import Winner
from peerexam.runfolder.jsonl import read_blocks

T_co = TypeVar("T_co", covariant=True)

Columns = tuple[Sequence[Any], ...]
"""Values of some fields, equally many of each."""


@dataclass(frozen=True, slots=True)
class Score:
    """One dimension of marks as a field; a mark that lacks it, or has no number there, has None."""

    name: str


Field = str | Score

Shape = Mapping[str, frozenset[Any]]
"""Field to the types that it may have, or to its values where these are few."""

_BATCH = 20_000

_TEXT: frozenset[Any] = frozenset({str})
_OPTIONAL: frozenset[Any] = frozenset({str, NoneType})
_NUMBER: frozenset[Any] = frozenset({int, NoneType})
_STATE: frozenset[Any] = frozenset(get_args(State))
_WINNER: frozenset[Any] = frozenset({*get_args(Winner), None})
_CALL: Shape = {"state": _STATE, "reason": _OPTIONAL, "prompt": _OPTIONAL, "call": _OPTIONAL}

ANSWER: Shape = {"question_id": _TEXT, "examinee": _TEXT, "text": _TEXT, **_CALL}
MARK: Shape = {
    **{"question_id": _TEXT, "examinee": _TEXT, "judge": _TEXT},
    **{"overall": _NUMBER, "reply": _OPTIONAL, **_CALL},
}
VERDICT: Shape = {
    **{"question_id": _TEXT, "judge": _TEXT, "first": _TEXT, "second": _TEXT},
    **{"winner": _WINNER, "reply": _OPTIONAL, **_CALL},
}


_SUBJECT = re.compile(rb'\{"(?:question_)?id":"([^"\\]*)"')
"""The start of a line as `RecordWriter` leaves it, its question's id without an escape."""


def lines_about(questions: Collection[str]) -> Callable[[bytes], bool]:
    """Picks the lines that may be about some questions.

    >>> wanted = lines_about({"q1"})
    >>> wanted(b'{"question_id":"q1"}'), wanted(b'{"question_id":"q2"}'), wanted(b"{}")
    (True, False, True)
    """
    names = {name.encode("utf-8", "surrogatepass") for name in questions}

    def is_wanted(line: bytes) -> bool:
        found = _SUBJECT.match(line)
        return found is None or found[1] in names

    return is_wanted


class RecordStream(Generic[T_co]):
    """The records of one file, read once: as an iterator, or by the column.

    Args:
        path: The file; without one there are no records.
        build: A line's object to its record.
        shape: Of lines whose fields can be taken as they are; None where every line is built.
        keep: Which lines are read, by their bytes; None reads all.
    """

    def __init__(
        self,
        path: Path,
        build: Callable[[Mapping[str, Json]], T_co],
        shape: Shape | None = None,
        keep: Callable[[bytes], bool] | None = None,
    ) -> None:
        self._path = path
        self._build = build
        self._shape = shape
        self._blocks = read_blocks(path, keep) if path.exists() else iter(())
        self._records = self._built()

    def about(self, questions: Collection[str]) -> RecordStream[T_co]:
        """The file's records from its start, lines about other questions passed over unread.

        A line whose bytes do not show at once whom it is about is read, so some others come too.
        """
        return RecordStream(self._path, self._build, self._shape, lines_about(questions))

    def __iter__(self) -> Iterator[T_co]:
        return self

    def __next__(self) -> T_co:
        """The next record.

        Raises:
            RecordFileError: A line is damaged or lacks a key.
        """
        return next(self._records)

    def columns(self, *names: Field) -> Iterator[Columns]:
        """Fields of all records, block by block.

        Raises:
            RecordFileError: A line is damaged or lacks a key.
        """
        for numbers, bodies in self._blocks:
            if self._shape is not None and _has_shape(bodies, self._shape):
                yield _taken(_of_line, bodies, names)
            else:
                records = [self._record(*line) for line in zip(numbers, bodies, strict=True)]
                yield _taken(_of_record, records, names)

    def _built(self) -> Iterator[T_co]:
        for numbers, bodies in self._blocks:
            for number, body in zip(numbers, bodies, strict=True):
                yield self._record(number, body)

    def _record(self, number: int, body: Mapping[str, Json]) -> T_co:
        try:
            return self._build(body)
        except ValueError as error:
            raise RecordFileError(str(error), self._path, number) from error


def columns_of(records: Iterable[object], *names: Field) -> Iterator[Columns]:
    """Fields of records, block by block, whether they come from a file or from memory.

    >>> from peerexam.records import Ranking
    >>> list(columns_of([Ranking("q1", "j", ()), Ranking("q2", "k", ())], "question_id", "judge"))
    [(['q1', 'q2'], ['j', 'k'])]
    """
    if isinstance(records, RecordStream):
        yield from records.columns(*names)
        return
    held = iter(records)
    while batch := list(islice(held, _BATCH)):
        yield _taken(_of_record, batch, names)


def _taken(
    getter: Callable[[Field], Callable[[Any], Any]], held: Sequence[Any], names: Sequence[Field]
) -> Columns:
    return tuple(list(map(getter(name), held)) for name in names)


def _of_line(field: Field) -> Callable[[Any], Any]:
    if isinstance(field, str):
        return itemgetter(field)
    name = field.name

    def score(body: Mapping[str, Json]) -> int | None:
        value = body.get(name)
        return value if type(value) is int else None  # as rows.mark_from takes a dimension

    return score


def _of_record(field: Field) -> Callable[[Any], Any]:
    if isinstance(field, str):
        return attrgetter(field)
    name = field.name
    return lambda mark: mark.scores.get(name)


def _has_shape(bodies: Sequence[Mapping[str, Json]], shape: Shape) -> bool:
    try:
        return all(_is_allowed(map(itemgetter(name), bodies), shape[name]) for name in shape)
    except (KeyError, TypeError):  # a key is missing, or a value is no value that could be allowed
        return False


def _is_allowed(values: Iterable[Any], allowed: frozenset[Any]) -> bool:
    found = set(values if allowed is _STATE or allowed is _WINNER else map(type, values))
    return found <= allowed
