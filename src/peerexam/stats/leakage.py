"""What a list of similarities from 0 to 1 says: their mean, and above all how its tail looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, sum_by_cluster
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson_share
from peerexam.stats.core.resampling import bootstrap, percentile_interval
from peerexam.stats.core.tables import Floats

PERCENTILES = (90, 95, 99)
THRESHOLDS = (0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class SimilarityTail:
    """Figures of one list of similarities.

    Attributes:
        mean: With a bootstrap interval over clusters.
        median: With the same.
        percentiles: Percent to the value that so many of the list do not exceed.
        shares: Threshold to the share of the list at or above it, with Wilson's interval.
    """

    mean: Estimate
    median: Estimate
    percentiles: Mapping[int, float]
    shares: Mapping[float, Estimate]


def similarity_tail(
    values: Sequence[float],
    clusters: Sequence[int],
    *,
    seed: int,
    rounds: int = 1000,
    confidence: float = 0.95,
) -> SimilarityTail:
    """Mean, median and tail of similarities.

    Args:
        values: One a question, 0 to 1.
        clusters: Which questions hang together (a question and its follow-ups), numbered from 0.
        seed: Of the bootstrap.
        rounds: Replicates of the bootstrap.
        confidence: Of all intervals.

    Raises:
        StatisticsError: There is no value, or the settings make no interval.
    """
    check_settings(rounds, confidence)
    if not values:
        raise StatisticsError("no similarity to describe: no question has a word")
    table = np.asarray(values, dtype=np.float64)
    return SimilarityTail(
        _mean(table, clusters, seed, rounds, confidence),
        _median(table, clusters, seed, rounds, confidence),
        {q: float(np.percentile(table, q)) for q in PERCENTILES},
        {one: _share(table, one, confidence) for one in THRESHOLDS},
    )


def _mean(
    table: Floats, clusters: Sequence[int], seed: int, rounds: int, confidence: float
) -> Estimate:
    columns = np.stack([table, np.ones_like(table)], axis=1)
    sums = sum_by_cluster(columns, np.asarray(clusters, dtype=np.int64))
    replicates = bootstrap(
        [sums],
        lambda drawn: np.asarray(drawn[0][:, 0] / drawn[0][:, 1]),
        rounds=rounds,
        rng=np.random.default_rng(seed),
    )
    low, high = percentile_interval(replicates, confidence)
    return Estimate(
        float(table.mean()),
        float(low),
        float(high),
        n=len(table),
        method="mean; percentile bootstrap over questions with their follow-ups",
    )


def _median(
    table: Floats, clusters: Sequence[int], seed: int, rounds: int, confidence: float
) -> Estimate:
    numbers = np.asarray(clusters, dtype=np.int64)
    order = np.argsort(table, kind="stable")
    ordered, belongs = table[order], numbers[order]
    rng = np.random.default_rng(seed)
    count = int(numbers.max()) + 1
    drawn = np.empty(rounds)
    for at in range(rounds):
        weights = np.bincount(rng.integers(0, count, size=count), minlength=count)[belongs]
        drawn[at] = np.median(np.repeat(ordered, weights))
    low, high = percentile_interval(drawn, confidence)
    return Estimate(
        float(np.median(table)),
        float(low),
        float(high),
        n=len(table),
        method="median; percentile bootstrap over questions with their follow-ups",
    )


def _share(table: Floats, threshold: float, confidence: float) -> Estimate:
    above = int((table >= threshold).sum())
    return wilson_share(above, len(table), confidence, method="share; Wilson's score interval")
