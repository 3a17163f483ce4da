"""PRD's peer rank: win rates in which a reviewer weighs what it scores itself.

Li, Patel and Du, "PRD: Peer Rank and Discussion Improve Large Language Model Based Evaluations",
as their notebook computes it. An alternative to the voting rules of `votes`, and for comparison
with published tables: it takes for granted that who answers well also judges well, it counts
judgements of own answers, and min-max scaling gives the worst reviewer the weight 0 however good
it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Comparisons, Floats
from peerexam.stats.pairs.orders import agent_of_judge

Scaling = Literal["minmax", "softmax"]
"""From win rates to weights: (x − min) / (max − min), or exp(x); then divided by their sum."""


@dataclass(frozen=True, slots=True)
class PeerRank:
    """The last iteration's win rates, and the weights that follow from them.

    Attributes:
        win_rates: By agent, ties half. Under weights they are no shares, and may exceed 1.
        weights: By judge; they sum to 1.
    """

    win_rates: Mapping[str, float]
    weights: Mapping[str, float]


def peer_rank(c: Comparisons, *, iterations: int = 5, scaling: Scaling = "minmax") -> PeerRank:
    """Win rates and weights, each from the other, so often.

    The first iteration weighs all judges alike. Weights are used divided by their mean. A judge
    that does not answer has no win rate, and gets the mean of those of the others. Rows without a
    verdict are left out.

    Raises:
        StatisticsError: There is no verdict, `iterations` is below 1, or no such scaling.
    """
    if iterations < 1 or scaling not in ("minmax", "softmax"):
        raise StatisticsError("peer rank needs at least 1 iteration, and minmax or softmax")
    points, battles = _totals(c)
    played = battles.sum(axis=0)
    if not played.any():
        raise StatisticsError("peer rank needs at least one verdict")
    agent = agent_of_judge(c.agents, c.judges)
    weights = np.full(len(c.judges), 1.0 / len(c.judges))
    rates = np.full(len(c.agents), np.nan)
    for _ in range(iterations):
        np.divide(weights / weights.mean() @ points, played, out=rates, where=played > 0)
        own = np.where(agent >= 0, rates[agent], np.nan)
        weights = _scaled(np.where(np.isnan(own), _mean(own), own), scaling)
    return PeerRank(
        {name: float(rate) for name, rate in zip(c.agents, rates, strict=True) if rate == rate},
        {name: float(weight) for name, weight in zip(c.judges, weights, strict=True)},
    )


def _totals(c: Comparisons) -> tuple[Floats, Floats]:
    """Points and verdicts, both judges × agents."""
    known = ~np.isnan(c.points)
    points, battles = (np.zeros((len(c.judges), len(c.agents))) for _ in range(2))
    judge, won = c.judge[known], c.points[known]
    for side, gained in ((c.first[known], won), (c.second[known], 1.0 - won)):
        np.add.at(points, (judge, side), gained)
        np.add.at(battles, (judge, side), 1.0)
    return points, battles


def _mean(rates: Floats) -> float:
    known = rates[~np.isnan(rates)]
    return float(known.mean()) if len(known) else 0.0


def _scaled(rates: Floats, scaling: Scaling) -> Floats:
    if scaling == "softmax":
        scaled = np.exp(rates)
    else:
        spread = rates.max() - rates.min()
        # Where all are alike, nobody weighs more than another.
        scaled = (rates - rates.min()) / spread if spread > 0 else np.ones(len(rates))
    return np.asarray(scaled / scaled.sum(), dtype=np.float64)
