"""What two texts have in common, for millions of pairs: their words, and ROUGE-L of word lists.

The same figures as `tasks.rouge` gives, which counts with the package rouge-score; a test holds
the two together. That package builds a table of all word pairs in Python, which takes milliseconds
for a page of text; here one whole row of the table is one integer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from peerexam.tasks.metrics.rouge import words

_WORD = re.compile(r"[^\W_]+")
_SIMPLE = re.compile("[\u0000-\u02ff\u0370-\u0482\u048a-\u0590\u1e00-\u200b\u2010-\u20cf]*")
"""Latin, Greek, Cyrillic and Armenian without combining marks, and punctuation: scripts in which
words are what stands between gaps."""


def words_of(text: str) -> list[str]:
    """The words of a text as `tasks.rouge.words` has them, sooner for European scripts.

    >>> words_of("It’s 5 o’clock – «naïve» café")
    ['it', 's', '5', 'o', 'clock', 'naïve', 'café']
    """
    if text.isascii():
        return words(text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if _SIMPLE.fullmatch(folded):
        return _WORD.findall(folded)
    return words(text)


class Compared:
    """A text that is compared with many others.

    Args:
        tokens: Its words.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._size = len(tokens)
        self._full = (1 << self._size) - 1
        places: dict[str, int] = {}
        for at, token in enumerate(tokens):
            places[token] = places.get(token, 0) | 1 << at
        self._places: Mapping[str, int] = places

    def rouge_l(self, other: Sequence[str]) -> float:
        """ROUGE-L's F-measure with another text's words, from 0 to 1; 0 without words.

        The longest common subsequence is found with one bit a word (Hyyrö 2004, "Bit-parallel LCS-
        length computation revisited").
        """
        if not self._size or not other:
            return 0.0
        row, places = self._full, self._places
        for token in other:
            matches = row & places.get(token, 0)
            if matches:
                row = ((row + matches) | (row - matches)) & self._full
        common = self._size - row.bit_count()
        # As rouge-score has it: precision and recall first, so that the last digits agree too.
        precision, recall = common / len(other), common / self._size
        if not common:
            return 0.0
        return 2 * precision * recall / (precision + recall)
