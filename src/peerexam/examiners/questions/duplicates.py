"""Questions that ask the same thing in nearly the same words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_DROPPED = re.compile(r"[?.!,;:\"'“”‘’«»()\[\]{}¿¡…·、。？！，；：`]+")
# Scripts written without spaces: each character counts as a word.
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\s぀-ヿ㐀-鿿가-힣]+")
_NUMBER = re.compile(r"\d+")
SHINGLE = 3
"""Words that are compared together."""

CONTAINED = 0.95
"""Share of the shorter question from which it counts as contained in the longer one."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a question, case and punctuation aside; signs such as + and # stay.

    >>> words_of("What is C++?")
    ('what', 'is', 'c++')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(_WORD.findall(_DROPPED.sub(" ", folded)))


@dataclass(frozen=True, slots=True)
class Wording:
    """A question as comparing needs it.

    Attributes:
        words: Case and punctuation aside.
        numbers: Those that are named in it, sorted.
        shingles: Its word triples; of shorter questions all their words.
    """

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    shingles: frozenset[tuple[str, ...]]


def wording_of(text: str) -> Wording:
    """A question's wording, to be made once where it is compared more than once."""
    words = words_of(text)
    size = min(SHINGLE, max(len(words), 1))
    return Wording(
        words,
        tuple(sorted(_NUMBER.findall(" ".join(words)))),
        frozenset(words[at : at + size] for at in range(len(words) - size + 1)),
    )


def similarity(first: str, second: str) -> float:
    """How alike two questions are, from 0 to 1.

    1 where the words are the same. Otherwise the Jaccard index of their word triples, or, where
    one is (to 95 %) contained in the other, that share. Questions that name different numbers
    ("7 × 8", "7 × 9") are different questions: 0.

    >>> similarity("Why is the sky blue?", "why is the sky blue")
    1.0
    >>> similarity("What is 7 * 8?", "What is 7 * 9?")
    0.0
    """
    return likeness(wording_of(first), wording_of(second))


def likeness(one: Wording, two: Wording) -> float:
    """`similarity` of two wordings."""
    if one.words == two.words:
        return 1.0
    if one.numbers != two.numbers or not one.shingles or not two.shingles:
        return 0.0
    sizes = len(one.shingles), len(two.shingles)
    shared = len(one.shingles & two.shingles)
    contained = shared / min(sizes)
    if contained >= CONTAINED and min(len(one.words), len(two.words)) >= SHINGLE:
        return contained
    return shared / (sum(sizes) - shared)


def near_duplicate(question: str, others: Iterable[str], threshold: float) -> str | None:
    """The first of the others that the question repeats, or None.

    Args:
        question: A new question.
        others: Questions that are there already.
        threshold: Least similarity that counts as a repetition; 1 means the same words.
    """
    return next((other for other in others if similarity(question, other) >= threshold), None)
