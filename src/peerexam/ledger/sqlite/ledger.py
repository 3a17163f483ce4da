"""The ledger in one SQLite file, which a user can copy.

Any number of processes may read it; one at a time asks with it (`claims`).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TypeVar

from peerexam.calls import Call, Completion, Json, with_call
from peerexam.ledger.base import Failure, Outcome
from peerexam.ledger.database import PAGE, DatabaseLedger
from peerexam.ledger.entries import (
    StoredCall,
    completion_of,
    entry_of,
    failure_of,
    stored_call,
)
from peerexam.ledger.sqlite.claims import Claims
from peerexam.ledger.sqlite.schema import (
    SCHEMA,
    UNREADABLE,
    open_database,
    reading,
    refusal,
    shown_key,
    stored_key,
    unreadable,
)
from peerexam.ledger.sqlite.store import SqliteStore
from peerexam.ledger.writer import GroupWriter

T = TypeVar("T")

# Texts are read as bytes: our strings may hold lone surrogates, which are no UTF-8.
_FIND = "SELECT CAST(completion AS BLOB) FROM calls WHERE key = ?"
_FIND_EITHER = (  # one statement, since each takes a look at what other processes wrote
    "SELECT CAST(completion AS BLOB), NULL FROM calls WHERE key = ? UNION ALL"
    " SELECT NULL, CAST(failure AS BLOB) FROM failures WHERE key = ?"
)
_ENTRIES = (
    "SELECT key, CAST(name AS BLOB), CAST(fingerprint AS BLOB), CAST(request AS BLOB),"
    " CAST(completion AS BLOB), CAST(failure AS BLOB), created FROM"
    " (SELECT key, agent, request, completion, NULL AS failure, created FROM calls UNION ALL"
    " SELECT key, agent, request, NULL, failure, created FROM failures)"
    " JOIN agents ON agents.id = agent"
)
_ANSWERED = (
    "SELECT CAST(fingerprint AS BLOB), CAST(request AS BLOB) FROM calls"
    " JOIN agents ON agents.id = agent"
)
_TOTALS = (
    "SELECT CAST(name AS BLOB), calls, 0, prompt_tokens, completion_tokens, cost, calls - priced"
    " FROM tallies JOIN agents ON agents.id = agent UNION ALL"
    " SELECT CAST(name AS BLOB), 0, count(*), 0, 0, 0.0, 0 FROM failures"
    " JOIN agents ON agents.id = agent GROUP BY name"
)


class SqliteLedger(DatabaseLedger):
    """A `Ledger` in an SQLite file in WAL mode, synced with every commit.

    `record` hands the call to a writer thread, which commits whatever has gathered at once. `find`
    is one look-up by key on a connection of its own: it takes microseconds and never waits for the
    writer, so it is done in the event loop. Everything that reads many rows runs in another thread.
    """

    _totals = _TOTALS

    def __init__(
        self, path: Path, reader: sqlite3.Connection, writer: GroupWriter, claims: Claims
    ) -> None:
        super().__init__(writer)
        self.path = path
        self._reader = reader
        self._claims = claims

    @staticmethod
    def answered(path: Path) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
        """Fingerprint and request (as JSON) of every answered call in a file, outside of any loop.

        Raises:
            LedgerFileError: As `open`.
        """
        with closing(open_database(Path(path))) as connection, reading(Path(path)):
            for fingerprint, request in connection.execute(_ANSWERED):
                yield json.loads(fingerprint), json.loads(request)

    @classmethod
    def open(cls, path: Path) -> SqliteLedger:
        """Open the ledger at a path, creating it where there is no file.

        Raises:
            LedgerFileError: The file is damaged, no ledger, or of another schema; it is left alone.
        """
        path = Path(path)
        writing = open_database(path)
        try:
            reading = open_database(path)
        except BaseException:
            writing.close()
            raise
        claims = Claims(path)
        return cls(
            path, reading, GroupWriter(SqliteStore(writing, path, claims), str(path)), claims
        )

    async def begin(self) -> None:
        """Keep other processes from asking with the file, and see that it can be written to.

        Raises:
            LedgerFileError: Another process asks with it, or it cannot be written to.
        """
        self._claims.take()
        await self._scan(_write_something)

    async def completion(self, key: str) -> Completion | None:
        """What was answered under a request key, its `call` set; None where nothing was.

        Raises:
            LedgerFileError: The file is damaged, or the ledger is closed.
        """
        try:
            row = self._reader.execute(_FIND, (stored_key(key),)).fetchone()
            return None if row is None else completion_of(key, row[0])
        except sqlite3.Error as error:
            raise refusal(self.path, error) from error
        except UNREADABLE as error:
            raise unreadable(self.path) from error

    async def find(self, key: str) -> Outcome | None:
        """What is stored under a request key, its `call` set; None where there is nothing.

        Raises:
            LedgerFileError: As `completion`.
        """
        with reading(self.path):
            rows = self._reader.execute(_FIND_EITHER, (stored_key(key),) * 2).fetchall()
            answered = next((answer for answer, _ in rows if answer is not None), None)
            if answered is not None:
                return completion_of(key, answered)
            return failure_of(rows[0][1]) if rows else None

    async def reserve(self, key: str) -> Outcome | None:
        """What `find` gives; where that is no completion, the right to ask with it.

        While another ledger of this process that has the file open asks the same, this waits.

        Raises:
            LedgerFileError: As `find`, or another process asks with the file.
        """
        while (over := self._claims.claim(key)) is not None:
            await over
        try:
            found = await self.find(key)  # it may have been stored since it was looked up
        except BaseException:
            self._claims.free((key,))
            raise
        if isinstance(found, Completion):
            self._claims.free((key,))
        return found

    async def release(self, key: str) -> None:
        """Release the right to ask."""
        self._claims.free((key,))

    async def record(self, call: Call, outcome: Outcome) -> Outcome:
        """Store an outcome and return what stands under the key once it is on disk.

        A caller that is cancelled while it waits does not take the record back.

        Raises:
            LedgerFileError: The disk is full or failed, the file is damaged or was held by another
                process for too long, or the ledger is closed. Nothing was stored.
            ValueError: The outcome holds NaN or an infinity.
        """
        try:
            waiting = self._writer.submit(entry_of(call, outcome))
        except Exception:
            self._claims.free((call.key,))
            raise
        standing = await waiting
        if isinstance(standing, Failure) or standing.call == call.key:
            return standing
        return with_call(standing, call.key)

    async def known_keys(self) -> set[str]:
        """The keys of every call that was answered."""

        def read(connection: sqlite3.Connection) -> set[str]:
            # A million of them, so that no loop of ours runs over them: `shown_key` for each. In
            # SQLite's order every text comes before every blob.
            texts = connection.execute("SELECT key FROM calls WHERE key < x''")
            found: set[str] = set(chain.from_iterable(texts))
            blobs = connection.execute("SELECT key FROM calls WHERE key >= x''")
            found.update(map(bytes.hex, chain.from_iterable(blobs)))
            return found

        return await self._scan(read)

    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

        def read(connection: sqlite3.Connection) -> StoredCall | None:
            rows = connection.execute(f"{_ENTRIES} WHERE key = ?", (stored_key(key),))
            return next((stored_call(key, *rest) for _, *rest in rows), None)

        return await self._scan(read)

    async def close(self) -> None:
        """Commit what has gathered and close the file. More than once does no harm."""
        await asyncio.to_thread(self._writer.close)
        self._reader.close()
        self._claims.close()

    async def _scan(self, read: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            with closing(open_database(self.path)) as connection, reading(self.path):
                return read(connection)

        return await asyncio.to_thread(run)

    def _page_after(self, last: str) -> Callable[[sqlite3.Connection], list[StoredCall]]:
        def read(connection: sqlite3.Connection) -> list[StoredCall]:
            query = f"{_ENTRIES} WHERE key > ? ORDER BY key LIMIT {PAGE}"
            rows = connection.execute(query, (stored_key(last),))
            return [stored_call(shown_key(key), *rest) for key, *rest in rows]

        return read


def _write_something(connection: sqlite3.Connection) -> None:
    # The schema's number once more: it goes through the log like every answer will.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute("COMMIT")
