"""The tables of a ledger in PostgreSQL: made where missing, refused where they are not ours.

All stand in the schema `peerexam`, beside whatever else the database holds. Texts are `bytea`,
because PostgreSQL's text takes neither NUL nor lone surrogates.
"""

from __future__ import annotations

from peerexam.errors import LedgerFileError
from peerexam.ledger.postgres.server import Connection, Server

SCHEMA = 1
"""In the table `peerexam.ledger`. It rises with every change that an older peerexam cannot read."""

LOCKS = 0x50455845
"""`PEXE`: the first half of the advisory locks by which owners of claims live."""

WAITS = LOCKS + 1
"""The first half of those by which an owner learns that its claims are waited for."""

# Tallies are only added to: a row for each agent and commit, so that two processes never wait for
# each other's totals. A claim is the right to ask; its owner lives while it holds its lock.
_TABLES = """
CREATE SCHEMA peerexam;
CREATE TABLE peerexam.ledger (schema integer NOT NULL);
CREATE TABLE peerexam.agents (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    name bytea NOT NULL,
    fingerprint bytea NOT NULL
);
CREATE TABLE peerexam.calls (
    key text COLLATE "C" PRIMARY KEY,
    agent integer NOT NULL REFERENCES peerexam.agents,
    created double precision NOT NULL,
    prompt_tokens bigint,
    completion_tokens bigint,
    cost double precision,
    request bytea NOT NULL,
    completion bytea NOT NULL
);
CREATE TABLE peerexam.failures (
    key text COLLATE "C" PRIMARY KEY,
    agent integer NOT NULL REFERENCES peerexam.agents,
    created double precision NOT NULL,
    request bytea NOT NULL,
    failure bytea NOT NULL
);
CREATE TABLE peerexam.tallies (
    agent integer NOT NULL REFERENCES peerexam.agents,
    calls bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cost double precision NOT NULL,
    priced bigint NOT NULL
);
CREATE TABLE peerexam.claims (key text COLLATE "C" PRIMARY KEY, owner integer NOT NULL);
CREATE SEQUENCE peerexam.owners AS integer CYCLE;
"""


def prepare(server: Server, connection: Connection) -> None:
    """Make the tables in a database that has none, and check those of one that has.

    Raises:
        LedgerFileError: They are of another program, or of a newer peerexam, or the database has no
            encoding.
    """
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        # Whatever bytes come are text there, and psycopg gives bytes for every text.
        raise LedgerFileError(
            f"{server.label}: this database's encoding is SQL_ASCII, which is none; it was left as "
            "it is: make one with `createdb --encoding=UTF8 --template=template0 NAME` and name it"
        )
    with connection.transaction():
        # Two processes may come at once, and the second must see what the first made.
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCKS,))
        if not _exists(connection, "to_regnamespace('peerexam')"):
            connection.execute(_TABLES)
            connection.execute("INSERT INTO peerexam.ledger VALUES (%s)", (SCHEMA,))
            return
        check(server, connection)


def check(server: Server, connection: Connection) -> None:
    """Refuse a database without a ledger that this peerexam can read; nothing is written.

    Raises:
        LedgerFileError: As `prepare`, or there is no ledger.
    """
    if not _exists(connection, "to_regnamespace('peerexam')"):
        raise LedgerFileError(f"{server.label}: there is no ledger here; name it with --db")
    if not _exists(connection, "to_regclass('peerexam.ledger')"):
        raise LedgerFileError(
            f"{server.label}: the schema peerexam in this database belongs to another program; "
            "it was left as it is: name another database"
        )
    row = connection.execute("SELECT max(schema) FROM peerexam.ledger").fetchone()
    schema = row[0] if row else None
    if schema != SCHEMA:
        raise LedgerFileError(
            f"{server.label}: this ledger has schema {schema}, and this peerexam knows "
            f"{SCHEMA}; it was left as it is: update peerexam, or name another database"
        )


def _exists(connection: Connection, what: str) -> bool:
    row = connection.execute(f"SELECT {what} IS NOT NULL".encode()).fetchone()
    return bool(row and row[0])
