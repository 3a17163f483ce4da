"""From the first schema of an SQLite ledger to the second, in place.

The first kept keys as text and had an index in place of the tallies. The texts of requests and
completions stay as they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

TALLIES = (
    "CREATE TABLE tallies(agent INTEGER PRIMARY KEY REFERENCES agents(id), calls INTEGER NOT NULL,"
    " prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cost REAL NOT NULL,"
    " priced INTEGER NOT NULL)"
)
"""The table of the second schema that the first did not have."""

_MOVE_CALLS = (
    "CREATE TABLE moved(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,"
    " agent INTEGER NOT NULL REFERENCES agents(id), created REAL NOT NULL,"
    " prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,"
    " request TEXT NOT NULL, completion TEXT NOT NULL)",
    "INSERT INTO moved SELECT id, stored_key(key), agent, created, prompt_tokens,"
    " completion_tokens, cost, request, completion FROM calls ORDER BY id",
    "DROP TABLE calls",
    "ALTER TABLE moved RENAME TO calls",
)
_MOVE_FAILURES = (
    "CREATE TABLE moved(key BLOB PRIMARY KEY, agent INTEGER NOT NULL REFERENCES agents(id),"
    " created REAL NOT NULL, request TEXT NOT NULL, failure TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO moved SELECT stored_key(key), agent, created, request, failure FROM failures",
    "DROP TABLE failures",
    "ALTER TABLE moved RENAME TO failures",
)
# Sums are those of REAL numbers: the first schema let in counts whose sum is no 64-bit integer.
_COUNT = (
    "INSERT INTO tallies SELECT agent, count(*), CAST(total(prompt_tokens) AS INTEGER),"
    " CAST(total(completion_tokens) AS INTEGER), total(cost), count(cost) FROM calls GROUP BY agent"
)


def upgrade(connection: sqlite3.Connection, stored_key: Callable[[str], bytes | str]) -> None:
    """Bring a ledger of schema 1 to schema 2, within the transaction that is open.

    Args:
        connection: With an open transaction.
        stored_key: How the second schema keeps a key.
    """
    connection.create_function("stored_key", 1, stored_key, deterministic=True)
    for statement in (TALLIES, *_MOVE_CALLS, *_MOVE_FAILURES, _COUNT):
        connection.execute(statement)
