"""Where backtracking goes back to: gold, random and simulated locations (BIG-Bench Mistake, §4).

A location is a step from 0, or None for "no mistake", after which the trace is left alone. Every
draw has a generator of its own, keyed by seed, locator and trace, so that a trace's location does
not depend on which other traces are looked at.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from peerexam.errors import SetupError
from peerexam.tasks.mistakes.traces import Trace, by_task

Location = int | None
Kind = Literal["gold", "random", "simulated", "own", "peers", "each-peer", "model"]

CURVE = tuple(tenths / 10 for tenths in range(1, 11))
"""The accuracies that `simulated` alone stands for."""

KINDS = (
    "gold, random, simulated:SHARE (simulated alone: 0.1, 0.2 … 1.0), own, peers (their majority), "
    "each-peer, model:PATH"
)


@dataclass(frozen=True, slots=True)
class Locator:
    """Who says where the mistake is.

    Attributes:
        kind: See `KINDS`.
        accuracy: Of a simulated one.
        path: Of a trained one.
    """

    kind: Kind
    accuracy: float | None = None
    path: Path | None = None

    @property
    def asks(self) -> bool:
        """Whether agents are asked for the location."""
        return self.kind in ("own", "peers", "each-peer")

    @property
    def name(self) -> str:
        """As it is written."""
        if self.kind == "simulated":
            return f"simulated:{self.accuracy:g}"
        return f"model:{self.path}" if self.kind == "model" else self.kind


def locators_from(text: str) -> tuple[Locator, ...]:
    """The locators of `--locations`.

    Raises:
        SetupError: There is none, or one cannot be read.
    """
    found: list[Locator] = []
    for part in (part.strip() for part in text.split(",")):
        found += _read(part) if part else []
    if not found:
        raise SetupError(f"--locations names none: it takes {KINDS}")
    return tuple(dict.fromkeys(found))


def _read(part: str) -> list[Locator]:
    kind, colon, rest = part.partition(":")
    if part == "simulated":
        return [Locator("simulated", accuracy) for accuracy in CURVE]
    if kind == "simulated" and colon:
        return [Locator("simulated", _accuracy(rest))]
    if kind == "model" and rest:
        return [Locator("model", path=Path(rest))]
    plains: tuple[Kind, ...] = ("gold", "random", "own", "peers", "each-peer")
    for plain in plains:
        if part == plain:
            return [Locator(plain)]
    raise SetupError(f"--locations takes {KINDS}: '{part}' is none of them")


def _accuracy(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SetupError(f"simulated:SHARE takes a share from 0 to 1, as in 0.6, not '{text}'")
    return value


def given_locations(
    locator: Locator, traces: Sequence[Trace], whole: Sequence[Trace], seed: int
) -> dict[str, Location]:
    """The locations of a locator that asks nobody, by trace id.

    Args:
        locator: Gold, random, simulated or a trained model.
        traces: Where to locate.
        whole: The data set, whose distribution of locations a simulated locator follows.
        seed: Of the draws.

    Raises:
        SetupError: The trained model cannot be loaded, or the locator asks agents.
    """
    if locator.kind == "gold":
        return {trace.id: trace.mistake_index for trace in traces}
    if locator.kind == "random":
        return {trace.id: _random(trace, seed) for trace in traces}
    if locator.kind == "simulated":
        spread = {task: Counter(t.mistake_index for t in of) for task, of in by_task(whole).items()}
        share = locator.accuracy or 0.0
        return {t.id: simulated_location(t, share, spread[t.task], seed) for t in traces}
    if locator.kind == "model" and locator.path is not None:
        from peerexam.tasks.mistakes.step_classifier import load_classifier

        found = load_classifier(locator.path).locations(traces)
        return {trace.id: one for trace, one in zip(traces, found, strict=True)}
    raise SetupError(f"the locations of '{locator.name}' are asked of agents")


def _random(trace: Trace, seed: int) -> Location:
    """Any step or none, all alike (note 9 of the paper: no mistake is a location too)."""
    drawn = int(_generator(seed, "random", trace.id).integers(0, len(trace.steps) + 1))
    return None if drawn == len(trace.steps) else drawn


def simulated_location(
    trace: Trace, accuracy: float, spread: Mapping[Location, int], seed: int
) -> Location:
    """Where a reward model of some accuracy sees the mistake (§4.2).

    With that probability it is the gold location. Otherwise it is drawn from the locations of the
    task's traces, "no mistake" among them, and never is the gold one; locations beyond the trace's
    end are left out of the draw. Where that leaves nothing, all other locations are alike.

    One number decides for all accuracies of a trace, so that models of different accuracy differ
    only where they must.

    Args:
        trace: Where to locate.
        accuracy: 0 to 1.
        spread: How often each location occurs in the task.
        seed: Of the draw.
    """
    rng = _generator(seed, "simulated", trace.id)
    if rng.random() < accuracy:
        return trace.mistake_index
    places: list[Location] = [None, *range(len(trace.steps))]
    others = [place for place in places if place != trace.mistake_index]
    weights = np.array([spread.get(place, 0) for place in others], dtype=np.float64)
    if weights.sum() == 0:
        weights = np.ones(len(others))
    return others[int(rng.choice(len(others), p=weights / weights.sum()))]


def majority(votes: Sequence[Location]) -> Location:
    """The location most often named; where several are, the one named first."""
    counts = Counter(votes)
    most = max(counts.values())
    return next(vote for vote in votes if counts[vote] == most)


def _generator(seed: int, name: str, trace: str) -> np.random.Generator:
    digest = hashlib.blake2b(f"{name}\0{trace}".encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
