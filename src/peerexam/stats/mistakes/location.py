"""How well the first mistake of a trace is located (BIG-Bench Mistake, §3 and Tables 4, 5 and 9).

A location is one of many labels: the step with the first mistake, or that there is none. A reply
counts as right only where it is the very label; one that cannot be read is wrong, and is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import share_interval
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson_share
from peerexam.stats.core.tables import Floats, Ints

NO_MISTAKE = -1
"""As a location: that there is no mistake."""

UNREADABLE = -2
"""As a found location: the reply could not be read."""

Bools = NDArray[np.bool_]
Split = Literal["all", "mistake", "no_mistake", "correct_answer", "incorrect_answer"]

_NOTHING = "no trace of this kind"


@dataclass(frozen=True, slots=True)
class Located:
    """What was found in some traces, each an array with one entry a trace.

    Attributes:
        found: The step from 0, `NO_MISTAKE` or `UNREADABLE`.
        gold: The step from 0, or `NO_MISTAKE`.
        correct_answer: Whether the trace's final answer is right (correct_ans).
        left_out: Traces beside these for which nothing came back at all: their call failed.
    """

    found: Ints
    gold: Ints
    correct_answer: Bools
    left_out: int = 0

    def __post_init__(self) -> None:
        """Hold the three to one length.

        Raises:
            StatisticsError: They differ.
        """
        if not self.found.shape == self.gold.shape == self.correct_answer.shape:
            raise StatisticsError("found, gold and correct_answer must list the same traces")

    @property
    def splits(self) -> dict[Split, Bools]:
        """The kinds of trace for which the paper gives an accuracy (Table 9)."""
        wrong = self.gold != NO_MISTAKE
        return {
            "all": np.ones(len(self.gold), dtype=np.bool_),
            "mistake": wrong,
            "no_mistake": ~wrong,
            "correct_answer": self.correct_answer,
            "incorrect_answer": ~self.correct_answer,
        }


def location_accuracy(table: Located, failed: Located | None = None) -> dict[Split, Estimate]:
    """Share of traces whose label is exactly right, over all and by kind (Tables 4 and 9).

    Intervals are Wilson's. Undefined where there is no trace of a kind.

    Args:
        table: What was found.
        failed: The traces left out, whatever they say was found; each kind then counts its own.
    """
    right = table.found == table.gold
    lost: Mapping[Split, int] = {"all": table.left_out}
    if failed is not None:
        lost = {name: int(of.sum()) for name, of in failed.splits.items()}
    return {
        name: _share(int((right & of).sum()), int(of.sum()), lost.get(name, 0))
        for name, of in table.splits.items()
    }


def unreadable_share(table: Located) -> Estimate:
    """Share of traces for which no label could be read, with Wilson's interval."""
    count = int((table.found == UNREADABLE).sum())
    return _share(count, len(table.found), table.left_out)


def overall(by_task: Sequence[Estimate]) -> Estimate:
    """The paper's "overall": the mean over tasks, each with the same weight (Table 4).

    The interval joins those of the tasks, which are independent, by the square-root rule of Zou
    and Donner (2008, "Construction of confidence limits about effect measures", method MOVER):
    mean ∓ √Σ(share − end)² / tasks. Unlike a bootstrap it is right for shares of 0 and 1 too.

    Returns:
        `n` counts traces, `left_out` those that the tasks left out. Undefined where a task is.
    """
    n = sum(one.n for one in by_task)
    left_out = sum(one.left_out for one in by_task)
    name = "mean over tasks; MOVER"
    shares = [(e.value, e.low, e.high) for e in by_task]
    values = [v for v, _, _ in shares if v is not None]
    if not shares or len(values) < len(shares):
        return Estimate(
            None, n=n, left_out=left_out, method=name, reason="a task has no value of its own"
        )
    mean = float(np.mean(values))
    if any(low is None or high is None for _, low, high in shares):
        return Estimate(mean, n=n, left_out=left_out, method=name)
    ends = np.array(shares, dtype=np.float64)
    below, above = (
        float(np.sqrt(((ends[:, 0] - ends[:, side]) ** 2).sum())) / len(shares) for side in (1, 2)
    )
    return Estimate(mean, mean - below, mean + above, n=n, left_out=left_out, method=name)


def recombined(parts: Sequence[tuple[float, int]]) -> float:
    """An accuracy over all from those of its parts: Σ n·share / Σ n.

    >>> round(recombined([(0.8824, 34), (0.2820, 266)]), 4)
    0.35

    Raises:
        StatisticsError: The parts hold nothing.
    """
    total = sum(n for _, n in parts)
    if total == 0:
        raise StatisticsError("no part holds anything")
    return sum(share * n for share, n in parts) / total


