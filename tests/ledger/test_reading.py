"""Reading a ledger without writing to it, beside a run that uses it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from peerexam.calls import Completion, Message, Request, call_of
from peerexam.errors import LedgerFileError, SetupError
from peerexam.ledger.audit import AuditableLedger
from peerexam.ledger.base import Failure
from peerexam.ledger.opening import open_ledger
from peerexam.ledger.reading import reading


async def test_calls_and_failures_are_read_while_the_ledger_is_open(
    ledger: AuditableLedger, ledger_url: str
) -> None:
    calls = [
        call_of("ada", b'{"model":"m"}', Request((Message("user", f"q{n}"),))) for n in range(450)
    ]
    for made in calls[:449]:
        await ledger.record(made, Completion(f"to {made.key[:4]}", thinking="hm"))
    await ledger.record(calls[449], Failure("OverloadedError", "busy"))
    with reading(ledger_url) as reader:
        found = reader.read([made.key for made in calls] + ["f" * 64])
        assert found.keys() == {made.key for made in calls}
        one = found[calls[0].key]
        assert (one.agent, one.fingerprint) == ("ada", {"model": "m"})
        assert one.request["messages"] == [["user", "q0"]]
        assert found[calls[449].key].outcome == Failure("OverloadedError", "busy")
        keys = sorted(made.key for made in calls)
        for digits in (1, 2, 3, 64):
            prefix = keys[100][:digits]
            expected = [key for key in keys if key.startswith(prefix)]
            assert reader.keys_from(prefix, 1000) == expected
        assert len(reader.keys_from("", 7)) == 7
        # What is stored meanwhile is found, and nothing waits for the reader.
        late = call_of("bob", b"{}", Request((Message("user", "late"),)))
        await ledger.record(late, Completion("in time"))
        assert reader.read([late.key])[late.key].agent == "bob"


async def test_a_file_at_rest_is_read_without_leaving_anything(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = open_ledger(path)
    made = call_of("ada", b"{}", Request((Message("user", "q"),)))
    await ledger.record(made, Completion("a"))
    await ledger.close()
    before = path.read_bytes()
    with reading(path) as reader:
        assert made.key in reader.read([made.key])
        assert reader.label == str(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["ledger.sqlite"]


def test_keys_of_the_first_schema_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    key = "ab" * 32
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE agents(id INTEGER PRIMARY KEY, name TEXT, fingerprint TEXT);"
            "CREATE TABLE calls(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, agent INTEGER,"
            " created REAL, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,"
            " request TEXT, completion TEXT);"
            "CREATE TABLE failures(key TEXT PRIMARY KEY, agent INTEGER, created REAL, request TEXT,"
            " failure TEXT) WITHOUT ROWID;"
            "INSERT INTO agents VALUES (1, 'ada', '{}');"
            f"INSERT INTO calls VALUES (1, '{key}', 1, 0, 1, 1, NULL,"
            """ '{"messages":[["user","q"]],"sampling":{}}', '{"text":"a","state":"ok"}');"""
            f"PRAGMA application_id = {0x50455845}; PRAGMA user_version = 1;"
        )
    before = path.read_bytes()
    with reading(path) as reader:
        assert reader.read([key])[key].outcome == Completion("a", call=key)
        assert reader.keys_from("aba") == [key]
    assert path.read_bytes() == before, "nothing is upgraded by reading"


@pytest.mark.parametrize("kind", ["missing", "empty", "foreign", "text"])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "some.sqlite"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("not a database at all " * 100)
    elif kind == "foreign":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs(x)")
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(LedgerFileError, match=r"some\.sqlite"), reading(path):
        pass
    assert (path.read_bytes() if path.exists() else None) == before


def test_an_unknown_kind_of_url_is_a_set_up_error() -> None:
    with pytest.raises(SetupError, match="mysql"):
        reading("mysql://nobody")


def test_a_database_without_a_ledger_gets_none(postgres_url: str) -> None:
    for _ in range(2):
        with pytest.raises(LedgerFileError, match="no ledger here"), reading(postgres_url):
            pass
