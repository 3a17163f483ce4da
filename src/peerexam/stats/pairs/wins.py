"""Who beats whom how often: win-rate matrices and the counts behind them.

A matrix of points `W` has in cell (i, j) the wins of i over j, a tie being half a win for each, so
`W + Wᵀ` is how often the two met. `W` per question is all that a bootstrap needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peerexam.stats.core.tables import Floats, Ints, Positions
from peerexam.stats.pairs.orders import Pairs

_CELLS_AT_ONCE = 1_000_000


def meetings(points: Floats) -> Floats:
    """How often i and j met (shape … × m × m), from points of i over j."""
    return points + np.swapaxes(points, -1, -2)


def win_rates(points: Floats) -> Floats:
    """Share of meetings that i won against j, ties half (examiner paper, Figure 4).

    Args:
        points: Shape … × m × m.

    Returns:
        The same shape; NaN where the two never met, so on the diagonal.
    """
    met = meetings(points)
    with np.errstate(invalid="ignore"):
        return np.where(met > 0, points / np.where(met > 0, met, 1), np.nan)


def mean_win_rate(points: Floats) -> Floats:
    """Mean of i's win rates against the others it met, every opponent weighing the same.

    NaN for an agent that met nobody.

    >>> scores = np.array([0.8, 0.8, 0.5])
    >>> mean_win_rate(implied_by_scores(scores)).tolist()
    [0.75, 0.75, 0.0]
    """
    rates = win_rates(points)
    known = ~np.isnan(rates)
    number = known.sum(axis=-1)
    total = np.where(known, rates, 0).sum(axis=-1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def implied_by_scores(scores: Floats) -> Floats:
    """Points of i over j where a higher score beats a lower one; NaN scores meet nobody.

    Args:
        scores: Shape … × m.

    Returns:
        Shape … × m × m, zero on the diagonal.
    """
    mine, other = scores[..., :, None], scores[..., None, :]
    points = (mine > other) + 0.5 * (mine == other)
    number = scores.shape[-1]
    points[..., np.arange(number), np.arange(number)] = 0
    return np.asarray(points, dtype=np.float64)


def direct_wins(pairs: Pairs, group: Ints, groups: int) -> Floats:
    """Points of i over j where the two answers stood side by side before a judge.

    Args:
        pairs: Results of pairs.
        group: Per row of `pairs`, the group it is added to (its question, cluster, judge, …).
        groups: How many groups there are.

    Returns:
        Shape groups × m × m.
    """
    size = len(pairs.agents)
    cells = groups * size * size
    over = (group * size + pairs.a) * size + pairs.b
    under = (group * size + pairs.b) * size + pairs.a
    won = np.bincount(over, weights=pairs.points, minlength=cells)
    lost = np.bincount(under, weights=1 - pairs.points, minlength=cells)
    return np.asarray(won + lost, dtype=np.float64).reshape(groups, size, size)


def implied_wins(positions: Positions, group: Ints, groups: int) -> Floats:
    """Points of i over j implied by rankings that hold both.

    Args:
        positions: Rankings as ranks.
        group: Per row of `positions`, the group it is added to.
        groups: How many groups there are.

    Returns:
        Shape groups × m × m.
    """
    size = len(positions.agents)
    wins = np.zeros((groups, size, size))
    for rows in row_blocks(len(group), size * size):
        np.add.at(wins, group[rows], implied_by_scores(-positions.rank[rows]))
    return wins


def row_blocks(rows: int, cells: int) -> Iterator[slice]:
    """Slices of rows, so large that a block of `cells` numbers a row stays within memory."""
    step = max(1, _CELLS_AT_ONCE // max(cells, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
