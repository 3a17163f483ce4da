"""Ranks, how far they can be trusted, and tiers.

Two agents are told apart only where the bootstrap interval of the difference of their scores
excludes 0, and these intervals hold for all pairs at once (largest studentised difference over
all pairs). Rank intervals follow from them: at best an agent is just behind those that are surely
better (Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for Ranks"); percentiles of
resampled ranks would be too narrow where agents are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerexam.stats.orders import Mask
from peerexam.stats.tables import Floats, Ints

_EQUAL = 9
"""Decimals to which scores must differ to differ: less is the order of summation."""


@dataclass(frozen=True, slots=True)
class Place:
    """One agent's place among those that have a score.

    Attributes:
        rank: Competition rank (1, 2, 2, 4).
        low: Best rank that the intervals allow.
        high: Worst rank that the intervals allow.
        tier: 1 is the best; agents of different tiers are all told apart.
    """

    rank: int
    low: int
    high: int
    tier: int


def competition_ranks(scores: Floats) -> list[int | None]:
    """Rank by score, the highest first, ties sharing the best rank (1, 2, 2, 4).

    >>> competition_ranks(np.array([0.8, 0.5, 0.8]))
    [1, 3, 1]

    Args:
        scores: Shape m; NaN has no rank.
    """
    rounded = np.round(scores, _EQUAL)
    better = (rounded[None, :] > rounded[:, None]).sum(axis=1)
    return [
        None if np.isnan(score) else int(above) + 1
        for score, above in zip(rounded, better, strict=True)
    ]


def told_apart(
    scores: Floats,
    replicates: Floats,
    confidence: float,
    shared: Ints,
) -> Mask:
    """Which pairs differ, with `confidence` for all pairs together.

    A pair is told apart where |difference| exceeds c standard errors; c is the quantile over the
    replicates of the largest studentised deviation of any pair. No pair is told apart on fewer
    root questions than a sign test needs where all agree, 2·½ⁿ ≤ (1 − confidence) / pairs:
    without that rule two questions that agree would prove anything.

    Args:
        scores: Shape m.
        replicates: Shape rounds × m.
        confidence: For all pairs at once.
        shared: Shape m × m, number of root questions that both agents stand on.

    Returns:
        Shape m × m: i scores higher than j and is told apart from it.
    """
    size = len(scores)
    difference = scores[:, None] - scores[None, :]
    error = np.zeros((size, size))
    worst = np.zeros(len(replicates))
    for i in range(size - 1):
        moved = replicates[:, i, None] - replicates[:, i + 1 :] - difference[i, i + 1 :]
        spread = _root_mean_square(moved)
        error[i, i + 1 :] = error[i + 1 :, i] = spread
        known = spread > 10.0**-_EQUAL
        if bool(known.any()):
            scaled = np.abs(moved[:, known]) / spread[known]
            worst = np.fmax(worst, np.fmax.reduce(scaled, axis=1))
    limit = float(np.quantile(worst, confidence)) if len(worst) else np.inf
    pairs = max(size * (size - 1) // 2, 1)
    needed = np.log2(2 * pairs / (1 - confidence))
    # n / (n - 1): the bootstrap's variance is that of the sample, not the unbiased one.
    wider = np.sqrt(shared / np.maximum(shared - 1, 1))
    sure = np.nan_to_num(difference) > np.maximum(limit * error * wider, 10.0**-_EQUAL)
    return np.asarray(sure & (shared >= needed), dtype=np.bool_)


def _root_mean_square(moved: Floats) -> Floats:
    known = ~np.isnan(moved)
    number = known.sum(axis=0)
    total = np.where(known, moved, 0.0) ** 2
    return np.asarray(np.sqrt(total.sum(axis=0) / np.maximum(number, 1)), dtype=np.float64)


def places(scores: Floats, apart: Mask) -> list[Place | None]:
    """Ranks, rank intervals and tiers.

    A tier ends only where everyone above is told apart from everyone below; so agents that are
    not told apart always share one.

    Args:
        scores: Shape m; NaN has no place.
        apart: As `told_apart` gives it.
    """
    ranks = competition_ranks(scores)
    placed = [i for i, rank in enumerate(ranks) if rank is not None]
    surely_better = apart.sum(axis=0)
    surely_worse = apart.sum(axis=1)
    order = sorted(placed, key=lambda i: -scores[i])
    tiers: dict[int, int] = {}
    tier = 1
    for position, item in enumerate(order):
        above, below = order[:position], order[position:]
        if position and bool(apart[np.ix_(above, below)].all()):
            tier += 1
        tiers[item] = tier
    return [
        None
        if rank is None
        else Place(
            rank,
            1 + int(surely_better[item]),
            len(placed) - int(surely_worse[item]),
            tiers[item],
        )
        for item, rank in enumerate(ranks)
    ]
