"""Leakage of a data set: its questions against corpora, its authors against each other.

Examiner paper, §4.5 and Table 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Question
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson
from peerexam.stats.leakage import SimilarityTail, similarity_tail
from peerexam.tasks.leakage.corpora import corpus_files, passages
from peerexam.tasks.leakage.overlap_search import Leaks, Neighbour, authors_overlap, search_corpus
from peerexam.tasks.leakage.retrieval import Found
from peerexam.tasks.metrics.overlap import words_of
from peerexam.tasks.questions.folder import questions_of

LOWER_BOUND = (
    "a lower bound: only the corpora named here were searched, and a question that says the same "
    "in other words is not found"
)


@dataclass(frozen=True, slots=True)
class AuthorsOverlap:
    """How near one author's questions are to another's.

    Attributes:
        tail: Of ROUGE-L with the nearest question by the other.
        nearest: The nearest pair of all.
    """

    author: str
    other: str
    tail: SimilarityTail
    nearest: Neighbour


@dataclass(frozen=True, slots=True)
class LeakageReport:
    """What was found.

    Attributes:
        pairs: Every question with what the corpora hold for it, the nearest first (Table 5):
            those that stand word for word in a document, then by ROUGE-L.
        first: ROUGE-L with BM25's first hit, the paper's figure; 0 where no word is shared.
        nearest: The highest ROUGE-L among the hits.
        contained: Share of the questions that stand word for word in a document.
        documents: That were searched.
        files: Of the corpora.
        hits: Documents that were compared with a question, of each shard.
        authors: For each author and each other one.
    """

    pairs: tuple[tuple[Question, Found], ...]
    first: SimilarityTail
    nearest: SimilarityTail
    contained: Estimate
    documents: int
    files: tuple[Path, ...]
    hits: int
    authors: tuple[AuthorsOverlap, ...]


def measure_leakage(
    folder: Path,
    corpora: Sequence[Path],
    *,
    column: str | None = None,
    hits: int = 10,
    seed: int = 0,
) -> LeakageReport:
    """Look for the questions of a run or a data set in corpora, and in each other.

    Args:
        folder: As `tasks.question_folder.questions_of` reads it.
        corpora: Files and folders of texts (`tasks.corpora`).
        column: The field of the text.
        hits: Documents to compare with a question, of each shard.
        seed: Of the bootstrap.

    Raises:
        SetupError: Questions or corpora cannot be read, or no question has a word.
        MissingExtraError: bm25s is not installed, or pyarrow for a Parquet corpus.
    """
    if hits < 1:
        raise SetupError(f"a question is compared with 1 hit or more, not {hits}")
    questions = [one for one in questions_of(folder) if words_of(one.text)]
    if not questions:
        raise SetupError(f"no question in {folder} has a word")
    files = corpus_files(corpora)
    leaks = search_corpus(questions, passages(files, column), hits)
    if not leaks.documents:
        raise SetupError("the corpora hold no text at all: " + ", ".join(map(str, corpora)))
    roots = _roots(questions)
    whole = [roots[question.id] for question in questions]
    return LeakageReport(
        tuple(sorted(zip(questions, leaks.found, strict=True), key=_nearest_first)),
        similarity_tail([first_rouge_l(one) for one in leaks.found], whole, seed=seed),
        similarity_tail([nearest_rouge_l(one) for one in leaks.found], whole, seed=seed),
        _contained(leaks),
        leaks.documents,
        tuple(files),
        hits,
        tuple(_overlaps(authors_overlap(questions, hits), roots, seed)),
    )


def first_rouge_l(found: Found) -> float:
    """ROUGE-L with BM25's first hit."""
    return found.hits[0].rouge_l if found.hits else 0.0


def nearest_rouge_l(found: Found) -> float:
    """The highest ROUGE-L among the hits."""
    return found.nearest.rouge_l if found.nearest else 0.0


def _nearest_first(pair: tuple[Question, Found]) -> tuple[bool, float]:
    return not pair[1].contained, -nearest_rouge_l(pair[1])


def _contained(leaks: Leaks) -> Estimate:
    whole, n = sum(one.contained > 0 for one in leaks.found), len(leaks.found)
    low, high = wilson(whole, n) or (None, None)
    return Estimate(whole / n, low, high, n=n, method="share; Wilson's score interval")


def _roots(questions: Sequence[Question]) -> dict[str, int]:
    """The number of the first-round question that each question goes back to."""
    parents = {question.id: question.parent_id for question in questions}
    numbers: dict[str, int] = {}
    roots: dict[str, int] = {}
    for id_ in parents:
        root, seen = id_, {id_}
        while (above := parents.get(root)) is not None and above not in seen:
            root = above
            seen.add(root)
        roots[id_] = numbers.setdefault(root, len(numbers))
    return roots


def _overlaps(
    neighbours: Mapping[tuple[str, str], Sequence[Neighbour]],
    roots: Mapping[str, int],
    seed: int,
) -> Iterator[AuthorsOverlap]:
    for (author, other), found in neighbours.items():
        numbers: dict[int, int] = {}
        clusters = [numbers.setdefault(roots[one.question.id], len(numbers)) for one in found]
        yield AuthorsOverlap(
            author,
            other,
            similarity_tail([one.rouge_l for one in found], clusters, seed=seed),
            max(found, key=lambda one: one.rouge_l),
        )
