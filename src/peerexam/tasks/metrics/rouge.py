"""ROUGE of a candidate against a reference, in any script.

The package rouge-score counts; its own tokenizer keeps ASCII letters and digits only, so that a
Russian or Hindi text would score 0 against itself. Ours agrees with it on ASCII text (lower case,
runs of letters and digits, no stemming) and knows the rest of Unicode.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from peerexam.errors import MissingExtraError

_ASCII_WORD = re.compile("[a-z0-9]+")

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han iteration mark and zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # small Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x20000, 0x3FFFF),  # Han, the supplementary planes
)
_JOINERS = "\u200c\u200d"  # between letters of one word in Indic and Arabic scripts


@dataclass(frozen=True, slots=True)
class Rouge:
    """F-measures, each from 0 to 1.

    Attributes:
        r1: ROUGE-1, words in common.
        r2: ROUGE-2, pairs of neighbouring words in common; 0 where a text has but one word.
        rl: ROUGE-L, the longest common subsequence of words.
    """

    r1: float
    r2: float
    rl: float


def rouge(reference: str, candidate: str) -> Rouge:
    """ROUGE-1, ROUGE-2 and ROUGE-L of a candidate against its reference.

    A text without a single word (empty, or nothing but punctuation) scores 0, even against
    itself: that is what rouge-score does.

    Raises:
        MissingExtraError: If rouge-score is not installed.
    """
    scores = _scorer().score(reference, candidate)
    return Rouge(*(float(scores[kind].fmeasure) for kind in ("rouge1", "rouge2", "rougeL")))


def words(text: str) -> list[str]:
    """The words of a text, as ROUGE counts them.

    Lower case; letters and digits with their combining marks make words, everything else parts
    them. Scripts that write no spaces between words (Chinese, Japanese, Thai, Lao, Khmer,
    Burmese) are taken by the character, each with its marks. Compatibility forms (full-width
    letters, ligatures) are taken for what they stand for.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    before = "gap"
    for character in _folded(text):
        kind = _kind(character)
        if kind == "joiner":
            continue
        if kind == "mark" and before != "gap":
            found[-1] += character
            continue  # a mark belongs to its letter and does not change what follows
        if kind == "letter" and before == "letter":
            found[-1] += character
        elif kind in ("letter", "sign"):
            found.append(character)
        before = kind if kind in ("letter", "sign") else "gap"
    return found


def _folded(text: str) -> str:
    """In one spelling and one case; folding may undo the first normalising."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=65536)
def _kind(character: str) -> str:
    """`letter`, `sign` (a word of its own), `mark`, `joiner` or `gap`."""
    if character in _JOINERS:
        return "joiner"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "mark"
    if category[0] not in "LN":
        return "gap"
    code = ord(character)
    return "sign" if any(low <= code <= high for low, high in _UNSPACED) else "letter"


class _Words:
    """What rouge-score calls for a text's tokens."""

    tokenize = staticmethod(words)


@cache
def _scorer() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtraError(
            "ROUGE needs rouge-score: pip install 'peerexam[metrics]'"
        ) from error
    return RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=_Words())
