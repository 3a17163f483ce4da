from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.metrics.overlap import Compared, words_of
from peerexam.tasks.metrics.rouge import rouge, words

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "été", "物"]), max_size=70)


@given(st.text())
def test_words_are_those_of_rouge_in_any_script(text: str) -> None:
    assert words_of(text) == words(text)


@given(
    st.text(
        st.characters(max_codepoint=0x2FFF, exclude_categories=()).filter(lambda c: ord(c) > 0x7F)
    )
)
def test_words_are_those_of_rouge_in_european_scripts(text: str) -> None:
    assert words_of(text) == words(text)


@given(WORDS, WORDS)
def test_rouge_l_is_that_of_rouge_score(one: list[str], two: list[str]) -> None:
    pytest.importorskip("rouge_score")
    assert Compared(one).rouge_l(two) == rouge(" ".join(one), " ".join(two)).rl


def test_rouge_l_by_hand() -> None:
    # Lin 2004: "police killed the gunman" and "police kill the gunman" share three of four words
    # in order, "the gunman kill police" two: F 3/4 and 2/4.
    reference = Compared(words("police killed the gunman"))
    assert reference.rouge_l(words("police kill the gunman")) == pytest.approx(0.75)
    assert reference.rouge_l(words("the gunman kill police")) == pytest.approx(0.5)
    assert reference.rouge_l([]) == 0
    assert Compared([]).rouge_l(["police"]) == 0
