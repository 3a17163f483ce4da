"""What an importer has read so far, put together without duplicates and in a fixed order."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from peerexam.errors import SetupError
from peerexam.records import Answer, Mark, Question, Verdict
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.rows import Row

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Attempt = TypeVar("Attempt", Mark, Verdict)

_MOST_NAMES = 30

UNKNOWN_DOMAIN = "unknown"
"""Of questions whose source says none."""


class Scale(Protocol):
    """Between which numbers a source's marks lie (`mark_scale.MarkScale`)."""

    full_mark: int
    lowest: int


@dataclass(slots=True)
class Collected:
    """Records as they are read.

    What stands in a source twice with the same content counts once and is counted; what stands
    there twice with another content is an error that names both places.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _verdicts: dict[tuple[str, str, str, str], Verdict] = field(default_factory=dict)
    _marks: dict[tuple[str, str, str], Mark] = field(default_factory=dict)
    _places: dict[Hashable, str] = field(default_factory=dict)
    _repeated: int = 0
    _failed: int = 0
    _again: list[Verdict] = field(default_factory=list)

    def question(self, question: Question, row: Row) -> None:
        """Add a question.

        Raises:
            RecordFileError: Another one has its id.
        """
        self._put(self.questions, question.id, question, row, f"question '{question.id}'")

    def answer(self, answer: Answer, row: Row) -> None:
        """Add an answer.

        Raises:
            RecordFileError: The examinee gave another answer to the question.
        """
        key = (answer.question_id, answer.examinee)
        what = f"the answer of '{answer.examinee}' to question '{answer.question_id}'"
        self._put(self._answers, key, answer, row, what)

    def may_answer(self, answer: Answer) -> bool:
        """Whether the examinee gave no other answer to the question so far."""
        return self._answers.get((answer.question_id, answer.examinee), answer) == answer

    def verdict(self, verdict: Verdict, row: Row, *, repeatable: bool = False) -> None:
        """Add a verdict. One that failed gives way to one of another attempt.

        Args:
            verdict: The verdict.
            row: Where it stands.
            repeatable: Further verdicts of the same judge on the same answers in the same order
                are kept beside it: votes of many people under one name.

        Raises:
            RecordFileError: It compares an answer with itself, or the judge said otherwise before.
        """
        if verdict.first == verdict.second:
            raise row.wrong(f"'{verdict.first}' is compared with itself")
        key = (verdict.question_id, verdict.judge, verdict.first, verdict.second)
        held = self._verdicts.get(key)
        if held is not None and repeatable:
            self._again.append(verdict)
        elif not self._another_attempt(self._verdicts, key, verdict, row):
            what = (
                f"the verdict of '{verdict.judge}' on '{verdict.first}' before "
                f"'{verdict.second}' for question '{verdict.question_id}'"
            )
            self._put(self._verdicts, key, verdict, row, what)

    def mark(self, mark: Mark, row: Row) -> None:
        """Add a mark. One that failed gives way to one of another attempt.

        Raises:
            RecordFileError: The judge gave another mark before.
        """
        key = (mark.question_id, mark.judge, mark.examinee)
        what = f"the mark of '{mark.judge}' for '{mark.examinee}' on question '{mark.question_id}'"
        if not self._another_attempt(self._marks, key, mark, row):
            self._put(self._marks, key, mark, row, what)

    def imported(self, scale: Scale | None = None) -> Imported:
        """Everything, in the order of the questions and then of names.

        Judges none of whose pairs was seen in both orders are said to have judged one order.

        Args:
            scale: Of the source's marks, where it is another than ours.

        Raises:
            SetupError: There is nothing.
        """
        self._add_missing_questions()
        if not self.questions:
            raise SetupError("the source holds nothing that can be imported")
        place = {id_: number for number, id_ in enumerate(self.questions)}
        verdicts = sorted(
            [*self._verdicts.values(), *self._again],
            key=lambda v: (place[v.question_id], v.judge, v.first, v.second),
        )
        one_order = _judges_of_one_order(self._verdicts)
        if self._repeated:
            self.left_out.append(f"{self._repeated} records that stand there twice")
        if self._failed:
            self.left_out.append(f"{self._failed} judgements that failed and were asked for again")
        if one_order:
            who = ", ".join(one_order)
            if len(one_order) > _MOST_NAMES:
                who = f"{len(one_order):,} judges"
            self.left_out.append(
                "the second order: every pair was judged in one order only, so preference for a "
                f"place cannot be told from preference for an answer ({who})"
            )
        return Imported(
            roles=self._roles(),
            questions=tuple(self.questions.values()),
            answers=sorted(
                self._answers.values(), key=lambda a: (place[a.question_id], a.examinee)
            ),
            marks=sorted(
                self._marks.values(), key=lambda m: (place[m.question_id], m.judge, m.examinee)
            ),
            verdicts=verdicts,
            left_out=tuple(self.left_out),
            notes=tuple(self.notes),
            full_mark=None if scale is None else scale.full_mark,
            lowest_mark=None if scale is None else scale.lowest,
            one_order=one_order,
        )

    def _add_missing_questions(self) -> None:
        known = len(self.questions)
        asked = [record.question_id for record in self._answers.values()]
        asked += [record.question_id for record in self._marks.values()]
        asked += [record.question_id for record in self._verdicts.values()]
        for id_ in dict.fromkeys(asked):
            if id_ not in self.questions:
                self.questions[id_] = Question(id=id_, text="", domain=UNKNOWN_DOMAIN)
        if missing := len(self.questions) - known:
            self.left_out.append(f"the texts of {missing} questions, which the source lacks")

    def _roles(self) -> Mapping[str, list[str]]:
        examinees = {answer.examinee for answer in self._answers.values()}
        examinees |= {mark.examinee for mark in self._marks.values()}
        examinees |= {name for _, _, *pair in self._verdicts for name in pair}
        judges = {judge for _, judge, *_ in (*self._verdicts, *self._marks)}
        roles: dict[str, list[str]] = {name: ["examinee"] for name in sorted(examinees)}
        for name in sorted(judges):
            roles.setdefault(name, []).append("judge")
        return roles

    def _another_attempt(
        self, held: dict[Key, Attempt], key: Key, attempt: Attempt, row: Row
    ) -> bool:
        """Whether one of two attempts at the same judgement failed; the other one is kept.

        In whatever order the lines stand: tools write reruns behind, in front, or in another file.
        """
        earlier = held.get(key)
        if earlier is None or earlier.state == attempt.state == "ok":
            return False
        if earlier.state != "ok":
            held[key] = attempt
            self._places[type(attempt), key] = f"{row.path.name}:{row.line}"
        self._failed += 1
        return True

    def _put(self, held: dict[Key, Value], key: Key, value: Value, row: Row, what: str) -> None:
        place = (type(value), key)
        if key in held and held[key] != value:
            raise row.wrong(
                f"{what} stands differently in {self._places.get(place, 'another line')}; keep one"
            )
        self._repeated += key in held
        held[key] = value
        self._places.setdefault(place, f"{row.path.name}:{row.line}")


def answer_from(question_id: str, examinee: str, text: str) -> Answer:
    """An answer as another tool kept it, `empty` where there is nothing in it."""
    return Answer(question_id, examinee, text, "ok" if text.strip() else "empty")


def _judges_of_one_order(verdicts: Mapping[tuple[str, str, str, str], Verdict]) -> tuple[str, ...]:
    both = {
        judge
        for question, judge, first, second in verdicts
        if (question, judge, second, first) in verdicts
    }
    return tuple(sorted({judge for _, judge, *_ in verdicts} - both))
