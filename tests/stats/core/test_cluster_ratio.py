"""Intervals and tests on sums over clusters, against SciPy and hand calculation."""

import numpy as np
import pytest
from scipy import stats

from peerexam.stats.core.cluster_ratio import (
    bootstrap_ratios,
    draws,
    share_interval,
    student_quantile,
)


@pytest.mark.parametrize("freedom", [4, 5, 10, 30, 1000])
@pytest.mark.parametrize("probability", [0.9, 0.95, 0.975, 0.995])
def test_students_quantile_is_scipys(probability: float, freedom: int) -> None:
    expected = float(stats.t.ppf(probability, freedom))
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=0.01)


def test_one_trial_a_cluster_gives_wilsons_interval() -> None:
    successes = np.array([1.0] * 300 + [0.0] * 700)
    found = share_interval(successes, np.ones(1000), 0.95)
    expected = stats.binomtest(300, 1000).proportion_ci(0.95, method="wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-3)


def test_copies_within_a_cluster_do_not_narrow_the_interval() -> None:
    successes = np.array([1.0] * 30 + [0.0] * 20)
    once = share_interval(successes, np.ones(50), 0.95)
    assert share_interval(successes * 7, np.full(50, 7.0), 0.95) == pytest.approx(once)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_clusters_that_are_all_alike_leave_room_for_others(share: float) -> None:
    # Of 20 clusters none differs; by Wilson's formula with Student's t₁₉ = 2.093 no more than
    # t² ÷ (20 + t²) = 0.180 do, each as far as to 0 or to 1.
    few = share_interval(np.full(20, 4 * share), np.full(20, 4.0), 0.95)
    assert few == pytest.approx((share * (1 - 0.180), share + (1 - share) * 0.180), abs=1e-3)
    many = share_interval(np.full(2000, share), np.ones(2000), 0.95)
    assert few is not None
    assert many is not None
    assert few[0] <= many[0] <= share <= many[1] <= few[1]


def test_fewer_than_two_clusters_have_no_interval() -> None:
    assert share_interval(np.array([1.0, 0.0]), np.array([3.0, 0.0]), 0.95) is None


def test_the_bootstrap_of_a_mean_is_students_interval() -> None:
    values = np.random.default_rng(1).normal(1.0, 2.0, size=25)
    ends = bootstrap_ratios(
        values[:, None],
        np.ones((25, 1)),
        rounds=40_000,
        rng=np.random.default_rng(2),
        confidence=0.95,
    )[0]
    expected = stats.t.interval(0.95, 24, values.mean(), stats.sem(values))
    assert ends == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("cells", [1, 70, 10_000])
def test_the_draws_are_the_same_however_many_are_held_at_a_time(cells: int) -> None:
    parts = list(draws(60, 7, np.random.default_rng(1), cells))
    assert len(parts) == max(1, 60 // max(1, cells // 7))
    whole = np.concatenate(list(draws(60, 7, np.random.default_rng(1))))
    assert np.array_equal(np.concatenate(parts), whole)
    assert (whole.sum(axis=1) == 7).all()
