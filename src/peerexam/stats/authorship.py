"""Sums of authors' means, where every author has segments of its own: interval and test.

A value is Σ over authors of the mean, over the author's segments, of what a segment adds. Values
have the shape segments × authors × columns: what the segment would add were it by that author, so
that authorship can be permuted; NaN where nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.stats.all_alike import alike, most_moved, widened
from peerexam.stats.cluster_ratio import expanded_quantiles
from peerexam.stats.counted_values import dealt, resampled_means, rows_that_differ
from peerexam.stats.orders import Mask
from peerexam.stats.tables import Floats, Ints

_CELLS = 2_000_000
"""Permuted labels held in memory at a time."""

_FEW = 4
"""Segments are counted by kind where there are this many for each kind, at least."""

_NOTHING = 1e-12


def sum_of_means(values: Floats, author: Ints) -> tuple[Floats, Ints]:
    """The value of each column, NaN where an author has no segment, and how many segments count."""
    sizes, columns = values.shape[1:]
    total, n = np.zeros(columns), np.zeros(columns, dtype=np.int64)
    for one in range(sizes):
        total += _mean(*_sums(values[author == one, one]))
        n += (~np.isnan(values[author == one, one])).sum(axis=0)
    return total, n


def author_bootstrap(
    values: Floats, author: Ints, rounds: int, rng: np.random.Generator, confidence: float
) -> list[tuple[float, float] | None]:
    """Bootstrap intervals: each author's segments are drawn with replacement, by themselves.

    Returns:
        Per column low and high, or None where an author has fewer than two segments that count.
    """
    authors, columns = values.shape[1:]
    total = np.zeros((rounds, columns))
    fewest = np.full(columns, len(values))
    for one in range(authors):
        held = values[author == one, one]
        fewest = np.minimum(fewest, (~np.isnan(held)).sum(axis=0))
        if len(held):
            total += np.stack([resampled_means(x, rounds, rng) for x in held.T], axis=1)
    return [
        expanded_quantiles(total[:, k], int(n), confidence) if n >= 2 else None
        for k, n in enumerate(fewest)
    ]


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


def author_permutation_p(
    values: Floats, author: Ints, rounds: int, rng: np.random.Generator
) -> Floats:
    """Two-sided p-values that who wrote a segment makes no difference, per column.

    Authors are dealt to the segments anew, as many to each as it wrote. The statistic is the value
    divided by its standard error, so that the test holds, for many segments, where authors differ
    in spread too (Janssen 1997; Chung and Romano 2013). NaN where the value has no error.
    """
    columns = values.shape[2]
    first, kind = rows_that_differ(values.reshape(len(values), -1))
    number = np.bincount(kind)
    known = ~np.isnan(values)
    filled = np.nan_to_num(values)
    moments = np.concatenate([filled, filled**2, known], axis=2)  # segments × authors × 3 columns
    hands = np.bincount(author, minlength=values.shape[1])
    seen = _studentised([(author == one)[None] for one in range(len(hands))], moments)[0]
    beyond = np.zeros(columns)
    few = len(first) * _FEW <= len(author)
    kinds = moments[first] if few else moments
    for size in _parts(rounds, len(kinds)):
        held = dealt(number, hands, size, rng) if few else _dealt_rows(author, size, rng)
        # What cannot be computed counts against finding something.
        beyond += (~(np.abs(_studentised(held, kinds)) < np.abs(seen) - 1e-9)).sum(axis=0)
    return np.where(np.isnan(seen), np.nan, (1 + beyond) / (1 + rounds))


def _parts(rounds: int, width: int) -> Iterator[int]:
    part = max(1, _CELLS // max(width, 1))
    for start in range(0, rounds, part):
        yield min(part, rounds - start)


def _dealt_rows(author: Ints, rounds: int, rng: np.random.Generator) -> Iterator[Mask]:
    """Authors dealt to the segments anew; for each author, which it has (rounds × segments)."""
    labels = np.tile(author.astype(np.int16), (rounds, 1))
    rng.permuted(labels, axis=1, out=labels)
    for one in range(int(author.max()) + 1):
        yield labels == one


def _studentised(hands: Iterable[Ints | Mask], moments: Floats) -> Floats:
    """Value ÷ standard error (shape: deals × columns).

    Args:
        hands: For each author, how many of each row it has (shape: deals × rows).
        moments: Shape rows × authors × 3 columns: values, their squares, whether they are known.
    """
    value, variance = np.zeros(()), np.zeros(())
    for one, hand in enumerate(hands):
        total, squares, count = np.split(hand.astype(np.float64) @ moments[:, one], 3, axis=1)
        mean = _mean(total, count)
        spread = np.maximum(squares - count * np.nan_to_num(mean) ** 2, 0.0)
        value, variance = value + mean, variance + _mean(spread, (count - 1) * count)
    error = np.sqrt(np.maximum(variance, _NOTHING))
    certain = np.where(np.abs(value) < 1e-9, 0.0, np.inf)
    found = np.where(variance > _NOTHING, value / error, certain)
    return np.where(np.isnan(value) | np.isnan(variance), np.nan, found)


def _sums(held: Floats) -> tuple[Floats, Floats]:
    known = ~np.isnan(held)
    return np.nan_to_num(held).sum(axis=0), known.sum(axis=0).astype(np.float64)


def _mean(total: Floats, count: Floats) -> Floats:
    mean = np.full(total.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean
