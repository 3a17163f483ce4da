"""What a set of annotated traces holds: BIG-Bench Mistake's own table, baselines, Dyck by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.standings.as_json import estimate_json
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.tables import Ints
from peerexam.stats.mistakes.location import NO_MISTAKE, Bools, Floors, floors
from peerexam.tasks.mistakes.dyck import first_fault
from peerexam.tasks.mistakes.traces import Trace, by_task


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """One task's row of the paper's Table 3, and what goes beyond it.

    Attributes:
        task: Its name.
        traces: How many.
        correct_ans: Traces whose final answer is right.
        correct_ans_mis: Of these, those with a mistake all the same.
        incorrect_mis: Traces with a mistake, whatever their answer.
        mean_steps: Steps a trace.
        floors: Its baselines.
    """

    task: str
    traces: int
    correct_ans: int
    correct_ans_mis: int
    incorrect_mis: int
    mean_steps: float
    floors: Floors

    @property
    def row(self) -> dict[str, Json]:
        """The row, "correct" always said of what."""
        return {
            "task": self.task,
            "traces": self.traces,
            "correct_ans": self.correct_ans,
            "incorrect_ans": self.traces - self.correct_ans,
            "correct_mis": self.traces - self.incorrect_mis,
            "incorrect_mis": self.incorrect_mis,
            "mean_steps": round(self.mean_steps, 6),
        }

    @property
    def cross(self) -> dict[str, Json]:
        """Answers against traces: a right answer may stand at the end of a wrong trace."""
        wrong_answers = self.traces - self.correct_ans
        both_wrong = self.incorrect_mis - self.correct_ans_mis
        return {
            "task": self.task,
            "correct_ans_correct_mis": self.correct_ans - self.correct_ans_mis,
            "correct_ans_incorrect_mis": self.correct_ans_mis,
            "incorrect_ans_incorrect_mis": both_wrong,
            "incorrect_ans_correct_mis": wrong_answers - both_wrong,
        }


def gold_of(traces: Sequence[Trace]) -> Ints:
    """The first mistakes as locations."""
    places = [NO_MISTAKE if t.mistake_index is None else t.mistake_index for t in traces]
    return np.array(places, dtype=np.int64)


def correct_answers(traces: Sequence[Trace]) -> Bools:
    """Which final answers are right."""
    return np.array([trace.correct_answer for trace in traces], dtype=np.bool_)


def task_counts(traces: Sequence[Trace]) -> list[TaskCounts]:
    """Count traces by task, in the order in which tasks first occur."""
    return [_counts(task, of) for task, of in by_task(traces).items()]


def _counts(task: str, traces: Sequence[Trace]) -> TaskCounts:
    steps = np.array([len(trace.steps) for trace in traces], dtype=np.int64)
    gold, right = gold_of(traces), correct_answers(traces)
    return TaskCounts(
        task=task,
        traces=len(traces),
        correct_ans=int(right.sum()),
        correct_ans_mis=int((right & (gold != NO_MISTAKE)).sum()),
        incorrect_mis=int((gold != NO_MISTAKE).sum()),
        mean_steps=float(steps.mean()),
        floors=floors(gold, steps, right),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A trace on which rule and label part.

    Attributes:
        id: The trace's.
        label: The label's step from 0; None for no mistake.
        rule: The rule's.
        expected: What the rule expects at its step.
    """

    id: str
    label: int | None
    rule: int | None
    expected: str | None

    def to_json(self) -> dict[str, Json]:
        """As plain JSON."""
        return {
            "id": self.id,
            "label": self.label,
            "rule": self.rule,
            "expected": self.expected,
        }


@dataclass(frozen=True, slots=True)
class DyckCheck:
    """How far the rule of `tasks.dyck` agrees with the labels of some traces.

    Attributes:
        agreement: Share of traces with the same label.
        differences: The others.
    """

    agreement: Estimate
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Json]:
        """As plain JSON."""
        return {
            "traces": self.agreement.n,
            "agreeing": self.agreement.n - len(self.differences),
            "agreement": estimate_json(self.agreement),
            "differences": [one.to_json() for one in self.differences],
        }


def check_dyck(traces: Sequence[Trace]) -> DyckCheck:
    """Annotate Dyck traces by rule and compare (§2.2).

    Raises:
        SetupError: There is no trace, or an input is no beginning of a Dyck word.
    """
    if not traces:
        raise SetupError("there is no trace to check")
    found = []
    for trace in traces:
        try:
            fault = first_fault(trace.input, trace.steps)
        except SetupError as error:
            raise SetupError(f"trace {trace.id} is no Dyck trace: {error}") from error
        rule = None if fault is None else fault.index
        if rule != trace.mistake_index:
            expected = None if fault is None else fault.expected
            found.append(Difference(trace.id, trace.mistake_index, rule, expected))
    n = len(traces)
    low, high = wilson(n - len(found), n) or (None, None)
    share = Estimate((n - len(found)) / n, low, high, n=n, method="share; Wilson")
    return DyckCheck(share, tuple(found))
