from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.taxonomy.domain_names import clean_name, problem_of, quoted, same_name

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
"""Lone surrogates and control characters too."""


@given(ANY_TEXT)
def test_a_cleaned_name_holds_nothing_that_steers_a_terminal(raw: str) -> None:
    name = clean_name(raw)
    kinds = {unicodedata.category(char) for char in name if char not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert name == " ".join(name.split())
    name.encode()


@given(ANY_TEXT)
def test_cleaning_twice_is_cleaning_once(raw: str) -> None:
    assert clean_name(clean_name(raw)) == clean_name(raw)
    assert same_name(same_name(raw)) == same_name(raw)
    assert same_name(clean_name(raw)) == same_name(raw)


@given(ANY_TEXT)
def test_a_message_about_a_name_is_short_and_printable(raw: str) -> None:
    assert quoted(raw).isprintable()
    assert len(quoted("\u202e" * 10_000)) < 300


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("Arts & Entertainment", "Arts & Entertainment"),
        ("../../etc/passwd", "../../etc/passwd"),
        ('=HYPERLINK("x")', '=HYPERLINK("x")'),
        ("Line\r\nbreak\u2028here", "Line break here"),
        ("\ufeffZero\u200bwidth\u202e", "Zerowidth"),
        ("\ud800Half", "Half"),
        ("\x1b[31mRed", "[31mRed"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian needs the joiner
        ("\u200d Joined \u200d", "Joined"),
    ],
)
def test_hostile_names_come_out_as_documented(raw: str, name: str) -> None:
    assert clean_name(raw) == name


@pytest.mark.parametrize("name", ["C", "C++", "３Ｄ", "物理", "../../etc", "x" * 200])
def test_a_name_with_a_letter_or_digit_can_be_a_domain(name: str) -> None:
    assert problem_of(name) is None


@pytest.mark.parametrize("name", ["", "..", "../..", "?!", "x" * 201, "x" * 10_000])
def test_what_cannot_be_a_domain_has_its_reason(name: str) -> None:
    assert problem_of(name)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Physics", "PHYSICS "),
        ("Ｐhysics", "physics"),
        ("Cafe\u0301", "Café"),
        ("Straße", "STRASSE"),
    ],
)
def test_names_that_differ_in_form_case_or_spaces_are_one(one: str, two: str) -> None:
    assert same_name(one) == same_name(two)
