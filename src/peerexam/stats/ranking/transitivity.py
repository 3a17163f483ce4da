"""Whether one judge's verdicts fit together: circles, and contradictions to its own ranking."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Comparisons, Floats, Positions
from peerexam.stats.pairs.both_orders import FoldedRows, fold_rows
from peerexam.stats.pairs.orders import Disagreement
from peerexam.stats.pairs.wins import row_blocks

_LEVEL = 0.5
_TRIPLE = 3


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
    size = len(c.agents)
    for pairs in fold_rows(c, rule, orderless):
        lead = np.nan_to_num(pairs.points - 0.5)
        total = np.bincount(pairs.a * size + pairs.b, lead, minlength=size * size)
        margin = np.round(total.reshape(size, size), 9)
        margin = margin - margin.T
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
    for pairs in fold_rows(c, rule, orderless):
        circular, triples = 0.0, 0.0
        for wins, compared in _tournaments(pairs, len(c.agents)):
            circular += _closed_walks(wins)
            triples += _closed_walks(compared)
        found.append(Triads(round(circular / 3), round(triples / 6)))
    return found


def _tournaments(pairs: FoldedRows, size: int) -> Iterator[tuple[Floats, Floats]]:
    """Wins and compared pairs by question (questions × m × m), in blocks that fit into memory.

    Only of questions with three results or more: nothing less makes a triple.
    """
    rows = np.flatnonzero(~np.isnan(pairs.points))
    questions, place, results = np.unique(
        pairs.question[rows], return_inverse=True, return_counts=True
    )
    held = np.flatnonzero(results >= _TRIPLE)
    for block in row_blocks(len(held), size * size):
        number = np.full(len(questions), -1)
        number[held[block]] = np.arange(block.stop - block.start)
        part = rows[number[place] >= 0]
        at = number[place[number[place] >= 0]]
        wins, compared = np.zeros((2, block.stop - block.start, size, size))
        a, b, points = pairs.a[part], pairs.b[part], pairs.points[part]
        wins[at, a, b], wins[at, b, a] = points > _LEVEL, points < _LEVEL
        compared[at, a, b] = compared[at, b, a] = 1
        yield wins, compared


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
    same = positions.questions == c.questions
    row_of = {} if same else {name: row for row, name in enumerate(c.questions)}
    found = []
    for judge, pairs in enumerate(fold_rows(c, rule, orderless)):
        ranked = np.full(len(c.questions), -1)
        for row in np.flatnonzero(positions.judge == judge).tolist():
            question = int(positions.question[row])
            place = question if same else row_of.get(positions.questions[question], -1)
            if place >= 0:
                ranked[place] = row
        at = ranked[pairs.question]
        pair = np.flatnonzero((at >= 0) & ~np.isnan(pairs.points))
        rank, a, b = positions.rank[at[pair]], pairs.a[pair], pairs.b[pair]
        each = np.arange(len(pair))
        lead = np.sign(pairs.points[pair] - _LEVEL)
        below = np.sign(rank[each, a] - rank[each, b])  # above 0: a stands lower
        decided = (lead != 0) & ~np.isnan(below)
        turned = decided & (lead * below > 0)
        found.append(Contradictions(int(turned.sum()), int(decided.sum())))
    return found
