"""What examinees score on a set of questions (examiner paper, §4.2: Table 3, Figures 3 and 8).

A cell is one examinee on one group of questions: the mean over the judges that count of the share
of its answers that a judge gave the full mark, or of its scores on one dimension. A judge never
counts on its own answers. Intervals respect that answers to one root question hang together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.mean_share import mean_share
from peerexam.stats.core.tables import Floats, Ints, Marks
from peerexam.stats.judges.fullmarks import own_marks

NO_GROUP = -1
"""Of a question that is in none of the groups."""

NO_MARK = "no judge that counts gave a mark"

Cells = list[list[Estimate]]
"""Group by group, an estimate an examinee: a percentage, with `n` answers behind it and
`left_out` answers that a judge was to mark and none did."""


def full_mark_percent(
    marks: Marks,
    group: Ints,
    groups: int,
    *,
    full: float = 5.0,
    counted: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> Cells:
    """Percentage of full-mark answers, as in Table 3 (there one judge counts).

    Args:
        marks: Marks of any rounds.
        group: Per question of `marks`, its group from 0, or `NO_GROUP`.
        groups: How many groups there are.
        full: The overall mark that is full.
        counted: Indices of the judges that count; all by default.
        confidence: Of the intervals.

    Raises:
        StatisticsError: `group` does not list every question, or names a group too many.
    """
    reached = np.where(np.isnan(marks.overall), np.nan, marks.overall >= full)
    return _cells(marks, reached, group, groups, counted, confidence)


def dimension_percent(
    marks: Marks,
    dimension: str,
    scale: tuple[float, float],
    chosen: Ints,
    *,
    counted: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> list[Estimate]:
    """Mean score on one dimension in per cent of the best one, as in Figure 3.

    So a score of 2 on a scale from 1 to 3 is 67, and the worst is 33 and not 0.

    Args:
        marks: Marks of any rounds.
        dimension: A name in `marks.dimensions`, or anything else for the overall score.
        scale: Its lowest and its highest score.
        chosen: Per question of `marks`, 0 where it is in, else `NO_GROUP`.
        counted: Indices of the judges that count; all by default.
        confidence: Of the intervals.

    Raises:
        StatisticsError: `chosen` does not list every question, the scale is upside down, or a score
            is outside it.
    """
    low, high = scale
    if not 0 <= low < high:
        raise StatisticsError(f"the scale of {dimension} runs from {low} to {high}")
    scores = marks.overall
    if dimension in marks.dimensions:
        scores = marks.scores[:, marks.dimensions.index(dimension)]
    outside = scores[(scores < low) | (scores > high)]
    if len(outside):
        raise StatisticsError(
            f"a mark for {dimension} is {outside[0]:g}, and its scale runs from {low:g} to "
            f"{high:g}: mend or remove that line of marks.jsonl"
        )
    # Between the scale's ends the interval keeps within them, whatever the worst score is.
    within = (scores - low) / (high - low)
    (cells,) = _cells(marks, within, chosen, 1, counted, confidence)
    return [_rescaled(cell, low / high, (high - low) / high) for cell in cells]


def _rescaled(cell: Estimate, start: float, width: float) -> Estimate:
    def moved(value: float | None) -> float | None:
        return None if value is None else 100 * start + width * value

    return replace(cell, value=moved(cell.value), low=moved(cell.low), high=moved(cell.high))


def _cells(
    marks: Marks,
    values: Floats,
    group: Ints,
    groups: int,
    counted: Sequence[int] | None,
    confidence: float,
) -> Cells:
    """Means of row values within 0..1, in per cent; NaN where a mark was asked for in vain."""
    if len(group) != len(marks.questions):
        raise StatisticsError("every question must have a group")
    if len(group) and int(group.max()) >= groups:
        raise StatisticsError(f"group {int(group.max())} is not among {groups} groups")
    judges = list(range(len(marks.judges)) if counted is None else counted)
    agents = len(marks.agents)
    nothing = Estimate(None, reason="no answer in this group")
    found = [[nothing] * agents for _ in range(groups)]
    of_row = group[marks.question]
    rows = np.flatnonzero((of_row >= 0) & np.isin(marks.judge, judges) & ~own_marks(marks))
    for cell, part in _parts(of_row[rows] * agents + marks.examinee[rows], rows):
        found[cell // agents][cell % agents] = _cell(marks, values, part, confidence)
    return found


def _parts(keys: Ints, rows: Ints) -> Iterator[tuple[int, Ints]]:
    """Rows that share a key."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for part in np.split(order, starts[1:]) if len(order) else ():
        yield int(keys[part[0]]), rows[part]


def _cell(marks: Marks, values: Floats, rows: Ints, confidence: float) -> Estimate:
    given = rows[~np.isnan(values[rows])]
    clusters, place = _renumbered(marks.cluster[marks.question[given]])
    judges, column = _renumbered(marks.judge[given])
    shape = (clusters, judges)
    key = place * shape[1] + column
    size = shape[0] * shape[1]
    share = mean_share(
        np.asarray(np.bincount(key, values[given], size).reshape(shape), np.float64),
        np.asarray(np.bincount(key, minlength=size).reshape(shape), np.float64),
        confidence=confidence,
        reason=NO_MARK,
    )
    answers = _distinct(marks.question[given])
    without = _distinct(marks.question[rows]) - answers
    return replace(_rescaled(share, 0.0, 100.0), n=answers, left_out=without)


def _distinct(codes: Ints) -> int:
    return int(np.count_nonzero(np.bincount(codes)))


def _renumbered(codes: Ints) -> tuple[int, Ints]:
    """How many codes there are, and each one's number among them."""
    known = np.bincount(codes) > 0
    return int(known.sum()), (np.cumsum(known) - 1)[codes]
