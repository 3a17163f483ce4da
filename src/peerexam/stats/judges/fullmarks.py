"""Shares of full marks (examiner paper, Table 4)."""

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
