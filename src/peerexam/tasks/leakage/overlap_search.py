"""Whether questions are copied from text that models may have been trained on.

Examiner paper, §4.5.

What is found is a lower bound of what has leaked: only the corpora that are named are searched,
BM25 finds a document by its words, and a question that says the same in others escapes it and
ROUGE-L alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.records import Question
from peerexam.tasks.leakage.corpora import Passage
from peerexam.tasks.leakage.retrieval import SHARD_DOCUMENTS, Found, Search
from peerexam.tasks.metrics.overlap import words_of


@dataclass(frozen=True, slots=True)
class Leaks:
    """What a corpus holds for every question.

    Attributes:
        found: In the order of the questions.
        documents: How many the corpus has, blank ones aside.
    """

    found: tuple[Found, ...]
    documents: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The nearest question by another author."""

    question: Question
    other: Question | None
    rouge_l: float


def search_corpus(
    questions: Sequence[Question],
    corpus: Iterable[Passage],
    hits: int = 10,
    shard: int = SHARD_DOCUMENTS,
) -> Leaks:
    """Look for questions in a corpus, which is read once and never held whole.

    Args:
        questions: In any script; their words are those of `tasks.rouge`.
        corpus: As `tasks.corpora.passages` streams it.
        hits: How many documents are compared with a question, of each shard.
        shard: Most documents of a shard.

    Raises:
        MissingExtraError: bm25s is not installed.
        SetupError: The corpus cannot be read.
    """
    search = Search([words_of(question.text) for question in questions], hits, shard)
    for passage in corpus:
        search.add(passage)
    return Leaks(tuple(search.finish()), search.documents)


def authors_overlap(
    questions: Sequence[Question], hits: int = 10
) -> dict[tuple[str, str], list[Neighbour]]:
    """For each author's questions the nearest one by each other author, by ROUGE-L.

    The nearest among the best `hits` that BM25 finds in the other's questions; where it finds
    none, no word is shared, and ROUGE-L is 0.

    Returns:
        By author and other author, in the order in which authors appear. Questions without an
        author are left out.
    """
    by_author: dict[str, list[Question]] = {}
    for question in questions:
        if question.author is not None:
            by_author.setdefault(question.author, []).append(question)
    return {
        (author, other): _neighbours(own, theirs, hits)
        for author, own in by_author.items()
        for other, theirs in by_author.items()
        if author != other
    }


def _neighbours(own: Sequence[Question], theirs: Sequence[Question], hits: int) -> list[Neighbour]:
    corpus = (Passage(question.text, Path(), at) for at, question in enumerate(theirs))
    leaks = search_corpus(own, corpus, hits)
    return [
        Neighbour(question, None, 0.0)
        if found.nearest is None
        else Neighbour(question, theirs[found.nearest.line], found.nearest.rouge_l)
        for question, found in zip(own, leaks.found, strict=True)
    ]
