"""Shares of trials that come in clusters, their differences, and what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.all_alike import alike, alike_interval, worth
from peerexam.stats.core.cluster_ratio import (
    check_settings,
    resampled_ratios,
    share_interval,
    sum_by_cluster,
)
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.interval_test import interval_with_p, percentile_with_p
from peerexam.stats.core.tables import Floats, Ints


def clustered_share(
    hits: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    left_out: int = 0,
    confidence: float = 0.95,
    reason: str = "nothing to count",
) -> Estimate:
    """Mean of trials between 0 and 1, with an interval that respects their clusters.

    Args:
        hits: One a trial: 1 where it succeeded, 0 where not, or something between.
        clusters: Which cluster each belongs to.
        left_out: Trials beside these that could not be counted.
        confidence: Of the interval.
        reason: What to say where there is no trial.

    Returns:
        `n` counts the trials; no interval with fewer than two clusters.

    Raises:
        StatisticsError: The two differ in length, or `confidence` is no probability.
    """
    check_settings(1, confidence)
    rows, number, method = _placed(hits, clusters, "share; cluster-robust Wilson interval")
    if not len(rows):
        return Estimate(None, left_out=left_out, method=method, reason=reason)
    sums = sum_by_cluster(np.stack([rows, np.ones(len(rows))], axis=1), number)
    low, high = share_interval(sums[:, 0], sums[:, 1], confidence) or (None, None)
    return Estimate(float(rows.mean()), low, high, n=len(rows), left_out=left_out, method=method)


def clustered_difference(
    differences: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    left_out: int = 0,
    rounds: int = 2000,
    confidence: float = 0.95,
    reason: str = "nothing to count",
) -> Estimate:
    """Mean of paired differences: bootstrap interval over clusters, and the test that fits it.

    Where all clusters say the same there is nothing to resample, and a bootstrap would claim to be
    sure: the interval is then the exact bound of how many could differ (`stats.all_alike`).

    Args:
        differences: One a pair, from -1 to 1.
        clusters: Which cluster each belongs to.
        seed: Of the bootstrap.
        left_out: Pairs beside these that could not be counted.
        rounds: Of the bootstrap.
        confidence: Of the interval.
        reason: What to say where there is no pair.

    Returns:
        `n` counts the pairs; neither interval nor p with fewer than two clusters.

    Raises:
        StatisticsError: The two differ in length, or a setting is out of bounds.
    """
    check_settings(rounds, confidence)
    method = "mean paired difference; bootstrap by cluster, p the level at which it reaches 0"
    rows, number, method = _placed(differences, clusters, method)
    if not len(rows):
        return Estimate(None, left_out=left_out, method=method, reason=reason)
    sums = sum_by_cluster(np.stack([rows, np.ones(len(rows))], axis=1), number)
    one = Estimate(float(rows.mean()), n=len(rows), left_out=left_out, method=method)
    if len(sums) < 2:
        return one
    if alike(sums[:, 0] / sums[:, 1]):
        value, seen = float(rows.mean()), worth(sums[:, 1])
        low, high, p = interval_with_p(lambda c: alike_interval(value, 1.0, seen, c), confidence)
        method = f"{method}; all clusters are alike"
    else:
        rng = np.random.default_rng(seed)
        drawn = resampled_ratios(sums[:, :1], sums[:, 1:], rounds, rng)
        low, high, p = percentile_with_p(drawn[:, 0], len(sums), confidence)
    return replace(one, low=low, high=high, p=p, method=method)


def chance_share(
    ones: Sequence[Hashable],
    others: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    left_out: int = 0,
    confidence: float = 0.95,
    reason: str = "nothing to count",
) -> Estimate:
    """How often values would meet their like, were partners drawn at random: `chance_agreement`.

    Each value is met by the partners of all other clusters, so that one more of a common kind moves
    the shares of all. The interval counts what a pair does on either side; that of the shares alone
    would take the others' values as given, and may hold the truth in no more than 64 of 100 draws.

    Args:
        ones: One a pair.
        others: The partners.
        clusters: Of the pairs.
        left_out: Pairs beside these that could not be counted.
        confidence: Of the interval.
        reason: What to say where there is no pair.

    Returns:
        `n` counts the pairs; no interval with fewer than two clusters.
    """
    check_settings(1, confidence)
    met = np.array(chance_agreement(ones, others, clusters))
    meeting = np.array(chance_agreement(others, ones, clusters))
    method = "share; cluster-robust Wilson interval over both sides of a pair"
    rows, number, method = _placed(met.tolist(), clusters, method)
    if not len(rows):
        return Estimate(None, left_out=left_out, method=method, reason=reason)
    moved = rows + meeting - meeting.mean()
    sums = sum_by_cluster(np.stack([moved, np.ones(len(rows))], axis=1), number)
    low, high = share_interval(sums[:, 0], sums[:, 1], confidence) or (None, None)
    return Estimate(float(rows.mean()), low, high, n=len(rows), left_out=left_out, method=method)


def chance_agreement(
    ones: Sequence[Hashable], others: Sequence[Hashable], clusters: Sequence[Hashable]
) -> list[float]:
    """How often each value would meet its like in another cluster, were partners drawn at random.

    A model that says "0" to everything agrees with itself always, and so by chance too.

    Args:
        ones: One a pair.
        others: The partners.
        clusters: Of the pairs.

    Returns:
        One a pair: the share of the partners of all other clusters that equal it; 0 where there
        is no other cluster.
    """
    everywhere = Counter(others)
    within = Counter(zip(clusters, others, strict=True))
    sizes = Counter(clusters)
    shares = []
    for one, cluster in zip(ones, clusters, strict=True):
        elsewhere = len(others) - sizes[cluster]
        alike = everywhere[one] - within[cluster, one]
        shares.append(alike / elsewhere if elsewhere else 0.0)
    return shares


def _placed(
    rows: Sequence[float], clusters: Sequence[Hashable], method: str
) -> tuple[Floats, Ints, str]:
    if len(rows) != len(clusters):
        raise StatisticsError("every trial needs its cluster")
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    number = np.array([names[name] for name in clusters], dtype=np.int64)
    return np.asarray(rows, dtype=np.float64), number, f"{method} ({len(names)} clusters)"
