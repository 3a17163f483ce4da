"""Bootstrap over root questions, on sums and never on rows.

All answers, marks and verdicts that go back to one root question rise and fall together, so whole
root questions are drawn. A replicate is then weights × sums: how often each root question was
drawn, times what was added up for it. Judges can be drawn as a second axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints

_CELLS_AT_ONCE = 1_000_000


def cluster_weights(clusters: int, rounds: int, rng: Generator) -> Floats:
    """How often each cluster is drawn when as many as there are are drawn with replacement.

    Returns:
        Shape rounds × clusters; every row sums to `clusters`.
    """
    drawn = rng.integers(0, clusters, size=(rounds, clusters))
    drawn += np.arange(rounds)[:, None] * clusters
    counts = np.bincount(drawn.ravel(), minlength=rounds * clusters)
    return counts.reshape(rounds, clusters).astype(np.float64)


def bootstrap(
    sums: Sequence[Floats],
    statistic: Callable[[Sequence[Floats]], Floats],
    *,
    rounds: int,
    rng: Generator,
    judges: bool = False,
) -> Floats:
    """Replicates of a statistic of sums.

    Args:
        sums: Arrays whose first axis is the root question; with `judges`, the second is the judge.
        statistic: From the sums, with a leading axis of rounds in place of these axes, to an array
            with the same leading axis.
        rounds: How many replicates.
        rng: Where the draws come from.
        judges: Draw judges too, independently of the questions.

    Returns:
        Shape rounds × whatever the statistic gives.

    Raises:
        StatisticsError: There is no question (or no judge) to draw.
    """
    clusters = sums[0].shape[0]
    panel = sums[0].shape[1] if judges else 1
    if clusters == 0 or panel == 0:
        raise StatisticsError("nothing to resample: no question or no judge")
    flat = [part.reshape(clusters, -1) for part in sums]
    widest = max([clusters, *(part.shape[1] for part in flat)])
    step = max(1, _CELLS_AT_ONCE // widest)
    out: list[Floats] = []
    for first in range(0, rounds, step):
        count = min(step, rounds - first)
        weights = cluster_weights(clusters, count, rng)
        drawn = [
            (weights @ part).reshape(count, *whole.shape[1:])
            for part, whole in zip(flat, sums, strict=True)
        ]
        if judges:
            chosen = cluster_weights(panel, count, rng)
            drawn = [np.einsum("rk,rk...->r...", chosen, part) for part in drawn]
        out.append(statistic(drawn))
    return np.concatenate(out)


def resample_results(wins: Ints, ties: Ints, rounds: int, rng: Generator) -> Floats:
    """Points matrices of replicates where every single result is drawn by itself.

    For results that come without questions (arena votes). Exact: a draw of n results with
    replacement is multinomial over the cells of the count matrices.

    Args:
        wins: Shape m × m, how often i beat j.
        ties: Shape m × m, how often i and j tied, each pair once (above the diagonal).
        rounds: How many replicates.
        rng: Where the draws come from.

    Returns:
        Shape rounds × m × m, points of i over j.
    """
    size = len(wins)
    outcomes = np.concatenate([wins.ravel(), np.triu(ties, 1).ravel()]).astype(np.int64)
    at = np.flatnonzero(outcomes)
    total = int(outcomes.sum())
    if total == 0:
        raise StatisticsError("nothing to resample: no result")
    points = np.zeros((rounds, 2 * size * size))
    points[:, at] = rng.multinomial(total, outcomes[at] / total, size=rounds)
    won, tied = (part.reshape(rounds, size, size) for part in np.split(points, 2, axis=1))
    if not bool(ties.any()):
        return won
    return np.asarray(won + 0.5 * (tied + np.swapaxes(tied, 1, 2)), dtype=np.float64)


def percentile_interval(replicates: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Percentile interval per column; NaN replicates are passed over, NaN where all are.

    Args:
        replicates: Shape rounds × m.
        confidence: Of the interval, between 0 and 1.
    """
    tail = (1 - confidence) / 2
    low = np.full(replicates.shape[1:], np.nan)
    high = low.copy()
    some = ~np.isnan(replicates).all(axis=0)
    if bool(some.any()):
        low[some], high[some] = np.nanquantile(replicates[:, some], [tail, 1 - tail], axis=0)
    return low, high
