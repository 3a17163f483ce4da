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
from peerexam.stats.core.tables import Comparisons, Floats, Ints

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
    # Judge by judge, so that what is needed in between stays small beside the table itself.
    by_judge = [
        _combine_one(rows_where(c, c.judge == place), rule, name in orderless)
        for place, name in enumerate(c.judges)
    ]
    judge = [np.full(len(part.points), place) for place, part in enumerate(by_judge)]
    return Pairs(
        agents=c.agents,
        judges=c.judges,
        questions=c.questions,
        question=_joined([part.question for part in by_judge]),
        judge=_joined(judge),
        a=_joined([part.a for part in by_judge]),
        b=_joined([part.b for part in by_judge]),
        points=np.concatenate([np.zeros(0), *(part.points for part in by_judge)]),
        cluster=c.cluster,
        disagreeing=sum(part.disagreeing for part in by_judge),
        one_order=sum(part.one_order for part in by_judge),
        no_order=sum(part.no_order for part in by_judge),
    )


@dataclass(frozen=True, slots=True)
class _OneJudge:
    question: Ints
    a: Ints
    b: Ints
    points: Floats
    disagreeing: int
    one_order: int
    no_order: int


def _combine_one(c: Comparisons, rule: Disagreement, needs_one: bool) -> _OneJudge:
    size = max(len(c.agents), 1)
    forward = c.first < c.second
    low, high = np.minimum(c.first, c.second), np.maximum(c.first, c.second)
    keys, row = np.unique((c.question * size + low) * size + high, return_inverse=True)
    points = np.where(forward, c.points, 1 - c.points)
    one, two = (_mean(points, row, side, len(keys)) for side in (forward, ~forward))
    if needs_one:
        one, two = np.where(np.isnan(one), two, one), np.where(np.isnan(two), one, two)
    have = (~np.isnan(one)).astype(np.int64) + ~np.isnan(two)
    differ = (have == 2) & (one != two)
    result = np.where(differ, _disagreed(one, two, rule), one)
    result[have < 2] = np.nan
    keep = ~np.isnan(result)
    kept = keys[keep]
    return _OneJudge(
        kept // (size * size),
        kept // size % size,
        kept % size,
        result[keep],
        int(differ.sum()),
        int((have == 1).sum()),
        int((have == 0).sum()),
    )


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _mean(points: Floats, row: Ints, side: Mask, size: int) -> Floats:
    usable = side & ~np.isnan(points)
    number = np.bincount(row[usable], minlength=size)
    total = np.bincount(row[usable], weights=points[usable], minlength=size)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _disagreed(one: Floats, two: Floats, rule: Disagreement) -> Floats:
    if rule == "average":
        return (one + two) / 2
    return np.full(one.shape, 0.5 if rule == "tie" else np.nan)
