"""Changes of accuracy, held to the integer counts behind the paper's Table 6."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.mistakes.accuracy_change import change_from_counts, mean_of


# BIG-Bench Mistake, Table 6, oracle locations: losses, correct, gains, incorrect, and both columns.
# Logical deduction prints −11.43 beside 36.86: 94 of 255 is 36.86, but no k of 45 is 11.43 (4 of 35
# is), so its losses cannot be the paper's and are not held to here.
@pytest.mark.parametrize(
    ("losses", "correct", "gains", "incorrect", "printed"),
    [
        pytest.param(5, 45, 60, 255, (-11.11, 23.53), id="word"),
        pytest.param(3, 45, 112, 255, (-6.67, 43.92), id="tracking"),
        pytest.param(0, 45, 46, 255, (0.0, 18.04), id="arithmetic"),
        pytest.param(6, 88, 91, 504, (-6.82, 18.06), id="dyck"),
    ],
)
def test_counts_come_to_the_printed_changes(
    losses: int, correct: int, gains: int, incorrect: int, printed: tuple[float, float]
) -> None:
    change = change_from_counts(losses, correct, gains, incorrect)
    assert change.correct.value is not None
    assert change.incorrect.value is not None
    assert round(100 * change.correct.value, 2) == printed[0]
    assert round(100 * change.incorrect.value, 2) == printed[1]


def test_no_count_of_45_comes_to_the_printed_loss_of_logical_deduction() -> None:
    assert all(round(100 * k / 45, 2) != 11.43 for k in range(46))
    assert round(100 * 4 / 35, 2) == 11.43
    gains = change_from_counts(0, 45, 94, 255).incorrect
    assert gains.value is not None
    assert round(100 * gains.value, 2) == 36.86


# The paper's example (§4.1), on tracking shuffled objects.
@pytest.mark.parametrize(("original", "printed"), [(0.5, 68.6), (0.99, 92.8)])
def test_the_accuracy_afterwards_depends_on_the_one_before(original: float, printed: float) -> None:
    found = change_from_counts(3, 45, 112, 255).mixture(original)
    assert found.value is not None
    assert round(100 * found.value, 1) == printed


def test_nothing_gained_ends_at_zero_and_not_a_hair_below() -> None:
    parts = [change_from_counts(0, 0, 0, n).incorrect for n in (13, 16, 17, 18, 19)]
    found = mean_of(parts)
    assert (found.value, found.low) == (0.0, 0.0)
    assert [one.low for one in parts] == [0.0] * 5
    assert [change_from_counts(0, 0, n, n).incorrect.high for n in range(1, 60)] == [1.0] * 59


def test_at_the_break_even_accuracy_nothing_changes() -> None:
    change = change_from_counts(3, 45, 112, 255)
    assert change.break_even is not None
    found = change.mixture(change.break_even).value
    assert found == pytest.approx(change.break_even)
    assert change_from_counts(0, 45, 0, 255).break_even is None


def test_without_a_trace_of_a_kind_there_is_a_reason_and_no_value() -> None:
    change = change_from_counts(0, 0, 3, 10)
    assert change.correct.value is None
    assert change.correct.reason == "no trace had a right answer"
    assert change.mixture(0.5).value is None
    assert change.mixture(0.0).value == pytest.approx(0.3)
    assert change.break_even is None


def test_more_losses_than_traces_are_refused() -> None:
    with pytest.raises(StatisticsError):
        change_from_counts(4, 3, 0, 1)
    with pytest.raises(StatisticsError):
        change_from_counts(0, 3, 0, 1).mixture(1.5)


@given(
    st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.floats(0, 1),
)
def test_every_value_lies_in_its_interval_and_has_its_sign(
    lost: tuple[int, int], gained: tuple[int, int], original: float
) -> None:
    change = change_from_counts(*lost, *gained)
    for one in (change.correct, change.incorrect, change.mixture(original)):
        if one.value is not None and one.low is not None and one.high is not None:
            assert one.low - 1e-9 <= one.value <= one.high + 1e-9
    assert (change.correct.value or 0.0) <= 0.0 <= (change.incorrect.value or 0.0)


def test_intervals_hold_planted_changes_at_the_nominal_rate() -> None:
    # 600 rounds at 45 and 255 traces: losses 0.1, gains 0.3, so 0.6 afterwards from 0.5.
    rng = np.random.default_rng(5)
    lost, gained = rng.binomial(45, 0.1, 600), rng.binomial(255, 0.3, 600)
    held = {"correct": 0, "incorrect": 0, "mixture": 0, "mean": 0}
    for losses, gains in zip(lost.tolist(), gained.tolist(), strict=True):
        change = change_from_counts(losses, 45, gains, 255)
        planted = {
            "correct": (change.correct, -0.1),
            "incorrect": (change.incorrect, 0.3),
            "mixture": (change.mixture(0.5), 0.6),
            "mean": (mean_of([change.correct, change.incorrect]), 0.1),
        }
        for name, (one, truth) in planted.items():
            assert one.low is not None
            assert one.high is not None
            held[name] += one.low <= truth <= one.high
    # 95 % ± three standard errors of 600 rounds, which are 2.7 points.
    assert all(0.92 <= count / 600 <= 0.98 for count in held.values()), held


def test_a_mean_over_tasks_says_over_how_many_and_what_was_lost() -> None:
    gone = Estimate(None, left_out=4, reason="no trace")
    found = mean_of([Estimate(0.2, 0.1, 0.3, n=10, left_out=1), gone])
    assert (found.value, found.n, found.left_out) == (0.2, 10, 5)
    assert found.method.endswith("1 of 2 tasks")
    assert mean_of([gone, gone]).left_out == 8
    assert "tasks" not in mean_of([Estimate(0.2, 0.1, 0.3, n=10)] * 2).method.split(";")[-1]
