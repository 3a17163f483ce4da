"""Saving what can be read of a damaged SQLite ledger into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from peerexam.calls import Call, Completion
from peerexam.errors import LedgerFileError
from peerexam.ledger.entries import Entry, completion_of
from peerexam.ledger.sqlite.claims import Claims
from peerexam.ledger.sqlite.schema import UNREADABLE, open_database, shown_key
from peerexam.ledger.sqlite.store import SqliteStore

_ROW = (
    "SELECT key, CAST(name AS BLOB), CAST(fingerprint AS BLOB), created, CAST(request AS BLOB),"
    " CAST(completion AS BLOB) FROM calls JOIN agents ON agents.id = agent WHERE calls.id = ?"
)
_SMALLEST = 64
"""Bytes of a stored call at least, to know how many there can be where the file does not say."""

_GROUP = 500


def salvage(damaged: Path, saved: Path) -> tuple[int, int]:
    """Copy every answered call that can be read; the damaged file is left as it is.

    Args:
        damaged: The ledger that cannot be read whole.
        saved: A new ledger; made where it is missing, added to where it is there.

    Returns:
        How many calls were saved, and how many were found that cannot be read.

    Raises:
        LedgerFileError: The file's start is damaged too, or the new one cannot be written to.
    """
    if not damaged.is_file():
        raise LedgerFileError(f"{damaged}: there is no such file; name the damaged ledger")
    if not damaged.stat().st_size:
        raise LedgerFileError(f"{damaged}: this file is empty, so there is nothing to save")
    if damaged.resolve() == saved.resolve():
        raise LedgerFileError(f"{saved}: this is the damaged ledger itself; name a new file")
    unread: list[int] = []
    claims = Claims(saved)
    with closing(open_database(damaged)) as reading, closing(open_database(saved)) as writing:
        claims.take()
        store, group, count = SqliteStore(writing, saved, claims), list[Entry](), 0
        try:
            for entry in _readable(reading, damaged.stat().st_size, unread):
                group.append(entry)
                count += 1
                if len(group) == _GROUP:
                    store.commit(group)
                    group.clear()
            store.commit(group)
        finally:
            claims.close()
    return count, len(unread)


def _readable(damaged: sqlite3.Connection, size: int, unread: list[int]) -> Iterator[Entry]:
    """Row by row, so that a page that cannot be read takes no other with it."""
    try:
        (last,) = damaged.execute("SELECT max(id) FROM calls").fetchone()
    except sqlite3.DatabaseError:
        last = size // _SMALLEST
    for number in range(1, min(last or 0, size // _SMALLEST) + 1):
        try:
            row = damaged.execute(_ROW, (number,)).fetchone()
            if row is not None:
                yield _entry(*row)
        except (sqlite3.DatabaseError, *UNREADABLE):
            unread.append(number)


def _entry(
    key: bytes | str, name: bytes, fingerprint: bytes, created: float, request: bytes, body: bytes
) -> Entry:
    outcome: Completion = completion_of(shown_key(key), body)
    call = Call(shown_key(key), name.decode("utf-8", "surrogatepass"), fingerprint, request)
    return Entry(call, float(created), outcome, body)
