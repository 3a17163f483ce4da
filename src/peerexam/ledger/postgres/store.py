"""The side of a PostgreSQL ledger that writes: one transaction a group."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from peerexam.calls import Completion
from peerexam.ledger.base import Failure, Outcome
from peerexam.ledger.entries import Entry, completion_of
from peerexam.ledger.postgres.claims import release
from peerexam.ledger.postgres.server import PATIENCE, Connection, Session

# One statement and one way to the server and back. Keys are sorted, so that two processes that
# store the same ones wait for each other and never crosswise.
_ADD_CALLS = """
WITH given AS (
    SELECT * FROM unnest(%b::text[], %b::integer[], %b::float8[], %b::bigint[], %b::bigint[],
        %b::float8[], %b::bytea[], %b::bytea[])
        AS row(key, agent, created, prompt_tokens, completion_tokens, cost, request, completion)
), added AS (
    INSERT INTO peerexam.calls SELECT * FROM given ON CONFLICT DO NOTHING
    RETURNING key, agent, prompt_tokens, completion_tokens, cost
), counted AS (
    INSERT INTO peerexam.tallies
    SELECT agent, count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
        coalesce(sum(cost), 0), count(cost) FROM added GROUP BY agent
), freed AS (
    DELETE FROM peerexam.claims USING given WHERE claims.key = given.key
), replaced AS (
    DELETE FROM peerexam.failures USING given WHERE failures.key = given.key
)
SELECT key FROM added
"""
_ADD_FAILURES = """
INSERT INTO peerexam.failures
SELECT * FROM unnest(%b::text[], %b::integer[], %b::float8[], %b::bytea[], %b::bytea[])
    AS given(key, agent, created, request, failure)
    WHERE NOT EXISTS (SELECT FROM peerexam.calls WHERE calls.key = given.key)
ON CONFLICT (key) DO UPDATE SET agent = excluded.agent, created = excluded.created,
    request = excluded.request, failure = excluded.failure
"""
_FIND_CALLS = "SELECT key, completion FROM peerexam.calls WHERE key = ANY(%s::text[])"
_ADD_AGENT = (
    "INSERT INTO peerexam.agents(digest, name, fingerprint) VALUES (%b, %b, %b)"
    " ON CONFLICT DO NOTHING"
)
_FIND_AGENT = "SELECT id FROM peerexam.agents WHERE digest = %b"


class PostgresStore:
    """The connection that writes, with the numbers of the agents it has met.

    Args:
        session: Used, and closed, by this alone.
        owner: Says whose claims a failure frees.
    """

    def __init__(self, session: Session, owner: Callable[[], int]) -> None:
        self._session = session
        self._owner = owner
        self._patience = PATIENCE
        self._agents: dict[tuple[str, bytes], int] = {}

    def commit(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store a group, all or nothing, and say what stands under each key.

        Raises:
            LedgerFileError: The server refused or did not come back. Nothing was stored.
        """
        try:
            stored = self._session.run(
                lambda connection: self._store(connection, entries), self._patience
            )
        except BaseException:
            self._patience = 0.0  # the server was waited for once; what is left has its one chance
            raise
        self._patience = PATIENCE
        return stored

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _store(self, connection: Connection, entries: Sequence[Entry]) -> list[Outcome]:
        numbers = {
            agent: self._agent(connection, agent)
            for agent in {(entry.call.agent, entry.call.fingerprint) for entry in entries}
        }
        calls, failures = _first_of_each_key(entries)
        if not failures:
            standing = self._add_calls(connection, calls, numbers)
        else:
            with connection.transaction():
                standing = self._add_calls(connection, calls, numbers)
                self._add_failures(connection, failures, numbers)
                standing |= _standing(connection, [entry.call.key for entry in failures])
        return [standing.get(entry.call.key, entry.outcome) for entry in entries]

    def _add_calls(
        self,
        connection: Connection,
        entries: Sequence[Entry],
        numbers: dict[tuple[str, bytes], int],
    ) -> dict[str, Outcome]:
        """What stands under each key that has a success."""
        if not entries:
            return {}
        rows = [
            (entry.call.key, _number(entry, numbers), entry.created, *entry.usage,
             entry.call.request, entry.body)
            for entry in entries
        ]  # fmt: skip
        columns = [list(column) for column in zip(*rows, strict=True)]
        added = {key for (key,) in connection.execute(_ADD_CALLS, columns)}
        standing = {entry.call.key: entry.outcome for entry in entries}
        taken = [key for key in standing if key not in added]
        if taken:
            standing |= _standing(connection, taken)
        return standing

    def _add_failures(
        self,
        connection: Connection,
        entries: Sequence[Entry],
        numbers: dict[tuple[str, bytes], int],
    ) -> None:
        rows = [
            (entry.call.key, _number(entry, numbers), entry.created, entry.call.request, entry.body)
            for entry in entries
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(_ADD_FAILURES, columns)
        release(connection, self._owner(), [entry.call.key for entry in entries])

    def _agent(self, connection: Connection, agent: tuple[str, bytes]) -> int:
        """An agent's number. It is committed on its own, so that no rollback takes it back."""
        known = self._agents.get(agent)
        if known is not None:
            return known
        name, fingerprint = agent[0].encode("utf-8", "surrogatepass"), agent[1]
        # A fingerprint may be longer than what PostgreSQL can index.
        digest = hashlib.sha256(b"%d,%b%b" % (len(name), name, fingerprint)).digest()
        connection.execute(_ADD_AGENT, (digest, name, fingerprint))
        row = connection.execute(_FIND_AGENT, (digest,)).fetchone()
        assert row is not None, "the row that was just added"
        self._agents[agent] = int(row[0])
        return self._agents[agent]


def _first_of_each_key(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Successes and failures by key, of a key's successes the first, of its failures the last."""
    calls: dict[str, Entry] = {}
    failures: dict[str, Entry] = {}
    for entry in entries:
        if isinstance(entry.outcome, Failure):
            failures[entry.call.key] = entry
        else:
            calls.setdefault(entry.call.key, entry)
    return (
        [calls[key] for key in sorted(calls)],
        [failures[key] for key in sorted(failures)],
    )


def _number(entry: Entry, numbers: dict[tuple[str, bytes], int]) -> int:
    return numbers[entry.call.agent, entry.call.fingerprint]


def _standing(connection: Connection, keys: Sequence[str]) -> dict[str, Completion]:
    with connection.cursor(binary=True) as cursor:
        cursor.execute(_FIND_CALLS, (list(keys),))
        return {key: completion_of(key, body) for key, body in cursor}
