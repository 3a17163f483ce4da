"""Who may use an engine's slots next: jobs of one kind at a time.

Forcing a text takes one step of the engine for each of its tokens. Were a step shared with other
requests' prompts, each token would wait until hundreds of theirs have been read. So the kinds take
turns: those of one run together until none is left, or until their turn is over and the other kind
waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeVar

T = TypeVar("T")

Kind = Literal["generate", "score"]

TURN = 15.0
"""Seconds after which a kind lets the other in."""


class Turns:
    """Worker threads, one a slot, that take jobs of one kind at a time, each kind in order.

    Args:
        slots: How many jobs run at once.
        turn: Seconds after which a kind lets the other in, where one waits.
        clock: Where the time comes from.
    """

    def __init__(
        self, slots: int, turn: float = TURN, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._slots = slots
        self._turn = turn
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[Kind, deque[tuple[Future[Any], Callable[[], Any]]]] = {
            "generate": deque(),
            "score": deque(),
        }
        self._running = 0
        self._kind: Kind = "generate"
        self._since = clock()
        self._workers = ThreadPoolExecutor(slots, thread_name_prefix="llama")

    def submit(self, kind: Kind, job: Callable[[], T]) -> Future[T]:
        """Queue a job. Its future can be cancelled until it begins."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting[kind].append((future, job))
            self._start()
        return future

    def close(self) -> None:
        """Let running jobs finish and drop the others."""
        with self._lock:
            dropped = [future for queue in self._waiting.values() for future, _ in queue]
            for queue in self._waiting.values():
                queue.clear()
        for future in dropped:
            future.cancel()
        self._workers.shutdown(wait=True)

    def _start(self) -> None:
        """Begin what may begin; the lock is held."""
        while self._running < self._slots and self._may_begin():
            future, job = self._waiting[self._kind].popleft()
            if future.set_running_or_notify_cancel():
                self._running += 1
                self._workers.submit(self._do, future, job)

    def _may_begin(self) -> bool:
        other: Kind = "score" if self._kind == "generate" else "generate"
        over = self._waiting[other] and self._clock() - self._since >= self._turn
        if self._waiting[self._kind] and not over:
            return True
        if self._running or not self._waiting[other]:
            return False
        self._kind, self._since = other, self._clock()
        return True

    def _do(self, future: Future[Any], job: Callable[[], Any]) -> None:
        try:
            result = job()
        except BaseException as error:
            self._finished()
            future.set_exception(error)
        else:
            self._finished()
            future.set_result(result)

    def _finished(self) -> None:
        with self._lock:
            self._running -= 1
            self._start()
