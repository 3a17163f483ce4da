"""Ranks, how far they can be trusted, and tiers.

All three follow from which pairs are separated (`pair_tests`), for all pairs at once: at best an
agent is just behind those that are surely better (Mogstad, Romano, Shaikh and Wilhelm 2024,
"Inference for Ranks"); percentiles of resampled ranks would be too narrow where agents are alike.
Agents that never met, directly or through others, are in different groups, and no rank, interval or
tier reaches across.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask

_EQUAL = 9
"""Decimals to which scores must differ to differ: less is the order of summation."""


@dataclass(frozen=True, slots=True)
class Place:
    """One agent's place among those that have a score.

    Attributes:
        rank: Competition rank (1, 2, 2, 4).
        low: Best rank that the intervals allow.
        high: Worst rank that the intervals allow.
        tier: 1 is the best; agents of different tiers are all separated.
        group: Agents of different groups never met; all else holds within the group.
    """

    rank: int
    low: int
    high: int
    tier: int
    group: int = 1


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


def resampled_apart(scores: Floats, replicates: Floats, confidence: float) -> Mask:
    """Which pairs differ by a bootstrap of their scores, with `confidence` for all pairs together.

    A pair differs where |difference| exceeds c standard errors; c is the quantile over the
    replicates of the largest studentised deviation of any pair. Of few questions this claims too
    much; it stands beside `pair_tests`, where judges are drawn too, or a rule looks at majorities.

    Args:
        scores: Shape m.
        replicates: Shape rounds × m.
        confidence: For all pairs at once.

    Returns:
        Shape m × m: i scores higher than j and the two differ.
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
    sure = np.nan_to_num(difference) > np.maximum(limit * error, 10.0**-_EQUAL)
    return np.asarray(sure, dtype=np.bool_)


def scored_above(scores: Floats) -> Mask:
    """Whether i scores higher than j, by more than the order of summation (shape m × m)."""
    rounded = np.round(scores, _EQUAL)
    return np.asarray(rounded[:, None] > rounded[None, :], dtype=np.bool_)


def _root_mean_square(moved: Floats) -> Floats:
    known = ~np.isnan(moved)
    number = known.sum(axis=0)
    total = np.where(known, moved, 0.0) ** 2
    return np.asarray(np.sqrt(total.sum(axis=0) / np.maximum(number, 1)), dtype=np.float64)


def places(scores: Floats, apart: Mask, groups: Ints | None = None) -> list[Place | None]:
    """Ranks, rank intervals and tiers, by group.

    A tier ends only where everyone above is separated from everyone below; so agents that are
    not separated always share one.

    Args:
        scores: Shape m; NaN has no place.
        apart: Shape m × m: i scores higher than j and is separated from it.
        groups: As `pair_tests.met_groups` gives them; None for one group of all.
    """
    of = np.zeros(len(scores), dtype=np.int64) if groups is None else groups
    found: list[Place | None] = [None] * len(scores)
    for number in range(int(of.max(initial=-1)) + 1):
        members = np.flatnonzero(of == number)
        inside = _places(scores[members], apart[np.ix_(members, members)], number + 1)
        for item, place in zip(members, inside, strict=True):
            found[item] = place
    return found


def _places(scores: Floats, apart: Mask, group: int) -> list[Place | None]:
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
            group,
        )
        for item, rank in enumerate(ranks)
    ]
