"""Distractors made easy: a hundred times, a hundredth, right answers of other questions."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.benchmarks.gsm8k import GSM8K, extract
from peerexam.tasks.benchmarks.triviaqa import TRIVIAQA
from peerexam.tasks.discrimination.distractors import scaled, simplified

RIGHT = Item("1", "?", ("42",))


@pytest.mark.parametrize(
    ("text", "up", "down"),
    [
        ("6 * 3 = 18\n#### 18", "6 * 3 = 18\n#### 1800", "6 * 3 = 18\n#### 0.18"),
        ("It is $1,250.50.", "It is 125050.", "It is 12.505."),
        ("A: -5", "A: -500", "A: -0.05"),
        ("no number", "no number", "no number"),
    ],
)
def test_the_last_number_is_moved_by_a_hundred(text: str, up: str, down: str) -> None:
    assert scaled(text, RIGHT, up=True) == up
    assert scaled(text, RIGHT, up=False) == down


def test_a_distractor_never_becomes_right() -> None:
    assert scaled("#### 4200", RIGHT, up=False) == "#### 420000"
    assert scaled("#### 0.42", RIGHT, up=True) == "#### 0.0042"


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=4, allow_nan=False), st.booleans())
def test_the_number_is_exactly_a_hundred_times_or_a_hundredth(value: Decimal, up: bool) -> None:
    found = extract(scaled(f"#### {value:f}", RIGHT, up=up))
    assert found is not None
    if value not in (Decimal(4200), Decimal("0.42")):
        assert Decimal(found) == (value * 100 if up else value / 100)


def test_right_candidates_stay_and_the_seed_decides_the_rest() -> None:
    texts = ["#### 42", "#### 18", "#### 7"]
    once, again = (simplified(GSM8K, RIGHT, texts, [], 3) for _ in range(2))
    assert once == again
    assert once[0] == "#### 42"
    assert {extract(one) for one in once[1:]} <= {"1800", "0.18", "700", "0.07"}


def test_wrong_answers_become_right_answers_of_other_questions() -> None:
    pool = [Item("1", "?", ("Oslo", "Christiania")), Item("2", "?", ("Rome",))]
    found = simplified(TRIVIAQA, pool[0], ["christiania", "Bergen"], pool, 0)
    assert found == ["christiania", "Rome"]
    # With no other question there is nothing to put in its place.
    assert simplified(TRIVIAQA, pool[0], ["Bergen"], pool[:1], 0) == ["Bergen"]
