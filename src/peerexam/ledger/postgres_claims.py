"""Claims in PostgreSQL: which process may ask which request.

A claim is a row, and its owner a number for which a living process holds an advisory lock. The lock
goes with the connection, whatever ends the process, and its claims are then free for all.
"""

from __future__ import annotations

from collections.abc import Collection

from peerexam.ledger.postgres_schema import LOCKS
from peerexam.ledger.postgres_server import Connection

# Rows are locked in the order of their keys everywhere, so that no two processes lock crosswise.
_CLAIM = (
    "INSERT INTO peerexam.claims SELECT key, %s FROM unnest(%s::text[]) AS key"
    ' ORDER BY key COLLATE "C" ON CONFLICT DO NOTHING RETURNING key'
)
_RELEASE = "DELETE FROM peerexam.claims WHERE owner = %s AND key = ANY(%s::text[])"
_RELEASE_ALL = "DELETE FROM peerexam.claims WHERE owner = %s"
_DROP_DEAD = (
    "DELETE FROM peerexam.claims WHERE owner NOT IN"
    " (SELECT objid::bigint::integer FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"
    " AND classid::bigint = %s AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database()))"
)


def become_owner(connection: Connection) -> int:
    """Take a fresh owner's number and its lock, which this connection holds until it ends."""
    row = connection.execute("SELECT nextval('peerexam.owners')::integer").fetchone()
    owner = int(row[0]) if row else 0
    connection.execute("SELECT pg_advisory_lock(%s, %s)", (LOCKS, owner))
    return owner


def hand_over(connection: Connection, old: int, new: int) -> None:
    """Move what is left of a lost connection's claims to the owner that took its place."""
    connection.execute("UPDATE peerexam.claims SET owner = %s WHERE owner = %s", (new, old))


def claim(connection: Connection, owner: int, keys: Collection[str]) -> set[str]:
    """Claim what nobody has claimed, and say which keys that were."""
    return {key for (key,) in connection.execute(_CLAIM, (owner, list(keys)))}


def release(connection: Connection, owner: int, keys: Collection[str]) -> None:
    """Give claims up; those of others stay."""
    connection.execute(_RELEASE, (owner, list(keys)))


def release_all(connection: Connection, owner: int) -> None:
    """Give every claim of an owner up."""
    connection.execute(_RELEASE_ALL, (owner,))


def drop_dead(connection: Connection) -> None:
    """Remove the claims of every process that is no more."""
    connection.execute(_DROP_DEAD, (LOCKS,))
