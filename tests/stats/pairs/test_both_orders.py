"""Folding two orders into one result, and filling what a sort left out."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.records import Verdict, Winner
from peerexam.stats.core.tables import comparisons_from
from peerexam.stats.pairs.both_orders import fold_orders, was_sorted
from peerexam.stats.pairs.orders import Disagreement, combine_orders

OUTCOMES: tuple[Winner | None, ...] = ("first", "second", "tie", None)
RULES: tuple[Disagreement, ...] = ("tie", "average", "abstain")


def agreed(winner: str, loser: str) -> list[Verdict]:
    return [
        Verdict("q1", "j", winner, loser, "first"),
        Verdict("q1", "j", loser, winner, "second"),
    ]


@given(st.data(), st.sampled_from(RULES), st.sampled_from(["", "j", "k"]))
def test_the_matrices_hold_what_the_rows_hold(
    data: st.DataObject, rule: Disagreement, orderless: str
) -> None:
    keys = [
        (question, judge, a, b)
        for question in ("q1", "q2")
        for judge in "jk"
        for a, b in itertools.permutations("abc", 2)
    ]
    chosen = data.draw(st.lists(st.sampled_from(keys), max_size=30))
    verdicts = [Verdict(*key, data.draw(st.sampled_from(OUTCOMES))) for key in chosen]
    c = comparisons_from(verdicts, "abc", "jk")
    rows = combine_orders(c, rule, [orderless])
    expected = np.full((2, len(c.questions), 3, 3), np.nan)
    expected[rows.judge, rows.question, rows.a, rows.b] = rows.points
    expected[rows.judge, rows.question, rows.b, rows.a] = 1 - rows.points
    found = [orders.points for orders in fold_orders(c, rule, [orderless])]
    np.testing.assert_allclose(found, expected)


def test_a_pair_that_was_passed_over_tells_a_sort_from_a_round_robin() -> None:
    chain = [*agreed("a", "b"), *agreed("b", "c")]
    (orders,) = fold_orders(comparisons_from(chain, "abcd", "j"))
    assert was_sorted(orders)
    (orders,) = fold_orders(comparisons_from([*chain, *agreed("a", "c")], "abcd", "j"))
    assert not was_sorted(orders)  # d answered nothing


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule 'vote'"):
        list(fold_orders(comparisons_from([], "ab", "j"), "vote"))  # type: ignore[arg-type]
