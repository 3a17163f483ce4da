"""The ledger in a PostgreSQL database, which several machines can share.

Three kinds of connection: the writer's, with group commit; the claim queue's, which looks
up and claims; and one for each reading of many rows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import TypeVar

import psycopg

from peerexam.calls import Call, Completion, Json, with_call
from peerexam.ledger.base import Failure, Outcome
from peerexam.ledger.database import PAGE, DatabaseLedger
from peerexam.ledger.entries import StoredCall, entry_of, stored_call
from peerexam.ledger.postgres.claim_queue import ClaimQueue
from peerexam.ledger.postgres.schema import prepare
from peerexam.ledger.postgres.server import Connection, Server, Session
from peerexam.ledger.postgres.store import PostgresStore
from peerexam.ledger.writer import GroupWriter

T = TypeVar("T")

# A failure that stands beside a success was stored by a process that asked at the same time.
_ENTRIES = """
SELECT key, name, fingerprint, request, completion, failure, created FROM (
    SELECT key, agent, request, completion, NULL AS failure, created FROM peerexam.calls
    WHERE {where} UNION ALL
    SELECT key, agent, request, NULL, failure, created FROM peerexam.failures
    WHERE {where} AND key NOT IN (SELECT key FROM peerexam.calls WHERE {where})
) AS entries JOIN peerexam.agents ON agents.id = agent ORDER BY key
"""
_ENTRY = _ENTRIES.format(where="key = %(key)s").encode()
_ENTRIES_AFTER = (
    "SELECT key, name, fingerprint, request, completion, failure, created FROM ("
    " (SELECT key, agent, request, completion, NULL AS failure, created FROM peerexam.calls"
    " WHERE key > %(key)s ORDER BY key LIMIT %(page)s) UNION ALL"
    " (SELECT key, agent, request, NULL, failure, created FROM peerexam.failures AS failed"
    " WHERE key > %(key)s AND NOT EXISTS (SELECT FROM peerexam.calls WHERE calls.key = failed.key)"
    " ORDER BY key LIMIT %(page)s)"
    ") AS entries JOIN peerexam.agents ON agents.id = agent ORDER BY key LIMIT %(page)s"
)
_ANSWERED = (
    "SELECT fingerprint, request FROM peerexam.calls JOIN peerexam.agents ON agents.id = agent"
)
_TOTALS = """
SELECT name, sum(calls)::bigint, 0::bigint, sum(prompt_tokens)::bigint,
    sum(completion_tokens)::bigint, sum(cost), sum(calls - priced)::bigint
