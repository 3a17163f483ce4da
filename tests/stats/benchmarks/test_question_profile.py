from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.records import Question
from peerexam.stats.benchmarks.question_profile import (
    QUESTION_WORDS,
    question_profile,
    question_word,
)


@pytest.mark.parametrize(
    # Questions of the paper: appendix C.2, Table 1 and §3.1; then English forms and other tongues.
    ("text", "word"),
    [
        ("Which common household pests are controlled by professional pest control?", "which"),
        ("What are the key differences between assisted living and long-term care?", "what"),
        ("Why is it essential to consider the type of fabric used in sleepwear?", "why"),
        ("How does towing capacity affect a truck's performance?", "how"),
        ("WHO wrote it?", "who"),
        ("What's new?", "what"),
        ("To whom, and when, was it sold?", "who"),
        ("At what age do cats stop growing?", "what"),
        ("Explain the tides.", "other"),
        ("Is the somewhat whatever-named shower a flower?", "other"),
        ("¿Qué es esto?", "other"),
        ("なぜですか", "other"),
        ("", "other"),
    ],
)
def test_the_first_question_word_counts(text: str, word: str) -> None:
    assert question_word(text) == word


QUESTIONS = st.lists(
    st.builds(
        Question,
        id=st.just("q"),
        text=st.sampled_from(["What?", "Why so?", "Do."]) | st.text(max_size=20),
        domain=st.sampled_from(["Tides", "Bread"]),
        domain_path=st.sampled_from([(), ("Science", "Tides"), ("Food",)]),
        group=st.sampled_from(["concise", "own"]),
        level=st.none() | st.sampled_from(["memorization", "analysis"]),
    ),
    max_size=20,
)


@given(QUESTIONS)
def test_every_question_is_counted_once(questions: list[Question]) -> None:
    profile = question_profile(questions)
    assert profile.total == len(questions)
    assert tuple(profile.words) == QUESTION_WORDS
    for counts in (profile.words, profile.domains, profile.groups):
        assert sum(counts.values()) == len(questions)
    classified = sum(question.level is not None for question in questions)
    assert sum(profile.levels.values()) == classified
    assert list(profile.domains.values()) == sorted(profile.domains.values(), reverse=True)


def test_a_domain_counts_under_the_top_of_its_path() -> None:
    questions = [
        Question("1", "?", "Tides", ("Science", "Earth", "Tides")),
        Question("2", "?", "Rivers", ("Science", "Rivers")),
        Question("3", "?", "own"),
    ]
    assert question_profile(questions).domains == {"Science": 2, "own": 1}
