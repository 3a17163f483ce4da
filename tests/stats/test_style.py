"""Preference for a rewritten text, against hand calculations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.core.proportions import wilson
from peerexam.stats.style import style_preference

NAN = float("nan")


def test_shares_and_panel_by_hand() -> None:
    # Judge 1: 1, ½, 1, 0 of four pairs = 0.625. Judge 2: ½ and 0 of two = 0.25. Panel: 0.4375.
    points = np.array([[1.0, 0.5], [0.5, NAN], [1.0, NAN], [0.0, 0.0]])
    found = style_preference(points, np.arange(4))
    one, two = found.by_judge
    assert (one.value, one.n, one.left_out) == (0.625, 4, 0)
    assert (two.value, two.n, two.left_out) == (0.25, 2, 2)
    assert found.pooled.value == pytest.approx(0.4375)
    assert style_preference(points, np.arange(4), panel=[1]).pooled.value == 0.25


def test_the_papers_bar_of_gpt_4_has_an_interval_near_wilsons() -> None:
    # 100 pairs as in §4.4; 62 won, 38 lost. Wilson's with the normal quantile is (0.522, 0.709);
    # Student's quantile of 99 degrees of freedom makes it a little wider.
    points = np.array([[1.0]] * 62 + [[0.0]] * 38)
    (one,) = style_preference(points, np.arange(100)).by_judge
    reference = wilson(62, 100)
    assert reference is not None
    assert one.low == pytest.approx(reference[0], abs=0.005)
    assert one.high == pytest.approx(reference[1], abs=0.005)
    assert one.low is not None
    assert one.low < reference[0]


def test_answers_to_one_question_count_as_one() -> None:
    points = np.array([[1.0], [1.0], [0.0], [0.0], [1.0], [1.0]])
    (alone,) = style_preference(points, np.arange(6)).by_judge
    (paired,) = style_preference(points, np.array([0, 0, 1, 1, 2, 2])).by_judge
    assert alone.value == paired.value
    assert (paired.high or 1) - (paired.low or 0) > (alone.high or 1) - (alone.low or 0)


def test_a_judge_without_a_verdict_has_a_reason_and_no_vote() -> None:
    found = style_preference(np.array([[1.0, NAN], [0.0, NAN]]), np.arange(2))
    assert found.by_judge[1].value is None
    assert found.by_judge[1].reason
    assert (found.pooled.value, found.pooled.left_out) == (0.5, 1)
    nobody = style_preference(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    assert nobody.pooled.value is None


def test_points_that_are_none_are_refused() -> None:
    with pytest.raises(StatisticsError, match="between 0 and 1"):
        style_preference(np.array([[2.0]]), np.arange(1))
    with pytest.raises(StatisticsError, match="shape"):
        style_preference(np.zeros((2, 1)), np.arange(1))


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, NAN]), min_size=2, max_size=2),
        min_size=2,
        max_size=20,
    )
)
def test_swapping_the_two_texts_mirrors_every_preference(rows: list[list[float]]) -> None:
    points = np.array(rows)
    there, back = (style_preference(one, np.arange(len(rows))) for one in (points, 1 - points))
    for one, other in zip(
        (*there.by_judge, there.pooled), (*back.by_judge, back.pooled), strict=True
    ):
        if one.value is None:
            assert other.value is None
            continue
        assert other.value == pytest.approx(1 - one.value)
        if one.low is not None:
            assert one.low - 1e-9 <= one.value <= (one.high or 0) + 1e-9
            assert other.high == pytest.approx(1 - one.low)
