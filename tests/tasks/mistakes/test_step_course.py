"""Whether steps keep to their course."""

from __future__ import annotations

import pytest

from peerexam.tasks.mistakes.step_course import Course


def signs(question: str, *steps: str) -> list[set[str]]:
    course = Course.of(question)
    return [{name for name, value in course.follow(step).items() if value} for step in steps]


def test_an_exchange_between_those_named_leaves_no_sign() -> None:
    start = "At first: Ann: red, Bob: sky blue, Cy: green."
    assert signs("", start, "Ann and Bob swap: Ann: sky blue, Bob: red, Cy: green.") == [
        set(),
        set(),
    ]


@pytest.mark.parametrize(
    ("step", "sign"),
    [
        ("Ann and Bob swap: Ann: blue, Bob: blue, Cy: green.", "values_doubled"),
        ("Ann and Bob swap: Ann: blue, Bob: white, Cy: green.", "values_moved"),
        ("Ann and Bob swap: Ann: green, Bob: blue, Cy: red.", "names_missed"),
    ],
)
def test_what_an_exchange_cannot_do_leaves_a_sign(step: str, sign: str) -> None:
    _, found = signs("", "At first: Ann: red, Bob: blue, Cy: green.", step)
    assert sign in found


RUN = ("list: empty", "a ; list: a", "b ; list: a b", "x ; list: a")


def test_a_list_that_grows_and_shrinks_by_one_leaves_no_sign() -> None:
    assert signs("a b x b x", *RUN, "b ; list: a b", "x ; list: a") == [set()] * 6


@pytest.mark.parametrize(
    ("question", "step", "sign"),
    [
        ("a b x b", "b ; list: a b b", "list_jumped"),
        ("a b x b", "b ; list: empty", "effect_changed"),
        ("a b x b", "a ; list: a a", "walk_left"),
    ],
)
def test_a_list_that_jumps_or_does_otherwise_than_before_leaves_a_sign(
    question: str, step: str, sign: str
) -> None:
    assert sign in signs(question, *RUN, step)[-1]


def test_plain_sentences_leave_no_sign() -> None:
    assert signs("Who is first?", "Let us think.", "Note: this is hard.", "So: it is Ann.") == [
        set(),
        set(),
        set(),
    ]
