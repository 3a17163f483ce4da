"""How far a mean may be off where all that was seen of it is alike.

A bootstrap over values that are all the same draws that value only, and its interval has no width:
it would claim to be sure after two segments as after two thousand. What the values do say is that
few others can differ. Were a share q of all segments different, n of them would come out alike with
a chance of at most (1 − q)ⁿ, so that at confidence 1 − α

    q ≤ 1 − α^(1/n)

(the exact bound, 3 ÷ n for a large n: the rule of three), and each could differ as far as the scale
goes.
"""

from __future__ import annotations

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints

_NO_ROOM = 1e-12

QUESTIONS_ALIKE = "questions all alike: exact bound of how many could differ"
"""What an estimate's method ends with where a bootstrap over questions had nothing to draw."""

ALIKE = 1e-9
"""Values are alike that are no further apart; ranks and win points are coarser by far."""


def alike(values: Floats) -> bool:
    """Whether all values that are not NaN are the same; not so where there is none."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and float(np.ptp(known)) <= ALIKE


def worth(weights: Floats) -> float:
    """How many values of one weight those of several weights are worth: Σ w ÷ max w.

    Of a mean with weights, those that count most may be the ones that differ. At most as many as
    there are, and as many where all weights are the same.
    """
    return float(weights.sum() / weights.max())


def most_moved(room: Floats, n: Floats | Ints, confidence: float) -> float:
    """How far a sum of means may be off where each mean's values are all alike.

    Largest Σ room_a q_a over all shares q that leave what was seen a chance of α = 1 − confidence:
    Π (1 − q_a)^(n_a) ≥ α. With one mean it is room × (1 − α^(1/n)).

    Args:
        room: One a mean, at least 0: from its value to the end of its scale.
        n: One a mean: how many values were seen, or what those seen are worth.
        confidence: Of the bound.

    Raises:
        StatisticsError: A mean has room and no value.

    >>> round(most_moved(np.array([2.0]), np.array([12]), 0.95), 3)  # 2 × (1 − 0.05^(1 ÷ 12))
    0.442
    """
    free = room > _NO_ROOM
    if bool((n[free] < 1).any()):
        raise StatisticsError("a mean of no value has no bound")
    spent = np.log(1 - confidence)
    rest = room.astype(np.float64), n.astype(np.float64)
    # At the largest, 1 − q_a = λ n_a ÷ room_a; where that exceeds 1, nothing is gained by q_a.
    while free.any():
        width, number = (one[free] for one in rest)
        level = (spent - float(number @ np.log(number / width))) / float(number.sum())
        share = 1 - np.exp(level) * number / width
        if bool((share >= 0).all()):
            return float(width @ share)
        places = np.flatnonzero(free)
        free[places[share < 0]] = False
    return 0.0


def alike_interval(value: float, span: float, n: float, confidence: float) -> tuple[float, float]:
    """Interval of one mean whose values are all alike.

    Args:
        value: The mean.
        span: Of the scale's two ends, −span and span.
        n: How many values were seen.
        confidence: Of the interval.
    """
    below, above = (
        most_moved(np.array([span + side]), np.array([n]), confidence) for side in (value, -value)
    )
    return value - below, value + above


def widened(
    value: float, ends: tuple[float, float], moved: tuple[float, float]
) -> tuple[float, float]:
    """An interval of a sum of which one part was resampled and the other was all alike.

    The two parts are independent, and their distances to each end are squared and added (Zou and
    Donner 2008: the method of variance estimates recovery).

    Args:
        value: The sum.
        ends: Its interval, were the part that is alike certain.
        moved: How far that part may be below and above what was seen.
    """
    low = value - float(np.hypot(value - ends[0], moved[0]))
    high = value + float(np.hypot(ends[1] - value, moved[1]))
    return low, high
