"""What hypothetical prompts come to: by template, and over them all.

Intervals go by prompt: what was made from one prompt hangs together. The share by chance is that
of pairs that would agree were each template's reply set beside the agent's reply to another prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.consistency.hypothetical import (
    DIRECT,
    TEMPLATES,
    Hypothetical,
    Said,
    plain,
)
from peerexam.protocols.studies.consistency.own_choice import CHOICE
from peerexam.protocols.studies.consistency.result import (
    chance,
    consistency_result,
    consistent,
    consistent_strictly,
    share,
)
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.stats.core.estimate import Estimate

TASK = "hypothetical"

NOTES = (
    "self-invariance: what an agent says it would answer is what it answers; over pairs of which "
    "both can be read",
    "the choice is among four replies of which one is its own: 25 % by chance",
    "intervals go by prompt",
)
SAME_TEXT = (
    "replies are the same where their texts are, case, spaces and punctuation at the ends apart: "
    "a lower bound for replies that can be worded in many ways"
)
SAME_NUMBER = "replies are the same where they are the same number"


def hypothetical_result(
    found: StudyRecords[Hypothetical], about: Mapping[str, Json], *, sums: bool
) -> StudyResult:
    """The result of a study of hypothetical prompts."""
    notes = (*NOTES, SAME_NUMBER if sums else SAME_TEXT)
    return consistency_result(found, about, of_agent, notes)


def of_agent(agent: str, rows: Sequence[Hypothetical]) -> Iterator[Measure]:
    """All measures of one agent, the one that stands for it first."""
    told = [row for row in rows if row.kind in TEMPLATES]

    def measure(
        name: str, title: str, estimate: Estimate, condition: str = "", *, headline: bool = False
    ) -> Measure:
        return Measure(agent, name, title, estimate, TASK, condition, headline=headline)

    yield measure(
        "self_invariance", "knows its own answers", share(told, consistent), headline=True
    )
    yield measure(
        "self_invariance_strict",
        "the same, unreadable as another",
        share(told, consistent_strictly),
    )
    yield measure("self_invariance_chance", "the same, partners at random", chance(told, _sides))
    for template in TEMPLATES:
        of = [row for row in told if row.kind == template]
        estimate = share(of, consistent)
        yield measure("self_invariance", "the same, by template", estimate, template)
    chosen = [row for row in rows if row.kind == CHOICE]
    yield measure("own_choice", "picks its own answer of four", share(chosen, consistent))
    for kind in (DIRECT, *TEMPLATES, CHOICE):
        of = [row for row in rows if row.kind == kind]
        yield measure("unreadable", "answers that cannot be read", share(of, _unread), kind)


def _sides(row: Hypothetical) -> tuple[str, str] | None:
    return (_key(row.expected), _key(row.said)) if row.expected and row.said else None


def _key(said: Said) -> str:
    return plain(said.text) if said.number is None else str(said.number.value)


def _unread(row: Hypothetical) -> bool | None:
    return row.said is None if row.counts else None
