"""A question set in the making: what is found, what is missing, what must not come again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from peerexam.examiners.base import AuthoredQuestions
from peerexam.examiners.questions.duplicates import near_duplicate
from peerexam.examiners.questions.identifiers import question_id
from peerexam.records import Domain, Group, Question

_GROUPS: tuple[Group, ...] = ("concise", "complex", "compound", "hard")

_LONGEST_SHOWN = 300
"""Characters of another author's question that an examiner is shown."""


class Source(NamedTuple):
    """Where questions come from: the ledger key of a call, and the hash of its prompt."""

    call: str | None
    prompt: str | None


class _Found(NamedTuple):
    group: Group
    text: str
    source: Source


@dataclass(slots=True)
class Draft:
    """One author's questions in one domain, in the making.

    Attributes:
        wanted: The kinds of its questions.
        attempts_left: How often its examiner may still be asked.
        avoid: Questions of others that it must not repeat.
        reasons: What came of the attempts so far.
        failed: An attempt ended without a reply.
    """

    wanted: tuple[Group, ...]
    attempts_left: int
    avoid: tuple[str, ...] = ()
    reasons: list[str] = field(default_factory=list)
    failed: bool = False
    _found: list[_Found] = field(default_factory=list)

    @classmethod
    def of(
        cls, so_far: AuthoredQuestions, wanted: tuple[Group, ...], avoid: Sequence[str]
    ) -> Draft:
        """What was handed in, to be worked on again."""
        draft = cls(wanted, so_far.attempts_left, tuple(avoid), list(so_far.reasons), so_far.failed)
        draft._found += (
            _Found(question.group, question.text, Source(question.call, question.prompt))
            for question in so_far.questions
        )
        return draft

    @property
    def already(self) -> list[str]:
        """What the examiner is shown as asked already: of others on one line and not too long."""
        others = (" ".join(text.split())[:_LONGEST_SHOWN] for text in self.avoid)
        return [*others, *(found.text for found in self._found)]

    def missing(self) -> tuple[Group, ...]:
        """The kinds of the questions that are missing, in order."""
        left = list(self.wanted)
        for found in self._found:
            left.remove(found.group)
        return tuple(left)

    def take(
        self, texts: Sequence[str], asked: Sequence[Group], source: Source, threshold: float
    ) -> int:
        """Take questions in, as many as are missing.

        Args:
            texts: In the order of the reply.
            asked: The kinds that were asked for, in order.
            source: Where they come from.
            threshold: Similarity from which a question counts as a repetition.

        Returns:
            How many were repetitions, and are left out.
        """
        repeated = 0
        for at, text in enumerate(texts):
            left = self.missing()
            if not left:
                break
            there = (*self.avoid, *(found.text for found in self._found))
            if near_duplicate(text, there, threshold) is not None:
                repeated += 1
                continue
            # The place in the reply says the kind; what goes beyond it fills what fell out.
            group = asked[at] if at < len(asked) else left[0]
            self._found.append(_Found(group, text, source))
        return repeated

    def fail(self, reason: str) -> None:
        """Note an attempt without a reply. It is the last: the agent has retried by itself."""
        self.reasons.append(reason)
        self.failed = True
        self.attempts_left = 0

    def questions(self, author: str, domain: Domain) -> AuthoredQuestions:
        """The questions as they are now: in the order of the kinds, numbered from 1."""
        in_order = sorted(self._found, key=lambda found: _GROUPS.index(found.group))
        questions = tuple(
            Question(
                id=question_id(author, domain, number),
                text=found.text,
                domain=domain.name,
                domain_path=domain.path,
                author=author,
                group=found.group,
                prompt=found.source.prompt,
                call=found.source.call,
            )
            for number, found in enumerate(in_order, start=1)
        )
        complete = len(questions) == len(self.wanted)
        reasons = () if complete else tuple(self.reasons)
        return AuthoredQuestions(
            questions, len(self.wanted), reasons, self.failed, self.attempts_left
        )
