"""Worked examples of the benchmarks' prompts: our own questions, candidates and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from peerexam.errors import SetupError
from peerexam.tasks.benchmarks.base import BenchmarkTask


@dataclass(frozen=True, slots=True)
class Example:
    """One example.

    Attributes:
        answer: As the generation prompt shows it.
        candidates: As the discrimination prompt shows them.
        best: The number of the best of them, counted from 1.
        why: For what reason.
    """

    question: str
    answer: str
    candidates: tuple[str, ...]
    best: int
    why: str

    def among(self, n: int) -> Example:
        """The example with at most n candidates, the best among them."""
        if n >= len(self.candidates):
            return self
        first = max(0, self.best - n)
        kept = self.candidates[first : first + n]
        return Example(self.question, self.answer, kept, self.best - first, self.why)


def examples_of(task: BenchmarkTask, times: int = 1) -> tuple[Example, ...]:
    """The examples that a task's prompt shows: the first of them, so many times what is usual.

    Raises:
        SetupError: There are not so many.
    """
    held = _held(task.name)
    wanted = task.shots * times
    if wanted > len(held):
        raise SetupError(
            f"{task.name} has {len(held)} examples, and {times} × {task.shots} were asked for; "
            "the paper did not go so far either, since they did not fit into the context"
        )
    return held[:wanted]


@cache
def _held(name: str) -> tuple[Example, ...]:
    import yaml

    folder = resources.files("peerexam.tasks") / "worked_examples"
    text = (folder / f"{name.replace('-', '_')}.yaml").read_text(encoding="utf-8")
    return tuple(
        Example(
            one["question"],
            one["answer"],
            tuple(map(str, one["candidates"])),
            one["best"],
            one["why"],
        )
        for one in yaml.safe_load(text)
    )
