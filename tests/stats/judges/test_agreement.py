"""Agreement of judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from peerexam.errors import StatisticsError
from peerexam.records import Mark
from peerexam.stats.core.tables import Floats, Positions, marks_from
from peerexam.stats.judges.agreement import (
    Orders,
    ballot_tau,
    kendall_tau,
    mark_agreement,
    orders_of_rankings,
)


def test_constant_scores_have_no_tau_and_say_so() -> None:
    # pub-24.
    tau = kendall_tau(np.array([4.0, 4, 4, 4]), np.array([1.0, 2, 3, 4]))
    assert (tau.value, tau.reason, tau.n) == (None, "constant scores", 4)


def test_fewer_than_two_shared_items_have_no_tau() -> None:
    # pub-24, last sentence but one.
    tau = kendall_tau(np.array([4.0, np.nan, 2]), np.array([1.0, 2, np.nan]))
    assert (tau.value, tau.n, tau.left_out) == (None, 1, 2)
    assert tau.reason is not None


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=40))
def test_tau_equals_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    tau = kendall_tau(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert tau.value is None
    else:
        assert tau.value == pytest.approx(kendalltau(x, y).statistic)


def test_tau_equals_scipys_on_many_distinct_scores() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3001)
    y = x + rng.normal(size=3001)
    assert kendall_tau(x, y).value == pytest.approx(kendalltau(x, y).statistic)


def test_lists_of_different_items_are_refused() -> None:
    with pytest.raises(StatisticsError, match="same items"):
        kendall_tau(np.zeros(2), np.zeros(3))


def ranked(scores: Floats) -> Orders:
    """One judge's rankings by scores (questions × agents), the highest first."""
    questions, agents = scores.shape
    rows = np.arange(questions)
    names = tuple(map(str, range(agents)))
    table = Positions(names, ("j",), tuple(map(str, rows)), rows, rows * 0, -scores, rows)
    return orders_of_rankings(table, 0)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=6))
def test_ballots_on_one_question_agree_as_scipy_says(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    tau = ballot_tau(ranked(x[None]), ranked(y[None]))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert tau.reason == "constant scores"
    else:
        assert tau.value == pytest.approx(kendalltau(x, y).statistic)


def test_ballots_are_compared_within_questions_only() -> None:
    # By hand: question 1 agrees on its pair, question 2 is reversed, question 3 has one judge:
    # (1 − 1) / 2 = 0 over two questions, one left out.
    one = ranked(np.array([[2.0, 1], [2, 1], [2, 1]]))
    other = ranked(np.array([[9.0, 5], [1, 3], [np.nan, np.nan]]))
    tau = ballot_tau(one, other)
    assert (tau.value, tau.n, tau.left_out) == (0.0, 2, 1)


def test_judges_marks_of_their_own_answers_stay_out_of_agreement() -> None:
    records = [
        Mark(f"q{i}", "a", judge, {}, overall)
        for judge, row in (("j", (1, 2, 3)), ("k", (1, 2, 3)), ("a", (3, 2, 1)))
        for i, overall in enumerate(row)
    ]
    found = mark_agreement(marks_from(records, ["a"], ["j", "k", "a"]))
    assert found[0, 1].value == 1.0
    assert (found[0, 2].value, found[0, 2].n) == (None, 0)
