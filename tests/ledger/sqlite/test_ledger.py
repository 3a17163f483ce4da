"""The ledger's file in SQLite: damaged, foreign, full, held by others, or of an older peerexam."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.calls import (
    Call,
    Completion,
    Message,
    Request,
    Usage,
    call_of,
    completion_to_json,
    encoded,
    request_to_json,
)
from peerexam.cli import main
from peerexam.errors import LedgerFileError, SetupError
from peerexam.ledger.base import Failure, Totals
from peerexam.ledger.opening import open_ledger
from peerexam.ledger.sqlite.ledger import SqliteLedger
from peerexam.ledger.sqlite.schema import APPLICATION_ID, open_database

ALPHA = {"provider": "openai", "model": "alpha"}


def ask(text: str, **options: Any) -> Request:
    return Request((Message("user", text),), **options)


def call(key: str, agent: str, fingerprint: dict[str, Any], request: Request) -> Call:
    return Call(key, agent, encoded(fingerprint), encoded(request_to_json(request)))


async def put(
    ledger: SqliteLedger, key: str, outcome: Completion | Failure, agent: str = "one"
) -> Completion | Failure:
    return await ledger.record(call(key, agent, {**ALPHA, "agent": agent}, ask(key)), outcome)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_recorded_call_is_in_the_file_before_record_returns(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with SqliteLedger.open(path) as ledger:
        await put(ledger, "k", Completion("kept"))
        # The files as a kill would leave them at this moment, the log beside the database.
        copy = tmp_path / "after the kill"
        copy.mkdir()
        for name in ("ledger.sqlite", "ledger.sqlite-wal"):
            shutil.copy(tmp_path / name, copy / name)
    async with SqliteLedger.open(copy / "ledger.sqlite") as again:
        assert await again.find("k") == Completion("kept", call="k")


async def test_closing_leaves_one_file_and_commits_what_has_gathered(tmp_path: Path) -> None:
    ledger = SqliteLedger.open(tmp_path / "ledger.sqlite")
    async with asyncio.TaskGroup() as group:
        waiting = [
            group.create_task(put(ledger, f"k{number}", Completion("x"))) for number in range(1500)
        ]
        await asyncio.sleep(0)
        await ledger.close()
    assert {task.result() for task in waiting} == {
        Completion("x", call=f"k{number}") for number in range(1500)
    }
    await ledger.close()
    assert names_in(tmp_path) == ["ledger.sqlite"]
    with pytest.raises(LedgerFileError, match="closed"):
        await put(ledger, "k", Completion("x"))


FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.errors import LedgerFileError
from peerexam.ledger.sqlite.ledger import SqliteLedger

async def main(path):
    async with SqliteLedger.open(Path(path)) as ledger:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        async def put(n):
            request = Request((Message("user", str(n)),))
            try:
                call = replace(call_of("one", b"{}", request), key=f"k{n}")
                await ledger.record(call, Completion("x" * 4000))
            except LedgerFileError as error:
                return str(error)
            return "stored"
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(put(n)) for n in range(400)]
        print(sum(task.result() == "stored" for task in tasks))
        print(next(task.result() for task in tasks if task.result() != "stored"))

asyncio.run(main(sys.argv[1]))
"""


async def test_a_file_that_may_not_grow_is_an_error_for_those_who_wait_and_no_hang(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    run = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, timeout=60, check=True
    )
    stored, complaint = run.stdout.decode().splitlines()
    assert f"{path}: " in complaint
    assert "run the same command again" in complaint
    async with SqliteLedger.open(path) as ledger:
        # Closing tries once more, and there may be room for a few.
        assert int(stored) <= len(await ledger.known_keys()) < 400


