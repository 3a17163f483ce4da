"""Whether one judge's verdicts fit together: circles, and contradictions to its own ranking."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.both_orders import fold_orders
from peerexam.stats.orders import Disagreement
from peerexam.stats.tables import Comparisons, Floats, Positions


@dataclass(frozen=True, slots=True)
class Triads:
    """Circular triads (a beats b beats c beats a) among the triples that could be one.

    Attributes:
        count: How many are circular.
        of: How many triples, over all questions, have all three pairs compared, ties included.
    """

    count: int
    of: int


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Direct verdicts that the same judge's ranking turns round.

    Attributes:
        count: How many pairs the ranking has the other way round.
        of: How many pairs have a direct winner and stand in the ranking, both of them.
    """

    count: int
    of: int


def preference_cycles(
    c: Comparisons, *, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> list[list[tuple[str, ...]]]:
    """Agents that go in circles in each judge's majority over all questions.

    An edge leads from a to b where a has won more questions against b than it has lost, direct
    verdicts only. A strongly connected component of two or more agents is a circle that no order
    can hold: each of its members beats another that, in the end, beats it.

    Returns:
        Per judge the circles, members sorted; none where the majorities fit into one order.
    """
    import networkx as nx  # a report's need, and not cheap to import

    found = []
    for orders in fold_orders(c, rule, orderless):
        margin = np.nansum(orders.points - 0.5, axis=0)
        graph = nx.DiGraph(
            (c.agents[a], c.agents[b]) for a, b in zip(*np.nonzero(margin > 0), strict=True)
        )
        components = nx.strongly_connected_components(graph)
        found.append(sorted(tuple(sorted(names)) for names in components if len(names) > 1))
    return found


def circular_triads(
    c: Comparisons, *, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> list[Triads]:
    """Count each judge's circular triads over the questions' tournaments of direct verdicts.

    Both orders are folded first, so a circle that only the places made shows as ties. A triple
    with a tie is comparable but never circular. With W the matrix of wins and C that of compared
    pairs, the counts are tr W³ ÷ 3 and tr C³ ÷ 6, which needs no loop over triples.

    Source: Kendall and Babington Smith (1940), On the method of paired comparisons, §8.
    """
    found = []
    for orders in fold_orders(c, rule, orderless):
        wins = (orders.points > 0.5).astype(np.float64)
        compared = (~np.isnan(orders.points)).astype(np.float64)
        found.append(Triads(round(_closed_walks(wins) / 3), round(_closed_walks(compared) / 6)))
    return found


def _closed_walks(adjacency: Floats) -> float:
    """Closed walks of three steps, summed over questions."""
    return float(((adjacency @ adjacency) * adjacency.transpose(0, 2, 1)).sum())


def order_contradictions(
    c: Comparisons,
    positions: Positions,
    *,
    rule: Disagreement = "tie",
    orderless: Collection[str] = (),
) -> list[Contradictions]:
    """Count each judge's direct verdicts a > b whose ranking puts b above a.

    A sort trusts transitivity; where a judge's verdicts do not have it, the sorted order must turn
    some of them round, and this says how many. Ties, in the verdict or in the ranking, contradict
    nothing.

    Raises:
        StatisticsError: Comparisons and rankings list other agents or judges.
    """
    if positions.agents != c.agents or positions.judges != c.judges:
        raise StatisticsError("comparisons and rankings must list the same agents and judges")
    row_of = {name: row for row, name in enumerate(c.questions)}
    found = []
    for judge, orders in enumerate(fold_orders(c, rule, orderless)):
        rank = np.full((len(c.questions), len(c.agents)), np.nan)
        for row in np.flatnonzero(positions.judge == judge):
            question = row_of.get(positions.questions[positions.question[row]])
            if question is not None:
                rank[question] = positions.rank[row]
        below = rank[:, :, None] - rank[:, None, :]  # above 0: the row's agent stands lower
        decided = (orders.points > 0.5) & ~np.isnan(below)
        found.append(Contradictions(int((decided & (below > 0)).sum()), int(decided.sum())))
    return found
