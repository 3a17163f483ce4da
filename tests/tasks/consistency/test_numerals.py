from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.consistency.numerals import Numeral, is_number, read_numeral, same_number


def numeral(text: str) -> Numeral:
    found = read_numeral(text)
    assert isinstance(found, Numeral), found
    return found


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("10", 10),
        (" 10.", 10),
        ("-3", -3),
        ("−3", -3),
        ("1,000", 1000),
        ("1,234,567.5", Fraction("1234567.5")),
        ("7/3", Fraction(7, 3)),
        ("-7 / 3", Fraction(-7, 3)),
        (r"\boxed{\frac{7}{3}}", Fraction(7, 3)),
        (r"$\boxed{10}$", 10),
        ("2*3 = 6", 6),
        ("(2*3)+(16/4) = 6 + 4 = 10", 10),
        ("(2*3)+(16/4) equals **10**", 10),
        ("The value of 2 * 3 is 6.", 6),
        ("2*3 = 6 and 6+4 = 10", 10),
        ("1.5e3", 1500),
        ("First 2*3, then 16/4.\n10", 10),
        ("≈ 0.33", Fraction("0.33")),
        ("= - 12", -12),
        (r"\boxed{3{,}500}", 3500),
        ("1’000", 1000),
        ("1\u202f000", 1000),
        ("12,34,567", 1234567),
        ("3 1/2", Fraction(7, 2)),
        (r"2.5 \times 10^{3}", 2500),
        ("４２", 42),
    ],
)
def test_the_answer_of_a_reply_is_read(reply: str, value: Fraction | int) -> None:
    assert numeral(reply).value == value


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I cannot say", "no number"),
        ("", "no number"),
        ("2*3 or 4*5", "several numbers"),
        ("5 - 3", "several numbers"),
        ("= 6 or 7", "several numbers"),
        ("1/0", "divides by zero"),
        ("9" * 500, "too long"),
    ],
)
def test_nothing_is_guessed(reply: str, reason: str) -> None:
    found = read_numeral(reply)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1,000", "1000.0", True),
        ("7/2", "3.5", True),
        ("6/4", "3/2", True),
        ("0.33", "1/3", True),
        ("0.33", "0.3333", True),
        ("0.67", "2/3", True),
        ("0.66", "2/3", True),
        ("-0.67", "-2/3", True),
        ("0.67", "-2/3", False),
        ("0.3", "1/3", False),
        ("0", "1/3", False),
        ("4.0", "4.04", False),
        ("4.00", "4.004", False),
        ("0.33", "0.34", False),
        ("0.34", "0.3301", False),
        ("10", "11", False),
    ],
)
def test_numbers_are_compared_as_numbers(one: str, other: str, same: bool) -> None:
    assert same_number(numeral(one), numeral(other)) is same
    assert same_number(numeral(other), numeral(one)) is same


@given(st.fractions(max_denominator=999))
def test_what_is_written_as_a_fraction_is_read_back(value: Fraction) -> None:
    read = numeral(f"= {value}")
    assert read.value == value
    assert is_number(read, value)


@given(st.fractions(min_value=1, max_denominator=999), st.integers(2, 6))
def test_a_value_rounded_to_two_places_or_more_is_that_value(value: Fraction, places: int) -> None:
    # By whole numbers: a float of many digits is another value.
    whole, part = divmod(round(value * 10**places), 10**places)
    rounded = numeral(f"{whole}.{part:0{places}d}")
    if rounded.places == places:
        assert is_number(rounded, value)


def test_negative_numbers_and_fractions_get_brackets_in_an_expression() -> None:
    operands = [numeral(text).operand for text in ("8", "0.25", "-8", "7/2")]
    assert operands == ["8", "0.25", "(-8)", "(7/2)"]
