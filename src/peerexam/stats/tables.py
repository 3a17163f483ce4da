"""Records as integer-coded columns: what every estimate in this package starts from.

Names become indices once, here; everything after is NumPy on columns, and bootstraps work on
counts per question, never on rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerexam.records import Mark, Ranking, Verdict

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    """Likert marks, one row a (question, examinee, judge); `overall` is NaN where there is none."""

    agents: tuple[str, ...]
    judges: tuple[str, ...]
    questions: tuple[str, ...]
    question: Ints
    judge: Ints
    examinee: Ints
    overall: Floats
    cluster: Ints


def _index(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _clusters(questions: Sequence[str], roots: Mapping[str, str]) -> Ints:
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(roots.get(name, name), len(numbers)) for name in questions],
        dtype=np.int64,
    )


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
    agent_at, judge_at = _index(agents), _index(judges)
    question_at: dict[str, int] = {}
    rows: list[tuple[int, int, int, int, float]] = []
    for verdict in verdicts:
        if (
            verdict.judge not in judge_at
            or verdict.first not in agent_at
            or verdict.second not in agent_at
        ):
            continue
        points = verdict.points_of_first
        rows.append(
            (
                question_at.setdefault(verdict.question_id, len(question_at)),
                judge_at[verdict.judge],
                agent_at[verdict.first],
                agent_at[verdict.second],
                np.nan if points is None else points,
            )
        )
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    whole = table[:, :4].astype(np.int64)
    questions = tuple(question_at)
    return Comparisons(
        tuple(agents),
        tuple(judges),
        questions,
        whole[:, 0],
        whole[:, 1],
        whole[:, 2],
        whole[:, 3],
        table[:, 4],
        _clusters(questions, roots or {}),
    )


def positions_from(
    rankings: Iterable[Ranking],
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Positions:
    """Code rankings as average ranks; names that are not listed are skipped over."""
    agent_at, judge_at = _index(agents), _index(judges)
    question_at: dict[str, int] = {}
    question: list[int] = []
    judge: list[int] = []
    rows: list[Floats] = []
    for ranking in rankings:
        if ranking.judge not in judge_at:
            continue
        row = np.full(len(agents), np.nan)
        place = 0
        for group in ranking.order:
            members = [agent_at[name] for name in group if name in agent_at]
            row[members] = place + (len(members) + 1) / 2
            place += len(members)
        question.append(question_at.setdefault(ranking.question_id, len(question_at)))
        judge.append(judge_at[ranking.judge])
        rows.append(row)
    questions = tuple(question_at)
    return Positions(
        tuple(agents),
        tuple(judges),
        questions,
        np.array(question, dtype=np.int64),
        np.array(judge, dtype=np.int64),
        np.array(rows, dtype=np.float64).reshape(-1, len(agents)),
        _clusters(questions, roots or {}),
    )


def marks_from(
    marks: Iterable[Mark],
    agents: Sequence[str],
    judges: Sequence[str],
    roots: Mapping[str, str] | None = None,
) -> Marks:
    """Code marks as columns; names that are not listed are left out."""
    agent_at, judge_at = _index(agents), _index(judges)
    question_at: dict[str, int] = {}
    rows: list[tuple[int, int, int, float]] = []
    for mark in marks:
        if mark.judge not in judge_at or mark.examinee not in agent_at:
            continue
        rows.append(
            (
                question_at.setdefault(mark.question_id, len(question_at)),
                judge_at[mark.judge],
                agent_at[mark.examinee],
                np.nan if mark.overall is None else float(mark.overall),
            )
        )
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    whole = table[:, :3].astype(np.int64)
    questions = tuple(question_at)
    return Marks(
        tuple(agents),
        tuple(judges),
        questions,
        whole[:, 0],
        whole[:, 1],
        whole[:, 2],
        table[:, 3],
        _clusters(questions, roots or {}),
    )
