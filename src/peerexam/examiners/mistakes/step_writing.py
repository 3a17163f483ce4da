"""Writing the thoughts of a trace, one step at a time (BIG-Bench Mistake, §2 and §4.1).

Each step is a call of its own that ends at the newline. The first step after a mistake is drawn
several times at temperature 1; the others are greedy. A model that chats is asked for the next
thought, one that does not goes on with the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from peerexam.agents.base import Agent, Feature
from peerexam.calls import Request, Sampling
from peerexam.examiners.mistakes.finding import numbered
from peerexam.examiners.prompting.delimiters import fence_for
from peerexam.examiners.prompting.library import PromptLibrary, Rendered

STOP = "\n"

_ANSWER = re.compile(r"(?<=[Tt]he answer is).*$")
_NUMBER = re.compile(r"^\s*(?:\*\*)?Thought\s+\d+\s*:(?:\*\*)?\s*")


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A problem worked out without a mistake."""

    input: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkedTask:
    """What a kind of task is, and two problems of it."""

    about: str
    examples: tuple[WorkedExample, ...]


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """How a writer is asked.

    Attributes:
        max_tokens: Of one thought.
        seed: Keys the fence round problem and thoughts.
    """

    max_tokens: int = 512
    seed: int = 0


def worked_examples(task: str) -> WorkedTask:
    """The examples of a task; of one that is not known, one each of two other tasks."""
    known = _shipped()
    if task in known:
        return known[task]
    mixed = ("multistep_arithmetic", "tracking_shuffled_objects")
    return WorkedTask("Solve the problem.", tuple(known[name].examples[0] for name in mixed))


def answer_of(step: str) -> str | None:
    """What follows "the answer is" in a step, without the space around it; None where it is not.

    >>> answer_of("Thus 3 - 5 = -2. So the answer is -2")
    '-2'
    """
    found = _ANSWER.search(step)
    return None if found is None else found.group().strip()


def same_step(one: str, other: str) -> bool:
    """Whether two steps are the same but for white space."""
    return one.split() == other.split()


def cleaned(text: str) -> str:
    """A thought as it is kept: its first line, without a number before it.

    >>> cleaned("Thought 3: B = 2.")
    'B = 2.'
    """
    return _NUMBER.sub("", text.strip()).split("\n", 1)[0].strip()


@dataclass(frozen=True, slots=True)
class ThoughtPrompts:
    """What a writer is told.

    Attributes:
        library: The words.
        features: The agent's.
        seed: Keys the fence round problem and thoughts.
    """

    library: PromptLibrary
    features: frozenset[Feature]
    seed: int = 0

    def next_after(self, task: str, problem: str, steps: Sequence[str]) -> Rendered:
        """For the thought that follows some steps."""
        shown = worked_examples(task)
        chat = "chat" in self.features
        fields = {"about": shown.about, "examples": shown.examples, "count": len(steps) + 1}
        if not chat:
            # A base model reads on from here, so a thought must stay on its line.
            kept = tuple(" ".join(step.splitlines()) for step in steps)
            return self.library.render(
                "next_thought", False, problem=problem, thoughts=kept, **fields
            )
        thoughts = numbered(steps) if steps else "(none yet)"
        fence = fence_for(self.seed, problem, [problem, thoughts])
        return self.library.render(
            "next_thought",
            True,
            problem=fence.around("Problem", problem),
            thoughts=fence.around("Thoughts", thoughts),
            key=fence.key,
            **fields,
        )


class ThoughtWriter:
    """A model that goes on with a trace: the requests that are made of it.

    Args:
        agent: The model.
        prompts: Its words.
        options: How it is asked.
    """

    def __init__(
        self, agent: Agent, prompts: PromptLibrary, options: WriterOptions | None = None
    ) -> None:
        self.agent = agent
        self._options = options or WriterOptions()
        self._prompts = ThoughtPrompts(prompts, agent.features, self._options.seed)

    def drawn(self, task: str, problem: str, steps: Sequence[str], draw: int) -> Request:
        """One of several samples of the next thought, at temperature 1."""
        wanted = 0 if "logprobs" in self.agent.features else None
        return self._request(task, problem, steps, Sampling(1.0, top_logprobs=wanted), draw)

    def greedy(self, task: str, problem: str, steps: Sequence[str]) -> Request:
        """The next thought at temperature 0."""
        return self._request(task, problem, steps, Sampling(0.0))

    def scored(self, task: str, problem: str, steps: Sequence[str], thought: str) -> Request:
        """How likely a given next thought is, for agents with the feature `score`."""
        messages = self._prompts.next_after(task, problem, steps).messages
        # A model that goes on after "Thought 4:" begins with a space.
        text = thought if "chat" in self.agent.features else f" {thought}"
        return Request(messages, Sampling(0.0), continuation=text)

    def _request(
        self, task: str, problem: str, steps: Sequence[str], sampling: Sampling, draw: int = 0
    ) -> Request:
        rendered = self._prompts.next_after(task, problem, steps)
        bounded = replace(sampling, max_tokens=self._options.max_tokens, stop=(STOP,))
        return Request(rendered.messages, bounded, draw=draw)


@functools.cache
def _shipped() -> Mapping[str, WorkedTask]:
    import yaml

    text = (resources.files("peerexam.examiners") / "thought_examples.yaml").read_text("utf-8")
    return {
        task: WorkedTask(
            body["about"],
            tuple(WorkedExample(one["input"], tuple(one["steps"])) for one in body["examples"]),
        )
        for task, body in yaml.safe_load(text).items()
    }
