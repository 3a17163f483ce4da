"""Ids for questions whose source gives none."""

from __future__ import annotations

import hashlib
from collections import Counter


class QuestionIds:
    """Ids made from the questions' texts, so that they stay the same when others are added.

    A text that comes again gets a number behind its id, counted in the order of the source.

    Args:
        prefix: What every id starts with.

    >>> ids = QuestionIds("q")
    >>> first = ids.next("Why?")
    >>> first == QuestionIds("q").next("Why?"), ids.next("Why?") == first + "-2"
    (True, True)
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._seen: Counter[str] = Counter()

    def next(self, *parts: str) -> str:
        """The id of the next question with these parts (its text, its data set, …)."""
        digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        id_ = f"{self._prefix}-{digest[:12]}"
        self._seen[id_] += 1
        return id_ if self._seen[id_] == 1 else f"{id_}-{self._seen[id_]}"
