"""Group commit: one thread that writes whatever has gathered, at once, and tells who waits.

No timer: while one commit runs the next group gathers by itself, so that a lone record waits for
one sync and a crowd shares it.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from peerexam.calls import Completion
from peerexam.errors import LedgerFileError
from peerexam.ledger.base import Failure
from peerexam.ledger.entries import Entry, completion_of
from peerexam.ledger.schema import refusals

Outcome = Completion | Failure
Waiter = tuple[Entry, "asyncio.Future[Outcome]"]
Pair = tuple["asyncio.Future[Outcome]", Outcome | BaseException]

_SETTLED_AT_ONCE = 64
_LARGEST_GROUP = 512  # so that the first to wait never waits for thousands

# Every statement that SQLite runs gives up Python's lock and has to win it back from the loop, so
# rows go in by the dozen.
_ROWS = 24
_CALL = "(?, ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"
_INSERT = (
    "INSERT INTO calls(key, agent, created, prompt_tokens, completion_tokens, cost, request,"
    " completion) VALUES {} ON CONFLICT(key) DO NOTHING"
)
_INSERT_CALL = _INSERT.format(_CALL)
_INSERT_CALLS = _INSERT.format(", ".join([_CALL] * _ROWS))
_INSERT_FAILURE = (
    "INSERT OR REPLACE INTO failures(key, agent, created, request, failure)"
    " VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"
)
_ANY_FAILURE = "SELECT 1 FROM failures LIMIT 1"
_DROP_FAILURE = "DELETE FROM failures WHERE key = ?"
_FIND_CALL = "SELECT completion FROM calls WHERE key = ?"


class GroupWriter:
    """Owns the connection that writes.

    Args:
        connection: Used by the writer's thread alone from now on, and closed by it.
        path: The file, for errors.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[Waiter | None] = queue.SimpleQueue()
        self._agents: dict[tuple[str, bytes], int] = {}
        self._closing = threading.Lock()
        self._closed = False
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
                raise LedgerFileError(f"{self._path}: the ledger is closed; open it again")
            self._waiting.put((entry, future))
        return future

    def close(self) -> None:
        """Commit what has gathered, end the thread, close the connection. Blocks."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._gather()
            if group:
                _deliver(group, self._commit([entry for entry, _ in group]))
        self._connection.close()

    def _gather(self) -> tuple[list[Waiter], bool]:
        """What waits now, and whether there may be more after it."""
        group: list[Waiter] = []
        item = self._waiting.get()
        while item is not None:
            group.append(item)
            if len(group) == _LARGEST_GROUP:
                return group, True
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _commit(self, entries: Sequence[Entry]) -> Sequence[Outcome] | BaseException:
        """Store a group in one transaction; an error is a value here, for those who wait."""
        try:
            with refusals(self._path):
                if self._connection.in_transaction:  # an earlier rollback failed with its disk
                    self._connection.execute("ROLLBACK")
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    stored = self._store(entries)
                    self._connection.execute("COMMIT")
                except BaseException:
                    self._agents.clear()  # the rows behind these numbers are rolled back
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
        except BaseException as error:
            return error
        return stored

    def _store(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a group, successes first, and say what stands under each key."""
        answered = [entry for entry in entries if not isinstance(entry.outcome, Failure)]
        standing = self._store_successes(answered)
        if self._connection.execute(_ANY_FAILURE).fetchone() is not None:
            self._connection.executemany(_DROP_FAILURE, [(entry.call.key,) for entry in answered])
        return [
            self._store_failure(entry)
            if isinstance(entry.outcome, Failure)
            else standing.get(entry.call.key, entry.outcome)
            for entry in entries
        ]

    def _store_successes(self, entries: Sequence[Entry]) -> dict[str, Completion]:
        """Insert all at once; where a key was taken, read what stands under every key."""
        rows = [
            (
                entry.call.key,
                self._agent(entry),
                entry.created,
                *entry.usage,
                entry.call.request,
                entry.body,
            )
            for entry in entries
        ]
        before = self._connection.total_changes
        whole = len(rows) - len(rows) % _ROWS
        for start in range(0, whole, _ROWS):
            several = rows[start : start + _ROWS]
            self._connection.execute(_INSERT_CALLS, tuple(chain.from_iterable(several)))
        self._connection.executemany(_INSERT_CALL, rows[whole:])
        if self._connection.total_changes - before == len(rows):
            return {}
        found = (self._connection.execute(_FIND_CALL, (entry.call.key,)) for entry in entries)
        return {
            entry.call.key: completion_of(entry.call.key, cursor.fetchone()[0])
            for entry, cursor in zip(entries, found, strict=True)
        }

    def _store_failure(self, entry: Entry) -> Outcome:
        success = self._connection.execute(_FIND_CALL, (entry.call.key,)).fetchone()
        if success is not None:
            return completion_of(entry.call.key, success[0])
        self._connection.execute(
            _INSERT_FAILURE,
            (entry.call.key, self._agent(entry), entry.created, entry.call.request, entry.body),
        )
        return entry.outcome

    def _agent(self, entry: Entry) -> int:
        """The number of the entry's agent, which is stored once and not with every call."""
        agent = (entry.call.agent, entry.call.fingerprint)
        known = self._agents.get(agent)
        if known is not None:
            return known
        names = (entry.call.agent.encode("utf-8", "surrogatepass"), entry.call.fingerprint)
        self._connection.execute(
            "INSERT OR IGNORE INTO agents(name, fingerprint)"
            " VALUES (CAST(? AS TEXT), CAST(? AS TEXT))",
            names,
        )
        (number,) = self._connection.execute(
            "SELECT id FROM agents WHERE name = CAST(? AS TEXT) AND fingerprint = CAST(? AS TEXT)",
            names,
        ).fetchone()
        self._agents[agent] = int(number)
        return int(number)


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
    for future, outcome in some:
        if future.done():
            continue  # who waited was cancelled
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
