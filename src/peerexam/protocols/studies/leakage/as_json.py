"""A leakage report as plain JSON, and as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

from peerexam.calls import Json
from peerexam.protocols.standings.as_json import estimate_json
from peerexam.protocols.studies.leakage.study import (
    LOWER_BOUND,
    AuthorsOverlap,
    LeakageReport,
    first_rouge_l,
    nearest_rouge_l,
)
from peerexam.records import Question
from peerexam.stats.leakage import SimilarityTail
from peerexam.tasks.leakage.retrieval import Found, Hit

MOST_PAIRS = 20
"""Nearest pairs that a summary shows; the table has all of them."""

COLUMNS = (
    *("question_id", "author", "domain", "question", "rouge_l_first", "rouge_l_nearest"),
    *("contained_in", "contained_at", "first_hit", "first_at", "nearest_hit", "nearest_at"),
)
"""Of the table with a row for every question."""

Cell = str | int | float | None


def leakage_json(report: LeakageReport, pairs: int = MOST_PAIRS) -> dict[str, Json]:
    """The summary, with the nearest pairs."""
    return {
        "questions": len(report.pairs),
        "documents": report.documents,
        "corpora": [str(path) for path in report.files],
        "hits": report.hits,
        "rouge_l_first": _tail_json(report.first),
        "rouge_l_nearest": _tail_json(report.nearest),
        "contained": estimate_json(report.contained),
        "nearest_pairs": [
            dict(zip(COLUMNS, row, strict=True)) for row in list(leakage_rows(report))[:pairs]
        ],
        "authors": [_overlap_json(one) for one in report.authors],
        "note": LOWER_BOUND,
    }


def leakage_rows(report: LeakageReport) -> Iterator[tuple[Cell, ...]]:
    """A row for every question, the nearest first."""
    for question, found in report.pairs:
        yield _row(question, found)


def _row(question: Question, found: Found) -> tuple[Cell, ...]:
    first = found.hits[0] if found.hits else None
    whole = found.contained_at
    return (
        question.id,
        question.author,
        question.domain,
        question.text,
        first_rouge_l(found),
        nearest_rouge_l(found),
        found.contained,
        None if whole is None else f"{whole[0]}:{whole[1]}",
        *_hit(first),
        *_hit(found.nearest),
    )


def _hit(hit: Hit | None) -> tuple[Cell, Cell]:
    return (None, None) if hit is None else (hit.excerpt, f"{hit.path}:{hit.line}")


def _tail_json(tail: SimilarityTail) -> dict[str, Json]:
    return {
        "mean": estimate_json(tail.mean),
        "median": estimate_json(tail.median),
        "percentiles": {str(q): value for q, value in tail.percentiles.items()},
        "shares_from": {str(one): estimate_json(share) for one, share in tail.shares.items()},
    }


def _overlap_json(one: AuthorsOverlap) -> dict[str, Json]:
    nearest = one.nearest
    return {
        "author": one.author,
        "other": one.other,
        "rouge_l": _tail_json(one.tail),
        "nearest": {
            "rouge_l": nearest.rouge_l,
            "question": nearest.question.text,
            "other_question": None if nearest.other is None else nearest.other.text,
        },
    }
