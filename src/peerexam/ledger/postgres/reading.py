"""Reading a ledger in PostgreSQL without writing to it; see `reading`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from peerexam.ledger.entries import StoredCall, stored_call
from peerexam.ledger.postgres.schema import check
from peerexam.ledger.postgres.server import Connection, Server

T = TypeVar("T")

_ENTRIES = (
    "SELECT key, name, fingerprint, request, completion, failure, created FROM ("
    " SELECT key, agent, request, completion, NULL AS failure, created FROM peerexam.calls"
    " WHERE key = ANY(%(keys)s) UNION ALL"
    " SELECT key, agent, request, NULL, failure, created FROM peerexam.failures AS failed"
    " WHERE key = ANY(%(keys)s)"
    " AND NOT EXISTS (SELECT FROM peerexam.calls WHERE calls.key = failed.key)"
    ") AS entries JOIN peerexam.agents ON agents.id = agent"
)
_KEYS_FROM = (
    "SELECT key FROM peerexam.calls WHERE key BETWEEN %(low)s AND %(high)s UNION"
    " SELECT key FROM peerexam.failures WHERE key BETWEEN %(low)s AND %(high)s"
    " ORDER BY key LIMIT %(most)s"
)


@contextmanager
def reading(url: str) -> Iterator[PostgresReader]:
    """Open a ledger by its URL; the session can only read.

    Raises:
        LedgerFileError: The server, the user, the password or the database is wrong, or there is
            no ledger of ours in it. The message holds no password.
    """
    server = Server(url)
    with server.connect() as connection:
        connection.execute("SET default_transaction_read_only = on")
        reader = PostgresReader(server, connection)
        reader.ask(lambda connection: check(server, connection))
        yield reader


class PostgresReader:
    """A `CallReader` of a database.

    Args:
        server: Where it is, for errors.
        connection: Opened for reading; closed by the caller.
    """

    def __init__(self, server: Server, connection: Connection) -> None:
        self._server = server
        self._connection = connection

    @property
    def label(self) -> str:
        """The URL without its password."""
        return self._server.label

    def read(self, keys: Collection[str]) -> dict[str, StoredCall]:
        """See `CallReader`."""
        rows = self.ask(
            lambda connection: connection.execute(
                _ENTRIES, {"keys": list(keys)}, binary=True
            ).fetchall()
        )
        return {row[0]: stored_call(*row) for row in rows}

    def keys_from(self, prefix: str, most: int = 10) -> list[str]:
        """See `CallReader`."""
        bounds = {"low": prefix, "high": f"{prefix}g", "most": most}
        rows = self.ask(lambda connection: connection.execute(_KEYS_FROM, bounds).fetchall())
        return [key for (key,) in rows]

    def ask(self, read: Callable[[Connection], T]) -> T:
        """Do one reading; the server's complaint becomes ours.

        Raises:
            LedgerFileError: The server refused.
        """
        try:
            return read(self._connection)
        except psycopg.Error as error:
            complaint = self._server.refusal(error)
        raise complaint
