"""Training the classifier of steps, one task held out at a time (BIG-Bench Mistake, §4.2, Table 7).

What is chosen (which view, which threshold) is chosen on the training tasks alone, and by holding
out each of them in turn: what does best on a task that was trained on need not do so on another.
Tasks weigh alike, however many steps they have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import MissingExtraError, SetupError
from peerexam.tasks.metrics.embeddings import EXTRA_PIP, check_encoder
from peerexam.tasks.mistakes.step_classifier import StepClassifier, points_of
from peerexam.tasks.mistakes.step_features import COLUMNS, VIEWS, Features, step_features
from peerexam.tasks.mistakes.traces import Trace, by_task

if TYPE_CHECKING:
    from torch import Tensor

EPOCHS = 120
HIDDEN = 8
RATE = 0.03
DECAY = 0.01
THRESHOLDS = np.linspace(0.04, 0.96, 47)

NONE = -1
"""No mistake, as a number."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TaskTable:
    """The steps of one task's traces, one below the other.

    Attributes:
        task: Its name.
        features: Steps × columns.
        wrong: Per step.
        starts: Where each trace begins, and the end of the last.
        gold: Per trace, the first mistake from 0, or -1.
    """

    task: str
    features: Features
    wrong: NDArray[np.bool_]
    starts: Ints
    gold: Ints


@dataclass(frozen=True, slots=True)
class Training:
    """How it is trained.

    Attributes:
        encoder: For the view `meaning`; None leaves that view out.
        epochs: Passes over all steps.
        seed: Of the first weights.
    """

    encoder: str | None = None
    epochs: int = EPOCHS
    seed: int = 0

    @property
    def views(self) -> tuple[str, ...]:
        """What may be chosen, the plainest first: it wins where two do alike."""
        return tuple(view for view in VIEWS if view != "meaning" or self.encoder is not None)


def check_training(training: Training) -> None:
    """Refuse what cannot be trained, before anything is read.

    Raises:
        MissingExtraError: torch, or what runs encoders, is not installed.
        SetupError: There is no such encoder, or no epoch.
    """
    if training.seed < 0:
        raise SetupError("--seed is a whole number, 0 or more")
    if training.epochs < 1:
        raise SetupError("--epochs is a number of passes, 1 or more")
    if training.encoder is not None:
        check_encoder(training.encoder)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"training needs torch: {EXTRA_PIP}") from error


def tables(traces: Sequence[Trace], training: Training) -> dict[str, TaskTable]:
    """Every step of every trace as a row; with an encoder this takes minutes."""
    vectors = points_of(traces, training.encoder)
    return {
        task: _table(task, [(t, step_features(t.input, t.steps, vectors)) for t in group])
        for task, group in by_task(traces).items()
    }


