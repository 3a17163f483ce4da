"""Reading a ledger without writing to it: a run that uses it meanwhile is not disturbed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from peerexam.errors import LedgerFileError
from peerexam.ledger.entries import StoredCall, stored_call
from peerexam.ledger.opening import import_postgres, ledger_place
from peerexam.ledger.sqlite.schema import Key, refusals, shown_key, stored_key, stored_schema

KEY_DIGITS = 64
"""Hexadecimal digits of a request key."""

_AT_ONCE = 200
_ENTRIES = (
    "SELECT key, CAST(name AS BLOB), CAST(fingerprint AS BLOB), CAST(request AS BLOB),"
    " CAST(completion AS BLOB), CAST(failure AS BLOB), created FROM"
    " (SELECT key, agent, request, completion, NULL AS failure, created FROM calls"
    " WHERE key IN ({marks}) UNION ALL"
    " SELECT key, agent, request, NULL, failure, created FROM failures WHERE key IN ({marks}))"
    " JOIN agents ON agents.id = agent"
)
# The first schema kept keys as text, which comes before every blob.
_KEYS_FROM = (
    "SELECT key FROM (SELECT key FROM calls WHERE key BETWEEN ? AND ? OR key BETWEEN ? AND ?"
    " UNION SELECT key FROM failures WHERE key BETWEEN ? AND ? OR key BETWEEN ? AND ?)"
    " ORDER BY key LIMIT ?"
)


class CallReader(Protocol):
    """The calls in a ledger, for whoever shows what was asked and answered."""

    @property
    def label(self) -> str:
        """Where it is, without a password."""

    def read(self, keys: Collection[str]) -> Mapping[str, StoredCall]:
        """What is stored under some keys; a key that is not there is left out.

        Raises:
            LedgerFileError: The ledger cannot be read.
        """

    def keys_from(self, prefix: str, most: int = 10) -> list[str]:
        """Keys that begin with some hexadecimal digits, sorted, `most` at most.

        Raises:
            LedgerFileError: As `read`.
        """


def reading(where: str | Path) -> AbstractContextManager[CallReader]:
    """Open a ledger for reading only; nothing is created, upgraded or written.

    Args:
        where: As `open_ledger` takes it.

    Raises:
        LedgerFileError: There is none, or it is no ledger of ours.
        MissingExtraError: PostgreSQL's driver is not installed.
        SetupError: The URL names no file, or a database that is not supported.
    """
    place = ledger_place(where)
    if isinstance(place, Path):
        return _sqlite(place)
    opened: AbstractContextManager[CallReader] = import_postgres("postgres.reading").reading(place)
    return opened


@contextmanager
def _sqlite(path: Path) -> Iterator[CallReader]:
    if not path.is_file():
        raise LedgerFileError(f"{path}: there is no ledger here; name it with --db")
    with refusals(path):
        connection = sqlite3.connect(_read_only(path), uri=True, isolation_level=None)
        try:
            if stored_schema(connection, path) == 0:
                raise LedgerFileError(f"{path}: this ledger is empty; name another with --db")
            yield SqliteReader(path, connection)
        finally:
            connection.close()


def _read_only(path: Path) -> str:
    """A URI for SQLite.

    Where nobody has the file open there is no log beside it. It is then read as it stands, which
    leaves no log behind and needs no permission to write in the folder.
    """
    is_at_rest = not path.with_name(f"{path.name}-wal").exists()
    options = "mode=ro&immutable=1" if is_at_rest else "mode=ro"
    return f"file:{quote(str(path.absolute()))}?{options}"


class SqliteReader:
    """A `CallReader` of a file.

    Args:
        path: The file, for errors.
        connection: Opened for reading; closed by the caller.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @property
    def label(self) -> str:
        """The path."""
        return str(self._path)

    def read(self, keys: Collection[str]) -> dict[str, StoredCall]:
        """See `CallReader`."""
        found: dict[str, StoredCall] = {}
        with refusals(self._path):
            wanted = list(dict.fromkeys(keys))
            for start in range(0, len(wanted), _AT_ONCE):
                some = wanted[start : start + _AT_ONCE]
                given: list[Key] = [*map(stored_key, some), *some]
                query = _ENTRIES.format(marks=", ".join("?" * len(given)))
                for key, *rest in self._connection.execute(query, (*given, *given)):
                    found[shown_key(key)] = stored_call(shown_key(key), *rest)
        return found

    def keys_from(self, prefix: str, most: int = 10) -> list[str]:
        """See `CallReader`."""
        low, high = (prefix.ljust(KEY_DIGITS, digit) for digit in "0f")
        with refusals(self._path):
            bounds = (bytes.fromhex(low), bytes.fromhex(high), low, high)
            found = self._connection.execute(_KEYS_FROM, (*bounds, *bounds, most))
            return [shown_key(key) for (key,) in found]
