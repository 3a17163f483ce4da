"""The ledger's database in PostgreSQL: who is let in, what is refused, and lost connections."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from peerexam.calls import Completion, Message, Request, call_of
from peerexam.errors import LedgerFileError
from peerexam.ledger.opening import open_ledger

psycopg = pytest.importorskip("psycopg")
from peerexam.ledger.postgres.ledger import PostgresLedger  # noqa: E402
from peerexam.ledger.postgres.server import Connection, Server, Session  # noqa: E402

SECRET = "an-0ther%20secret"


@pytest.fixture
async def ledger(postgres_url: str) -> AsyncIterator[PostgresLedger]:
    async with PostgresLedger.open(postgres_url) as opened:
        yield opened


def changed(url: str, *, login: str | None = None, place: str | None = None) -> str:
    """The URL with another user and password, or another host and port."""
    parts = urlsplit(url)
    own_login, _, own_place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{login or own_login}@{place or own_place}"))


def refused(url: str) -> str:
    """What is said of a URL; its password occurs nowhere in what could be printed."""
    with pytest.raises(LedgerFileError) as raised:
        open_ledger(url)
    error = raised.value
    printed = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    password = urlsplit(url).password or ""
    assert password not in printed
    assert password.replace("%20", " ") not in printed
    assert error.__cause__ is None
    return str(error)


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_a_wrong_password_is_told_without_it(postgres_url: str) -> None:
    said = refused(changed(postgres_url, login=f"me:{SECRET}"))
    assert "postgresql://me@" in said
    assert "check user and password" in said


def test_a_server_that_is_down_is_told_at_once(postgres_url: str) -> None:
    said = refused(changed(postgres_url, login=f"me:{SECRET}", place="127.0.0.1:9"))
    assert "postgresql://me@127.0.0.1:9/" in said
    assert "is the server up" in said


@pytest.mark.parametrize("host", ["h\u202e", "h\x1b", "h" * 64])
def test_a_host_that_can_be_none_is_told(postgres_url: str, host: str) -> None:
    said = refused(changed(postgres_url, login=f"me:{SECRET}", place=host))
    assert "host" in said


def test_a_missing_database_is_told_with_the_mend(postgres_url: str) -> None:
    said = refused(postgres_url + "_nowhere")
    assert "does not exist" in said
    assert "createdb" in said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:blank inside@db/exam",
        "postgresql://me:s3cret%zz@db/exam",
        "postgres://me:s3cret@db/exam?no_such_option=1",
    ],
)
def test_a_url_that_libpq_cannot_read_is_not_repeated(url: str) -> None:
    said = refused(url)
    assert "postgresql://user@host:5432/database" in said


def test_a_database_without_an_encoding_is_refused_with_the_fix(postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2] + "_ascii"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
            " TEMPLATE template0".encode()
        )
    try:
        with pytest.raises(LedgerFileError, match=r"SQL_ASCII.*createdb --encoding=UTF8") as error:
            PostgresLedger.open(postgres_url + "_ascii")
        assert name in str(error.value)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def test_the_encoding_that_the_environment_asks_for_changes_nothing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    async with PostgresLedger.open(postgres_url) as ledger:
        call = call_of("one", b"{}", Request((Message("user", "q"),)))
        await ledger.record(call, Completion("\u00e9"))
        assert await ledger.known_keys() == {call.key}
        assert await ledger.find(call.key) == Completion("\u00e9", call=call.key)


def test_a_schema_of_another_program_is_refused_and_left_alone(postgres_url: str) -> None:
    execute(postgres_url, "CREATE SCHEMA peerexam CREATE TABLE theirs (x integer)")
    assert "belongs to another program; it was left as it is" in refused(postgres_url)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'peerexam'"
    assert execute(postgres_url, tables) == [("theirs",)]


async def test_a_newer_schema_is_refused_and_left_alone(postgres_url: str) -> None:
    await PostgresLedger.open(postgres_url).close()
    execute(postgres_url, "UPDATE peerexam.ledger SET schema = 99")
    assert "schema 99" in refused(postgres_url)
    assert execute(postgres_url, "SELECT schema FROM peerexam.ledger") == [(99,)]


def test_who_may_not_make_tables_is_told_so(postgres_url: str) -> None:
    name = f"guest_{urlsplit(postgres_url).path[1:]}"
    execute(postgres_url, f"CREATE ROLE {name} LOGIN PASSWORD 'guest-secret'")
    try:
        said = refused(changed(postgres_url, login=f"{name}:guest-secret"))
    finally:
        execute(postgres_url, f"DROP ROLE {name}")
    assert "let the user create a schema" in said


async def test_neither_the_ledger_nor_its_parts_show_the_password(
    ledger: PostgresLedger, postgres_url: str
) -> None:
    password = urlsplit(postgres_url).password
    assert password
    assert repr(ledger).startswith("PostgresLedger(postgresql://")
    shown = [repr(ledger), *(repr(part) for part in vars(ledger).values())]
    assert not [text for text in shown if password in text]


async def test_every_answered_call_can_be_read_outside_of_a_loop(
    ledger: PostgresLedger, postgres_url: str
) -> None:
    for number in range(3):
        request = Request((Message("user", str(number)),))
        await ledger.record(call_of("one", b'{"model":"a"}', request), Completion("x"))
    read = await asyncio.to_thread(lambda: list(PostgresLedger.answered(postgres_url)))
    assert [fingerprint for fingerprint, _ in read] == [{"model": "a"}] * 3
    assert {request["messages"][0][1] for _, request in read} == {"0", "1", "2"}


async def test_connections_that_are_cut_are_made_again_and_the_claims_go_on(
    ledger: PostgresLedger, postgres_url: str
) -> None:
    mine = call_of("one", b"{}", Request((Message("user", "mine"),)))
    other = call_of("one", b"{}", Request((Message("user", "other"),)))
    assert await ledger.reserve(mine.key) is None
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    execute(postgres_url, cut)
    assert await ledger.find(other.key) is None
    async with PostgresLedger.open(postgres_url) as second:
        waiting = asyncio.ensure_future(second.reserve(mine.key))
        done, _ = await asyncio.wait({waiting}, timeout=1.0)
        assert not done, "the right to ask went with the connection"
        stored = await ledger.record(mine, Completion("late, and kept"))
        assert await waiting == stored


def select_one(connection: Connection) -> None:
    connection.execute("SELECT 1")


async def test_a_server_that_restarts_is_waited_for(
    postgres_url: str, postgres_server: Any
) -> None:
    if str(postgres_server.port) not in postgres_url:
        pytest.skip("the server that PEEREXAM_TEST_POSTGRES names is not ours to stop")
    call = call_of("one", b"{}", Request((Message("user", "q"),)))
    session = Session(Server(postgres_url))
    async with PostgresLedger.open(postgres_url) as ledger:
        assert await ledger.reserve(call.key) is None
        await asyncio.to_thread(postgres_server.stop)
        try:
            recording = asyncio.ensure_future(ledger.record(call, Completion("kept")))
            looking = asyncio.ensure_future(ledger.find("other"))
            with pytest.raises(LedgerFileError, match="is the server up"):
                await asyncio.to_thread(
                    session.run, lambda connection: connection.execute("SELECT 1"), 0.3
                )
            assert not recording.done()
        finally:
            await asyncio.to_thread(postgres_server.start)
        assert await recording == Completion("kept", call=call.key)
        assert await looking is None
    session.close()


def test_a_missing_driver_is_told_with_its_extra() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from peerexam.ledger.opening import open_ledger\n"
        "open_ledger(sys.argv[1])"
    )
    url = "postgresql://me:planted-secret@db/exam"  # no part of the program: 3.13 quotes that
    run = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True)
    assert "MissingExtraError" in run.stderr
    assert "pip install 'peerexam[postgres]'" in run.stderr
    assert "planted-secret" not in run.stderr


async def test_a_refused_group_reaches_those_who_wait_and_the_ledger_goes_on_after(
    ledger: PostgresLedger, postgres_url: str
) -> None:
    execute(
        postgres_url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE disk_full USING MESSAGE = 'no space left'; END $$;"
        " CREATE TRIGGER full_disk BEFORE INSERT ON peerexam.calls"
        " FOR EACH ROW EXECUTE FUNCTION full_disk()",
    )
    calls = [call_of("one", b"{}", Request((Message("user", str(n)),))) for n in range(20)]
    recording = [ledger.record(call, Completion("x")) for call in calls]
    outcomes = await asyncio.gather(*recording, return_exceptions=True)
    assert all(isinstance(outcome, LedgerFileError) for outcome in outcomes)
    assert all("no space left; make room" in str(outcome) for outcome in outcomes)
    execute(postgres_url, "DROP TRIGGER full_disk ON peerexam.calls")
    await ledger.record(calls[0], Completion("x"))
    assert await ledger.known_keys() == {calls[0].key}
    assert (await ledger.totals()).calls == 1


async def test_a_long_fingerprint_is_an_agent_like_any_other(ledger: PostgresLedger) -> None:
    # PostgreSQL indexes values of up to about 2,700 bytes.
    long = b'{"system":"' + bytes(range(35, 91)) * 4000 + b'"}'
    call = call_of("one", long, Request((Message("user", "q"),)))
    await ledger.record(call, Completion("x"))
    stored = await ledger.stored(call.key)
    assert stored is not None
    assert len(stored.fingerprint["system"]) == 56 * 4000
