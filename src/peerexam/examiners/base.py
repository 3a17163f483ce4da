"""The roles, as interfaces so small that a model, a file or a simulation can play them.

A role never raises for one failed call: it returns a record whose state names the failure. It
raises only what ends the run (`BudgetReachedError`, `SetupError`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from peerexam.records import Answer, Domain, Mark, Question, Verdict

Style = Literal["breadth", "peer"]
"""How questions are set: breadth is the examiner paper's B.1, peer its B.3."""


@dataclass(frozen=True, slots=True)
class Paper:
    """The questions that one examiner set in one domain.

    Attributes:
        questions: In the examiner's order; ids are already unique within the run.
        wanted: How many were asked for.
        reasons: Why some are missing, one line a failed attempt; empty where none is.
        failed: Some are missing because a call failed, so that another run may have them.
    """

    questions: tuple[Question, ...]
    wanted: int
    reasons: tuple[str, ...] = ()
    failed: bool = False

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

    async def questions(self, domain: Domain, n: int, style: Style) -> Paper:
        """Set n questions in a domain."""

    async def follow_up(self, question: Question, answer: Answer) -> FollowUp:
        """Ask deeper, going on from an answer (examiner paper, §3.1 and B.2)."""


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
