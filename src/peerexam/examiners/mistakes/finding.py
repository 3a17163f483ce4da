"""Asking one model where the first mistake of a trace is (BIG-Bench Mistake, §3).

The paper's three ways: the whole trace in one call (`trace`); one call a step, shown the trace up
to that step and none of the verdicts before (`step`); the same after reasoning (`cot`). Every one
is shown three examples, and asked at temperature 0.

A reply that cannot be read is not asked for again, as in the paper: it counts as a wrong answer,
and what counts against a model should not depend on how patiently it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from peerexam.agents.base import Agent, Feature
from peerexam.calls import Form, Json, Sampling, canonical_json
from peerexam.examiners.asking import Asker, Outcome
from peerexam.examiners.mistakes.examples import examples_for
from peerexam.examiners.mistakes.reading_locations import read_location, read_verdict
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.forms import choice_form
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.reading.parsing import Unreadable

T = TypeVar("T")

Method = Literal["trace", "step", "cot"]
"""Direct at the level of the trace, direct at that of the step, chain of thought at the step's."""

LONGEST_REASONING = 700
"""Characters to which a grammar holds the reasoning, well within the tokens it may take."""

_ANSWERS = ("Yes", "No")


@dataclass(frozen=True, slots=True)
class FinderOptions:
    """How a finder is asked.

    Attributes:
        max_tokens: Of a verdict alone.
        max_reasoning_tokens: Of a verdict after reasoning.
        temperature: Of every call.
        seed: Keys the fence round problem and thoughts.
    """

    max_tokens: int = 64
    max_reasoning_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """What is shown of a trace.

    Attributes:
        task: Which examples go with it.
        input: The problem.
        steps: All its thoughts.
    """

    task: str
    input: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FinderPrompts:
    """What a finder is told, and the form of its replies.

    Attributes:
        library: The words.
        features: The agent's.
        seed: Keys the fence round problem and thoughts.
    """

    library: PromptLibrary
    features: frozenset[Feature]
    seed: int = 0

    def of_trace(self, problem: Problem) -> tuple[Rendered, Form | None]:
        """For the whole trace."""
        count = len(problem.steps)
        choices = ["No", *map(str, range(1, count + 1))]
        form = choice_form("Mistake", choices, self.features)
        return self._render("locate_mistake", problem, count, form), form

    def of_step(
        self, problem: Problem, count: int, *, reasoned: bool
    ) -> tuple[Rendered, Form | None]:
        """For one thought, counted from 1, shown those up to it."""
        form = _reasoned_form(self.features) if reasoned else None
        if not reasoned:
            form = choice_form("Verdict", _ANSWERS, self.features)
        return self._render("check_thought", problem, count, form, reasoned=reasoned), form

    def _render(
        self, name: str, problem: Problem, count: int, form: Form | None, **switches: Any
    ) -> Rendered:
        shown = examples_for(problem.task)
        thoughts = numbered(problem.steps[:count])
        fence = fence_for(self.seed, problem.input, [problem.input, thoughts])
        return self.library.render(
            name,
            "chat" in self.features,
            about=shown.about,
            examples=shown.examples,
            problem=fence.around("Problem", problem.input),
            thoughts=fence.around("Thoughts", thoughts),
            key=fence.key,
            count=count,
            as_json=form is not None and form.kind == "json_schema",
            **switches,
        )


class MistakeFinder:
    """A model that is asked for the first mistake.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: FinderOptions | None = None
    ) -> None:
        self.agent = agent
        self.options = options or FinderOptions()
        self._library = prompts
        self._prompts = FinderPrompts(prompts, agent.features, self.options.seed)

    async def in_trace(self, problem: Problem) -> Outcome[int]:
        """The first wrong thought, from 1, in one call; 0 where none is.

        Raises:
            BudgetReachedError: The budget stops the call.
        """
        rendered, form = self._prompts.of_trace(problem)
        read = partial(read_location, thoughts=len(problem.steps))
        return await self._ask(rendered, form, self.options.max_tokens, read)

    async def of_step(self, problem: Problem, count: int, *, reasoned: bool) -> Outcome[bool]:
        """Whether a thought is right, shown those up to it.

        Args:
            problem: The trace.
            count: The thought, from 1.
            reasoned: Whether it reasons before its verdict.

        Raises:
            BudgetReachedError: The budget stops the call.
        """
        rendered, form = self._prompts.of_step(problem, count, reasoned=reasoned)
        options = self.options
        most = options.max_reasoning_tokens if reasoned else options.max_tokens
        return await self._ask(rendered, form, most, read_verdict)

    async def _ask(
        self,
        rendered: Rendered,
        form: Form | None,
        max_tokens: int,
        read: Callable[[str], T | Unreadable],
    ) -> Outcome[T]:
        # A reply that is held to a form ends by itself.
        stop = () if form else rendered.stop
        sampling = Sampling(self.options.temperature, None, max_tokens, stop, form=form)
        never_again = 0
        asker = Asker(self.agent, self._library, sampling, never_again, "question")
        return await asker.ask(rendered, read, "", {})


def numbered(steps: Sequence[str]) -> str:
    r"""Thoughts as they stand in a prompt, from 1, a line each.

    A line break inside a thought becomes a space: behind it a text could pass for the next one.

    >>> numbered(["2 + 2 = 4", "So 4."])
    'Thought 1: 2 + 2 = 4\nThought 2: So 4.'
    """
    return "\n".join(
        f"Thought {number}: {' '.join(step.splitlines())}".rstrip()
        for number, step in enumerate(steps, 1)
    )


def _reasoned_form(features: frozenset[Feature]) -> Form | None:
    if "grammar" in features:
        either = " | ".join(json.dumps(one) for one in _ANSWERS)
        rest = f'[^\\n]{{1,{LONGEST_REASONING}}} "\\nVerdict: " ({either})'
        return Form("grammar", f'root ::= "Reasoning: " {rest}')
    return _reasoned_schema() if "json_schema" in features else None


def _reasoned_schema() -> Form:
    """Keys in the order of the alphabet, which is that of the thing: reasoning, then verdict."""
    fields: dict[str, Json] = {
        "reasoning": {"type": "string"},
        "verdict": {"type": "string", "enum": list(_ANSWERS)},
    }
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    return Form("json_schema", canonical_json(schema))
