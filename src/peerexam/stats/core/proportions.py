"""Intervals of a proportion."""

from __future__ import annotations

from statistics import NormalDist

from peerexam.stats.core.estimate import Estimate


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a proportion (Wilson 1927), None without a trial.

    Unlike the textbook interval it stays within 0 and 1 and says something about 0 of n.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if trials == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (
        z
        / (1 + z * z / trials)
        * (share * (1 - share) / trials + z * z / (4 * trials * trials)) ** 0.5
    )
    # Of none the lower end is 0, and of all the upper end is 1, which rounding may miss.
    low = middle - half if successes > 0 else 0.0
    high = middle + half if successes < trials else 1.0
    return max(0.0, low), min(1.0, high)


def wilson_share(
    count: int,
    n: int,
    confidence: float = 0.95,
    *,
    left_out: int = 0,
    method: str,
    reason: str | None = None,
) -> Estimate:
    """The share `count` / `n` with Wilson's interval; without a trial, the reason for none."""
    ends = wilson(count, n, confidence)
    if ends is None:
        return Estimate(None, left_out=left_out, method=method, reason=reason)
    return Estimate(count / n, *ends, n=n, left_out=left_out, method=method)
