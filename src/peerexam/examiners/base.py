"""The roles, as interfaces so small that a model, a file or a simulation can take them.

A role never raises for one failed call: it returns a record whose state names the failure. It
raises only what ends the run (`BudgetReachedError`, `SetupError`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from peerexam.examiners.asking import Outcome
from peerexam.records import Answer, Domain, LevelVote, Mark, Question, Reference, Verdict

Style = Literal["breadth", "peer"]
"""How questions are set: breadth is the examiner paper's B.1, peer its B.3."""


@dataclass(frozen=True, slots=True)
class AuthoredQuestions:
    """The questions that one examiner set in one domain.

    Attributes:
        questions: In the examiner's order; ids are already unique within the run.
        wanted: How many were asked for.
        reasons: Why some are missing, one line a failed attempt; empty where none is.
        failed: Some are missing because a call failed, so that another run may have them.
        attempts_left: How often it may still be asked for what is missing (`Replenisher.more`).
    """

    questions: tuple[Question, ...]
    wanted: int
    reasons: tuple[str, ...] = ()
    failed: bool = False
    attempts_left: int = 0

    @property
    def shortfall(self) -> int:
        """How many could not be had."""
        return self.wanted - len(self.questions)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up question, or why there is none; `failed` where it is that the call failed."""

    question: Question | None
    reason: str | None = None
    failed: bool = False


class Examiner(Protocol):
    """Sets questions."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def questions(self, domain: Domain, n: int, style: Style) -> AuthoredQuestions:
        """Set n questions in a domain."""

    async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
        """Ask deeper, going on from an answer (examiner paper, §3.1 and B.2)."""


@runtime_checkable
class Replenisher(Protocol):
    """An examiner that can be asked for questions in place of some that were taken out."""

    async def more(
        self, domain: Domain, style: Style, so_far: AuthoredQuestions, avoid: Sequence[str] = ()
    ) -> AuthoredQuestions:
        """Ask once more for the questions that are missing.

        Args:
            domain: Of the questions.
            style: Likewise.
            so_far: What there is, fewer questions than wanted.
            avoid: Questions of others that it must not repeat.

        Returns:
            The questions with what was found, and one attempt less left. Ids may have changed.
        """


class Examinee(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def answer(self, question: Question) -> Answer:
        """Answer one question, seen alone."""


class Judge(Protocol):
    """Marks answers, and compares two of them in a given order."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def mark(self, question: Question, answer: Answer) -> Mark:
        """Score one answer."""

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        """Say which of two answers is better, shown in this order."""


class Classifier(Protocol):
    """Says what cognitive level questions ask for (examiner paper, §3.1)."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def level(self, question: Question) -> LevelVote:
        """Say what level a question asks for."""


class Author(Protocol):
    """Answers its own questions (examiner paper, §3.1)."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def reference(self, question: Question, draw: int) -> Reference:
        """Answer a question; draw 0 is the reference, the others show whether it holds to it."""


class Checker(Protocol):
    """Says whether two answers to a question say the same."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    async def same(self, question: Question, reference: str, other: str) -> Outcome[bool]:
        """Say whether another answer says the same as the reference."""
