"""The trained reward model, held out task by task (BIG-Bench Mistake, §4.2 and Table 7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.runfolder.folder import write_object
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson
from peerexam.tasks.mistakes.step_training import (
    NONE,
    Ints,
    TaskTable,
    Trainer,
    Training,
    check_training,
    located,
    tables,
)
from peerexam.tasks.mistakes.traces import Trace

TABLE = "held_out.json"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How a classifier does on the task that it never saw.

    Attributes:
        task: Which.
        accuracy: Mistake-location accuracy; a location is right only where it is the very step, or
            rightly "no mistake".
        prior: What the best constant location on the training tasks scores here (each task one
            weight).
        prior_location: That location from 0; -1 is "no mistake".
        own_prior: What this task's own most common location scores, which no model may know.
        none: What always saying "no mistake" scores.
        random: What a uniform draw from "none" and all steps scores on average.
        view: Which columns were chosen on the training tasks.
        threshold: Likewise.
        folder: Where the weights are.
    """

    task: str
    accuracy: Estimate
    prior: float
    prior_location: int
    own_prior: float
    none: float
    random: float
    view: str
    threshold: float
    folder: str

    def to_json(self) -> dict[str, Json]:
        """As plain JSON."""
        return {
            "task": self.task,
            "accuracy": self.accuracy.value,
            "low": self.accuracy.low,
            "high": self.accuracy.high,
            "n": self.accuracy.n,
            "prior": self.prior,
            "prior_location": self.prior_location,
            "own_prior": self.own_prior,
            "always_none": self.none,
            "random": self.random,
            "view": self.view,
            "threshold": self.threshold,
            "folder": self.folder,
        }


def train_held_out(
    traces: Sequence[Trace],
    training: Training,
    hold_out: str,
    out: Path,
    told: Callable[[str], None] = lambda _: None,
) -> list[HeldOut]:
    """Train one classifier for each task held out, and leave its weights in `out/TASK`.

    Args:
        traces: Of three tasks or more.
        training: How.
        hold_out: A task, or `all` for each in turn.
        out: A folder; `held_out.json` there has the table.
        told: Told what goes on, a line at a time.

    Raises:
        MissingExtraError: torch, or what runs the encoder, is not installed.
        SetupError: There is no such task, too few of them, or no such encoder.
    """
    tasks = list(dict.fromkeys(trace.task for trace in traces))
    if hold_out != "all" and hold_out not in tasks:
        raise SetupError(f"there is no task '{hold_out}' to hold out: there are {', '.join(tasks)}")
    if len(tasks) < 3:
        raise SetupError("training needs three tasks: one held out, and two to choose settings on")
    check_training(training)
    told(f"looking at the steps of {len(traces)} traces")
    data = tables(traces, training)
    trainer = Trainer(data, training)
    found = []
    for task in tasks if hold_out == "all" else [hold_out]:
        told(f"training without {task}")
        found.append(_held_out(trainer, data, task, out / task))
    write_object(out / TABLE, {"tasks": [one.to_json() for one in found]})
    return found


def _held_out(trainer: Trainer, data: dict[str, TaskTable], task: str, folder: Path) -> HeldOut:
    others = [name for name in data if name != task]
    classifier = trainer.for_tasks(others)
    classifier.save(folder)
    table = data[task]
    hits = int((located(classifier, table, classifier.threshold) == table.gold).sum())
    low, high = wilson(hits, len(table.gold)) or (None, None)
    prior = best_constant([data[name].gold for name in others])
    steps = np.diff(table.starts)
    return HeldOut(
        task=task,
        accuracy=Estimate(
            hits / len(table.gold),
            low,
            high,
            n=len(table.gold),
            method="share of traces; Wilson interval",
        ),
        prior=float((table.gold == prior).mean()),
        prior_location=prior,
        own_prior=float((table.gold == best_constant([table.gold])).mean()),
        none=float((table.gold == NONE).mean()),
        random=float((1 / (steps + 1)).mean()),
        view=classifier.view,
        threshold=classifier.threshold,
        folder=str(folder),
    )


def best_constant(tasks: Sequence[Ints]) -> int:
    """The one location that is right most often, every task with one weight; ties: the earliest."""
    weights: dict[int, float] = defaultdict(float)
    for gold in tasks:
        for place, count in Counter(gold.tolist()).items():
            weights[place] += count / len(gold)
    return min(weights, key=lambda place: (-weights[place], place))
