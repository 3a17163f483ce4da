"""How far people agree with each other: the ceiling of what agreement with them can mean.

Fleiss' κ for choices between two answers, Cohen's κ of two people, Krippendorff's α for scores.
Intervals draw whole questions with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import krippendorff
import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, expanded_quantiles, sum_by_cluster
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.resampling import bootstrap
from peerexam.stats.core.tables import Floats, Ints

_ONE_VOICE = "nothing was judged by two people"
_ONE_VALUE = "everybody always said the same thing"


def fleiss_kappa(
    votes: Floats,
    cluster: Ints,
    *,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Estimate:
    """Fleiss' κ: agreement beyond chance on categories, whoever the voters are.

    κ = (P − Pₑ) / (1 − Pₑ); P is the mean over items of the share of agreeing pairs of votes, Pₑ
    the sum of the squared shares of the categories (Fleiss 1971). Items may have different numbers
    of votes; those with fewer than two are left out.

    Args:
        votes: How many votes an item got in each category (shape: items × categories).
        cluster: The question of each item.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the interval.

    Raises:
        StatisticsError: The arrays do not list the same items.
    """
    if votes.ndim != 2 or len(votes) != len(cluster):
        raise StatisticsError("Fleiss' kappa needs the votes and the question of every item")
    number = votes.sum(axis=1)
    kept = number >= 2
    held, total = votes[kept], number[kept]
    agreeing = (held * (held - 1)).sum(axis=1) / (total * (total - 1))
    rows = np.column_stack([agreeing, np.ones(len(held)), total, held])
    return _estimate(
        rows, cluster[kept], _kappa, rounds, rng, confidence, int((~kept).sum()), "Fleiss' kappa"
    )


def cohen_kappa(
    one: Floats,
    other: Floats,
    cluster: Ints,
    *,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Estimate:
    """Cohen's κ of two people: agreement beyond that of their own shares of each category.

    κ = (P − Pₑ) / (1 − Pₑ); P is the share of items on which they agree, Pₑ the sum over categories
    of the product of the two's shares (Cohen 1960, "A coefficient of agreement for nominal
    scales"). Categories have no order: a tie against a choice is as wrong as the other choice.

    Args:
        one: What the first said of each item; NaN where nothing.
        other: The same of the second.
        cluster: The question of each item.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the interval.

    Returns:
        `n` counts items that both judged, `left_out` those that one of them did.

    Raises:
        StatisticsError: The arrays do not list the same items.
    """
    if not one.shape == other.shape == cluster.shape:
        raise StatisticsError("Cohen's kappa needs both people's choices and the question of each")
    both = ~np.isnan(one) & ~np.isnan(other)
    left_out = int((~np.isnan(one) ^ ~np.isnan(other)).sum())
    kinds = np.unique(np.concatenate([one[both], other[both]]))
    said = [(part[both][:, None] == kinds).astype(np.float64) for part in (one, other)]
    agreeing = (one[both] == other[both]).astype(np.float64)
    rows = np.column_stack([agreeing, np.ones(len(agreeing)), *said])
    return _estimate(
        rows, cluster[both], _kappa_of_two, rounds, rng, confidence, left_out, "Cohen's kappa"
    )


def krippendorff_alpha(
    scores: Sequence[Sequence[float]],
    cluster: Ints,
    *,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's α of scores on an interval scale (squared differences).

    α = 1 − Dₒ / Dₑ (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"): the value by
    the package `krippendorff`, the bootstrap by the same formula over sums. Items with fewer than
    two scores are left out.

    Args:
        scores: What people gave each item.
        cluster: The question of each item.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the interval.

    Raises:
        StatisticsError: The arrays do not list the same items.
    """
    if len(scores) != len(cluster):
        raise StatisticsError("Krippendorff's alpha needs the question of every item")
    kept = np.array([len(one) >= 2 for one in scores], dtype=np.bool_)
    rows = np.array([_moments(one) for one in scores if len(one) >= 2]).reshape(-1, 4)
    left_out = int((~kept).sum())
    name = "Krippendorff's alpha, interval scale"
    found = _estimate(rows, cluster[kept], _alpha, rounds, rng, confidence, left_out, name)
    if found.value is None:
        return found
    return replace(found, value=_interval_alpha([one for one in scores if len(one) >= 2]))


def _interval_alpha(scores: Sequence[Sequence[float]]) -> float:
    values = np.unique(np.concatenate([np.asarray(one, np.float64) for one in scores]))
    counts = np.zeros((len(scores), len(values)))
    for row, one in enumerate(scores):
        np.add.at(counts[row], np.searchsorted(values, one), 1.0)
    return float(
        krippendorff.alpha(
            value_counts=counts, value_domain=values, level_of_measurement="interval"
        )
    )


def _moments(scores: Sequence[float]) -> tuple[float, float, float, float]:
    number, total = float(len(scores)), float(sum(scores))
    squares = float(sum(score * score for score in scores))
    return 2 * (number * squares - total**2) / (number - 1), number, total, squares


def _estimate(
    rows: Floats,
    cluster: Ints,
    statistic: Callable[[Floats], Floats],
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
    left_out: int,
    name: str,
) -> Estimate:
    check_settings(rounds, confidence)
    if not len(rows):
        return Estimate(None, left_out=left_out, method=name, reason=_ONE_VOICE)
    value = float(statistic(rows.sum(axis=0)[None, :])[0])
    if np.isnan(value):
        return Estimate(None, n=len(rows), left_out=left_out, method=name, reason=_ONE_VALUE)
    place = np.asarray(np.unique(cluster, return_inverse=True)[1], dtype=np.int64)
    sums = sum_by_cluster(rows, place)
    ends: tuple[float, float] | tuple[None, None] = (None, None)
    if len(sums) >= 2:
        drawn = bootstrap([sums], lambda parts: statistic(parts[0]), rounds=rounds, rng=rng)
        ends = expanded_quantiles(drawn, len(sums), confidence)
    method = f"{name}; bootstrap over questions"
    return Estimate(value, ends[0], ends[1], n=len(rows), left_out=left_out, method=method)


def _kappa(sums: Floats) -> Floats:
    observed = sums[:, 0] / sums[:, 1]
    expected = ((sums[:, 3:] / sums[:, 2:3]) ** 2).sum(axis=1)
    return _corrected(observed - expected, 1.0 - expected)


def _kappa_of_two(sums: Floats) -> Floats:
    shares = sums / sums[:, 1:2]
    one, other = np.split(shares[:, 2:], 2, axis=1)
    expected = (one * other).sum(axis=1)
    return _corrected(shares[:, 0] - expected, 1.0 - expected)


def _alpha(sums: Floats) -> Floats:
    disagreement, number, total, squares = sums.T
    expected = 2 * (number * squares - total**2) / (number - 1)
    return _corrected(expected - disagreement, expected)


def _corrected(above: Floats, below: Floats) -> Floats:
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 1e-12)
    return out
