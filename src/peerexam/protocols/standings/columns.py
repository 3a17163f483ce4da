"""A run's records as tables of numbers, read one at a time and not kept.

All tables share one list of questions (sorted by id) and its clusters, so that an index means the
same everywhere and neither the order of the records nor timing can move a draw of the bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from peerexam.examiners.answering import is_cut
from peerexam.records import Answer, Mark, Question, Ranking, Verdict
from peerexam.runfolder.columns import Columns, Score, columns_of
from peerexam.stats.core.tables import (
    Comparisons,
    Floats,
    Ints,
    Marks,
    Positions,
    code_comparisons,
    code_marks,
    code_positions,
    comparisons_from,
    marks_from,
    positions_from,
)
from peerexam.stats.ranking.ballots import without_own_answers

_SHARED = {"agents", "judges", "questions", "cluster", "dimensions"}

Table = TypeVar("Table", Comparisons, Marks, Positions)
_Column = np.ndarray[tuple[int, ...], np.dtype[Any]]
Seen = Counter[tuple[str, str]]
"""How many records of somebody (its judge or examinee) have which state."""


@dataclass(frozen=True, slots=True)
class QuestionList:
    """What the statistics need to know of the questions (sorted by id).

    Attributes:
        ids: Question ids.
        authors: Per question.
        rounds: Per question, 1 for a question of the paper.
        cluster: Per question, the number of its root question.
    """

    ids: tuple[str, ...]
    authors: tuple[str | None, ...]
    rounds: Ints
    cluster: Ints

    @property
    def first_round(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Per question, whether it is one that everybody was asked."""
        return np.asarray(self.rounds == 1)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that voting starts from.

    Attributes:
        verdicts: All of them, judges' verdicts on their own answers among them.
        positions: Rankings, each without the judge's own answer.
        marks: All of them, of all rounds.
        lengths: Characters of each answer (questions × agents), NaN where there is none.
        answers_seen: By examinee and state.
        answers_cut: By examinee, those that were cut at the length limit, judged or not.
        marks_seen: By judge and state.
        verdicts_seen: By judge and state.
        rankings_seen: By judge; `ok` where all were placed, `incomplete`, or `empty`.
    """

    questions: QuestionList
    verdicts: Comparisons
    positions: Positions
    marks: Marks
    lengths: Floats
    answers_seen: Seen
    answers_cut: Counter[str]
    marks_seen: Seen
    verdicts_seen: Seen
    rankings_seen: Seen


def gather(
    *,
    questions: Sequence[Question],
    answers: Iterable[Answer],
    marks: Iterable[Mark],
    verdicts: Iterable[Verdict],
    rankings: Iterable[Ranking],
    agents: Sequence[str],
    judges: Sequence[str],
    dimensions: Sequence[str] = (),
) -> Gathered:
    """Code records as tables; no text is kept, and each stream is read once.

    Records about questions that are not listed (imported verdicts may come without) count as
    first-round questions without an author.
    """
    seen: list[Seen] = [Counter() for _ in range(4)]
    cut: Counter[str] = Counter()
    lengths = _lengths(answers, agents, seen[0], cut)
    coded_marks = _coded_marks(marks, agents, judges, dimensions, seen[1])
    coded_verdicts = _coded_verdicts(verdicts, agents, judges, seen[2])
    coded_rankings = _coded_rankings(rankings, agents, judges, seen[3])
    named = [table.questions for table in (coded_marks, coded_verdicts, coded_rankings)]
    listed = list_questions(questions, {name for names in [lengths, *named] for name in names})
    nothing = np.full(len(agents), np.nan)
    return Gathered(
        questions=listed,
        verdicts=_on_list(coded_verdicts, listed),
        positions=without_own_answers(_on_list(coded_rankings, listed)),
        marks=_on_list(coded_marks, listed),
        lengths=np.array([lengths.get(name, nothing) for name in listed.ids]).reshape(
            -1, len(agents)
        ),
        answers_seen=seen[0],
        answers_cut=cut,
        marks_seen=seen[1],
        verdicts_seen=seen[2],
        rankings_seen=seen[3],
    )


def list_questions(questions: Sequence[Question], others: Iterable[str] = ()) -> QuestionList:
    """Sort questions by id and find the root question of each follow-up.

    Args:
        questions: The run's questions.
        others: Ids that records name; those that are not listed are roots of their own.
    """
    by_id = {question.id: question for question in questions}
    ids = tuple(sorted(by_id.keys() | set(others)))
    number: dict[str, int] = {}
    cluster = [number.setdefault(_root(name, by_id), len(number)) for name in ids]
    known = [by_id.get(name) for name in ids]
    return QuestionList(
        ids,
        tuple(None if question is None else question.author for question in known),
        np.array([1 if question is None else question.round for question in known], np.int64),
        np.array(cluster, dtype=np.int64),
    )


def _root(name: str, by_id: dict[str, Question]) -> str:
    passed = {name}
    while (question := by_id.get(name)) is not None and question.parent_id is not None:
        name = question.parent_id
        if name in passed:  # a broken file may hold a circle
            return min(passed)
        passed.add(name)
    return name


def _coded_marks(
    marks: Iterable[Mark],
    agents: Sequence[str],
    judges: Sequence[str],
    dimensions: Sequence[str],
    seen: Seen,
) -> Marks:
    names = ("judge", "state", "question_id", "examinee", "overall")
    blocks = columns_of(marks, *names, *map(Score, dimensions))

    def code(judge: Any, _: Any, question: Any, examinee: Any, overall: Any, *scores: Any) -> Marks:
        by_name = dict(zip(dimensions, scores, strict=True))
        return code_marks(question, judge, examinee, overall, by_name, agents=agents, judges=judges)

    whole = marks_from([], agents, judges, dimensions=dimensions)
    return _coded(_counted(blocks, seen), whole, code)


def _coded_verdicts(
    verdicts: Iterable[Verdict], agents: Sequence[str], judges: Sequence[str], seen: Seen
) -> Comparisons:
    blocks = columns_of(verdicts, "judge", "state", "question_id", "first", "second", "winner")
    return _coded(
        _counted(blocks, seen),
        comparisons_from([], agents, judges),
        lambda judge, _, question, first, second, winner: code_comparisons(
            question, judge, first, second, winner, agents=agents, judges=judges
        ),
    )


def _coded_rankings(
    rankings: Iterable[Ranking], agents: Sequence[str], judges: Sequence[str], seen: Seen
) -> Positions:
    blocks = columns_of(rankings, "judge", "question_id", "order", "unranked")
    stated = (
        (judge, list(map(_ranking_state, order, unranked)), question, order)
        for judge, question, order, unranked in blocks
    )
    return _coded(
        _counted(stated, seen),
        positions_from([], agents, judges),
        lambda judge, _, question, order: code_positions(
            question, judge, order, agents=agents, judges=judges
        ),
    )


def _ranking_state(order: Sequence[Any], unranked: Sequence[str]) -> str:
    if not order:
        return "empty"
    return "incomplete" if unranked else "ok"


def _counted(blocks: Iterable[Columns], seen: Seen) -> Iterator[Columns]:
    """Blocks that begin with a name and a state."""
    for block in blocks:
        seen.update(zip(block[0], block[1], strict=True))
        yield block


def _lengths(
    answers: Iterable[Answer], agents: Sequence[str], seen: Seen, cut: Counter[str]
) -> dict[str, Floats]:
    at = {name: place for place, name in enumerate(agents)}
    lengths: dict[str, Floats] = {}
    blocks = columns_of(answers, "examinee", "state", "question_id", "text", "reason")
    for examinee, states, question, text, reasons in _counted(blocks, seen):
        cut.update(
            who
            for who, state, reason in zip(examinee, states, reasons, strict=True)
            if is_cut(state, reason)
        )
        for name, who, words in zip(question, examinee, text, strict=True):
            if who in at and words:
                row = lengths.get(name)
                if row is None:
                    row = lengths[name] = np.full(len(agents), np.nan)
                row[at[who]] = len(words)
    return lengths


def _coded(blocks: Iterable[Columns], whole: Table, code: Callable[..., Table]) -> Table:
    """Code columns block by block behind an empty table; questions count by first appearance."""
    at: dict[str, int] = {}
    names = [spec.name for spec in fields(whole) if spec.name not in _SHARED]
    columns: dict[str, list[_Column]] = {name: [_column(whole, name)] for name in names}
    for block in blocks:
        part = code(*block)
        places = np.array([at.setdefault(name, len(at)) for name in part.questions], np.int64)
        part = replace(part, question=places[part.question])
        for name in names:
            # Half the size while they wait; indices, marks, points and ranks stay exact.
            column = _column(part, name)
            columns[name].append(column.astype(np.dtype(f"{column.dtype.kind}4")))
    joined: dict[str, Any] = {
        name: np.concatenate(columns.pop(name), dtype=_column(whole, name).dtype) for name in names
    }
    return replace(whole, questions=tuple(at), **joined)


def _column(table: Comparisons | Marks | Positions, name: str) -> _Column:
    column: _Column = getattr(table, name)
    return column


def _on_list(table: Table, listed: QuestionList) -> Table:
    at = {name: place for place, name in enumerate(listed.ids)}
    places = np.array([at[name] for name in table.questions], dtype=np.int64)
    question = places[table.question]
    return replace(table, questions=listed.ids, cluster=listed.cluster, question=question)