def _table(task: str, rows: Sequence[tuple[Trace, Features]]) -> TaskTable:
    lengths = [len(trace.steps) for trace, _ in rows]
    return TaskTable(
        task,
        np.concatenate([features for _, features in rows]),
        np.concatenate([wrong_steps(trace) for trace, _ in rows]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(
            [NONE if t.mistake_index is None else t.mistake_index for t, _ in rows], dtype=np.int64
        ),
    )


def wrong_steps(trace: Trace) -> NDArray[np.bool_]:
    """Per step, whether it counts as wrong: the first mistake and all after it.

    Only the first is labelled; for training, and for nothing else, what stands on it counts too.
    """
    labels = np.zeros(len(trace.steps), dtype=np.bool_)
    if trace.mistake_index is not None:
        labels[trace.mistake_index :] = True
    return labels


class Trainer:
    """Trains on subsets of tasks, and keeps what it has trained.

    Args:
        data: Tables by task.
        training: How.
        progress: Told after every network that was trained.
    """

    def __init__(
        self,
        data: Mapping[str, TaskTable],
        training: Training,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._data = data
        self._training = training
        self._progress = progress
        self._known: dict[tuple[frozenset[str], str], StepClassifier] = {}

    def for_tasks(self, tasks: Sequence[str]) -> StepClassifier:
        """A classifier that has seen these tasks and no other, view and threshold chosen on them.

        Raises:
            SetupError: There are fewer than two, so that none can be held out for the choice.
        """
        if len(tasks) < 2:
            raise SetupError("training needs two tasks at least besides the one held out")
        curves = {view: self._inner(tasks, view) for view in self._training.views}
        view = max(curves, key=lambda name: (curves[name].max(), -list(curves).index(name)))
        trained = self._fitted(frozenset(tasks), view)
        about = {
            "tasks": list(tasks),
            "epochs": self._training.epochs,
            "seed": self._training.seed,
            "inner_accuracy": {name: float(curve.max()) for name, curve in curves.items()},
        }
        encoder = self._training.encoder if view == "meaning" else None
        return StepClassifier(view, _middle_of_best(curves[view]), trained.weights, encoder, about)

    def _inner(self, tasks: Sequence[str], view: str) -> NDArray[np.float64]:
        """Accuracy by threshold, the mean over tasks each held out in turn."""
        found = [
            accuracies(self._fitted(frozenset(tasks) - {task}, view), self._data[task])
            for task in tasks
        ]
        mean: NDArray[np.float64] = np.mean(found, axis=0)
        return mean

    def _fitted(self, tasks: frozenset[str], view: str) -> StepClassifier:
        key = (tasks, view)
        if key not in self._known:
            chosen = [table for task, table in self._data.items() if task in tasks]
            self._known[key] = fit(chosen, view, self._training)
            self._progress()
        return self._known[key]


def fit(chosen: Sequence[TaskTable], view: str, training: Training) -> StepClassifier:
    """Train one network by gradient descent on all steps at once (Adam, on one thread)."""
    import torch

    columns = [COLUMNS.index(name) for name in VIEWS[view]]
    rows = np.concatenate([table.features[:, columns] for table in chosen])
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-3
    weight = np.concatenate([np.full(len(t.wrong), 1 / len(t.wrong)) for t in chosen])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        network = _descend(
            torch.from_numpy((rows - mean) / scale),
            torch.from_numpy(np.concatenate([t.wrong for t in chosen]).astype(np.float32)),
            torch.from_numpy((weight * len(rows) / len(chosen)).astype(np.float32)),
            training,
        )
    finally:
        torch.set_num_threads(before)
    return StepClassifier(view, 0.5, {"mean": mean, "scale": scale, **network})


def _descend(
    rows: Tensor, wrong: Tensor, weight: Tensor, training: Training
) -> dict[str, NDArray[np.float32]]:
    import torch
    from torch import nn

    draw = torch.Generator().manual_seed(training.seed)
    hidden = nn.Linear(rows.shape[1], HIDDEN)
    out = nn.Linear(HIDDEN, 1)
    with torch.no_grad():
        for part in (hidden, out):
            part.weight.copy_(torch.randn(part.weight.shape, generator=draw) * 0.3)
            part.bias.zero_()
    network = nn.Sequential(hidden, nn.Tanh(), out)
    descent = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    loss_of = nn.BCEWithLogitsLoss(weight=weight)
    for _ in range(training.epochs):
        descent.zero_grad()
        loss_of(network(rows).squeeze(1), wrong).backward()
        descent.step()
    return {
        "hidden": hidden.weight.detach().numpy().copy(),
        "hidden_bias": hidden.bias.detach().numpy().copy(),
        "out": out.weight.detach().numpy()[0].copy(),
        "out_bias": out.bias.detach().numpy().copy(),
    }


def located(classifier: StepClassifier, table: TaskTable, threshold: float) -> Ints:
    """Per trace, the first step above a threshold, or -1."""
    above = classifier.wrong(table.features) > threshold
    return np.array(
        [
            NONE if not above[start:end].any() else int(np.argmax(above[start:end]))
            for start, end in zip(table.starts, table.starts[1:], strict=False)
        ],
        dtype=np.int64,
    )


def accuracies(classifier: StepClassifier, table: TaskTable) -> NDArray[np.float64]:
    """The share of traces whose location is found, for each of `THRESHOLDS`."""
    return np.array(
        [(located(classifier, table, float(t)) == table.gold).mean() for t in THRESHOLDS]
    )


def _middle_of_best(curve: NDArray[np.float64]) -> float:
    """The middle of the longest run of best thresholds: the one least sensitive to calibration."""
    best = np.flatnonzero(curve >= curve.max() - 1e-12)
    runs = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
    longest = max(runs, key=len)
    return float(THRESHOLDS[longest[len(longest) // 2]])
