from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.report.figures.axis import WIDTH, axis_about_zero, axis_over
from peerexam.report.numbers import decimal, listed, points, probability, signed

numbers = st.floats(-1, 1)


def test_missing_numbers_are_dashes_and_never_zero() -> None:
    assert {decimal(None), signed(None), points(None), probability(None)} == {"–"}


@pytest.mark.parametrize(("value", "text"), [(-0.0001, "0.00"), (0.0001, "0.00"), (0.0, "0.00")])
def test_what_rounds_to_zero_has_no_sign(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(("names", "text"), [([], "nobody"), (["A"], "A"), (["A", "B"], "A and B")])
def test_names_are_listed_as_in_a_sentence(names: list[str], text: str) -> None:
    assert listed(names) == text


@given(st.lists(numbers, min_size=1))
def test_an_axis_holds_all_its_values(values: list[float]) -> None:
    axis = axis_over(values)
    assert axis.low <= min(values) + 1e-6
    assert axis.high >= max(values) - 1e-6
    assert all(0 <= axis.x(value) <= WIDTH for value in values)


@given(numbers, numbers)
def test_an_axis_keeps_order(one: float, other: float) -> None:
    axis = axis_over([one, other])
    low, high = sorted([one, other])
    assert axis.x(low) <= axis.x(high)


@given(st.lists(numbers | st.none()))
def test_an_axis_about_zero_has_zero_in_the_middle(values: list[float | None]) -> None:
    assert axis_about_zero(values).x(0) == WIDTH / 2


def test_shares_that_stand_in_points_have_ticks_in_points() -> None:
    assert [tick.label for tick in axis_about_zero([0.24], factor=100).ticks] == ["−30", "0", "30"]


def test_no_value_is_no_drawing() -> None:
    assert axis_over([]).bar(None, None, None) is None