FROM peerexam.tallies JOIN peerexam.agents ON agents.id = agent GROUP BY name
UNION ALL
SELECT name, 0, count(*), 0, 0, 0.0, 0
FROM peerexam.failures AS failed JOIN peerexam.agents ON agents.id = agent
WHERE NOT EXISTS (SELECT FROM peerexam.calls WHERE calls.key = failed.key) GROUP BY name
"""


class PostgresLedger(DatabaseLedger):
    """A `Ledger` in PostgreSQL. `reserve` shares the work with other living processes.

    A connection that is lost in mid-run is made again for a minute, claims included.
    """

    _totals = _TOTALS

    def __init__(self, server: Server, queue: ClaimQueue, writer: GroupWriter) -> None:
        super().__init__(writer)
        self._server = server
        self._queue = queue

    @classmethod
    def open(cls, url: str) -> PostgresLedger:
        """Open the ledger in a database, making its tables where there are none.

        Raises:
            LedgerFileError: The server, the user, the password or the database is wrong; or the
                tables are of another program or a newer peerexam, and are left as they are. The
                message holds no password.
        """
        server = Server(url)
        _on_a_connection(server, lambda connection: prepare(server, connection))
        session = Session(server)
        try:
            queue = ClaimQueue(server)
        except BaseException:
            session.close()
            raise
        store = PostgresStore(session, lambda: queue.owner)
        return cls(server, queue, GroupWriter(store, server.label))

    @staticmethod
    def answered(url: str) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
        """Fingerprint and request (as JSON) of every answered call, outside of any loop.

        Raises:
            LedgerFileError: As `open`.
        """
        server = Server(url)
        _on_a_connection(server, lambda connection: prepare(server, connection))
        with (
            server.connect() as connection,
            connection.transaction(),
            connection.cursor("answered", binary=True) as rows,
        ):
            for fingerprint, request in rows.execute(_ANSWERED):
                yield json.loads(fingerprint), json.loads(request)

    def __repr__(self) -> str:
        return f"PostgresLedger({self._server.label})"

    async def begin(self) -> None:
        """Nothing: who asks claims the request first, and that is written."""

    async def completion(self, key: str) -> Completion | None:
        """What was answered under a request key, its `call` set; None where nothing was.

        Raises:
            LedgerFileError: As `find`.
        """
        found = await self.find(key)
        return found if isinstance(found, Completion) else None

    async def find(self, key: str) -> Outcome | None:
        """What is stored under a request key, its `call` set; None where there is nothing.

        Raises:
            LedgerFileError: The server refused or did not come back, or the ledger is closed.
        """
        return await self._queue.ask(key, claiming=False).future

    async def reserve(self, key: str) -> Outcome | None:
        """What `find` gives; where that is no completion, the right to ask with it.

        While another living process, or another task of this one, has the right, this waits. The
        right ends with `record`, `release`, or the process.

        Raises:
            LedgerFileError: As `find`.
        """
        reservation = self._queue.ask(key, claiming=True)
        try:
            return await reservation.future
        except asyncio.CancelledError:
            self._queue.abandon(reservation)
            raise

    async def release(self, key: str) -> None:
        """Release the right to ask. Does not wait for the server."""
        self._queue.release(key)

    async def record(self, call: Call, outcome: Outcome) -> Outcome:
        """Store an outcome and return what stands under the key once the server has it on disk.

        A caller that is cancelled while it waits does not take the record back.

        Raises:
            LedgerFileError: The server refused or did not come back, or the ledger is closed.
                Nothing was stored.
            ValueError: The outcome holds NaN or an infinity.
        """
        try:
            standing = await self._writer.submit(entry_of(call, outcome))
        except Exception:  # not a cancellation: that leaves the record on its way
            self._queue.release(call.key)
            raise
        if isinstance(standing, Failure) or standing.call == call.key:
            return standing
        return with_call(standing, call.key)

    async def known_keys(self) -> set[str]:
        """The keys of every call that was answered."""

        def read(connection: Connection) -> set[str]:
            with connection.cursor(binary=True) as cursor:
                return {key for (key,) in cursor.execute("SELECT key FROM peerexam.calls")}

        return await self._scan(read)

    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

        def read(connection: Connection) -> StoredCall | None:
            row = connection.execute(_ENTRY, {"key": key}, binary=True).fetchone()
            return None if row is None else stored_call(*row)

        return await self._scan(read)

    async def close(self) -> None:
        """Commit what has gathered, release all claims, disconnect, once or more often."""
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._queue.close)

    async def _scan(self, read: Callable[[Connection], T]) -> T:
        return await asyncio.to_thread(_on_a_connection, self._server, read)

    def _page_after(self, last: str) -> Callable[[Connection], list[StoredCall]]:
        def read(connection: Connection) -> list[StoredCall]:
            page = {"key": last, "page": PAGE}
            rows = connection.execute(_ENTRIES_AFTER, page, binary=True)
            return [stored_call(*row) for row in rows]

        return read


def _on_a_connection(server: Server, read: Callable[[Connection], T]) -> T:
    with server.connect() as connection:
        try:
            return read(connection)
        except psycopg.Error as error:
            complaint = server.refusal(error)
    raise complaint
