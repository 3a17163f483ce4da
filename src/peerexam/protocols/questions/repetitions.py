"""Finding repeated questions over all authors and domains: by their words, and by what they say.

Words are compared by the examiners' own rule (`examiners.duplicates`); with a sentence encoder the
same question in other words counts, too. Of questions that are one the first stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerexam.examiners.questions.duplicate_index import DuplicateIndex
from peerexam.protocols.config.models import Questions
from peerexam.tasks.metrics.embeddings import Encoder, Vectors, check_encoder, encoder

_BLOCK = 512
"""Questions whose cosines with all earlier ones are held at a time."""

_ROUNDING = 1e-6
"""By which the cosine of a text with itself may miss 1 in single precision."""


@dataclass(frozen=True, slots=True)
class RepetitionRules:
    """When two questions count as one.

    Attributes:
        near_duplicate: Least similarity of their words; 1 means the same words.
        across: Over all papers; otherwise only within each.
        embedding: A sentence encoder's name, None for none.
        embedding_similarity: Least cosine of their vectors.
    """

    near_duplicate: float = 0.8
    across: bool = True
    embedding: str | None = None
    embedding_similarity: float = 0.95

    @classmethod
    def of(cls, questions: Questions) -> RepetitionRules:
        """The rules of a config."""
        duplicates = questions.duplicates
        return cls(
            questions.near_duplicate,
            duplicates.across,
            duplicates.embedding,
            duplicates.embedding_similarity,
        )


class RepetitionFinder:
    """Finds repetitions by given rules.

    Args:
        rules: When two questions count as one.

    Raises:
        SetupError: There is no such encoder.
    """

    def __init__(self, rules: RepetitionRules) -> None:
        if rules.embedding is not None:
            check_encoder(rules.embedding)
        self._rules = rules
        self._encoder: Encoder | None = None
        self._rows: dict[str, NDArray[np.float32]] = {}

    async def find(self, texts: Sequence[str], settled: int = 0) -> list[int | None]:
        """For each text the place of the first kept one that it repeats, None for a kept one.

        Args:
            texts: The questions, in the order in which the first stays.
            settled: So many of them stay in any case.
        """
        nearness = None
        if self._rules.embedding is not None and len(texts) > settled:
            vectors = await asyncio.to_thread(self._vectors, self._rules.embedding, texts)
            nearness = _Nearness(vectors, self._rules.embedding_similarity)
        return _found(texts, settled, self._rules.near_duplicate, nearness)

    def _vectors(self, name: str, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        self._encoder = self._encoder or encoder(name)
        self._rows.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._rows[text] for text in texts])


class _Nearness:
    """Cosines of questions with all before them, a block of rows at a time."""

    def __init__(self, vectors: Vectors, least: float) -> None:
        self._vectors = vectors
        self._least = least - _ROUNDING
        self._start = -1
        self._cosines: NDArray[np.float32] = vectors[:0]

    def first(self, place: int, kept: Sequence[int]) -> int | None:
        """Which of the kept places, an index into them, is the first near enough."""
        start = place - place % _BLOCK
        if start != self._start:
            block = self._vectors[start : start + _BLOCK]
            self._cosines = block @ self._vectors[: start + _BLOCK].T
            self._start = start
        row = self._cosines[place - start][np.asarray(kept, dtype=np.intp)]
        near = np.flatnonzero(row >= self._least)
        return int(near[0]) if len(near) else None


def _found(
    texts: Sequence[str], settled: int, threshold: float, nearness: _Nearness | None
) -> list[int | None]:
    index = DuplicateIndex(threshold)
    kept: list[int] = []
    found: list[int | None] = []
    for place, text in enumerate(texts):
        repeated = None if place < settled else _first(index, kept, text, place, nearness)
        found.append(repeated)
        if repeated is None:
            index.add(text)
            kept.append(place)
    return found


def _first(
    index: DuplicateIndex, kept: Sequence[int], text: str, place: int, nearness: _Nearness | None
) -> int | None:
    by_words = index.first_like(text)
    by_sense = None if nearness is None else nearness.first(place, kept)
    ranks = [rank for rank in (by_words, by_sense) if rank is not None]
    return kept[min(ranks)] if ranks else None