async def test_a_file_that_another_process_holds_for_a_moment_is_waited_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    async with SqliteLedger.open(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(put(ledger, "k", Completion("x")))
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        assert await ledger.find("k") is None, "reading does not wait for a writer"
        other.execute("ROLLBACK")
        other.close()
        assert await waiting == Completion("x", call="k")


# --- files that are no ledger, or a broken one -------------------------------------------------


async def test_a_full_disk_reaches_those_who_wait_and_the_ledger_goes_on_after(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    async with SqliteLedger.open(path) as ledger:
        await put(ledger, "before", Completion("x"))
        # A trigger fails like a disk does: in the midst of the group's transaction.
        changed(path, "CREATE TRIGGER full BEFORE INSERT ON calls BEGIN"
                           " SELECT RAISE(ABORT, 'database or disk is full'); END")  # fmt: skip
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(refused(ledger, f"k{number}")) for number in range(100)]
        assert all(f"{path}: database or disk is full" in task.result() for task in tasks)
        changed(path, "DROP TRIGGER full")
        await put(ledger, "after", Completion("x"))
        assert await ledger.known_keys() == {"before", "after"}


async def refused(ledger: SqliteLedger, key: str) -> str:
    with pytest.raises(LedgerFileError) as error:
        await put(ledger, key, Completion("x"))
    return str(error.value)


def changed(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


async def ledger_file(path: Path, calls: int = 40) -> Path:
    async with SqliteLedger.open(path) as ledger, asyncio.TaskGroup() as group:
        for number in range(calls):
            group.create_task(put(ledger, f"k{number}", Completion("x" * 4000)))
    return path


def foreign_database(path: Path, *pragmas: str) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE theirs(x)")
    for pragma in pragmas:
        database.execute(f"PRAGMA {pragma}")
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "content", [b"{}\n", b"# notes\n" * 5000, b"SQLite format 3\0" + b"x" * 90]
)
def test_a_file_that_is_not_sqlite_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(LedgerFileError, match=r"notes\.txt: .*(left as it is|was left)"):
        SqliteLedger.open(path)
    assert path.read_bytes() == content
    assert names_in(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize(
    ("pragmas", "complaint"),
    [
        ((), "belongs to another program"),
        (("application_id = 7",), "belongs to another program"),
        ((f"application_id = {APPLICATION_ID}", "user_version = 99"), "schema 99, newer"),
        ((f"application_id = {APPLICATION_ID}", "user_version = 0"), "schema 0"),
    ],
)
def test_a_foreign_or_newer_database_is_refused_and_left_alone(
    tmp_path: Path, pragmas: tuple[str, ...], complaint: str
) -> None:
    path = tmp_path / "theirs.db"
    foreign_database(path, *pragmas)
    before = path.read_bytes()
    with pytest.raises(LedgerFileError, match=rf"theirs\.db: .*{complaint}.*left as it is"):
        SqliteLedger.open(path)
    assert path.read_bytes() == before


async def test_a_ledger_cut_short_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = await ledger_file(tmp_path / "ledger.sqlite")
    damaged = path.read_bytes()[: 3 * 16384 + 100]
    path.write_bytes(damaged)
    with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*damaged.*left as it is"):
        SqliteLedger.open(path)
    assert path.read_bytes() == damaged


async def test_a_ledger_torn_inside_says_so_where_it_is_read(tmp_path: Path) -> None:
    path = await ledger_file(tmp_path / "ledger.sqlite")
    content = bytearray(path.read_bytes())
    content[2 * 16384 :] = b"\xee" * (len(content) - 2 * 16384)
    path.write_bytes(content)
    async with SqliteLedger.open(path) as ledger:
        with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*damaged"):
            await ledger.find("k1")
        with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*damaged"):
            await put(ledger, "new", Completion("x"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger with answers, failures and two agents."""
    path = tmp_path_factory.mktemp("sound") / "ledger.sqlite"

    async def fill() -> None:
        async with SqliteLedger.open(path) as ledger, asyncio.TaskGroup() as group:
            for key in KEYS:
                group.create_task(put(ledger, key, Completion("x" * 300), key[:1]))
            group.create_task(put(ledger, "failed", Failure("E", "no")))

    asyncio.run(fill())
    return path.read_bytes()


KEYS = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(120)]


@given(
    flips=st.lists(st.tuples(st.integers(0, 2**31), st.integers(1, 255)), min_size=1),
    head=st.booleans(),
)
def test_whatever_bytes_are_flipped_only_the_ledgers_own_error_is_raised(
    tmp_path_factory: pytest.TempPathFactory,
    sound: bytes,
    flips: list[tuple[int, int]],
    head: bool,
) -> None:
    content = bytearray(sound)
    for place, flip in flips:
        # Half of the examples hit headers: the file's, and the beginnings of its pages.
        where = place % 16384 % 100 + place // 16384 * 16384 if head else place
        content[where % len(content)] ^= flip
    path = tmp_path_factory.mktemp("flipped") / "ledger.sqlite"
    path.write_bytes(content)

    async def use() -> list[str]:
        said = []
        for each in (_look_up, _audit, _go_on):
            try:
                async with SqliteLedger.open(path) as ledger:
                    await each(ledger)
            except LedgerFileError as error:
                said.append(str(error))
        return said

    for complaint in asyncio.run(use()):
        assert complaint.startswith(f"{path}: ")
        assert "\n" not in complaint
        assert "left as it is" in complaint or "name another file" in complaint, complaint
    shutil.rmtree(path.parent)


async def _look_up(ledger: SqliteLedger) -> None:
    await ledger.begin()
    for key in (*KEYS, "failed"):
        await ledger.reserve(key)


async def _audit(ledger: SqliteLedger) -> None:
    await ledger.totals_by_agent()
    await ledger.known_keys()
    async for call in ledger.calls():
        await ledger.stored(call.key)


async def _go_on(ledger: SqliteLedger) -> None:
    for key in (*KEYS[:40], "new", "failed"):
        await put(ledger, key, Completion("y"), key[:1])
    await put(ledger, KEYS[50], Failure("E", "no"))


@pytest.mark.parametrize("page", range(1, 11))
async def test_what_can_be_read_of_a_torn_ledger_is_saved_as_the_message_says(
    tmp_path: Path, sound: bytes, page: int, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, saved = tmp_path / "damaged.sqlite", tmp_path / "saved.sqlite"
    content = bytearray(sound)
    content[page * 16384 : (page + 1) * 16384] = b"\xee" * 16384
    damaged.write_bytes(content)
    assert main(["salvage", str(damaged), str(saved), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert damaged.read_bytes() == content
    async with SqliteLedger.open(saved) as ledger:
        known = await ledger.known_keys()
        assert len(known) == said["saved"]
        assert known <= set(KEYS)
        # One page holds the keys' index, one a tree's root, most some forty of the calls.
        assert len(known) >= (0 if said["unreadable"] > 100 else 60)
        assert all([await ledger.completion(key) for key in known])
        await put(ledger, "new", Completion("x"))
        assert (await ledger.totals()).calls == len(known) + 1


def test_salvage_names_what_it_cannot_begin_with(
    tmp_path: Path, sound: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"\xee" * 100 + sound[100:])
    for old, new in (
        (damaged, "new.sqlite"),
        (tmp_path / "none", "new.sqlite"),
        (damaged, "damaged.sqlite"),
    ):
        assert main(["salvage", str(old), str(tmp_path / new)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"peerexam: {tmp_path}")


@pytest.mark.parametrize("content", [b"", b"\n", b"\0", b"notes", b"\0" * 4096])
def test_salvage_writes_over_no_file_of_another_kind(
    tmp_path: Path, sound: bytes, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, other = tmp_path / "ledger.sqlite", tmp_path / "other"
    ledger.write_bytes(sound)
    other.write_bytes(content)
    # An empty file is a place to save to, but holds nothing to save.
    for damaged, saved in [(other, tmp_path / "new"), *([(ledger, other)] if content else [])]:
        assert main(["salvage", str(damaged), str(saved)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"peerexam: {other}: ")
        assert other.read_bytes() == content


def test_a_folder_or_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerFileError, match="is it a file"):
        SqliteLedger.open(tmp_path)
    with pytest.raises(LedgerFileError, match="there is no folder"):
        SqliteLedger.open(tmp_path / "nowhere" / "ledger.sqlite")


async def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.touch()
    async with SqliteLedger.open(path) as ledger:
        await put(ledger, "k", Completion("x"))
    database = sqlite3.connect(path)
    pragmas = ("application_id", "user_version", "page_size", "journal_mode")
    found = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    database.close()
    assert found == [APPLICATION_ID, 2, 16384, "wal"]


# --- files of an older peerexam ----------------------------------------------------------------

SCHEMA_1 = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = WAL;
CREATE TABLE agents(id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL,
 UNIQUE(name, fingerprint));
CREATE TABLE calls(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
 agent INTEGER NOT NULL REFERENCES agents(id), created REAL NOT NULL,
 prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL,
 request TEXT NOT NULL, completion TEXT NOT NULL);
CREATE INDEX calls_by_agent ON calls(agent, prompt_tokens, completion_tokens, cost);
CREATE TABLE failures(key TEXT PRIMARY KEY, agent INTEGER NOT NULL REFERENCES agents(id),
 created REAL NOT NULL, request TEXT NOT NULL, failure TEXT NOT NULL) WITHOUT ROWID;
PRAGMA application_id = 1346721861;
PRAGMA user_version = 1;
INSERT INTO agents VALUES (1, 'one', '{"model":"alpha"}'), (2, 'two', '{"model":"beta"}');
"""


def old_ledger(path: Path, answers: list[tuple[str, int, Completion]]) -> None:
    """A file as the first peerexam left it: keys, agents' numbers and what they answered."""
    database = sqlite3.connect(path)
    database.executescript(SCHEMA_1)
    for key, agent, answer in answers:
        body = encoded(completion_to_json(answer))
        used = (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.cost)
        database.execute(
            "INSERT INTO calls VALUES (NULL, ?, ?, 5.5, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))",
            (key, agent, *used, encoded(request_to_json(ask(f"to {agent}"))), body),
        )
    database.execute(
        "INSERT INTO failures VALUES (?, 2, 6.5, ?, ?)",
        ("f" * 64, encoded(request_to_json(ask("?"))).decode(), '["E","no"]'),
    )
    database.commit()
    database.close()


async def test_a_ledger_of_the_first_schema_goes_on_in_place(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    of_one = call_of("one", b'{"model":"alpha"}', ask("to 1"))
    first = Completion("lone \udcff, nul \0", usage=Usage(10, 2, 1), cost=0.25)
    second = Completion("B", usage=Usage(2**62, 2**62))
    third = Completion("C", usage=Usage(2**62, 2**62))
    old_ledger(path, [(of_one.key, 1, first), ("short", 2, second), ("other", 2, third)])
    async with SqliteLedger.open(path) as ledger:
        assert await ledger.find(of_one.key) == replace(first, call=of_one.key)
        assert await ledger.find("f" * 64) == Failure("E", "no")
        stored = await ledger.stored(of_one.key)
        assert stored is not None
        assert (stored.agent, stored.request, stored.created) == (
            "one",
            request_to_json(ask("to 1")),
            5.5,
        )
        assert await ledger.record(of_one, Completion("again")) == replace(first, call=of_one.key)
        assert await ledger.totals_by_agent() == {
            "one": Totals(1, 0, 10, 2, 0.25, 0),
            "two": Totals(2, 1, 2**63 - 1, 2**63 - 1, 0.0, 2),
        }
        await put(ledger, "new", Completion("D", usage=Usage(1, 1), cost=0.5))
        assert (await ledger.totals_by_agent())["one"] == Totals(2, 0, 11, 3, 0.75, 0)
        assert await ledger.known_keys() == {of_one.key, "short", "other", "new"}
        assert [call.key async for call in ledger.calls()] == sorted(
            ["new", "other", "short", of_one.key, "f" * 64], key=lambda key: (len(key) == 64, key)
        )
    assert names_in(tmp_path) == ["ledger.sqlite"]


async def test_an_upgrade_that_fails_leaves_the_old_ledger_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    old_ledger(path, [("a", 1, Completion("A"))])
    changed(path, "CREATE TABLE tallies(x)")  # in the way of the upgrade
    with pytest.raises(LedgerFileError, match="already exists"):
        SqliteLedger.open(path)
    changed(path, "DROP TABLE tallies")
    async with SqliteLedger.open(path) as ledger:
        assert await ledger.find("a") == Completion("A", call="a")
        assert (await ledger.totals()).calls == 1


# --- claims within one process -----------------------------------------------------------------


async def still_waits(waiting: asyncio.Future[Any]) -> bool:
    done, _ = await asyncio.wait({waiting}, timeout=0.2)
    return not done


async def test_two_ledgers_of_one_process_wait_for_each_others_calls(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with SqliteLedger.open(path) as one, SqliteLedger.open(path) as two:
        assert await one.reserve("k") is None
        waiting = asyncio.ensure_future(two.reserve("k"))
        assert await still_waits(waiting)
        assert await two.find("k") is None, "looking does not wait"
        await put(one, "k", Completion("4"))
        assert await waiting == Completion("4", call="k")
        # Given up, or failed, it may be asked by the other; so may what a closed ledger held.
        assert await one.reserve("given up") is None
        waiting = asyncio.ensure_future(two.reserve("given up"))
        assert await still_waits(waiting)
        await one.release("given up")
        assert await waiting is None
        assert await one.reserve("failed") is None
        waiting = asyncio.ensure_future(two.reserve("failed"))
        await put(one, "failed", Failure("E", "no"))
        assert await waiting == Failure("E", "no")
        assert await one.reserve("left") is None
        waiting = asyncio.ensure_future(two.reserve("left"))
        assert await still_waits(waiting)
        await one.close()
        assert await waiting is None
    assert names_in(tmp_path) == ["ledger.sqlite"]


async def test_a_waiter_that_is_cancelled_leaves_the_others_theirs(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        assert await ledger.reserve("k") is None
        waiting = [asyncio.ensure_future(ledger.reserve("k")) for _ in range(3)]
        assert await still_waits(waiting[0])
        waiting[0].cancel()
        await ledger.release("k")
        done, left = await asyncio.wait(waiting[1:], return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        await put(ledger, "k", Completion("4"))
        assert [await other for other in left] == [Completion("4", call="k")]


def test_claims_hold_between_the_loops_of_two_threads(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    asked: list[int] = []

    async def work(name: str) -> None:
        async with SqliteLedger.open(path) as ledger:
            for number in range(50):
                if isinstance(await ledger.reserve(f"k{number}"), Completion):
                    continue
                asked.append(number)
                await asyncio.sleep(0.001)
                await put(ledger, f"k{number}", Completion(name))

    threads = [threading.Thread(target=asyncio.run, args=(work(name),)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == list(range(50))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_neither_has_the_lock_nor_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    program = """
import asyncio, os, sys, time
from pathlib import Path
from peerexam.ledger.sqlite.ledger import SqliteLedger

async def main(path):
    ledger = SqliteLedger.open(path)
    await ledger.begin()
    pid = os.fork()
    if pid == 0:
        os.close(1)
        time.sleep(60)
    os.write(1, str(pid).encode())
    os._exit(0)

asyncio.run(main(Path(sys.argv[1])))
"""
    command = [sys.executable, "-c", program, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.read())
    process.stdout.close()
    process.wait()

    async def begins() -> None:
        async with SqliteLedger.open(path) as ledger:
            await ledger.begin()

    try:
        asyncio.run(begins())
    finally:
        os.kill(child, signal.SIGKILL)


# --- by URL ------------------------------------------------------------------------------------


async def test_a_ledger_opens_by_path_and_by_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for where in (tmp_path / "a.sqlite", "a.sqlite", "sqlite:///a.sqlite", f"sqlite:///{tmp_path}/a.sqlite"):  # fmt: skip  # noqa: E501
        ledger = open_ledger(where)
        await ledger.record(call("k", "one", {}, ask("k")), Completion("same file"))
        assert await ledger.find("k") == Completion("same file", call="k")
        await ledger.close()
    assert names_in(tmp_path) == ["a.sqlite"]


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("mysql://me:secret@db/exam", "no ledger is kept in 'mysql://'"),
        ("sqlite://", "sqlite:///relative"),
        ("sqlite:///", "sqlite:///relative"),
    ],
)
def test_a_url_that_names_no_ledger_says_what_to_write(url: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint) as error:
        open_ledger(url)
    assert "secret" not in str(error.value)


def test_a_torn_table_of_contents_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    open_database(path).close()
    body = path.read_bytes()
    at = body.index(b"CREATE TABLE")
    # A row is type, name, table, page and statement: the complaint quotes the name.
    path.write_bytes(body[: at - 16] + b"\xb3" * 17 + body[at + 1 :])
    with pytest.raises(LedgerFileError, match=r"damaged|malformed"):
        open_database(path)
