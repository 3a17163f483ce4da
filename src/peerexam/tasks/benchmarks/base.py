"""One small interface for public benchmarks: items, what answers them, how an answer is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark.

    Attributes:
        id: No two items of one benchmark have the same.
        question: What is asked.
        gold: Right answers; empty where the benchmark has no key.
        wrong: Answers that the benchmark says are wrong.
        earlier: Turns of the user that come before, each of which the model answers first.
        earlier_gold: Reference answers to these, where there are any.
        category: As the benchmark has it.
        cluster: Items that hang together, and are resampled together, have the same.
    """

    id: str
    question: str
    gold: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    earlier_gold: tuple[str, ...] = ()
    category: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """A benchmark.

    Attributes:
        name: As on the command line.
        shots: Examples in a prompt (Self-[In]Correct, Table 1).
        scale: Lowest and highest score of an answer.
        unit: `share` where the scale is 0 to 1, else `points`.
        max_tokens: Of one answer.
        stop: Where the answer of a model that goes on with a text ends.
        judges: How many kinds of judgement an answer needs, besides or in place of a key.
        read: Items of a file or folder; of the hub where there is none.
        extract: The part of an answer that is compared; None where there is none.
        score: From an answer's text and its item to a score; None where a judge must say.
        shown: An answer as it is shown to whoever chooses.
    """

    name: str
    shots: int
    scale: tuple[float, float]
    unit: Literal["share", "points"]
    max_tokens: int
    stop: tuple[str, ...]
    judges: tuple[str, ...]
    read: Callable[[Path | None], tuple[Item, ...]]
    extract: Callable[[str], str | None]
    score: Callable[[str, Item], float | None]
    shown: Callable[[str], str] = field(default=str.strip)


def with_own_ids(items: Iterable[Item]) -> Iterator[Item]:
    """The items, those whose id came before with a number behind it; they share a cluster."""
    seen: dict[str, int] = {}
    for item in items:
        times = seen[item.id] = seen.get(item.id, 0) + 1
        cluster = item.cluster or item.id
        id_ = item.id if times == 1 else f"{item.id}~{times}"
        yield replace(item, id=id_, cluster=cluster)
