"""What judges gave each other's answers, summed so that any judge can be taken out again.

Own, peers' and third parties' views of a pair are all differences of the same few sums over judges,
so the whole table (questions × judges × agents × agents) is never held in memory.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerexam.stats.core.tables import Comparisons, Floats
from peerexam.stats.pairs.both_orders import fold_orders, was_sorted
from peerexam.stats.pairs.orders import Disagreement, Mask, agent_of_judge


@dataclass(frozen=True, slots=True)
class PairPoints:
    """Points of the row's agent against the column's (shape: questions × agents × agents).

    Attributes:
        total: Summed over all judges that have a result; 0 where none has.
        count: How many judges that are.
        own: By the row's agent as judge; NaN where it is none or has no result.
        asked: The row's agent was asked, as judge, about this pair of its own.
        related: Sum and number, as `total` and `count`, over judges that wrote neither answer and
            are no third parties all the same; None where there is no such judge.
    """

    total: Floats
    count: Floats
    own: Floats
    asked: Mask
    related: tuple[Floats, Floats] | None = None

    def peers(self) -> Floats:
        """Mean over all judges but the row's agent; NaN where there is none."""
        known = ~np.isnan(self.own)
        return _mean(self.total - np.where(known, self.own, 0.0), self.count - known)

    def third_party_sums(self) -> tuple[Floats, Floats]:
        """Sum and number over the judges that are neither the row's agent nor the column's.

        Nor one model with either, as far as that was told.
        """
        rival = 1.0 - self.own.transpose(0, 2, 1)
        total = self.total - np.nan_to_num(self.own) - np.nan_to_num(rival)
        count = self.count - ~np.isnan(self.own) - ~np.isnan(rival)
        if self.related is not None:
            total, count = total - self.related[0], count - self.related[1]
        return np.where(count > 0, total, 0.0), count

    def third_party(self) -> Floats:
        """Mean over those judges; NaN where there is none."""
        return _mean(*self.third_party_sums())


@dataclass(frozen=True, slots=True)
class PeerRanks:
    """Ranks of agents, 1 the best, ties averaged (shape: questions × agents).

    Attributes:
        own: In the agent's own ranking as judge; NaN where that is missing or incomplete.
        peers: Mean over the complete rankings of all other judges; NaN where there is none.
    """

    own: Floats
    peers: Floats


def _mean(total: Floats, count: Floats) -> Floats:
    mean = np.full(total.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def pair_points(
    c: Comparisons,
    rule: Disagreement,
    orderless: Collection[str] = (),
    related: Mask | None = None,
) -> PairPoints:
    """Sum the judges' folded results: of pairs that stood side by side before the judge only.

    What a sort implies about other pairs is not counted. Its chance differs from that of a direct
    comparison (ties join whole groups), so a judge's direct verdicts on its own answers would
    differ from it without any preference.

    Args:
        c: Verdicts.
        rule: What two orders that disagree amount to.
        orderless: Judges that see no order.
        related: Who wrote neither answer and is no third party all the same (shape: judges × agents
            × agents), as `bias_peers.Peers.related` has it.
    """
    shape = (len(c.questions), len(c.agents), len(c.agents))
    total, count, own = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    asked: Mask = np.zeros(shape, dtype=np.bool_)
    kin = None
    if related is not None and bool(related.any()):
        kin = np.zeros(shape), np.zeros(shape)
    agent_at = agent_of_judge(c.agents, c.judges)
    folded = fold_orders(c, rule, orderless)
    for judge, (agent, orders) in enumerate(zip(agent_at, folded, strict=True)):
        points = orders.points
        total += np.nan_to_num(points)
        count += ~np.isnan(points)
        if agent >= 0:
            own[:, agent] = points[:, agent]
            asked[:, agent] = orders.asked[:, agent]
        if kin is not None and related is not None and bool(related[judge].any()):
            seen = ~np.isnan(points) & related[judge]
            kin[0][seen] += points[seen]
            kin[1][seen] += 1
    return PairPoints(total, count, own, asked, kin)


def any_sorted(c: Comparisons) -> bool:
    """Whether some judge sorted in place of comparing every pair."""
    return any(was_sorted(orders) for orders in fold_orders(c))


def peer_ranks(c: Comparisons, rule: Disagreement, orderless: Collection[str] = ()) -> PeerRanks:
    """Rank all agents by their points, per question and judge (paper 004, §2, within a segment).

    Only complete rankings count: a result for every pair. An abstention is no preference, so it
    counts as a tie here.
    """
    shape = (len(c.questions), len(c.agents))
    own, total, count = np.full(shape, np.nan), np.zeros(shape), np.zeros(len(c.questions))
    settled: Disagreement = "tie" if rule == "abstain" else rule
    agent_at = agent_of_judge(c.agents, c.judges)
    for agent, orders in zip(agent_at, fold_orders(c, settled, orderless), strict=True):
        rank = ranks_of_points(orders.points)
        complete: Mask = ~np.isnan(rank[:, 0])
        total += np.nan_to_num(rank)
        count += complete
        if agent >= 0:
            own[:, agent] = rank[:, agent]
    known: Mask = ~np.isnan(own)
    return PeerRanks(own, _mean(total - np.where(known, own, 0.0), count[:, None] - known))


def ranks_of_points(points: Floats) -> Floats:
    """Average ranks by the sum of points; a row of NaN where a pair has no result."""
    agents = points.shape[1]
    pairs: NDArray[np.bool_] = ~np.eye(agents, dtype=np.bool_)
    complete = ~np.any(np.isnan(points) & pairs, axis=(1, 2))
    score = np.where(pairs, points, 0.0).sum(axis=2).round(6)
    above = (score[:, None, :] > score[:, :, None]).sum(axis=2)
    level = (score[:, None, :] == score[:, :, None]).sum(axis=2)
    ranks: Floats = np.where(complete[:, None], above + (level + 1) / 2, np.nan)
    return ranks
