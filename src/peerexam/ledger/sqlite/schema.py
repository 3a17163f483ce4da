"""Opening a ledger's database: creating it, or refusing a file that is not one.

A file is ours when its application id says so; the schema's number is its `user_version`. Anything
else is refused with its path and the fix, and never written to.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peerexam.errors import LedgerFileError
from peerexam.ledger.sqlite.upgrade import TALLIES, upgrade

APPLICATION_ID = 0x50455845
"""`PEXE`, in the file's header: this is a ledger of peerexam."""

SCHEMA = 2
"""In the file's header. It rises with every change that an older peerexam cannot read."""

Key = bytes | str
"""A request key in a column: 64 hexadecimal digits are kept as 32 bytes, any other text as it is.

Keys come in no order, so that a commit touches about as many pages of their index as it has rows:
that is most of what is written, and half as much when keys take half the place.
"""

BUSY_SECONDS = 30.0
"""How long to wait for another process that is committing to the same file."""

_CACHE_KIB = 16 * 1024  # holds the index of 300,000 keys; filled only as far as there are any
_LOG_PAGES = 2000  # 32 MB: the pages of the index are copied back once for many commits
_PAGE_SIZE = 16384  # a 2 KB row does not fit twice into a page of 4 KB, which doubles the file

# Successes and failures stand apart: the first are only ever added, the second replaced or removed.
# The tallies change in the transaction that adds calls.
_TABLES = (
    "CREATE TABLE agents(id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " UNIQUE(name, fingerprint))",
    "CREATE TABLE calls(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,"
    " agent INTEGER NOT NULL REFERENCES agents(id), created REAL NOT NULL,"
    " prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,"
    " request TEXT NOT NULL, completion TEXT NOT NULL)",
    "CREATE TABLE failures(key BLOB PRIMARY KEY, agent INTEGER NOT NULL REFERENCES agents(id),"
    " created REAL NOT NULL, request TEXT NOT NULL, failure TEXT NOT NULL) WITHOUT ROWID",
    TALLIES,
)


def stored_key(key: str) -> Key:
    """A request key as the tables hold it."""
    if len(key) == 64:
        try:
            raw = bytes.fromhex(key)
        except ValueError:
            return key
        if raw.hex() == key:
            return raw
    return key


def shown_key(key: Key) -> str:
    """A request key as everyone else writes it: the inverse of `stored_key`."""
    return key if isinstance(key, str) else key.hex()


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the ledger at a path, which is created where there is none.

    Raises:
        LedgerFileError: The file is damaged, no ledger, or of another schema; or it cannot be
            opened or created.
    """
    if not path.parent.is_dir():
        raise LedgerFileError(f"{path}: there is no folder {path.parent}; make it first")
    with refusals(path):
        # Other threads than the one that opens it use a connection, one after the other.
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn SQLite's complaints about a file into ours, which name the path and the fix."""
    try:
        yield
    except sqlite3.Error as error:
        raise refusal(path, error) from error
    except UnicodeDecodeError as error:  # a damaged table of contents, quoted in SQLite's complaint
        raise refusal(path, sqlite3.OperationalError("its start is damaged")) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """As `refusals`, where stored calls are decoded: what cannot be is a damaged ledger, too."""
    with refusals(path):
        try:
            yield
        except LedgerFileError:
            raise
        except UNREADABLE as error:
            raise unreadable(path) from error


UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What decoding raises for bytes that we have not written."""


def unreadable(path: Path) -> LedgerFileError:
    """The error for a stored call that cannot be decoded."""
    return LedgerFileError(f"{path}: a stored call cannot be read; {_DAMAGED}")


def refusal(path: Path, error: sqlite3.Error) -> LedgerFileError:
    """SQLite's complaint about a file as ours."""
    return LedgerFileError(f"{path}: {error}; {_fix(error)}")


_DAMAGED = (
    "the ledger is damaged; it was left as it is: save what can be read with `peerexam salvage "
    "FILE NEW` and go on with --db NEW, or restore a copy"
)


def _fix(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, sqlite3.OperationalError):
        return _DAMAGED  # Python's own complaint: a text that is none
    primary = None if code is None else code & 0xFF
    return {
        sqlite3.SQLITE_NOTADB: "this is not a ledger, or its start is damaged; it was left as it "
        "is: name another file, or restore a copy",
        sqlite3.SQLITE_CORRUPT: _DAMAGED,
        sqlite3.SQLITE_FULL: "make room on the disk and run the same command again",
        sqlite3.SQLITE_IOERR: "the disk failed or is full; fix it and run the same command again",
        sqlite3.SQLITE_READONLY: "make the file and its folder writable",
        sqlite3.SQLITE_CANTOPEN: "is it a file, in a folder that can be written "
        "to, and may this process open more files (ulimit -n)?",
        sqlite3.SQLITE_BUSY: "another process has held it for too long; run the same command again",
    }.get(primary or -1, "it was left as it is; run the same command again")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = {-_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    if stored_schema(connection, path) != SCHEMA:
        _create_or_upgrade(connection, path)
    _use_wal(connection)


def stored_schema(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of a ledger that this peerexam can use, 0 for a file that holds nothing at all."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if (owner, schema, tables) == (0, 0, 0):
        if path.stat().st_size == 1:  # which SQLite takes for empty, and would write over
            raise LedgerFileError(
                f"{path}: this is not a ledger; it was left as it is: name another file"
            )
        return 0
    if owner != APPLICATION_ID:
        raise LedgerFileError(
            f"{path}: this database belongs to another program; it was left as it is: "
            "name another file"
        )
    if schema > SCHEMA:
        raise LedgerFileError(
            f"{path}: this ledger has schema {schema}, newer than this peerexam ({SCHEMA}); it was "
            "left as it is: update peerexam, or name another file"
        )
    if schema < 1 or not tables:
        raise LedgerFileError(
            f"{path}: this ledger has schema {schema} and {tables} tables, which this peerexam "
            "cannot read; it was left as it is: restore a copy, or name another file"
        )
    return int(schema)


def _create_or_upgrade(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
        schema = stored_schema(connection, path)
        if schema == 0:
            for statement in _TABLES:
                connection.execute(statement)
        elif schema < SCHEMA:
            upgrade(connection, stored_key)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _use_wal(connection: sqlite3.Connection) -> None:
    # The busy timeout does not cover the change of journal mode, so wait by hand.
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)
