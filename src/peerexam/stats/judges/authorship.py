"""Sums of authors' means, where every author has segments of its own.

A value is Σ over authors of the mean, over the author's segments, of what a segment adds. Values
have the shape segments × authors × columns: what the segment would add were it by that author; NaN
where nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.all_alike import alike, most_moved, widened
from peerexam.stats.core.cluster_ratio import student_quantile
from peerexam.stats.core.counted_values import resampled_means
from peerexam.stats.core.tables import Floats, Ints


def sum_of_means(values: Floats, author: Ints) -> tuple[Floats, Ints]:
    """The value of each column, NaN where an author has no segment, and how many segments count."""
    sizes, columns = values.shape[1:]
    total, n = np.zeros(columns), np.zeros(columns, dtype=np.int64)
    for one in range(sizes):
        total += _mean(*_sums(values[author == one, one]))
        n += (~np.isnan(values[author == one, one])).sum(axis=0)
    return total, n


def author_bootstrap(
    values: Floats, author: Ints, rounds: int, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Bootstrap values: each author's segments are drawn with replacement, by themselves.

    Returns:
        Values (shape: rounds × columns), and per column how many segments that count the author
        with fewest has.
    """
    authors, columns = values.shape[1:]
    total = np.zeros((rounds, columns))
    fewest = np.full(columns, len(values))
    for one in range(authors):
        held = values[author == one, one]
        fewest = np.minimum(fewest, (~np.isnan(held)).sum(axis=0))
        if len(held):
            total += np.stack([resampled_means(x, rounds, rng) for x in held.T], axis=1)
    return total, fewest


@dataclass(frozen=True, slots=True)
class Alike:
    """What intervals of sums of authors' means need where an author's segments are all alike.

    Attributes:
        low: Shape authors × columns: the least that a segment could add.
        high: The same of the most.
        seen: The same of how many segments, or comparisons, an author's mean rests on.
    """

    low: Floats
    high: Floats
    seen: Floats | Ints


def author_interval(
    ends: tuple[float, float],
    total: float,
    held: Sequence[Floats],
    scale: Alike,
    column: int,
    confidence: float,
) -> tuple[float, float] | None:
    """An interval that does not take those authors for certain whose segments are all alike.

    Args:
        ends: As the bootstrap has it.
        total: The sum of the authors' means.
        held: By author, what its segments add.
        scale: How far a segment could lie from what was seen.
        column: Which of the scale's.
        confidence: Of the interval.

    Returns:
        None where no author's segments are all alike, and the bootstrap's interval stands.
    """
    sure = [one for one, values in enumerate(held) if alike(values)]
    if not sure:
        return None
    means = np.array([float(np.nanmean(held[one])) for one in sure])
    n = scale.seen[sure, column]
    below = np.maximum(means - scale.low[sure, column], 0.0)
    above = np.maximum(scale.high[sure, column] - means, 0.0)
    moved = most_moved(below, n, confidence), most_moved(above, n, confidence)
    return widened(total, ends, moved)


def no_narrower(
    ends: tuple[float, float],
    total: float,
    held: Sequence[Floats],
    spans: Floats,
    confidence: float,
) -> tuple[float, float]:
    """An interval no narrower than Student's t with one variance for all authors.

    A bootstrap of an author's two or three segments cannot leave what was seen: where no author
    favours itself, it denies 0 in 8 to 18 of 100 exams of 8 questions by 4 authors. How much
    segments vary, relative to how much they could, is therefore pooled over the authors.

    Args:
        ends: As the bootstrap has it.
        total: The sum of the authors' means.
        held: By author, what its segments add.
        spans: By author, how far two of its segments could be apart.
        confidence: Of the interval.
    """
    squares, freedom, error = 0.0, 0, 0.0
    for values, span in zip(held, spans.tolist(), strict=True):
        known = values[~np.isnan(values)]
        if len(known) and span > 0:
            squares += float(((known - known.mean()) ** 2).sum()) / span**2
            freedom += len(known) - 1
            error += span**2 / len(known)
    if not freedom:
        return ends
    room = student_quantile((1 + confidence) / 2, freedom) * (squares / freedom * error) ** 0.5
    return min(ends[0], total - room), max(ends[1], total + room)


def _sums(held: Floats) -> tuple[Floats, Floats]:
    known = ~np.isnan(held)
    return np.nan_to_num(held).sum(axis=0), known.sum(axis=0).astype(np.float64)


def _mean(total: Floats, count: Floats) -> Floats:
    mean = np.full(total.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean
