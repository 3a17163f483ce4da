"""Group commit: one thread that writes whatever has gathered, at once, and notifies those who wait.

While one commit runs the next group gathers by itself, so that a lone record waits for one sync and
a crowd shares it. Where commits are quick and records come thick, a group is left to grow for a few
milliseconds: a commit costs as much processor time as ten of its records, and far less than a call
takes. There is no fixed timer, which would make everyone wait.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from peerexam.errors import LedgerFileError
from peerexam.ledger.base import Failure, Outcome
from peerexam.ledger.entries import Entry

T = TypeVar("T")

LARGEST_GROUP = 512
"""Entries in one commit at most, so that the first to wait never waits for thousands."""

Waiter = tuple[Entry, "asyncio.Future[Outcome]"]
Pair = tuple["asyncio.Future[Outcome]", Outcome | BaseException]

_SETTLED_AT_ONCE = 64

_CROWD = 4
"""A group of so many is followed by one that is left to grow."""

_PACE = 0.016
"""Seconds from one commit's beginning to the next one's, as long as the group grows."""

_STUCK = 0.25
"""Seconds after which a commit holds up the calls that are still to be sent."""

_STEP = 0.002
"""Seconds after which it is looked at whether a group still grows."""


class Store(Protocol):
    """Where a group goes. The writer's thread alone uses it."""

    def commit(self, entries: Sequence[Entry]) -> Sequence[Outcome]:
        """Store a group, all or nothing, and say what stands under each key.

        Raises:
            LedgerFileError: Nothing was stored.
        """

    def close(self) -> None:
        """Let go of the database."""


class GroupWriter:
    """Owns the thread that writes.

    Args:
        store: Used by that thread alone from now on, and closed by it.
        where: The ledger, for errors.
    """

    def __init__(self, store: Store, where: str) -> None:
        self._store = store
        self._where = where
        self._waiting: queue.SimpleQueue[Waiter | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._failure: BaseException | None = None
        self._unsaved: list[Entry] = []
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="peerexam-ledger", daemon=True)
        self._thread.start()

    def submit(self, entry: Entry) -> asyncio.Future[Outcome]:
        """Queue an entry; the future of the running loop gets what stands under its key.

        From here on the entry is written even if nobody waits for the future any more.

        Raises:
            LedgerFileError: The ledger is closed.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        with self._closing:
            if self._closed:
                raise LedgerFileError(f"{self._where}: the ledger is closed; open it again")
            self._waiting.put((entry, future))
        return future

    @property
    def is_ready(self) -> bool:
        """Whether every commit went well, and none is stuck."""
        began = self._began
        return self._failure is None and (began is None or time.monotonic() - began < _STUCK)

    async def ready(self) -> None:
        """Wait until no commit is stuck: what is paid for meanwhile would be lost with it.

        Raises:
            LedgerFileError: A commit failed. What comes next may fare better and is written all
                the same, but nothing is to be paid for on the strength of it.
        """
        while not self.is_ready:
            if self._failure is not None:
                raise LedgerFileError(str(self._failure)) from self._failure
            await asyncio.sleep(_STUCK / 5)

    @property
    def lost(self) -> int:
        """Answers that could not be stored, those of failed calls not counted."""
        return sum(not isinstance(entry.outcome, Failure) for entry in self._unsaved)

    def close(self) -> None:
        """Commit what has gathered, end the thread, close the store. Blocks."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        open_, began, last = True, 0.0, 0
        while open_:
            first = self._waiting.get()
            if last >= _CROWD:
                self._let_grow(began + _PACE)
            group, open_ = self._gather(first)
            began, last = time.monotonic(), len(group)
            if group:
                _deliver(group, self._commit([entry for entry, _ in group]))
        self._save_the_rest()
        self._store.close()

    def _save_the_rest(self) -> None:
        """What could not be stored, once more: there may be room by now, or for some of it."""
        while self._unsaved:
            try:
                self._store.commit(self._unsaved[-1:])
            except Exception:
                return
            self._unsaved.pop()

    def _let_grow(self, until: float) -> None:
        """Wait while more comes, but no longer than that."""
        size = self._waiting.qsize()
        while size < LARGEST_GROUP and time.monotonic() < until:
            time.sleep(_STEP)
            before, size = size, self._waiting.qsize()
            if size == before:
                return  # all who write wait for this group

    def _gather(self, item: Waiter | None) -> tuple[list[Waiter], bool]:
        """What waits now, that item first, and whether there may be more after it."""
        group: list[Waiter] = []
        while item is not None:
            group.append(item)
            if len(group) == LARGEST_GROUP:
                return group, True
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _commit(self, entries: Sequence[Entry]) -> Sequence[Outcome] | BaseException:
        """Store a group; an error is a value here, for those who wait."""
        self._began = time.monotonic()
        try:
            return self._store.commit(entries)
        except BaseException as error:
            self._unsaved += entries
            self._failure = self._failure or error
            return error
        finally:
            self._began = None


def _deliver(group: Sequence[Waiter], result: Sequence[Outcome] | BaseException) -> None:
    """Hand outcomes, or the one error, to the loops that wait: one wake-up a loop."""
    outcomes = [result] * len(group) if isinstance(result, BaseException) else result
    by_loop: dict[asyncio.AbstractEventLoop, list[Pair]] = {}
    for (_, future), outcome in zip(group, outcomes, strict=True):
        by_loop.setdefault(future.get_loop(), []).append((future, outcome))
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, iter(pairs), loop)
        except RuntimeError:
            continue  # that loop has ended, so nobody waits; the entries are on disk


def _settle(pairs: Iterator[Pair], loop: asyncio.AbstractEventLoop) -> None:
    """Settle a few futures and leave the rest to the loop's next round, to not hold it up."""
    some = tuple(islice(pairs, _SETTLED_AT_ONCE))
    if some:
        loop.call_soon(_settle, pairs, loop)
    settle(some)


def settle(answers: Iterable[tuple[asyncio.Future[T], T | BaseException]]) -> None:
    """Give each future its result or its error, in the loop's own thread."""
    for future, answer in answers:
        if future.done():
            continue  # who waited was cancelled
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
