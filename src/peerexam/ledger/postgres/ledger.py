"""The ledger in a PostgreSQL database, which several machines can share.

Three kinds of connection: the writer's, with group commit; the desk's, which looks up and claims;
and one for each reading of many rows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TypeVar

import psycopg

from peerexam.calls import Call, Completion, Json, Request, request_from_json, with_call
from peerexam.ledger.base import Failure, Outcome, Totals, sum_totals
from peerexam.ledger.entries import StoredCall, entry_of, stored_call
from peerexam.ledger.postgres.claim_queue import Desk
from peerexam.ledger.postgres.schema import prepare
from peerexam.ledger.postgres.server import Connection, Server, Session
from peerexam.ledger.postgres.store import PostgresStore
from peerexam.ledger.writer import GroupWriter

T = TypeVar("T")

_PAGE = 200  # stored calls read at once by an audit

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


class PostgresLedger:
    """A `Ledger` in PostgreSQL. `reserve` shares the work with other living processes.

    A connection that is lost in mid-run is made again for a minute, claims included.

    Use `open`, and `close` or `async with`.
    """

    def __init__(self, server: Server, desk: Desk, writer: GroupWriter) -> None:
        self._server = server
        self._desk = desk
        self._writer = writer

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
            desk = Desk(server)
        except BaseException:
            session.close()
            raise
        store = PostgresStore(session, lambda: desk.owner)
        return cls(server, desk, GroupWriter(store, server.label))

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

    @property
    def claims(self) -> bool:
        """Yes."""
        return True

    @property
    def is_ready(self) -> bool:
        """Whether what is answered now can be stored, as far as one knows."""
        return self._writer.is_ready

    @property
    def lost(self) -> int:
        """Answers that could not be stored, so far; some of them may be yet, by `close`."""
        return self._writer.lost

    async def ready(self) -> None:
        """Wait until what is answered then can be stored, as while the server is away.

        Raises:
            LedgerFileError: Something could not be.
        """
        await self._writer.ready()

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
        return await self._desk.ask(key, claiming=False).future

    async def reserve(self, key: str) -> Outcome | None:
        """What `find` gives; where that is no completion, the right to ask with it.

        While another living process, or another task of this one, has the right, this waits. The
        right ends with `record`, `release`, or the process.

        Raises:
            LedgerFileError: As `find`.
        """
        reservation = self._desk.ask(key, claiming=True)
        try:
            return await reservation.future
        except asyncio.CancelledError:
            self._desk.abandon(reservation)
            raise

    async def release(self, key: str) -> None:
        """Give up the right to ask. Does not wait for the server."""
        self._desk.release(key)

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
            self._desk.release(call.key)
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

    async def totals(self) -> Totals:
        """Sums over the whole ledger, for every run that shares it."""
        return sum_totals(*(await self.totals_by_agent()).values())

    async def totals_by_agent(self) -> dict[str, Totals]:
        """Sums for each agent's name, sorted; a call counts for the agent that asked it first."""

        def read(connection: Connection) -> dict[str, Totals]:
            sums: dict[str, Totals] = {}
            for raw, *numbers in connection.execute(_TOTALS):
                name = bytes(raw).decode("utf-8", "surrogatepass")
                part = Totals(*numbers)
                sums[name] = sum_totals(sums[name], part) if name in sums else part
            return dict(sorted(sums.items()))

        return await self._scan(read)

    async def stored(self, key: str) -> StoredCall | None:
        """Everything that is stored of one call; None where there is nothing."""

        def read(connection: Connection) -> StoredCall | None:
            row = connection.execute(_ENTRY, {"key": key}, binary=True).fetchone()
            return None if row is None else stored_call(*row)

        return await self._scan(read)

    async def request(self, key: str) -> Request | None:
        """What was asked under a key; None where there is nothing."""
        stored = await self.stored(key)
        return None if stored is None else request_from_json(stored.request)

    async def calls(self) -> AsyncIterator[StoredCall]:
        """Stream every stored call, failures too, in the order of their keys."""
        last = ""
        while True:
            page = await self._scan(_page_after(last))
            for call in page:
                yield call
            if len(page) < _PAGE:
                return
            last = page[-1].key

    async def close(self) -> None:
        """Commit what has gathered, give up all claims, disconnect. More than once does no harm."""
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._desk.close)

    async def __aenter__(self) -> PostgresLedger:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _scan(self, read: Callable[[Connection], T]) -> T:
        """Read many rows in another thread, on a connection that nobody else waits for."""
        return await asyncio.to_thread(_on_a_connection, self._server, read)


def _on_a_connection(server: Server, read: Callable[[Connection], T]) -> T:
    with server.connect() as connection:
        try:
            return read(connection)
        except psycopg.Error as error:
            complaint = server.refusal(error)
    raise complaint


def _page_after(last: str) -> Callable[[Connection], list[StoredCall]]:
    def read(connection: Connection) -> list[StoredCall]:
        page = {"key": last, "page": _PAGE}
        return [stored_call(*row) for row in connection.execute(_ENTRIES_AFTER, page, binary=True)]

    return read
