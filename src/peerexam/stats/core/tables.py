"""Records as integer-coded columns: what every estimate in this package starts from.

Names become indices once, here; everything after is NumPy on columns, and bootstraps work on
counts per question, never on rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat

import numpy as np
from numpy.typing import NDArray

from peerexam.records import Mark, Ranking, Verdict, Winner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_POINTS: Mapping[Winner | None, float] = {"first": 1.0, "tie": 0.5, "second": 0.0, None: math.nan}
"""Of the answer shown first."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Verdicts, one row an order (shape: rows).

    Attributes:
        agents: Names of the examinees; `first` and `second` index it.
        judges: Names of the judges; `judge` indexes it.
        questions: Question ids; `question` indexes it.
        question: Per row.
        judge: Per row.
        first: Per row, the examinee shown first.
        second: Per row, the examinee shown second.
        points: Per row, of the first: 1, ½, 0, and NaN where there is no verdict.
        cluster: Per question (shape: questions): its root question, for clustered resampling; a
            follow-up belongs to the cluster of the question it goes back to.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    first: Ints
    second: Ints
    points: Floats
    cluster: Ints


@dataclass(frozen=True, slots=True)
class Positions:
    """Rankings, one row a (question, judge); ranks average over ties and count from 1.

    Attributes:
        rank: Shape rows × agents; NaN where the judge did not rank the agent.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    rank: Floats
    cluster: Ints


@dataclass(frozen=True, slots=True)
class Marks:
    """Likert marks, one row a (question, examinee, judge).

    Attributes:
        overall: Per row, NaN where there is none.
        scores: Shape rows × dimensions, NaN where there is none.
        dimensions: Names of the dimensions that were asked for.
    """

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    examinee: Ints
    overall: Floats
    cluster: Ints
    scores: Floats
    dimensions: tuple[str, ...] = ()


def comparisons_from(
    verdicts: Iterable[Verdict],
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Comparisons:
    """Code verdicts as columns.

    Args:
        verdicts: Any verdicts; those by or about names that are not listed are left out.
        agents: Examinees.
        judges: Judges.
        roots: Question id to the id of its root question; an id that is missing is its own root.
    """
    held = list(verdicts)
    return code_comparisons(
        [verdict.question_id for verdict in held],
        [verdict.judge for verdict in held],
        [verdict.first for verdict in held],
        [verdict.second for verdict in held],
        [verdict.winner for verdict in held],
        agents=agents,
        judges=judges,
        roots=roots,
    )


def code_comparisons(
    question: Sequence[str],
    judge: Sequence[str],
    first: Sequence[str],
    second: Sequence[str],
    winner: Sequence[Winner | None],
    *,
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Comparisons:
    """The same from the verdicts' fields, each a column."""
    agent_at = _index(agents)
    coded = [_codes(judge, _index(judges)), _codes(first, agent_at), _codes(second, agent_at)]
    points = np.fromiter(map(_POINTS.__getitem__, winner), np.float64, len(winner))
    questions, places, (by, one, other), points = _listed_rows(question, coded, points)
    return Comparisons(
        tuple(agents),
        tuple(judges),
        questions,
        places,
        by,
        one,
        other,
        points,
        _clusters(questions, roots or {}),
    )


def positions_from(
    rankings: Iterable[Ranking],
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Positions:
    """Code rankings as average ranks; names that are not listed are skipped over."""
    held = list(rankings)
    return code_positions(
        [ranking.question_id for ranking in held],
        [ranking.judge for ranking in held],
        [ranking.order for ranking in held],
        agents=agents,
        judges=judges,
        roots=roots,
    )


def code_positions(
    question: Sequence[str],
    judge: Sequence[str],
    order: Sequence[Sequence[Sequence[str]]],
    *,
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Positions:
    """The same from the rankings' fields, each a column."""
    agent_at = _index(agents)
    rank = np.array([_ranks(groups, agent_at) for groups in order], np.float64)
    coded = [_codes(judge, _index(judges))]
    questions, places, (by,), rank = _listed_rows(question, coded, rank.reshape(-1, len(agents)))
    return Positions(
        tuple(agents), tuple(judges), questions, places, by, rank, _clusters(questions, roots or {})
    )


def marks_from(
    marks: Iterable[Mark],
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
    dimensions: Sequence[str] = (),
) -> Marks:
    """Code marks as columns; names that are not listed are left out."""
    held = list(marks)
    return code_marks(
        [mark.question_id for mark in held],
        [mark.judge for mark in held],
        [mark.examinee for mark in held],
        [mark.overall for mark in held],
        {name: [mark.scores.get(name) for mark in held] for name in dimensions},
        agents=agents,
        judges=judges,
        roots=roots,
    )


def code_marks(
    question: Sequence[str],
    judge: Sequence[str],
    examinee: Sequence[str],
    overall: Sequence[int | None],
    scores: Mapping[str, Sequence[int | None]] | None = None,
    *,
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Marks:
    """The same from the marks' fields, each a column; `scores` by dimension."""
    coded = [_codes(judge, _index(judges)), _codes(examinee, _index(agents))]
    dimensions = scores or {}
    given = np.array([overall, *dimensions.values()], dtype=np.float64).T  # None becomes NaN
    questions, places, (by, whose), given = _listed_rows(question, coded, given)
    return Marks(
        tuple(agents),
        tuple(judges),
        questions,
        places,
        by,
        whose,
        np.ascontiguousarray(given[:, 0]),
        _clusters(questions, roots or {}),
        np.ascontiguousarray(given[:, 1:]),
        tuple(dimensions),
    )


def _index(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _codes(names: Sequence[str], at: Mapping[str, int]) -> Ints:
    """The number of each name, -1 where it has none."""
    return np.fromiter(map(at.get, names, repeat(-1)), np.int64, len(names))


def _listed_rows(
    question: Sequence[str], coded: Sequence[Ints], values: Floats
) -> tuple[tuple[str, ...], Ints, list[Ints], Floats]:
    """Rows whose codes are all known, with their questions numbered by first appearance."""
    known = np.logical_and.reduce([column >= 0 for column in coded])
    if not bool(known.all()):
        question = list(compress(question, known.tolist()))
        coded, values = [column[known] for column in coded], values[known]
    questions = tuple(dict.fromkeys(question))
    return questions, _codes(question, _index(questions)), list(coded), values


def _ranks(order: Sequence[Sequence[str]], at: Mapping[str, int]) -> list[float]:
    row = [math.nan] * len(at)
    place = 0
    for group in order:
        members = [at[name] for name in group if name in at]
        for member in members:
            row[member] = place + (len(members) + 1) / 2
        place += len(members)
    return row


def _clusters(questions: Sequence[str], roots: Mapping[str, str]) -> Ints:
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(roots.get(name, name), len(numbers)) for name in questions],
        dtype=np.int64,
    )
