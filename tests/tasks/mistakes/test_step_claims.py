"""Equalities and orders that a step claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.mistakes.step_claims import Claims, equalities, orders


@pytest.mark.parametrize(
    ("step", "held", "broken"),
    [
        ("7 - -7 * 4 = 35", 1, 0),
        ("so (3 * (4 + 5)) = 27, as said", 1, 0),
        ("((3 * 4 * 5) * (-21)) = (60 * (-21)) = -1260 = -1250", 2, 1),
        ("6 / 4 = 1.5", 1, 0),
        ("1 / 0 = 3", 0, 0),
        ("X + 3 = 5", 0, 0),
        ("5 = 2 + X", 0, 0),
        ("it is equal to = nothing", 0, 0),
        ("(1 + 2 = 3", 1, 0),
        ("The kit costs 2,400+600=$3,000.", 1, 0),
        ("Half of that is 3,000/2=$1,600.", 0, 1),
        ("", 0, 0),
    ],
)
def test_equalities_are_worked_out(step: str, held: int, broken: int) -> None:
    assert equalities(step, {}) == Claims(held, broken)


def test_a_letter_keeps_the_number_that_it_was_set_to() -> None:
    letters: dict[str, float] = {}
    assert equalities("where A = (2 + 3) and B = (1 - 4).", letters) == Claims(0, 0)
    assert letters == {"A": 5.0, "B": -3.0}
    assert equalities("A + B = 5 + -3 = 2", letters) == Claims(2, 0)
    assert equalities("Let's calculate B = (1 - 4) = 3", letters) == Claims(1, 1)


@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(-99, 99), st.sampled_from("+-*"))
def test_right_sums_hold_and_wrong_ones_do_not(a: int, b: int, c: int, sign: str) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b}[sign] * c
    text = f"({a} {sign} {b}) * {c}"
    assert equalities(f"So {text} = {value}.", {}) == Claims(1, 0)
    assert equalities(f"So {text} = {value + 1}.", {}) == Claims(0, 1)


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert equalities(text, {}).held >= 0
    assert orders(text).held >= 0


def test_very_long_and_very_deep_sums_end() -> None:
    assert equalities("(" * 5000 + "1" + ")" * 5000 + " = 1", {}).broken == 0
    assert equalities("1 + " * 5000 + "1 = 1", {}).held >= 0


@pytest.mark.parametrize(
    ("step", "held", "broken"),
    [
        ('"ant" < "bee" < "cow"', 2, 0),
        ('(1) "ant" < (3) ["cow" ? "cat"] < (2) "bee"', 1, 1),
        ('"bee" > "ant"', 1, 0),
        ("2 < 10 < 9", 1, 1),
        ('"ant" < 3', 1, 0),
        ("< ; stack: { <", 0, 0),
    ],
)
def test_orders_go_by_the_alphabet_and_by_number(step: str, held: int, broken: int) -> None:
    assert orders(step) == Claims(held, broken)
