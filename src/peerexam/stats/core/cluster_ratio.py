"""Ratios of sums over clusters of questions: intervals and tests that respect the clusters.

Verdicts on one question hang together (the same answers, the same two orders), so nothing here
works on rows. A rate is Σ numerator ÷ Σ denominator over clusters, and one cluster's two sums are
all that is kept of it. Arrays have the shape clusters × columns, a column being one agent's rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.resampling import cluster_weights
from peerexam.stats.core.tables import Floats, Ints

_CELLS = 2_000_000
"""Random weights held in memory at a time."""


def sum_by_cluster(values: Floats, cluster: Ints) -> Floats:
    """Sum rows (questions × columns) that share a cluster (clusters × columns)."""
    clusters = int(cluster.max()) + 1 if len(cluster) else 0
    sums = np.zeros((clusters, values.shape[1]))
    np.add.at(sums, cluster, values)
    return sums


def student_quantile(probability: float, freedom: int) -> float:
    """Student's t quantile by Cornish–Fisher expansion: to 1 % from 4 degrees of freedom on.

    Source: Abramowitz and Stegun (1964), 26.7.5.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom**power) for power, term in enumerate(terms, 1))


def check_settings(rounds: int, confidence: float) -> None:
    """Refuse what no interval can be made from.

    Raises:
        StatisticsError: `rounds` is below 1, or `confidence` not between 0 and 1.
    """
    if rounds < 1:
        raise StatisticsError(f"rounds must be at least 1, not {rounds}")
    if not 0 < confidence < 1:
        raise StatisticsError(f"confidence must lie between 0 and 1, not {confidence}")


def share_interval(
    numerator: Floats, denominator: Floats, confidence: float
) -> tuple[float, float] | None:
    """Interval of one share (a column of shape clusters), without resampling.

    The share's cluster-robust (linearised) variance gives the number of independent trials that
    would be as uncertain; Wilson's interval for so many, with Student's quantile, keeps within
    0..1 and has a width where all or none succeeded (there, every cluster counts as one trial).
    Where every cluster has the same share between 0 and 1, nothing tells of other clusters but that
    few differ: as many of them as Wilson's interval allows after none in so many, each as far as
    the ends of the scale.

    Returns:
        Low and high, or None where fewer than two clusters count.
    """
    used = denominator > 0
    clusters = int(used.sum())
    if clusters < 2:
        return None
    total = float(denominator[used].sum())
    share = float(numerator[used].sum()) / total
    residuals = numerator[used] - share * denominator[used]
    variance = clusters / (clusters - 1) * float(residuals @ residuals) / total**2
    spread = share * (1 - share)
    z = student_quantile(0.5 + confidence / 2, clusters - 1)
    if variance > 1e-18:
        return wilson_score(share, spread / variance, z)
    differing = wilson_score(0.0, float(clusters), z)[1]
    return share * (1 - differing), share + (1 - share) * differing


def wilson_score(share: float, trials: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many effective trials, with a quantile of one's own."""
    shrink = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    half = z / shrink * float(np.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2)))
    return max(0.0, centre - half), min(1.0, centre + half)


def draws(
    rounds: int, clusters: int, rng: np.random.Generator, cells: int = _CELLS
) -> Iterator[Floats]:
    """Bootstrap weights: how often each cluster is drawn (shape: part of the rounds × clusters).

    The same draws whatever `cells` is, which says how many weights are held at a time.
    """
    part = max(1, cells // max(clusters, 1))
    for start in range(0, rounds, part):
        yield cluster_weights(clusters, min(part, rounds - start), rng)


def expanded_quantiles(values: Floats, clusters: int, confidence: float) -> tuple[float, float]:
    """Percentile interval of bootstrap values, widened for few clusters.

    Plain percentiles are too narrow by √((K−1)/K) and by the normal in place of Student's t.

    Source: Hesterberg (2015), What teachers should know about the bootstrap, §5.2 (expanded
    percentile interval).
    """
    tail = expanded_tail(clusters, confidence)
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)


def expanded_tail(clusters: int, confidence: float) -> float:
    """Share of bootstrap values that an expanded percentile interval leaves out on each side."""
    wide = student_quantile(0.5 + confidence / 2, clusters - 1)
    return NormalDist().cdf(-wide * (clusters / (clusters - 1)) ** 0.5)


def resampled_ratios(
    numerator: Floats, denominator: Floats, rounds: int, rng: np.random.Generator
) -> Floats:
    """Every column's ratio, whole clusters drawn with replacement (shape: rounds × columns).

    NaN where a draw has none of a column.
    """
    parts = []
    for weights in draws(rounds, len(numerator), rng):
        below = weights @ denominator
        ratio = np.full_like(below, np.nan)
        np.divide(weights @ numerator, below, out=ratio, where=below > 0)
        parts.append(ratio)
    return np.concatenate(parts)


def bootstrap_ratios(
    numerator: Floats,
    denominator: Floats,
    *,
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[tuple[float, float] | None]:
    """Bootstrap interval of every column's ratio, whole clusters drawn with replacement.

    Returns:
        Per column low and high, or None where fewer than two clusters count.
    """
    clusters = len(numerator)
    counted = (denominator > 0).sum(axis=0)
    if clusters < 2:
        return [None] * numerator.shape[1]
    ratios = resampled_ratios(numerator, denominator, rounds, rng)
    return [
        expanded_quantiles(ratios[:, column], int(used), confidence) if used >= 2 else None
        for column, used in enumerate(counted)
    ]
