"""Reasoning steps as examples to learn from: (task, steps before it, step), right or wrong.

BIG-Bench Mistake, §4.2: a reward model is trained on the steps of annotated traces. Only the first
mistake of a trace is labelled; for training, and for nothing else, the steps after it count as
wrong too, since they stand on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerexam.tasks.mistakes.traces import Trace


@dataclass(frozen=True, slots=True)
class StepExample:
    """One step to learn from.

    Attributes:
        task: Its trace's task.
        trace: Its trace's id.
        input: The question.
        prefix: The steps before it.
        step: Its text.
        wrong: Whether it is, or stands on, a mistake.
        first: Whether it is the first mistake itself.
    """

    task: str
    trace: str
    input: str
    prefix: tuple[str, ...]
    step: str
    wrong: bool
    first: bool


def step_examples(traces: Iterable[Trace]) -> Iterator[StepExample]:
    """All steps of traces, in order."""
    for trace in traces:
        labels = wrong_steps(trace)
        for place, step in enumerate(trace.steps):
            yield StepExample(
                trace.task,
                trace.id,
                trace.input,
                trace.steps[:place],
                step,
                bool(labels[place]),
                place == trace.mistake_index,
            )


def wrong_steps(trace: Trace) -> NDArray[np.bool_]:
    """Per step, whether it counts as wrong: the first mistake and all after it."""
    labels = np.zeros(len(trace.steps), dtype=np.bool_)
    if trace.mistake_index is not None:
        labels[trace.mistake_index :] = True
    return labels
