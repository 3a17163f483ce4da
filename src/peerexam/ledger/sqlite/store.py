"""The side of an SQLite ledger that writes: one transaction a group."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from peerexam.calls import Completion
from peerexam.ledger.base import Failure, Outcome
from peerexam.ledger.entries import Entry, completion_of
from peerexam.ledger.sqlite.claims import Claims
from peerexam.ledger.sqlite.schema import Key, reading, stored_key

Row = tuple[Key, int, float, int | None, int | None, float | None, bytes, bytes]

# Every statement that SQLite runs releases Python's lock and has to win it back from the loop, so
# as many rows as possible go in with one. The sizes are few because each is compiled and kept.
_SIZES = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
_CALL = "(?, ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"
_INSERT_CALLS = {
    size: "INSERT INTO calls(key, agent, created, prompt_tokens, completion_tokens, cost, request,"
    f" completion) VALUES {', '.join([_CALL] * size)} ON CONFLICT(key) DO NOTHING"
    for size in _SIZES
}
_INSERT_FAILURE = (
    "INSERT OR REPLACE INTO failures(key, agent, created, request, failure)"
    " VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))"
)
_COUNT = (
    "INSERT INTO tallies(agent, calls, prompt_tokens, completion_tokens, cost, priced)"
    " VALUES {} ON CONFLICT(agent) DO UPDATE SET calls = calls + excluded.calls,"
    " prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
    " completion_tokens = completion_tokens + excluded.completion_tokens,"
    " cost = cost + excluded.cost, priced = priced + excluded.priced"
)
_ANY_FAILURE = "SELECT 1 FROM failures LIMIT 1"
_DROP_FAILURE = "DELETE FROM failures WHERE key = ?"
_FIND_CALL = "SELECT CAST(completion AS BLOB) FROM calls WHERE key = ?"
_NEWEST = "SELECT key FROM calls ORDER BY id DESC LIMIT ?"


class SqliteStore:
    """The connection that writes, with the numbers of the agents it has met.

    Args:
        connection: Used, and closed, by this alone.
        path: The file, for errors.
        claims: The right to ask a request ends here, stored or not.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, claims: Claims) -> None:
        self._connection = connection
        self._path = path
        self._claims = claims
        self._agents: dict[tuple[str, bytes], int] = {}

    def commit(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a group in one transaction and say what stands under each key.

        Raises:
            LedgerFileError: The disk, the file or another process refused. Nothing was stored.
        """
        try:
            return self._commit(entries)
        finally:
            self._claims.free([entry.call.key for entry in entries])

    def _commit(self, entries: Sequence[Entry]) -> list[Outcome]:
        with reading(self._path):
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
        return stored

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _store(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a group, successes first, and say what stands under each key."""
        answered = [entry for entry in entries if not isinstance(entry.outcome, Failure)]
        standing = self._store_successes(answered)
        if self._connection.execute(_ANY_FAILURE).fetchone() is not None:
            keys = [(stored_key(entry.call.key),) for entry in answered]
            self._connection.executemany(_DROP_FAILURE, keys)
        return [
            self._store_failure(entry)
            if isinstance(entry.outcome, Failure)
            else standing.get(entry.call.key, entry.outcome)
            for entry in entries
        ]

    def _store_successes(self, entries: Sequence[Entry]) -> dict[str, Completion]:
        """Insert all at once; where a key was taken, read what stands under every key."""
        rows = [self._row(entry) for entry in entries]
        before = self._connection.total_changes
        self._insert(rows)
        inserted = self._connection.total_changes - before
        if inserted == len(rows):
            self._count(rows)
            return {}
        newest = {key for (key,) in self._connection.execute(_NEWEST, (inserted,))}
        # Of one key's entries in the group it was the first that went in.
        self._count([row for row in reversed(rows) if row[0] in newest], once=True)
        return {entry.call.key: self._standing(entry) for entry in entries}

    def _insert(self, rows: Sequence[Row]) -> None:
        start = 0
        for size in _SIZES:
            while len(rows) - start >= size:
                values = tuple(chain.from_iterable(rows[start : start + size]))
                self._connection.execute(_INSERT_CALLS[size], values)
                start += size

    def _count(self, rows: Sequence[Row], once: bool = False) -> None:
        """Add rows that were inserted to the agents' tallies; `once`: the last of a key counts."""
        if once:
            rows = list({row[0]: row for row in rows}.values())
        sums: dict[int, list[float]] = {}
        for _, agent, _, prompt, completion, cost, _, _ in rows:
            of_agent = sums.setdefault(agent, [agent, 0, 0, 0, 0.0, 0])
            of_agent[1] += 1
            of_agent[2] += prompt or 0
            of_agent[3] += completion or 0
            if cost is not None:
                of_agent[4] += cost
                of_agent[5] += 1
        if sums:
            values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(sums))
            tallies = tuple(chain.from_iterable(sums[agent] for agent in sorted(sums)))
            self._connection.execute(_COUNT.format(values), tallies)

    def _row(self, entry: Entry) -> Row:
        prompt, completion, cost = entry.usage
        call = entry.call
        key, agent = stored_key(call.key), self._agent(entry)
        return key, agent, entry.created, prompt, completion, cost, call.request, entry.body

    def _standing(self, entry: Entry) -> Completion:
        key = entry.call.key
        (body,) = self._connection.execute(_FIND_CALL, (stored_key(key),)).fetchone()
        return completion_of(key, body)

    def _store_failure(self, entry: Entry) -> Outcome:
        key = stored_key(entry.call.key)
        success = self._connection.execute(_FIND_CALL, (key,)).fetchone()
        if success is not None:
            return completion_of(entry.call.key, success[0])
        values = (key, self._agent(entry), entry.created, entry.call.request, entry.body)
        self._connection.execute(_INSERT_FAILURE, values)
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
