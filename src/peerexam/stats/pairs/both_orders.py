"""One judge's verdicts, folded from two orders into one result a pair.

`orders.combine_orders` gives the same results as rows; here they are dense matrices of one judge at
a time, which is what sums over peers and circles need, and nothing is lost: what was asked
but not answered stays visible. The rule is the same:

- the orders agree (the same winner, or a tie twice): that result;
- they disagree: a tie (`tie`), the mean of both (`average`), or nothing (`abstain`);
- one of them is missing or unreadable: nothing, since the place would then decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Comparisons, Floats, Ints
from peerexam.stats.pairs.orders import Disagreement, Mask

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class BothOrders:
    """One judge's results; every array has the shape questions × agents × agents.

    Attributes:
        points: Of the row's agent against the column's: 1, ½, 0 (¼ and ¾ where a win and a tie
            were averaged), NaN where there is no result. `points + points.T == 1`.
        asked: The judge was asked about this pair in at least one order.
        readable: It gave a readable verdict in both orders.
        agree: It did, and both said the same.
    """

    points: Floats
    asked: Mask
    readable: Mask
    agree: Mask


def fold_orders(
    c: Comparisons, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> Iterator[BothOrders]:
    """Fold the two orders, one judge after the other in the order of `c.judges`.

    Where an order was asked more than once, its verdicts are averaged first. For judges named in
    `orderless` (they see no order) one verdict stands for both orders.

    Raises:
        StatisticsError: There is no such rule.
    """
    _check(rule)
    for rows, name in zip(rows_by_judge(c), c.judges, strict=True):
        yield _fold(c, rows, rule, name in orderless)


def _check(rule: str) -> None:
    if rule not in ("tie", "average", "abstain"):
        raise StatisticsError(f"no rule '{rule}' for orders that disagree: tie, average, abstain")


def _fold(c: Comparisons, rows: Ints, rule: Disagreement, one_is_enough: bool) -> BothOrders:
    agents = len(c.agents)
    shape = (len(c.questions), agents, agents)
    size = shape[0] * agents * agents
    cell = (c.question[rows] * agents + c.first[rows]) * agents + c.second[rows]
    points = c.points[rows]
    known = ~np.isnan(points)
    asked = np.bincount(cell, minlength=size).reshape(shape) > 0
    count = np.bincount(cell[known], minlength=size).reshape(shape)
    total = np.bincount(cell[known], points[known], minlength=size).reshape(shape)
    shown_first = np.full(shape, np.nan)
    np.divide(total, count, out=shown_first, where=count > 0)
    shown_second = 1.0 - shown_first.transpose(0, 2, 1)
    if one_is_enough:
        shown_first = np.where(np.isnan(shown_first), shown_second, shown_first)
        shown_second = np.where(np.isnan(shown_second), shown_first, shown_second)
    readable = ~np.isnan(shown_first) & ~np.isnan(shown_second)
    agree = readable & (np.abs(shown_first - shown_second) < _CLOSE)
    return BothOrders(
        _settle(shown_first, shown_second, agree, rule),
        asked | asked.transpose(0, 2, 1),
        readable,
        agree,
    )


@dataclass(frozen=True, slots=True)
class FoldedRows:
    """One judge's results as rows, one a (question, pair) that it was asked about.

    What grows with verdicts and not with questions × agents². Names as in `BothOrders`.

    Attributes:
        question: Per row.
        a: Per row, the agent with the smaller index.
        b: Per row, the other.
        points: Of a against b, NaN where there is no result.
        readable: Whether there is a readable verdict in both orders.
        agree: Whether both said the same.
    """

    question: Ints
    a: Ints
    b: Ints
    points: Floats
    readable: Mask
    agree: Mask


def fold_rows(
    c: Comparisons, rule: Disagreement = "tie", orderless: Collection[str] = ()
) -> Iterator[FoldedRows]:
    """Fold the two orders as `fold_orders` does, one judge after the other."""
    _check(rule)
    for rows, name in zip(rows_by_judge(c), c.judges, strict=True):
        yield _folded_rows(c, rows, rule, name in orderless)


def rows_by_judge(c: Comparisons) -> list[Ints]:
    """Per judge, the rows that are its."""
    by_judge = np.argsort(c.judge, kind="stable")
    ends = np.searchsorted(c.judge[by_judge], np.arange(1, len(c.judges)))
    return np.split(by_judge, ends) if c.judges else []


def _folded_rows(c: Comparisons, rows: Ints, rule: Disagreement, one_is_enough: bool) -> FoldedRows:
    size = max(len(c.agents), 1)
    one, two = c.first[rows], c.second[rows]
    low, high = np.minimum(one, two), np.maximum(one, two)
    keys, place = np.unique((c.question[rows] * size + low) * size + high, return_inverse=True)
    points = np.where(one < two, c.points[rows], 1.0 - c.points[rows])
    known = ~np.isnan(points)
    first, second = (
        _means(points[side], place[side], len(keys))
        for side in (known & (one < two), known & (one > two))
    )
    if one_is_enough:
        first, second = (
            np.where(np.isnan(first), second, first),
            np.where(np.isnan(second), first, second),
        )
    readable = ~np.isnan(first) & ~np.isnan(second)
    agree = readable & (np.abs(first - second) < _CLOSE)
    return FoldedRows(
        keys // (size * size),
        keys // size % size,
        keys % size,
        _settle(first, second, agree, rule),
        readable,
        agree,
    )


def _means(points: Floats, place: Ints, size: int) -> Floats:
    count = np.bincount(place, minlength=size)
    mean = np.full(size, np.nan)
    np.divide(np.bincount(place, points, minlength=size), count, out=mean, where=count > 0)
    return mean


def _settle(first: Floats, second: Floats, agree: Mask, rule: Disagreement) -> Floats:
    mean: Floats = (first + second) / 2.0  # NaN where either is
    if rule == "average":
        return mean
    other = 0.5 if rule == "tie" else np.nan
    settled: Floats = np.where(agree | np.isnan(mean), mean, other)
    return settled


def was_sorted(orders: BothOrders) -> bool:
    """Whether pairs were passed over that could have been asked, as a sort does.

    That is: on some question two answers each met others before this judge, but not each other.
    """
    met: Mask = np.asarray(orders.asked.any(axis=2), dtype=np.bool_)
    could = met[:, :, None] & met[:, None, :] & ~np.eye(met.shape[1], dtype=np.bool_)
    return bool((could & ~orders.asked).any())
