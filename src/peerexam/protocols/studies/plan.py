"""What an experiment on self-judgement will ask and cost, worked out without asking anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.prices import quotes
from peerexam.protocols.planning.plan import cost_of
from peerexam.protocols.planning.ranges import Range, total

CHARACTERS_PER_TOKEN = 4
"""How long a token is taken to be."""


@dataclass(frozen=True, slots=True)
class StudyWork:
    """What one agent is asked for one purpose.

    Attributes:
        agent: Its name.
        task: The purpose, in a word or two.
        calls: How many.
        prompt_tokens: Of all calls together.
        completion_tokens: Of all calls together.
    """

    agent: str
    task: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The whole of it.

    Attributes:
        work: By agent and purpose.
        costs: US dollars beside each; None where the agent's price is unknown.
        assumptions: What the figures rest on, a sentence each.
    """

    work: tuple[StudyWork, ...]
    costs: tuple[Range | None, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def calls(self) -> Range:
        """All calls."""
        return total([one.calls for one in self.work])

    def to_json(self) -> dict[str, Json]:
        """As plain JSON; an unknown cost is null."""
        return {
            "calls": _rounded(self.calls, 0),
            "lines": [
                {
                    "agent": one.agent,
                    "task": one.task,
                    "calls": _rounded(one.calls, 0),
                    "prompt_tokens": _rounded(one.prompt_tokens, 0),
                    "completion_tokens": _rounded(one.completion_tokens, 0),
                    "cost_usd": None if cost is None else _rounded(cost, 6),
                }
                for one, cost in zip(self.work, self.costs, strict=True)
            ],
            "assumptions": list(self.assumptions),
        }


def study_plan(
    config: ExamConfig, work: Sequence[StudyWork], assumptions: Sequence[str] = ()
) -> StudyPlan:
    """Price what is to be asked.

    Raises:
        SetupError: A model's name cannot be read.
    """
    prices = quotes(config)
    costs = tuple(
        cost_of(prices[one.agent], one.calls, one.prompt_tokens, one.completion_tokens)
        for one in work
    )
    words = f"tokens: {CHARACTERS_PER_TOKEN} characters each"
    return StudyPlan(tuple(work), costs, (*assumptions, words))


def _rounded(span: Range, digits: int) -> dict[str, Json]:
    def number(value: float) -> float | int:
        return round(value, digits) if digits else round(value)

    return {
        "least": number(span.least),
        "expected": number(span.expected),
        "most": number(span.most),
    }
