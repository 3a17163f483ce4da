"""The mean of shares that rest on the same questions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import share_interval
from peerexam.stats.core.mean_share import mean_share

TRIALS = arrays(np.float64, (6, 3), elements=st.integers(0, 4).map(float))


def test_every_share_has_one_weight_however_many_trials_it_has() -> None:
    # By hand: 3 of 4 and 1 of 8 are 0.75 and 0.125, whose mean is 0.4375; pooled it were 4 of 12.
    found = mean_share(np.array([[2.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 4.0], [2.0, 4.0]]))
    assert found.value == pytest.approx(0.4375)
    assert found.n == 2


def test_of_one_share_it_is_that_share_with_its_interval() -> None:
    won, of = np.array([[1.0], [0.5], [0.0], [1.0]]), np.ones((4, 1))
    found = mean_share(won, of)
    assert found.value == pytest.approx(0.625)
    assert (found.low, found.high) == pytest.approx(share_interval(won[:, 0], of[:, 0], 0.95))


def test_columns_that_agree_are_no_more_sure_than_one_of_them() -> None:
    won, of = np.array([[1.0], [0.5], [0.0], [1.0]]), np.ones((4, 1))
    one, three = mean_share(won, of), mean_share(np.repeat(won, 3, 1), np.repeat(of, 3, 1))
    assert (three.low, three.high) == pytest.approx((one.low, one.high))


def test_clusters_that_are_all_alike_do_not_make_a_mean_that_is_sure() -> None:
    found = mean_share(np.full((6, 2), 0.5), np.ones((6, 2)))
    assert (found.low, found.high) == pytest.approx(
        share_interval(np.full(6, 0.5), np.ones(6), 0.95)
    )
    assert found.low is not None
    assert found.low < 0.4


def test_shares_of_all_and_of_none_do_not_make_a_mean_that_is_sure() -> None:
    won = np.array([[1.0, 0.0]] * 6)
    found = mean_share(won, np.ones((6, 2)))
    assert found.value == 0.5
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.4
    assert found.high > 0.6
    # All of all columns: the interval of one column of as many clusters.
    every = mean_share(np.ones((6, 2)), np.ones((6, 2)))
    one = share_interval(np.ones(6), np.ones(6), 0.95)
    assert (every.low, every.high) == pytest.approx(one)


def test_a_column_without_trials_is_left_out_and_none_at_all_is_said() -> None:
    found = mean_share(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert (found.value, found.left_out) == (0.5, 1)
    nothing = mean_share(np.zeros((2, 1)), np.zeros((2, 1)), reason="no verdict")
    assert (nothing.value, nothing.reason) == (None, "no verdict")


def test_one_question_gives_no_interval() -> None:
    found = mean_share(np.ones((1, 2)), np.ones((1, 2)))
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StatisticsError, match="shape"):
        mean_share(np.ones((2, 2)), np.ones((2, 3)))


@given(TRIALS, st.integers(0, 2**32 - 1))
def test_the_interval_holds_the_value_within_0_and_1_and_mirrors(of: np.ndarray, seed: int) -> None:
    won = np.random.default_rng(seed).integers(0, of.astype(int) + 1).astype(float)
    found, mirrored = mean_share(won, of), mean_share(of - won, of)
    if found.value is None:
        assert not of.any()
        return
    assert mirrored.value == pytest.approx(1 - found.value)
    if found.low is None or found.high is None:
        assert found.n < 2
        return
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-9)


def test_the_interval_covers_a_planted_preference_as_often_as_it_says() -> None:
    # Three judges that agree by a shared draw a question, 40 questions: between 90 and 99 % of
    # 300 nominal 95 % intervals must hold the planted 0.6 (binomial limits are 92.1 to 97.3 %).
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        shared = rng.random((40, 1)) < 0.6
        own = rng.random((40, 3)) < 0.6
        won = np.where(rng.random((40, 3)) < 0.5, shared, own).astype(float)
        found = mean_share(won, np.ones((40, 3)))
        held += (found.low or 0) <= 0.6 <= (found.high or 1)
    assert 270 <= held <= 297
