"""A finished run's records, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from peerexam.protocols.exam.examination import QuestionRecords
from peerexam.records import Answer, Mark, Question, Ranking, Verdict
from peerexam.runfolder import RunFolder


@dataclass(frozen=True, slots=True)
class Archive:
    """Records by the question they belong to.

    Attributes:
        roots: Questions of the first round, in the order of the file.
        children: Question id to the follow-ups that go on from it.
    """

    roots: Sequence[Question]
    children: Mapping[str, Sequence[Question]] = field(default_factory=dict)
    answers: Mapping[str, Sequence[Answer]] = field(default_factory=dict)
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    rankings: Mapping[str, Sequence[Ranking]] = field(default_factory=dict)

    def of(self, question: Question) -> QuestionRecords:
        """All records of a question and of its follow-ups."""
        name = question.id
        return QuestionRecords(
            question,
            self.answers.get(name, ()),
            self.marks.get(name, ()),
            self.verdicts.get(name, ()),
            self.rankings.get(name, ()),
            [self.of(child) for child in self.children.get(name, ())],
        )


def read_archive(folder: RunFolder) -> Archive:
    """Read a run's records into memory.

    Raises:
        RecordFileError: A line in the middle of a file is damaged.
    """
    roots: list[Question] = []
    children: dict[str, list[Question]] = {}
    for question in folder.questions():
        if question.parent_id is None:
            roots.append(question)
        else:
            children.setdefault(question.parent_id, []).append(question)
    return Archive(
        roots,
        children,
        _by_question(folder.answers()),
        _by_question(folder.marks()),
        _by_question(folder.verdicts()),
        _by_question(folder.rankings()),
    )


class _OfQuestion(Protocol):
    @property
    def question_id(self) -> str: ...


R = TypeVar("R", bound=_OfQuestion)


def _by_question(records: Iterable[R]) -> dict[str, list[R]]:
    found: dict[str, list[R]] = {}
    for record in records:
        found.setdefault(record.question_id, []).append(record)
    return found
