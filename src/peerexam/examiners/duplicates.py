"""Questions that ask the same thing in nearly the same words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_DROPPED = re.compile(r"[?.!,;:\"'“”‘’«»()\[\]{}¿¡…·、。？！，；：`]+")
# Scripts written without spaces: each character counts as a word.
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힣]|[^\s぀-ヿ㐀-鿿가-힣]+")
_NUMBER = re.compile(r"\d+")
_SHINGLE = 3
_CONTAINED = 0.95


def words_of(text: str) -> tuple[str, ...]:
    """The words of a question, case and punctuation aside; signs such as + and # stay.

    >>> words_of("What is C++?")
    ('what', 'is', 'c++')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(_WORD.findall(_DROPPED.sub(" ", folded)))


def _shingles(words: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    size = min(_SHINGLE, max(len(words), 1))
    return frozenset(words[at : at + size] for at in range(len(words) - size + 1))


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
    one, two = words_of(first), words_of(second)
    if one == two:
        return 1.0
    if sorted(_NUMBER.findall(" ".join(one))) != sorted(_NUMBER.findall(" ".join(two))):
        return 0.0
    left, right = _shingles(one), _shingles(two)
    if not left or not right:
        return 0.0
    shared = len(left & right)
    contained = shared / min(len(left), len(right))
    if contained >= _CONTAINED and min(len(one), len(two)) >= _SHINGLE:
        return contained
    return shared / len(left | right)


def near_duplicate(question: str, others: Iterable[str], threshold: float) -> str | None:
    """The first of the others that the question repeats, or None.

    Args:
        question: A new question.
        others: Questions that are there already.
        threshold: Least similarity that counts as a repetition; 1 means the same words.
    """
    return next((other for other in others if similarity(question, other) >= threshold), None)
