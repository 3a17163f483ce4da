"""Claims in PostgreSQL: which process may ask which request.

A claim is a row, and its owner a number for which a living process holds an advisory lock. The lock
goes with the connection, whatever ends the process, and its claims are then free for all.
"""

from __future__ import annotations

from collections.abc import Collection

from peerexam.ledger.postgres.schema import LOCKS, WAITS
from peerexam.ledger.postgres.server import Connection

# Rows are locked in the order of their keys everywhere, so that no two processes lock crosswise.
_CLAIM = (
    "INSERT INTO peerexam.claims SELECT key, %s FROM unnest(%s::text[]) AS key"
    ' ORDER BY key COLLATE "C" ON CONFLICT DO NOTHING RETURNING key'
)
_RELEASE = "DELETE FROM peerexam.claims WHERE owner = %s AND key = ANY(%s::text[])"
_RELEASE_ALL = "DELETE FROM peerexam.claims WHERE owner = %s"
_LOCKS = (
    "SELECT pid, objid::bigint::integer AS number FROM pg_locks WHERE locktype = 'advisory'"
    " AND objsubid = 2 AND classid::bigint = %s AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_DROP_DEAD = (
    f"DELETE FROM peerexam.claims WHERE owner NOT IN (SELECT number FROM ({_LOCKS}) AS living)"
)
_OWNERS = "SELECT DISTINCT owner FROM peerexam.claims WHERE owner <> %s AND key = ANY(%s::text[])"
_WAITING = (
    f"SELECT living.number FROM ({_LOCKS}) AS waits JOIN ({_LOCKS}) AS living USING (pid)"
    " WHERE waits.number = %s AND living.number <> %s"
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
    """Release claims; those of others stay."""
    connection.execute(_RELEASE, (owner, list(keys)))


def release_all(connection: Connection, owner: int) -> None:
    """Release every claim of an owner."""
    connection.execute(_RELEASE_ALL, (owner,))


def drop_dead(connection: Connection) -> None:
    """Remove the claims of every process that has ended."""
    connection.execute(_DROP_DEAD, (LOCKS,))


def owners_of(connection: Connection, me: int, keys: Collection[str]) -> set[int]:
    """Who else holds claims on any of these keys."""
    return {owner for (owner,) in connection.execute(_OWNERS, (me, list(keys)))}


def announce_wait(connection: Connection, owner: int) -> None:
    """Let an owner know, as long as this connection lives, that its claims are waited for."""
    connection.execute("SELECT pg_try_advisory_lock_shared(%s, %s)", (WAITS, owner))


def withdraw_wait(connection: Connection, owner: int) -> None:
    """Take back `announce_wait`."""
    connection.execute("SELECT pg_advisory_unlock_shared(%s, %s)", (WAITS, owner))


def waiting_owners(connection: Connection, me: int) -> set[int]:
    """The owners that wait for this one's claims."""
    return {owner for (owner,) in connection.execute(_WAITING, (WAITS, LOCKS, me, me))}
