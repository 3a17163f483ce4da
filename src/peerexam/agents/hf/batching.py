"""Which waiting requests a model takes together, and the one thread that runs them.

A batch costs what its longest row costs, padding included. So the request that has waited longest
is joined by those that are most like it in prompt and reply, until the batch is full. A request
too large for any batch runs alone.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Kind = Literal["generate", "score"]

_GATHERING = 0.005
"""Seconds without a new request after which a batch starts: a step takes ten times as long."""

_GATHERING_AT_MOST = 0.05


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one batch may be.

    Attributes:
        rows: Requests.
        tokens: Rows times the longest prompt and the longest reply: what the cache must hold.
    """

    rows: int = 16
    tokens: int = 16384


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of a request: those it has, and those that may come."""

    prompt: int
    reply: int


@dataclass(eq=False, slots=True)
class Job(Generic[T]):
    """A request that waits, or runs.

    Attributes:
        kind: Jobs of one batch are of one kind.
        size: Its tokens.
        limits: Of the batch that is made for it when it has waited longest.
        work: What is to be done.
        future: Where the result goes.
        cancelled: Set when nobody waits any more.
    """

    kind: Kind
    size: Size
    limits: BatchLimits
    work: T
    future: Future[Any] = field(default_factory=Future)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def finish(self, result: object) -> None:
        """Hand on the result; what comes after the first is dropped."""
        if not self.future.done():
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Hand on an error in place of the result."""
        if not self.future.done():
            self.future.set_exception(error)


def choose(sizes: Sequence[Size], limits: BatchLimits) -> list[int]:
    """Who goes together with the first, as indices in waiting order; the first always goes."""
    first = sizes[0]
    others = sorted(range(1, len(sizes)), key=lambda index: (_unlike(first, sizes[index]), index))
    taken, prompt, reply = [0], first.prompt, first.reply
    for index in others:
        if len(taken) == limits.rows:
            break
        longer = max(prompt, sizes[index].prompt), max(reply, sizes[index].reply)
        if (len(taken) + 1) * sum(longer) <= limits.tokens:
            taken.append(index)
            prompt, reply = longer
    return sorted(taken)


class Batcher(Generic[T]):
    """A queue, and a thread that takes batches from it.

    Args:
        run: Does a batch of one kind; it finishes each job as soon as it can. What it raises is
            the outcome of all jobs that are not finished.
        name: The thread's.
    """

    def __init__(self, run: Callable[[list[Job[T]]], None], name: str) -> None:
        self._run = run
        self._waiting: list[Job[T]] = []
        self._changed = threading.Condition()
        self._closed = False
        # A daemon: a run that is broken off must not wait for a batch.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> None:
        """Queue a job.

        Raises:
            RuntimeError: The batcher is closed.
        """
        with self._changed:
            if self._closed:
                raise RuntimeError("the model is closed")
            self._waiting.append(job)
            self._changed.notify()

    def close(self) -> None:
        """Let the running batch finish, and drop the jobs that wait."""
        with self._changed:
            self._closed = True
            dropped, self._waiting = self._waiting, []
            self._changed.notify()
        for job in dropped:
            job.future.cancel()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            try:
                self._run(batch)
                error: BaseException = RuntimeError("a batch ended without this job")
            except BaseException as raised:
                error = raised
            for job in batch:
                job.fail(error)
            del batch, error  # what they hold would else stay until the next batch

    def _next(self) -> list[Job[T]]:
        """The next batch; empty when closed."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._gather()
                if self._closed:
                    return []
                batch = self._take()
                if batch:
                    return batch

    def _gather(self) -> None:
        """Wait for those who come at the same moment."""
        waited = 0.0
        while not self._closed and waited < _GATHERING_AT_MOST:
            before = len(self._waiting)
            if before >= self._waiting[0].limits.rows:
                return
            if not self._changed.wait(_GATHERING):
                return
            waited += _GATHERING

    def _take(self) -> list[Job[T]]:
        first = self._waiting[0]
        alike = [job for job in self._waiting if job.kind == first.kind]
        taken = [alike[index] for index in choose([job.size for job in alike], first.limits)]
        chosen = set(map(id, taken))
        self._waiting = [job for job in self._waiting if id(job) not in chosen]
        return [job for job in taken if job.future.set_running_or_notify_cancel()]


def _unlike(one: Size, other: Size) -> float:
    """How far two sizes are apart, as a ratio: 8 and 16 tokens differ as 80 and 160 do."""
    return abs(math.log((one.prompt + 1) / (other.prompt + 1))) + abs(
        math.log((one.reply + 1) / (other.reply + 1))
    )
