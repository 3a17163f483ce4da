"""Two verdicts on one pair, one in each order, put together to one result.

A judge that names the same winner in both orders has decided; one that changes its mind with the
order has said more about places than about answers, and a rule says what that is worth.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import StatisticsError
from peerexam.stats.tables import Comparisons, Floats, Ints

Disagreement = Literal["tie", "average", "abstain"]
"""What orders that disagree are worth: a tie, the mean of both, or nothing (missing)."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Results of unordered pairs, one row a (question, judge, pair) that has a result.

    Attributes:
        a: Per row, the agent with the smaller index.
        b: Per row, the other agent.
        points: Per row, of a against b: 1, ½ or 0, and quarters under the rule `average`.
        cluster: Per question, its root question.
        disagreeing: How many pairs had orders that disagree (results under `tie` and `average`).
        one_order: How many pairs are missing because only one order has a verdict.
        no_order: How many pairs are missing because neither order has one.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    a: Ints
    b: Ints
    points: Floats
    cluster: Ints
    disagreeing: int
    one_order: int
    no_order: int

    def rows_where(self, keep: Mask | Ints) -> Pairs:
        """The same table with only some rows; the counts beside it stay."""
        return replace(
            self,
            question=self.question[keep],
            judge=self.judge[keep],
            a=self.a[keep],
            b=self.b[keep],
            points=self.points[keep],
        )


def agent_of_judge(agents: tuple[str, ...], judges: tuple[str, ...]) -> Ints:
    """Per judge its index among the agents, -1 for a judge that does not answer."""
    at = {name: place for place, name in enumerate(agents)}
    return np.array([at.get(name, -1) for name in judges], dtype=np.int64)


def on_own_answer(c: Comparisons) -> Mask:
    """Per row, whether the judge wrote one of the two answers."""
    own = agent_of_judge(c.agents, c.judges)[c.judge]
    return np.asarray((own == c.first) | (own == c.second), dtype=np.bool_)


def rows_where(c: Comparisons, keep: Mask) -> Comparisons:
    """The same table with only the rows to keep; names and clusters stay."""
    return replace(
        c,
        question=c.question[keep],
        judge=c.judge[keep],
        first=c.first[keep],
        second=c.second[keep],
        points=c.points[keep],
    )


def combine_orders(
    c: Comparisons, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> Pairs:
    """One result per (question, judge, unordered pair) from the verdicts in both orders.

    The same winner twice is a win and two ties are a tie. What else there is are orders that
    disagree: `tie` gives ½, `average` the mean of both, `abstain` no result. A pair with a verdict
    in one order only has no result either, and is counted. A verdict that was given more than once
    in one order counts with its mean.

    Args:
        c: Verdicts, one row an order.
        rule: What disagreement is worth.
        orderless: Judges that see no order (likelihood), for whom one order is enough.

    Raises:
        StatisticsError: A row compares an agent with itself.
    """
    if bool(np.any(c.first == c.second)):
        raise StatisticsError("a verdict compares an agent with itself; leave such rows out")
    size = len(c.agents)
    forward = c.first < c.second
    low, high = np.minimum(c.first, c.second), np.maximum(c.first, c.second)
    code = ((c.question * len(c.judges) + c.judge) * size + low) * size + high
    keys, row = np.unique(code, return_inverse=True)
    points = np.where(forward, c.points, 1 - c.points)
    one, two = (_mean(points, row, side, len(keys)) for side in (forward, ~forward))
    judge = keys // (size * size) % max(len(c.judges), 1)
    needs_one = np.isin(judge, [k for k, name in enumerate(c.judges) if name in orderless])
    one, two = (
        np.where(needs_one & np.isnan(one), two, one),
        np.where(needs_one & np.isnan(two), one, two),
    )
    have = (~np.isnan(one)).astype(np.int64) + ~np.isnan(two)
    differ = (have == 2) & (one != two)
    result = np.where(differ, _disagreed(one, two, rule), one)
    result[have < 2] = np.nan
    keep = ~np.isnan(result)
    kept = keys[keep]
    return Pairs(
        agents=c.agents,
        judges=c.judges,
        questions=c.questions,
        question=kept // (size * size * max(len(c.judges), 1)),
        judge=judge[keep],
        a=kept // max(size, 1) % max(size, 1),
        b=kept % max(size, 1),
        points=result[keep],
        cluster=c.cluster,
        disagreeing=int(differ.sum()),
        one_order=int((have == 1).sum()),
        no_order=int((have == 0).sum()),
    )


def _mean(points: Floats, row: Ints, side: Mask, size: int) -> Floats:
    usable = side & ~np.isnan(points)
    number = np.bincount(row[usable], minlength=size)
    total = np.bincount(row[usable], weights=points[usable], minlength=size)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _disagreed(one: Floats, two: Floats, rule: Disagreement) -> Floats:
    if rule == "average":
        return (one + two) / 2
    return np.full(one.shape, 0.5 if rule == "tie" else np.nan)
