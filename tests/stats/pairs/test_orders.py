"""Two orders of one pair."""

from __future__ import annotations

import numpy as np
import pytest

from peerexam.errors import StatisticsError
from peerexam.records import Verdict, Winner
from peerexam.stats.core.tables import comparisons_from
from peerexam.stats.pairs.orders import Disagreement, combine_orders, on_own_answer

RULES: tuple[Disagreement, ...] = ("tie", "average", "abstain")


def verdicts(forward: Winner | None, backward: Winner | None) -> list[Verdict]:
    """A judge's two verdicts: a shown first, then b shown first."""
    return [Verdict("q", "j", "a", "b", forward), Verdict("q", "j", "b", "a", backward)]


# By hand, points of a: design.md "same winner twice: that one; otherwise a tie", and the config's
# three rules. None is no result.
CASES: list[tuple[Winner, Winner, tuple[float, float, float | None]]] = [
    ("first", "second", (1.0, 1.0, 1.0)),
    ("second", "first", (0.0, 0.0, 0.0)),
    ("tie", "tie", (0.5, 0.5, 0.5)),
    ("first", "first", (0.5, 0.5, None)),
    ("second", "second", (0.5, 0.5, None)),
    ("first", "tie", (0.5, 0.75, None)),
    ("tie", "first", (0.5, 0.25, None)),
]


@pytest.mark.parametrize(("forward", "backward", "expected"), CASES)
def test_each_rule_gives_disagreeing_orders_its_own_worth(
    forward: Winner, backward: Winner, expected: tuple[float, float, float | None]
) -> None:
    table = comparisons_from(verdicts(forward, backward), ["a", "b"], ["j"])
    for rule, points in zip(RULES, expected, strict=True):
        assert combine_orders(table, rule).points.tolist() == ([] if points is None else [points])


def test_a_pair_with_one_usable_order_is_missing_and_counted() -> None:
    table = comparisons_from(verdicts("first", None), ["a", "b"], ["j"])
    pairs = combine_orders(table)
    assert (len(pairs.points), pairs.one_order, pairs.no_order) == (0, 1, 0)


def test_a_judge_that_sees_no_order_needs_one_verdict_only() -> None:
    table = comparisons_from(verdicts("first", None)[:1], ["a", "b"], ["j"])
    assert combine_orders(table, orderless=["j"]).points.tolist() == [1.0]


def test_a_pair_without_any_verdict_is_counted_as_such() -> None:
    table = comparisons_from(verdicts(None, None), ["a", "b"], ["j"])
    assert combine_orders(table).no_order == 1


def test_rows_keep_question_judge_and_pair_apart() -> None:
    records = [
        Verdict(q, j, first, second, "first" if first == "a" else "second")
        for q in ("q1", "q2")
        for j in ("j1", "j2")
        for first, second in (("a", "b"), ("b", "a"), ("c", "b"), ("b", "c"))
    ]
    pairs = combine_orders(comparisons_from(records, ["a", "b", "c"], ["j1", "j2"]))
    rows = list(
        zip(
            pairs.question.tolist(),
            pairs.judge.tolist(),
            pairs.a.tolist(),
            pairs.b.tolist(),
            pairs.points.tolist(),
            strict=True,
        )
    )
    # a beats b in both orders; for b and c the place shown second won twice, which is a tie.
    assert sorted(rows) == [
        (q, j, *result) for q in (0, 1) for j in (0, 1) for result in ((0, 1, 1.0), (1, 2, 0.5))
    ]


def test_a_verdict_on_the_judges_own_answer_is_recognised() -> None:
    records = [Verdict("q", "a", "a", "b", "first"), Verdict("q", "a", "b", "c", "first")]
    table = comparisons_from(records, ["a", "b", "c"], ["a"])
    assert on_own_answer(table).tolist() == [True, False]


def test_comparing_an_agent_with_itself_is_refused() -> None:
    table = comparisons_from([Verdict("q", "j", "a", "a", "first")], ["a"], ["j"])
    with pytest.raises(StatisticsError, match="itself"):
        combine_orders(table)


def test_no_verdicts_give_no_pairs() -> None:
    pairs = combine_orders(comparisons_from([], ["a", "b"], []))
    assert len(pairs.points) == 0
    assert pairs.points.dtype == np.float64
