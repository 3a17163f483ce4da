"""Shares of full marks, and means that travel with their coverage (examiner paper, Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.tables import Floats, Ints, Marks
from peerexam.stats.pairs.orders import Mask, agent_of_judge


@dataclass(frozen=True, slots=True)
class FullMarks:
    """Percentage of full marks per examinee and judge (shape: examinees × judges).

    Attributes:
        percent: 0 to 100; NaN for a judge's own answers and where there is no mark.
        counts: Marks that were given (a judge's own answers left out).
        planned: Marks that were asked for, given or not.
    """

    percent: Floats
    counts: Ints
    planned: Ints


@dataclass(frozen=True, slots=True)
class MeanMark:
    """A mean mark and what it rests on.

    Attributes:
        value: None where there is no mark; `reason` then says why.
        n: Marks in the mean.
        planned: Marks asked for.
        reason: Why there is no value.
    """

    value: float | None
    n: int
    planned: int
    reason: str | None = None

    @property
    def failed(self) -> int:
        """Marks asked for that could not be had; they are neither 0 nor left unsaid."""
        return self.planned - self.n


def own_marks(marks: Marks) -> Mask:
    """Per row, whether the judge marked its own answer."""
    return np.asarray(agent_of_judge(marks.agents, marks.judges)[marks.judge] == marks.examinee)


def full_marks(marks: Marks, full: float = 5.0) -> FullMarks:
    """Percentage of answers that a judge gave the full mark (paper: overall score 5).

    Args:
        marks: Marks of first-round answers; a judge's own answers are left out here.
        full: The full mark.
    """
    peer = ~own_marks(marks)
    given = peer & ~np.isnan(marks.overall)
    best = given & (np.nan_to_num(marks.overall) >= full)
    number, judges = len(marks.agents), len(marks.judges)

    def count(rows: Mask) -> Ints:
        cell = marks.examinee[rows] * judges + marks.judge[rows]
        return np.bincount(cell, minlength=number * judges).reshape(number, judges)

    counts = count(given)
    percent = np.where(counts > 0, 100.0 * count(best) / np.maximum(counts, 1), np.nan)
    return FullMarks(percent, counts, count(peer))


def avg(percent: Floats) -> Floats:
    """AVG of Table 4: per examinee the mean over the judges that marked it, NaN where none did.

    Args:
        percent: Shape examinees × judges, NaN for a judge's own answers.
    """
    return _row_mean(percent)


def avg_weight(percent: Floats) -> Floats:
    """AVG_weight of Table 4: as AVG, after scaling every judge's column so that its best is 100.

    A judge that gave nobody a full mark has no best to scale by, and its column is left out.

    Args:
        percent: Shape examinees × judges, NaN for a judge's own answers.
    """
    return _row_mean(scaled_columns(percent))


def scaled_columns(percent: Floats) -> Floats:
    """Every judge's column scaled so that its highest is 100; all NaN where that is 0."""
    best = np.max(percent, axis=0, initial=0.0, where=~np.isnan(percent))
    return np.where(best > 0, 100.0 * percent / np.where(best > 0, best, 1.0), np.nan)


def _row_mean(table: Floats) -> Floats:
    known = ~np.isnan(table)
    number = known.sum(axis=1)
    total = np.where(known, table, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def peer_means(marks: Marks) -> list[MeanMark]:
    """Mean overall mark of each agent by the other judges; its own marks stay out.

    Where the only judge is the author of the answer there is no peer mean, and the reason says so.
    """
    peer = ~own_marks(marks)
    return [
        _mean_mark(marks.overall[(marks.examinee == i) & peer], _no_peer(marks, i))
        for i in range(len(marks.agents))
    ]


def _no_peer(marks: Marks, agent: int) -> str:
    if bool((marks.examinee == agent).any()):
        return "marked by its author only"
    return "not marked"


def _mean_mark(values: Floats, why_none: str) -> MeanMark:
    given = values[~np.isnan(values)]
    if len(given):
        return MeanMark(float(given.mean()), len(given), len(values))
    return MeanMark(None, 0, len(values), "every mark failed" if len(values) else why_none)


def shared_difference(marks: Marks, one: int, other: int) -> MeanMark:
    """Mean mark of one agent minus that of another, over what both have a mark for.

    Comparing plain means would reward an agent whose hard answers could not be judged.

    Args:
        marks: Marks; own ones are left out.
        one: Index of an agent.
        other: Index of another.

    Returns:
        `n` counts the (question, judge) cells where both have a mark, `planned` where both were
        to have one.
    """
    peer = ~own_marks(marks)
    cell = marks.question * len(marks.judges) + marks.judge
    tables: list[tuple[Ints, Floats]] = []
    for agent in (one, other):
        rows = peer & (marks.examinee == agent)
        keys, first = np.unique(cell[rows], return_index=True)
        tables.append((keys, marks.overall[rows][first]))
    (keys, values), (other_keys, other_values) = tables
    _, left, right = np.intersect1d(keys, other_keys, return_indices=True)
    return _mean_mark(values[left] - other_values[right], "no question in common")
