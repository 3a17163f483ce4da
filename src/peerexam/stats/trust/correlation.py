"""Rank correlation of a judge's scores with people's, with intervals clustered by question.

Spearman's ρ and Kendall's τ-b over answers (examiner paper, §4.1 and Table 2). The answers to one
question hang together, so the bootstrap draws whole questions; a replicate is a weighting of the
answers, and both coefficients are computed from weights, all replicates at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.resampling import cluster_weights
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.judges.agreement import CONSTANT, TOO_FEW, kendall_tau

Ends = tuple[float, float] | tuple[None, None]
"""Of an interval."""

_CELLS = 2_000_000
"""Weights, or signs of differences, that are held in memory at a time."""


def spearman(one: Floats, other: Floats) -> float | None:
    """Spearman's ρ of two scores of the same items, ties at their average rank.

    Args:
        one: Shape items, without NaN.
        other: The same items.

    Returns:
        None where a score is constant or there are fewer than two items.
    """
    if len(one) < 2 or len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        return None
    return float(_weighted_rho(one, other)(np.ones((1, len(one))))[0])


def pearson(one: Floats, other: Floats) -> float | None:
    """Pearson's r of two scores of the same items; see `spearman`."""
    if len(one) < 2 or len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        return None
    return float(_weighted_r(np.ones((1, len(one))), one[None, :], other[None, :])[0])


def rank_correlations(
    human: Floats,
    judge: Floats,
    cluster: Ints,
    *,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> tuple[Estimate, Estimate]:
    """Spearman's ρ and Kendall's τ-b over answers.

    The time grows with rounds × answers².

    Args:
        human: Shape answers; NaN where nobody scored it.
        judge: The same answers; NaN where the judge gave no score.
        cluster: The question of each answer.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the intervals.

    Returns:
        ρ and τ; `n` counts the answers with both scores, `left_out` those that people scored and
        the judge did not. Without a value where a score is constant; without an interval where
        there is but one question.

    Raises:
        StatisticsError: The arrays do not list the same answers.
    """
    check_settings(rounds, confidence)
    if not human.shape == judge.shape == cluster.shape or human.ndim != 1:
        raise StatisticsError("correlations need scores of the same answers")
    both = ~np.isnan(human) & ~np.isnan(judge)
    left_out = int((~np.isnan(human)).sum()) - int(both.sum())
    x, y = human[both], judge[both]
    reason = TOO_FEW if len(x) < 2 else CONSTANT
    rho, tau = spearman(x, y), kendall_tau(x, y).value
    if rho is None or tau is None:
        empty = Estimate(None, n=len(x), left_out=left_out, reason=reason)
        return empty, empty
    drawn = _Drawn(np.unique(cluster[both], return_inverse=True)[1], rounds, rng, confidence)
    method = "bootstrap over questions, expanded percentiles"

    def estimate(value: float, ends: Ends, name: str) -> Estimate:
        return Estimate(
            value, ends[0], ends[1], n=len(x), left_out=left_out, method=f"{name}; {method}"
        )

    return (
        estimate(rho, drawn.interval(_weighted_rho(x, y)), "Spearman's rho"),
        estimate(tau, drawn.interval(_weighted_tau(x, y)), "Kendall's tau-b"),
    )


class _Drawn:
    """Bootstrap weights of answers, the same for every statistic."""

    def __init__(
        self, cluster: Ints, rounds: int, rng: np.random.Generator, confidence: float
    ) -> None:
        self._cluster = cluster
        self._clusters = int(cluster.max()) + 1
        self._confidence = confidence
        step = max(1, _CELLS // max(1, len(cluster)))
        self._parts = [min(step, rounds - start) for start in range(0, rounds, step)]
        self._seed = int(rng.integers(2**63))

    def interval(self, statistic: Callable[[Floats], Floats]) -> Ends:
        """Low and high of a statistic of weights (rounds × answers → rounds)."""
        if self._clusters < 2:
            return None, None
        rng = np.random.default_rng(self._seed)
        found = []
        for size in self._parts:
            weights = cluster_weights(self._clusters, size, rng)
            found.append(statistic(weights[:, self._cluster]))
        values = np.concatenate(found)
        if bool(np.isnan(values).all()):
            return None, None
        return expanded_quantiles(values, self._clusters, self._confidence)


def _weighted_rho(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
    rank_x, rank_y = _weighted_ranks(x), _weighted_ranks(y)
    return lambda weights: _weighted_r(weights, rank_x(weights), rank_y(weights))


def _weighted_r(weights: Floats, x: Floats, y: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / total
    dy = y - (weights * y).sum(axis=1, keepdims=True) / total
    spread = np.sqrt((weights * dx**2).sum(axis=1) * (weights * dy**2).sum(axis=1))
    together = (weights * dx * dy).sum(axis=1)
    return _divided(together, spread)


def _divided(above: Floats, below: Floats) -> Floats:
    """A quotient, NaN where a replicate has nothing to correlate."""
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 1e-12)
    return np.asarray(np.clip(out, -1.0, 1.0), dtype=np.float64)


def _levels(score: Floats) -> tuple[Ints, Ints, Ints]:
    """The order by score, and per item (as it was given) where its level starts and ends."""
    order = np.argsort(score, kind="stable")
    _, code, size = np.unique(score, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    return order, (end - size)[code], end[code]


def _weighted_ranks(score: Floats) -> Callable[[Floats], Floats]:
    """Average ranks under weights: half way through the weight of the item's level."""
    order, start, end = _levels(score)

    def ranks(weights: Floats) -> Floats:
        sums = np.zeros((len(weights), len(score) + 1))
        np.cumsum(weights[:, order], axis=1, out=sums[:, 1:])
        return np.asarray((sums[:, start] + sums[:, end]) / 2.0, dtype=np.float64)

    return ranks


def _weighted_tau(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """τ-b under weights: an item of weight w stands for w items, tied with each other."""
    block = max(1, _CELLS // len(x))

    def tau(weights: Floats) -> Floats:
        together = np.zeros(len(weights))
        for first in range(0, len(x), block):
            rows = slice(first, first + block)
            signs = np.sign(x[rows, None] - x) * np.sign(y[rows, None] - y)
            together += ((weights @ signs.T) * weights[:, rows]).sum(axis=1)
        return _divided(together, np.sqrt(_untied(weights, x) * _untied(weights, y)))

    return tau


def _untied(weights: Floats, score: Floats) -> Floats:
    """Twice the weight of the pairs that differ in a score."""
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=np.nan))
    levels = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray(weights.sum(axis=1) ** 2 - (levels**2).sum(axis=1), dtype=np.float64)
