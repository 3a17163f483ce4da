from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.questions.duplicates import near_duplicate, similarity


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Why is chalk white?", "why is CHALK white"),
        ("Why is chalk white?", "“Why is chalk white?”"),
        (
            "What are the main causes of soil erosion on steep farmland in wet climates?",
            "What are the main causes of soil erosion on steep farmland in wet regions?",
        ),
        ("What limits nitrogen fixation?", "What limits nitrogen fixation in wet soil?"),
        ("今天为什么下雨？", "今天为什么下雨"),
    ],
)
def test_questions_in_nearly_the_same_words_are_duplicates(first: str, second: str) -> None:
    assert near_duplicate(first, [second], 0.8) == second


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("What is 7 + 8?", "What is 7 - 8?"),
        ("What happened in France in 1789?", "What happened in France in 1799?"),
        ("Who wrote the language C?", "Who wrote the language C++?"),
        (
            "What is the primary function of the human brain?",
            "What is the primary function of the human eye?",
        ),
        ("Why is chalk white?", "Which acid dissolves chalk?"),
        ("今天为什么下雨？", "明天谁会去北京？"),
    ],
)
def test_questions_that_differ_in_what_they_ask_are_not(first: str, second: str) -> None:
    assert near_duplicate(first, [second], 0.8) is None


def test_similarity_is_the_jaccard_index_of_word_triples() -> None:
    # Triples: abc bcd cde and abc bcd cdf; two of four are shared.
    assert similarity("a b c d e", "a b c d f") == pytest.approx(0.5)


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_and_lies_between_0_and_1(first: str, second: str) -> None:
    assert 0 <= similarity(first, second) <= 1
    assert similarity(first, second) == similarity(second, first)
    assert similarity(first, first) == 1
