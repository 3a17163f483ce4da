"""Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import holm, with_holm


def test_a_family_of_four_comes_out_as_worked_by_hand() -> None:
    # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04; made to rise: .02 .03 .06 .06.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_adjusted_values_are_cut_at_one() -> None:
    assert holm(np.array([0.9, 0.6])).tolist() == [1.0, 1.0]


def test_a_test_that_was_not_made_does_not_count_in_the_family() -> None:
    adjusted = holm(np.array([0.01, np.nan, 0.03]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.03])
    assert np.isnan(adjusted[1])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_it_rejects_what_the_step_down_procedure_rejects(values: list[float]) -> None:
    # The definition: go up the sorted values and stop at the first above level ÷ (m − i).
    level = 0.05
    order = sorted(range(len(values)), key=lambda k: values[k])
    rejected = set()
    for place, k in enumerate(order):
        if values[k] * (len(values) - place) > level:
            break
        rejected.add(k)
    assert {k for k, p in enumerate(holm(np.array(values))) if p <= level} == rejected


@pytest.mark.parametrize("bad", [np.array([1.2]), np.array([-0.1]), np.zeros((2, 2))])
def test_what_is_no_row_of_p_values_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(StatisticsError):
        holm(bad)


def test_estimates_without_a_test_stay_as_they_are() -> None:
    family = [Estimate(0.1, p=0.02), Estimate(None, reason="nothing"), Estimate(0.2, p=0.5)]
    corrected = with_holm(family)
    assert [e.p_holm for e in corrected] == [0.04, None, 0.5]
    assert corrected[1] == family[1]
