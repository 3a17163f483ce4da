"""One construction for an interval and for the test beside it.

A test of its own (random signs, permuted authors) can say p = .02 beside an interval that holds 0.
Here the p-value is read off the intervals: the smallest level α at which that of confidence 1 − α
leaves 0 out. So an interval leaves 0 out exactly where p is below 1 less its confidence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from peerexam.stats.core.cluster_ratio import expanded_quantiles, expanded_tail
from peerexam.stats.core.tables import Floats

Ends = tuple[float, float]

LEAST = 1e-9
"""The smallest p-value that is told of: that of intervals which nothing was drawn for."""
_STEPS = 40
_ROUNDING = 1e-12
_APART = 1e-4
"""By how much of the level p stays below it where the interval leaves 0 out, rounded too."""


def interval_with_p(
    at: Callable[[float], Ends], confidence: float, finest: float = LEAST
) -> tuple[float, float, float]:
    """The interval of one confidence, and the two-sided p-value of "the true value is 0".

    Args:
        at: From a confidence to the interval's ends; the wider, the higher the confidence.
        confidence: Of the interval that is wanted.
        finest: The smallest level that the construction resolves; no p-value is below it, but
            where the interval wanted is itself finer.

    Returns:
        Low, high and p.

    >>> # Holds 0 from a confidence of ½ on.
    >>> low, high, p = interval_with_p(lambda c: (1 - 2 * c, 1 + 2 * c), 0.95)
    >>> round(low, 6), round(high, 6), round(p, 6)
    (-0.9, 2.9, 0.5)
    """
    wanted = round(1 - confidence, 12)  # 1 − 0.95 is not 0.05 but a little more
    low, high = _whole(at(confidence))
    if low <= 0 <= high:
        inside, outside = wanted, 1.0
    else:
        inside, outside = min(finest, wanted / 2), wanted
        if not _holds_zero(at, inside):
            return low, high, min(finest, wanted * (1 - _APART))
    for _ in range(_STEPS):
        level = (inside * outside) ** 0.5
        if _holds_zero(at, level):
            inside = level
        else:
            outside = level
    if not low <= 0 <= high:
        return low, high, min(inside, wanted * (1 - _APART))
    # Within rounding of 1, 0 is the middle of every interval.
    return low, high, 1.0 if inside > 1 - 1e-6 else inside


def percentile_with_p(
    draws: Floats, clusters: int, confidence: float
) -> tuple[float, float, float]:
    """`interval_with_p` for bootstrap values and their expanded percentile interval.

    No p-value is smaller than so many draws of so few clusters resolve: there the interval's
    tail would hold less than one draw.

    Args:
        draws: Bootstrap values (shape: rounds), NaN where a draw has none.
        clusters: How many clusters were drawn from, 2 or more.
        confidence: Of the interval.
    """
    kept = np.sort(draws[~np.isnan(draws)])

    def ends(wanted: float) -> Ends:
        return expanded_quantiles(kept, clusters, wanted)

    return interval_with_p(ends, confidence, finest_level(len(kept), clusters))


def finest_level(rounds: int, clusters: int) -> float:
    """The smallest level at which each tail of an expanded percentile interval holds one draw."""
    below, above = LEAST, 1.0
    for _ in range(_STEPS):
        level = (below * above) ** 0.5
        if expanded_tail(clusters, 1 - level) < 1 / (1 + rounds):
            below = level
        else:
            above = level
    return above


def _holds_zero(at: Callable[[float], Ends], level: float) -> bool:
    low, high = _whole(at(1 - level))
    return low <= 0 <= high


def _whole(ends: Ends) -> Ends:
    """Ends that miss 0 by rounding alone are 0."""
    low, high = (0.0 if abs(end) <= _ROUNDING else end for end in ends)
    return low, high
