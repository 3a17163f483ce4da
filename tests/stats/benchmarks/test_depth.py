"""Depth by round, and Wilson's interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from peerexam.errors import StatisticsError
from peerexam.records import Mark
from peerexam.stats.benchmarks.depth import depth_by_round
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.tables import Marks, marks_from


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_intervals_equal_scipys(case: tuple[int, int]) -> None:
    successes, trials = case
    reference = binomtest(successes, trials).proportion_ci(0.9, method="wilson")
    assert wilson(successes, trials, 0.9) == pytest.approx((reference.low, reference.high))


def test_no_trial_has_no_interval() -> None:
    assert wilson(0, 0) is None


def table(rows: list[tuple[str, str, str, int | None]]) -> Marks:
    records = [Mark(q, examinee, judge, {}, overall) for q, examinee, judge, overall in rows]
    return marks_from(records, ["a", "b"], ["e", "j", "b"])


def test_each_round_counts_those_that_got_so_far() -> None:
    marks = table(
        [
            ("q1", "a", "e", 5),
            ("q2", "a", "e", 5),
            ("q3", "a", "e", 3),
            ("q1+", "a", "e", 5),
            ("q2+", "a", "e", 4),
            ("q1++", "a", "e", 2),
        ]
    )
    rounds = depth_by_round(marks, np.array([1, 1, 1, 2, 2, 3]), ["e"] * 6)
    assert [(r.round, r.asked, r.correct, r.rate) for r in rounds] == [
        (1, 3, 2, 2 / 3),
        (2, 2, 1, 0.5),
        (3, 1, 0, 0.0),
    ]
    assert (rounds[1].low, rounds[1].high) == wilson(1, 2)


def test_the_authors_mark_decides_before_the_panel() -> None:
    marks = table([("q1", "a", "e", 5), ("q1", "a", "j", 1), ("q1", "a", "b", 1)])
    assert depth_by_round(marks, np.array([1]), ["e"])[0].correct == 1


def test_the_panel_decides_about_an_authors_own_answer() -> None:
    marks = table([("q1", "b", "b", 5), ("q1", "b", "e", 5), ("q1", "b", "j", 4)])
    # One of two full marks is not more than half; the author's own mark is not heard.
    assert depth_by_round(marks, np.array([1]), ["b"])[0].correct == 0
    counted = depth_by_round(marks, np.array([1]), ["b"], counted=[0])
    assert counted[0].correct == 1


def test_an_answer_without_a_mark_is_not_at_risk() -> None:
    assert depth_by_round(table([("q1", "a", "e", None)]), np.array([1]), ["e"]) == []


def test_rounds_must_list_every_question() -> None:
    with pytest.raises(StatisticsError, match="every question"):
        depth_by_round(table([("q1", "a", "e", 5)]), np.array([1, 1]), ["e"])
