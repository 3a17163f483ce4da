"""BM25 over corpora of any size: the best documents for each of many questions.

The package bm25s indexes and searches one shard of the corpus at a time. Its scores depend on how
common a word is in that shard, so those of two shards do not compare. What a shard finds is
therefore scored once more with the counts of all shards together, by the same formula (Lucene's
BM25, k1 = 1.5, b = 0.75), when the whole corpus has been seen: the first hit is that of one index
over everything, unless its own shard has so many better ones by its own counts that it is not
among the hits there. Only words of the questions are kept of a document; its other words count for
its length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerexam.errors import MissingExtraError
from peerexam.tasks.leakage.corpora import Passage
from peerexam.tasks.metrics.overlap import Compared, words_of

SHARD_DOCUMENTS = 200_000
"""Documents that are indexed together, and are in memory at once."""

SHARD_CHARACTERS = 200_000_000
"""A shard ends sooner where its texts are longer than this in all."""

EXCERPT = 300
"""Characters that are kept of a document."""

_K1 = 1.5
_B = 0.75
_REST = "\0"
"""Stands for every word that no question has; no word is equal to it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that BM25 found for a question.

    Attributes:
        excerpt: The document's start.
        rouge_l: ROUGE-L between question and document, 0 to 1.
        length: Of the document, in words.
        counts: How often each of the question's words is in it.
    """

    excerpt: str
    path: Path
    line: int
    rouge_l: float
    length: int
    counts: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Found:
    """What a corpus holds for one question.

    Attributes:
        hits: The best by BM25, best first.
        nearest: The one with the highest ROUGE-L of all that any shard had among its best.
        contained: How many documents hold the question word for word.
        contained_at: Where the first of them is.
    """

    hits: list[Hit] = field(default_factory=list)
    nearest: Hit | None = None
    contained: int = 0
    contained_at: tuple[Path, int] | None = None


@dataclass(slots=True)
class _Shard:
    passages: list[Passage] = field(default_factory=list)
    ids: list[list[int]] = field(default_factory=list)
    characters: int = 0


class Search:
    """A search for the same questions in one corpus.

    Args:
        questions: Their words, one list each; one without words finds nothing.
        hits: How many documents a question keeps.
        shard: Most documents of a shard.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(
        self, questions: Sequence[Sequence[str]], hits: int, shard: int = SHARD_DOCUMENTS
    ) -> None:
        self._bm25s = _bm25s()
        self._questions = [list(words) for words in questions]
        self._compared = [Compared(words) for words in questions]
        self._hits = hits
        self._most = shard
        self._vocabulary = {
            word: at
            for at, word in enumerate(dict.fromkeys(w for words in questions for w in words))
        }
        self._rest = len(self._vocabulary)
        self._whole = _WholeQuestions(questions)
        self._shard = _Shard()
        self._with_word: Counter[str] = Counter()
        self._words = 0
        self.documents = 0
        self.found = [Found() for _ in questions]

    def add(self, passage: Passage) -> None:
        """Take one more document."""
        words = words_of(passage.text)
        self.documents += 1
        self._words += len(words)
        there = self._vocabulary.keys() & words
        self._with_word.update(there)
        for at in self._whole.within(there, words):
            found = self.found[at]
            found.contained += 1
            found.contained_at = found.contained_at or (passage.path, passage.line)
        if there:
            known, rest = self._vocabulary, self._rest
            self._shard.passages.append(passage)
            self._shard.ids.append([known.get(word, rest) for word in words])
            self._shard.characters += len(passage.text)
        full = len(self._shard.passages) >= self._most
        if full or self._shard.characters >= SHARD_CHARACTERS:
            self._search_shard()

    def finish(self) -> list[Found]:
        """What was found, question by question."""
        self._search_shard()
        for at in range(len(self.found)):
            self._keep(at, ())  # with the counts of the whole corpus
        return self.found

    def _search_shard(self) -> None:
        shard, self._shard = self._shard, _Shard()
        asked = [at for at, words in enumerate(self._questions) if words]
        if not shard.passages or not asked:
            return
        index = self._bm25s.BM25(method="lucene", k1=_K1, b=_B, csc_backend="numpy")
        index.index((shard.ids, {**self._vocabulary, _REST: self._rest}), show_progress=False)
        documents, scores = index.retrieve(
            [self._questions[at] for at in asked],
            k=min(self._hits, len(shard.passages)),
            show_progress=False,
            backend_selection="numpy",
        )
        for at, best, values in zip(asked, documents.tolist(), scores.tolist(), strict=True):
            places = [place for place, value in zip(best, values, strict=True) if value > 0]
            new = [self._hit(at, shard.passages[place]) for place in sorted(places)]
            self._keep(at, new)

    def _hit(self, at: int, passage: Passage) -> Hit:
        words = words_of(passage.text)
        counts = Counter(words)
        return Hit(
            passage.text[:EXCERPT],
            passage.path,
            passage.line,
            self._compared[at].rouge_l(words),
            len(words),
            tuple((w, counts[w]) for w in dict.fromkeys(self._questions[at]) if w in counts),
        )

    def _keep(self, at: int, new: Iterable[Hit]) -> None:
        """Put hits beside those of earlier shards, and keep the best by what is known so far."""
        found = self.found[at]
        candidates = [*found.hits, *new]
        for hit in candidates:
            if found.nearest is None or hit.rouge_l > found.nearest.rouge_l:
                found.nearest = hit
        # Sorting is stable: of equal documents the first of the corpus stays first.
        times = Counter(self._questions[at])
        found.hits = sorted(candidates, key=lambda hit: -self._score(hit, times))[: self._hits]

    def _score(self, hit: Hit, times: Mapping[str, int]) -> float:
        norm = _K1 * (1 - _B + _B * hit.length * self.documents / self._words)
        return sum(
            times[word] * self._idf(word) * count / (norm + count) for word, count in hit.counts
        )

    def _idf(self, word: str) -> float:
        there = self._with_word[word]
        return math.log(1 + (self.documents - there + 0.5) / (there + 0.5))


class _WholeQuestions:
    """Finds questions that stand word for word in a document.

    A document is read closely only for questions whose longest word it has.
    """

    def __init__(self, questions: Sequence[Sequence[str]]) -> None:
        self._words = [frozenset(words) for words in questions]
        self._texts = [f" {' '.join(words)} " for words in questions]
        self._by_anchor: dict[str, list[int]] = {}
        for at, words in enumerate(questions):
            if words:
                self._by_anchor.setdefault(max(words, key=lambda w: (len(w), w)), []).append(at)

    def within(self, there: set[str], words: Sequence[str]) -> list[int]:
        """Which questions a document holds.

        Args:
            there: Words of any question that it has.
            words: All its words.
        """
        likely = [
            at
            for anchor in self._by_anchor.keys() & there
            for at in self._by_anchor[anchor]
            if self._words[at] <= there
        ]
        if not likely:
            return []
        text = f" {' '.join(words)} "
        return sorted(at for at in likely if self._texts[at] in text)


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtraError(
            "looking for leakage needs bm25s: pip install 'peerexam[metrics]'"
        ) from error
    return bm25s
