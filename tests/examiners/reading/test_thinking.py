from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.reading.thinking import without_thinking


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("no thinking at all", "no thinking at all"),
        ("<think>draft</think>final", "final"),
        ("<THINKING>draft</THINKING> final", " final"),
        ("before <think>a</think> between <think>b</think> after", "before  between  after"),
        ("a server kept the opening tag\n</think>\nfinal", "\nfinal"),
        ("<think>I could write <think> here</think>final", "final"),
        ("<think>a</think>left over</think>final", "final"),
        ("The tag `<think>` opens a section.", "The tag `<think>` opens a section."),
    ],
)
def test_thinking_sections_are_dropped(reply: str, left: str) -> None:
    assert without_thinking(reply) == left


@pytest.mark.parametrize(
    "reply", ["<think>never closed", "Verdict: Response 1\n<think>or", "<think>a</think><think>b"]
)
def test_a_section_that_is_never_closed_leaves_no_answer(reply: str) -> None:
    assert without_thinking(reply) is None


@given(st.text(alphabet=st.characters(exclude_characters="<>`'\"“”")), st.text(max_size=20))
def test_what_stands_in_a_closed_section_never_matters(draft: str, answer: str) -> None:
    if "<" not in answer and not answer.startswith(("`", "'", '"', "”")):
        assert without_thinking(f"<think>{draft}</think>{answer}") == answer
