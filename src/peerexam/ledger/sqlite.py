"""The ledger in one SQLite file, which a user can copy and several processes can share."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from peerexam.calls import Call, Completion, Json, Request, request_from_json, with_call
from peerexam.ledger.base import Failure, Outcome, Totals, sum_totals
from peerexam.ledger.entries import (
    StoredCall,
    completion_of,
    entry_of,
    failure_of,
    stored_call,
)
from peerexam.ledger.schema import Key, open_database, refusal, refusals, shown_key, stored_key
from peerexam.ledger.sqlite_store import SqliteStore
from peerexam.ledger.writer import GroupWriter

T = TypeVar("T")

_PAGE = 200  # stored calls read at once by an audit

# Texts are read as bytes: our strings may hold lone surrogates, which are no UTF-8.
_FIND = "SELECT CAST(completion AS BLOB) FROM calls WHERE key = ?"
_FIND_FAILURE = "SELECT CAST(failure AS BLOB) FROM failures WHERE key = ?"
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


class SqliteLedger:
    """A `Ledger` in an SQLite file in WAL mode, synced with every commit.

    `record` hands the call to a writer thread, which commits whatever has gathered at once. `find`
    is one look-up by key on a connection of its own: it takes microseconds and never waits for the
    writer, so it is done in the event loop. Everything that reads many rows runs in another thread.

    Use `open`, and `close` or `async with`.
    """

    def __init__(self, path: Path, reader: sqlite3.Connection, writer: GroupWriter) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer

    @staticmethod
    def answered(path: Path) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
        """Fingerprint and request (as JSON) of every answered call in a file, outside of any loop.

        Raises:
            LedgerFileError: As `open`.
        """
        with closing(open_database(Path(path))) as connection, refusals(Path(path)):
            for fingerprint, request in connection.execute(_ANSWERED):
                yield json.loads(fingerprint), json.loads(request)

    @classmethod
    def open(cls, path: Path) -> SqliteLedger:
        """Open the ledger at a path, creating it where there is no file.

        Raises:
            LedgerFileError: The file is torn, is not a ledger, or is of another schema. It is left
                as it is.
        """
        path = Path(path)
        writing = open_database(path)
        try:
            reading = open_database(path)
        except BaseException:
            writing.close()
            raise
        return cls(path, reading, GroupWriter(SqliteStore(writing, path), str(path)))

    @property
    def claims(self) -> bool:
        """No: processes that share a file do not wait for each other's calls."""
        return False

    async def completion(self, key: str) -> Completion | None:
        """What was answered under a request key, its `call` set; None where nothing was.

        Raises:
            LedgerFileError: The file is torn, or the ledger is closed.
        """
        try:
            row = self._reader.execute(_FIND, (stored_key(key),)).fetchone()
        except sqlite3.Error as error:
            raise refusal(self.path, error) from error
        return None if row is None else completion_of(key, row[0])

    async def find(self, key: str) -> Outcome | None:
        """What is stored under a request key, its `call` set; None where there is nothing.

        Raises:
            LedgerFileError: As `completion`.
        """
        completion = await self.completion(key)
        if completion is not None:
            return completion
        try:
            row = self._reader.execute(_FIND_FAILURE, (stored_key(key),)).fetchone()
        except sqlite3.Error as error:
            raise refusal(self.path, error) from error
        return None if row is None else failure_of(row[0])

    async def reserve(self, key: str) -> Outcome | None:
        """What `find` gives; nothing is held."""
        return await self.find(key)

    async def release(self, key: str) -> None:
        """Nothing: `reserve` holds nothing here."""

    async def record(self, call: Call, outcome: Outcome) -> Outcome:
        """Store an outcome and return what stands under the key once it is on disk.

        A caller that is cancelled while it waits does not take the record back.

        Raises:
            LedgerFileError: The disk is full or failed, the file is torn or was held by another
                process for too long, or the ledger is closed. Nothing was stored.
            ValueError: The outcome holds NaN or an infinity.
        """
        standing = await self._writer.submit(entry_of(call, outcome))
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

    async def totals(self) -> Totals:
        """Sums over the whole ledger, for every run that shares it."""
        by_agent = (await self.totals_by_agent()).values()
        return sum_totals(*by_agent)

    async def totals_by_agent(self) -> dict[str, Totals]:
        """Sums for each agent's name, sorted; a call counts for the agent that asked it first."""

        def read(connection: sqlite3.Connection) -> dict[str, Totals]:
            sums: dict[str, Totals] = {}
            for raw, *numbers in connection.execute(_TOTALS):
                name = raw.decode("utf-8", "surrogatepass")
                sums[name] = sum_totals(sums.get(name, Totals()), Totals(*numbers))
            return dict(sorted(sums.items()))

        return await self._scan(read)

    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

        def read(connection: sqlite3.Connection) -> StoredCall | None:
            rows = connection.execute(f"{_ENTRIES} WHERE key = ?", (stored_key(key),))
            return next((stored_call(key, *rest) for _, *rest in rows), None)

        return await self._scan(read)

    async def request(self, key: str) -> Request | None:
        """What was asked under a key; None where there is nothing."""
        stored = await self.stored(key)
        return None if stored is None else request_from_json(stored.request)

    async def calls(self) -> AsyncIterator[StoredCall]:
        """Stream every stored call, failures too, in the order of their keys."""
        last: Key = ""
        while True:
            page = await self._scan(_page_after(last))
            for call in page:
                yield call
            if len(page) < _PAGE:
                return
            last = stored_key(page[-1].key)

    async def close(self) -> None:
        """Commit what has gathered and let go of the file. More than once does no harm."""
        await asyncio.to_thread(self._writer.close)
        self._reader.close()

    async def __aenter__(self) -> SqliteLedger:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _scan(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Read many rows in another thread, on a connection that nobody else waits for."""

        def run() -> T:
            with closing(open_database(self.path)) as connection, refusals(self.path):
                return read(connection)

        return await asyncio.to_thread(run)


def _page_after(last: Key) -> Callable[[sqlite3.Connection], list[StoredCall]]:
    def read(connection: sqlite3.Connection) -> list[StoredCall]:
        rows = connection.execute(f"{_ENTRIES} WHERE key > ? ORDER BY key LIMIT {_PAGE}", (last,))
        return [stored_call(shown_key(key), *rest) for key, *rest in rows]

    return read
