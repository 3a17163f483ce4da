"""Several people's places of the first mistake, in CSV (BIG-Bench Mistake, §2.2).

One row a vote::

    trace,annotator,location
    word_sorting:1,ann,4
    word_sorting:1,ben,none

`trace` is the id that `mistakes` gives (`task:line`). A location counts from 1, as people are
shown it; `none` says that there is no mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import RecordFileError
from peerexam.tasks.mistakes.traces import Trace
from peerexam.tasks.rows import csv_table

_COLUMNS = ("trace", "annotator", "location")
_NONE = frozenset({"none", "no", "null"})


@dataclass(frozen=True, slots=True)
class LocationVotes:
    """Votes on some traces.

    Attributes:
        annotators: In the order in which they first vote.
        votes: By trace id and annotator; from 0, None for no mistake.
    """

    annotators: tuple[str, ...]
    votes: Mapping[str, Mapping[str, int | None]]

    def majority(self, trace: str) -> tuple[int | None] | None:
        """The location with more than half of a trace's votes, in a tuple; None without one."""
        given = list(self.votes.get(trace, {}).values())
        (place, most), *_ = Counter(given).most_common(1) or [(None, 0)]
        return (place,) if 2 * most > len(given) else None


def read_location_votes(path: Path, traces: Sequence[Trace]) -> LocationVotes:
    """Read votes on the traces of a data set.

    Raises:
        SetupError: There is no such file, it is no CSV, or a column is missing.
        RecordFileError: A row names an unknown trace or a step that it does not have, or somebody
            votes twice.
    """
    steps = {trace.id: len(trace.steps) for trace in traces}
    votes: dict[str, dict[str, int | None]] = {}
    annotators: dict[str, None] = {}
    for number, row in csv_table(path, *_COLUMNS):
        trace, annotator, location = (row[name].strip() for name in _COLUMNS)
        try:
            if trace not in steps:
                raise ValueError(f"there is no trace '{trace:.60}'")
            of = votes.setdefault(trace, {})
            if annotator in of:
                raise ValueError(f"'{annotator:.60}' votes on {trace} for the second time")
            of[annotator] = _place(location, steps[trace])
        except ValueError as error:
            raise RecordFileError(str(error), path, number) from error
        annotators[annotator] = None
    return LocationVotes(tuple(annotators), votes)


def _place(location: str, steps: int) -> int | None:
    if location.lower() in _NONE:
        return None
    if not (location.isascii() and location.isdigit() and 1 <= int(location) <= steps):
        raise ValueError(f"location '{location:.20}' is neither none nor a step from 1 to {steps}")
    return int(location) - 1
