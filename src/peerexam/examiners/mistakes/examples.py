"""The worked examples that finders of mistakes are shown: three a kind of task, of our own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class MistakeExample:
    """A trace whose first mistake is known.

    Attributes:
        input: The problem.
        steps: The thoughts.
        mistake: The first that is wrong, counted from 1; None where none is.
        asked: The thought about which the methods that go step by step ask, from 1. It is the
            mistake, or stands before it.
        reasoning: Why that thought is right or wrong.
    """

    input: str
    steps: tuple[str, ...]
    mistake: int | None
    asked: int
    reasoning: str


@dataclass(frozen=True, slots=True)
class TaskExamples:
    """What is said and shown of a kind of task.

    Attributes:
        about: What its problems are, since the data does not say (a Dyck problem is bare symbols).
        examples: Three, of which one has no mistake.
    """

    about: str
    examples: tuple[MistakeExample, ...]


def examples_for(task: str) -> TaskExamples:
    """The examples of a task; of one that is not known, one each of three other tasks."""
    known = _shipped()
    if task in known:
        return known[task]
    mixed = ("multistep_arithmetic", "tracking_shuffled_objects", "logical_deduction")
    shown = tuple(known[name].examples[place] for place, name in enumerate(mixed))
    return TaskExamples("The examples are of several kinds of problem.", shown)


@functools.cache
def _shipped() -> Mapping[str, TaskExamples]:
    import yaml

    text = (resources.files("peerexam.examiners") / "mistake_examples.yaml").read_text("utf-8")
    return {
        task: TaskExamples(
            body["about"],
            tuple(
                MistakeExample(**{**example, "steps": tuple(example["steps"])})
                for example in body["examples"]
            ),
        )
        for task, body in yaml.safe_load(text).items()
    }