def answer_f1(table: Located, *, confidence: float = 0.95) -> Estimate:
    """How well "it has a mistake" foretells "its answer is wrong" (§3.3, Table 5).

    The F1 of both labels (the answer is right, it is wrong), weighted by how often each occurs. A
    reply that could not be read foretells neither, so it is a miss of the label and no more.

    The interval is Wilson's for as many trials as the jackknife's variance over traces is worth. A
    bootstrap of a score near 1 draws too few of the rare misses: of 30 traces and a true F1 of 0.90
    it covered that in 89 of 100 draws, of one of 0.98 in 44.

    Args:
        table: What was found.
        confidence: Of the interval.
    """
    name = "weighted F1; Wilson's interval with the jackknife's variance over traces"
    counts = confusion(table)
    n = int(counts.sum())
    if n == 0:
        return Estimate(None, left_out=table.left_out, method=name, reason=_NOTHING)
    value = float(weighted_f1(counts))
    moved = _pseudo_values(counts)
    ends = share_interval(value + moved - moved.mean(), np.ones(n), confidence)
    low, high = ends or (None, None)
    return Estimate(value, low, high, n=n, left_out=table.left_out, method=name)


def _pseudo_values(counts: Floats) -> Floats:
    """The jackknife's, but for a constant: what each trace does to the F1 (shape: traces)."""
    n = int(counts.sum())
    if n < 2:
        return np.zeros(n)
    cells = np.flatnonzero(counts)
    without = np.tile(counts.ravel(), (len(cells), 1))
    without[np.arange(len(cells)), cells] -= 1
    scores = weighted_f1(without.reshape(-1, *counts.shape))
    return np.asarray(np.repeat(-(n - 1) * scores, counts.ravel()[cells].astype(np.int64)))


def confusion(table: Located) -> Floats:
    """Traces by the answer (right, wrong) and by what was foretold (right, wrong, nothing)."""
    foretold = np.where(
        table.found == UNREADABLE, 2, np.where(table.found == NO_MISTAKE, 0, 1)
    ).astype(np.int64)
    cell = (~table.correct_answer).astype(np.int64) * 3 + foretold
    return np.bincount(cell, minlength=6).reshape(2, 3).astype(np.float64)


def weighted_f1(counts: Floats) -> Floats:
    """F1 of each label, weighted by how often it occurs; of a label that never occurs, nothing.

    Args:
        counts: Shape … × 2 × 3, as `confusion` has it.
    """
    support = counts.sum(axis=-1)
    hits = np.stack([counts[..., 0, 0], counts[..., 1, 1]], axis=-1)
    foretold = counts.sum(axis=-2)[..., :2]
    f1 = np.divide(
        2 * hits, support + foretold, out=np.zeros_like(hits), where=(support + foretold) > 0
    )
    return np.asarray((f1 * support).sum(axis=-1) / support.sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Floors:
    """What comes of not looking.

    Attributes:
        never: Accuracy of always saying that there is no mistake.
        uniform: Expected accuracy of a label drawn evenly from "none" and every step.
        always_wrong_f1: Weighted F1 of foretelling a wrong answer every time.
        gold_f1: Weighted F1 of the true labels: what finding mistakes perfectly would give.
    """

    never: float
    uniform: float
    always_wrong_f1: float
    gold_f1: float

    def to_json(self) -> Mapping[str, float]:
        """As plain JSON."""
        return {
            "always_no_mistake": self.never,
            "uniform_random": self.uniform,
            "f1_always_incorrect_ans": self.always_wrong_f1,
            "f1_gold_mistakes": self.gold_f1,
        }


def floors(gold: Ints, steps: Ints, correct_answer: Bools) -> Floors:
    """Baselines of some traces.

    Args:
        gold: The step from 0, or `NO_MISTAKE`.
        steps: How many steps each has.
        correct_answer: Whether its final answer is right.

    Raises:
        StatisticsError: There is no trace.
    """
    if not len(gold):
        raise StatisticsError("no trace to take a baseline of")
    first_step = Located(np.zeros_like(gold), gold, correct_answer)
    return Floors(
        never=float((gold == NO_MISTAKE).mean()),
        uniform=float((1 / (steps + 1)).mean()),
        always_wrong_f1=float(weighted_f1(confusion(first_step))),
        gold_f1=float(weighted_f1(confusion(Located(gold, gold, correct_answer)))),
    )


def _share(count: int, n: int, left_out: int) -> Estimate:
    return wilson_share(count, n, left_out=left_out, method="share; Wilson", reason=_NOTHING)
