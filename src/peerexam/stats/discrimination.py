"""Discrimination against generation: DG-Diff = S_disc − S_gen (Self-[In]Correct, §3).

Above zero means that the chosen candidates score higher than candidates taken at random. Scores
are an array of the shape items × candidates; both phases share the candidates, so that everything
here is paired by item. Items that hang together (the turns of a conversation) share a cluster, and
whole clusters are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.all_alike import alike, alike_interval, worth
from peerexam.stats.core.cluster_ratio import (
    resampled_ratios,
    share_interval,
    sum_by_cluster,
)
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.interval_test import interval_with_p, percentile_with_p
from peerexam.stats.core.tables import Floats, Ints

ROUNDS = 10_000
CONFIDENCE = 0.95
NO_CHOICE = -1
"""Stands for a reply that names no candidate."""

NOTHING = "no item has all it takes"
"""Why there is no value where no item counts."""


def credited(scores: Floats, chosen: Ints) -> Floats:
    """S_disc of each item: the chosen candidate's score, the lowest one where there is no choice.

    Args:
        scores: Items × candidates.
        chosen: Index of the chosen candidate, or `NO_CHOICE`; shape items.

    >>> credited(np.array([[0.0, 1.0], [0.4, 0.2]]), np.array([1, NO_CHOICE])).tolist()
    [1.0, 0.2]
    """
    rows = np.arange(len(scores))
    return np.where(chosen == NO_CHOICE, scores.min(axis=1), scores[rows, chosen])


def majority(scores: Floats, groups: Ints) -> Floats:
    """The score of the answer that most candidates give (self-consistency), for each item.

    Where several answers are given equally often, the mean over their candidates, which is what
    choosing one of these at random comes to.

    Args:
        scores: Items × candidates.
        groups: The same shape: candidates with the same answer have the same number; −1 has none.
    """
    same = (groups[:, :, None] == groups[:, None, :]) & (groups >= 0)[:, :, None]
    votes = same.sum(axis=2)
    leading = votes == votes.max(axis=1, keepdims=True)
    return np.asarray((scores * leading).sum(axis=1) / leading.sum(axis=1), dtype=np.float64)


def elected(scores: Floats, votes: Floats) -> Floats:
    """The score of the candidate that most choosers name, for each item.

    Where several have as many votes, the mean over them; where nobody names any, the lowest
    candidate, as with one chooser (§4.1).

    Args:
        scores: Items × candidates.
        votes: The same shape.

    >>> scores = np.array([[1.0, 0.0, 0.4], [1.0, 0.0, 0.4], [1.0, 0.2, 0.4]])
    >>> elected(scores, np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [1.0, 0.5, 0.2]
    """
    leading = votes == votes.max(axis=1, keepdims=True)
    means = (scores * leading).sum(axis=1) / leading.sum(axis=1)
    return np.asarray(np.where(votes.any(axis=1), means, scores.min(axis=1)))


def difference(
    first: Floats,
    second: Floats,
    cluster: Ints,
    span: float,
    *,
    seed: int,
    left_out: int = 0,
    rounds: int = ROUNDS,
) -> Estimate:
    """The mean of first − second, with a paired bootstrap interval and the test that fits it.

    Where all clusters say the same (most often that nothing differs) there is nothing to resample:
    the interval is then the exact bound of how many could differ, each as far as a difference can
    be (`stats.all_alike`).

    Args:
        first: One value an item.
        second: The same.
        cluster: Number of each item's cluster, from 0.
        span: The largest difference there can be.
        seed: Of the bootstrap.
        left_out: Items without values.
        rounds: Of the bootstrap.
    """
    _check(first, second, cluster)
    if len(first) == 0:
        return _nothing(left_out)
    method = (
        f"paired bootstrap by item ({rounds:,} rounds, seed {seed}), p the level at which it "
        "reaches 0"
    )
    gap = first - second
    sums = sum_by_cluster(gap[:, None], cluster)
    counts = sum_by_cluster(np.ones((len(gap), 1)), cluster)
    low, high, p = _interval(sums, counts, span, seed, rounds)
    return Estimate(float(gap.mean()), low, high, p, None, len(gap), left_out, method)


def mean_score(
    values: Floats, cluster: Ints, scale: tuple[float, float], *, left_out: int = 0
) -> Estimate:
    """A mean score and its interval, which stays on the scale."""
    _check(values, values, cluster)
    if len(values) == 0:
        return _nothing(left_out)
    low_end, high_end = scale
    shares = (values - low_end) / (high_end - low_end)
    sums = sum_by_cluster(shares[:, None], cluster)[:, 0]
    counts = sum_by_cluster(np.ones((len(values), 1)), cluster)[:, 0]
    found = share_interval(sums, counts, CONFIDENCE)
    if found is None:
        return Estimate(
            float(values.mean()),
            n=len(values),
            left_out=left_out,
            method="one cluster: no interval",
        )
    low, high = (low_end + end * (high_end - low_end) for end in found)
    method = "mean; Wilson's interval with a cluster-robust variance"
    return Estimate(
        float(values.mean()), low, high, n=len(values), left_out=left_out, method=method
    )


def task_average(pairs: Sequence[tuple[float, float]]) -> float:
    """The mean DG-Diff over models (last line of Tables 2 and 4), each pair S_gen and S_disc.

    Raises:
        StatisticsError: There is no pair.
    """
    if not pairs:
        raise StatisticsError("no model, no average")
    return sum(second - first for first, second in pairs) / len(pairs)


def _interval(
    sums: Floats, counts: Floats, span: float, seed: int, rounds: int
) -> tuple[float, float, float]:
    """Low, high and p; one cluster is alike with itself, and has the bound of one."""
    means = (sums / counts)[:, 0]
    if alike(means):
        value, seen = float(means.mean()), worth(counts[:, 0])
        return interval_with_p(lambda c: alike_interval(value, span, seen, c), CONFIDENCE)
    drawn = resampled_ratios(sums, counts, rounds, np.random.default_rng((seed, 0)))
    low, high, p = percentile_with_p(drawn[:, 0], len(sums), CONFIDENCE)
    return max(low, -span), min(high, span), p


def _check(first: Floats, second: Floats, cluster: Ints) -> None:
    if not len(first) == len(second) == len(cluster):
        raise StatisticsError("values and clusters must be as many as there are items")


def _nothing(left_out: int) -> Estimate:
    return Estimate(None, left_out=left_out, reason=NOTHING)
