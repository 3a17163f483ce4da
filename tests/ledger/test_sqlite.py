"""The ledger in SQLite: what is recorded stands, for every process that shares the file."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peerexam.calls import (
    Call,
    Completion,
    Message,
    Request,
    Sampling,
    TokenLogprob,
    Usage,
    encoded,
    request_key,
    request_to_json,
)
from peerexam.errors import LedgerFileError, SetupError
from peerexam.ledger.base import Failure, Totals
from peerexam.ledger.opening import open_ledger
from peerexam.ledger.schema import APPLICATION_ID
from peerexam.ledger.sqlite import SqliteLedger

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


async def test_what_was_recorded_is_found_again_after_reopening(tmp_path: Path) -> None:
    completion = Completion(
        "4",
        "truncated",
        "length",
        Usage(9, 1, None),
        0.25,
        "two and two",
        (TokenLogprob("4", -0.125),),
        "alpha-2",
        ("temperature",),
        0.5,
    )
    request_ = ask("2+2?", sampling=Sampling(0.7, stop=("\n",)), draw=2)
    key = request_key(ALPHA, request_)
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        assert await ledger.find(key) is None
        recorded = await ledger.record(call(key, "one", ALPHA, request_), completion)
        assert isinstance(recorded, Completion)
        assert recorded.call == key
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        assert await ledger.find(key) == recorded
        stored = await ledger.stored(key)
        assert stored is not None
        assert (stored.agent, stored.fingerprint, stored.outcome) == ("one", ALPHA, recorded)
        assert await ledger.request(key) == request_
        assert await ledger.request("other") is None


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


async def test_a_success_is_never_overwritten(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        first = await put(ledger, "k", Completion("first"))
        assert await put(ledger, "k", Completion("second")) == first
        assert await put(ledger, "k", Failure("RateLimitedError", "slow down")) == first
        assert await ledger.find("k") == first
        assert (await ledger.totals()).failures == 0


async def test_within_one_group_the_first_success_of_a_key_stands(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        outcomes: list[Completion | Failure] = [
            Failure("E", "no"),
            *(Completion(f"answer {n}") for n in range(60)),
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(put(ledger, "k", outcome)) for outcome in outcomes]
        standing = await ledger.find("k")
        assert standing == Completion("answer 0", call="k")
        assert {task.result() for task in tasks[1:]} == {standing}


async def test_a_failure_is_kept_replaced_and_at_last_gives_way_to_a_success(
    tmp_path: Path,
) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        assert await put(ledger, "k", Failure("E", "first")) == Failure("E", "first")
        await put(ledger, "k", Failure("E", "second \udcff"))
        assert await ledger.find("k") == Failure("E", "second \udcff")
        assert (await ledger.totals()).failures == 1
        await put(ledger, "k", Completion("at last"))
        assert await ledger.find("k") == Completion("at last", call="k")
        assert (await ledger.totals()).failures == 0


async def test_text_that_utf_8_cannot_hold_comes_back_exactly(tmp_path: Path) -> None:
    text = "lone \ud83d, apart \ud83d\ude00, nul \0, \u2028"
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        await ledger.record(call("k", "ag\ud800ent", {"model": text}, ask(text)), Completion(text))
        assert await ledger.find("k") == Completion(text, call="k")
        stored = await ledger.stored("k")
        assert stored is not None
        assert (stored.agent, stored.fingerprint) == ("ag\ud800ent", {"model": text})
        assert await ledger.request("k") == ask(text)


async def test_nan_is_refused_and_leaves_the_ledger_usable(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(ValueError, match="JSON compliant"):
            await put(ledger, "k", Completion("x", cost=float("nan")))
        await put(ledger, "k", Completion("x", usage=Usage(2**70, 1)))
        assert await ledger.find("k") == Completion("x", usage=Usage(2**70, 1), call="k")


async def test_totals_add_up_by_agent(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        assert await ledger.totals() == Totals()
        await put(ledger, "a", Completion("x", usage=Usage(10, 2), cost=0.25), "one")
        await put(ledger, "b", Completion("x", usage=Usage(5, None)), "one")
        await put(ledger, "c", Completion("x", usage=Usage(1, 1), cost=0.5), "two")
        await put(ledger, "d", Failure("E", "no"), "two")
        assert await ledger.totals_by_agent() == {
            "one": Totals(2, 0, 15, 2, 0.25, 1),
            "two": Totals(1, 1, 1, 1, 0.5, 0),
        }
        assert await ledger.totals() == Totals(3, 1, 16, 3, 0.75, 1)


async def test_an_audit_reads_every_call_in_the_order_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    async with SqliteLedger.open(path) as ledger:
        async with asyncio.TaskGroup() as group:
            for number in range(450):  # more than two pages
                outcome = Failure("E", "no") if number % 3 == 0 else Completion(str(number))
                group.create_task(put(ledger, f"{number:03}", outcome))
        found = [call async for call in ledger.calls()]
        assert [call.key for call in found] == [f"{number:03}" for number in range(450)]
        assert found[3].outcome == Failure("E", "no")
        assert found[4].outcome == Completion("4", call="004")
        assert await ledger.known_keys() == {f"{n:03}" for n in range(450) if n % 3}
        assert len(list(SqliteLedger.answered(path))) == 300


async def test_a_cancelled_waiter_does_not_take_its_record_back(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        waiting = asyncio.ensure_future(put(ledger, "k", Completion("paid")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await put(ledger, "later", Completion("x"))
        assert await ledger.find("k") == Completion("paid", call="k")


# --- two processes -----------------------------------------------------------------------------

OTHER_PROCESS = """
import asyncio, json, sys
from pathlib import Path
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.ledger.sqlite import SqliteLedger

async def main(path, me):
    async with SqliteLedger.open(Path(path)) as ledger:
        async def put(n):
            request = Request((Message("user", str(n)),))
            call = replace(call_of(me, b"{}", request), key=f"k{n:03}")
            got = await ledger.record(call, Completion(f"{me} {n}"))
            return got.text
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(put(n)) for n in range(300)]
        print(json.dumps([task.result() for task in tasks]))

asyncio.run(main(*sys.argv[1:]))
"""


def run_at_once(path: Path, names: tuple[str, ...]) -> list[bytes]:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(path), name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [(run.returncode, error) for run, (_, error) in zip(runs, outputs, strict=True)] == [
        (0, b"")
    ] * len(names)
    return [out for out, _ in outputs]


async def test_processes_that_share_a_file_get_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    outputs = await asyncio.to_thread(run_at_once, path, ("one", "two", "three"))
    answers = [json.loads(out) for out in outputs]
    assert answers[0] == answers[1] == answers[2]
    async with SqliteLedger.open(path) as ledger:
        assert (await ledger.totals()).calls == 300
        stored = [call.outcome async for call in ledger.calls()]
    assert [call.text for call in stored if isinstance(call, Completion)] == answers[0]


KILLED_PROCESS = """
import asyncio, sys
from pathlib import Path
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.ledger.sqlite import SqliteLedger

async def main(path):
    ledger = SqliteLedger.open(Path(path))
    async def produce(me):
        for n in range(100_000):
            key = f"{me}-{n}"
            request = Request((Message("user", key),))
            call = replace(call_of("one", b"{}", request), key=key)
            await ledger.record(call, Completion("x" * 500))
            print(key, flush=True)
    async with asyncio.TaskGroup() as group:
        for me in range(16):
            group.create_task(produce(me))

asyncio.run(main(sys.argv[1]))
"""


def acknowledged_until_killed(path: Path, after: int) -> set[str]:
    """The keys that a process said were recorded until `kill -9`; a cut last line is left out."""
    command = [sys.executable, "-c", KILLED_PROCESS, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        heard = [run.stdout.readline() for _ in range(after)]
        run.kill()
        heard += run.stdout.readlines()
    return {line.decode().strip() for line in heard if line.endswith(b"\n")}


@pytest.mark.parametrize("after", [1, 40, 333])
async def test_nothing_that_was_acknowledged_is_lost_to_kill_9(tmp_path: Path, after: int) -> None:
    path = tmp_path / "ledger.sqlite"
    heard = await asyncio.to_thread(acknowledged_until_killed, path, after)
    assert len(heard) >= after
    async with SqliteLedger.open(path) as ledger:
        assert heard <= await ledger.known_keys()


FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from dataclasses import replace
from peerexam.calls import Completion, Message, Request, call_of
from peerexam.errors import LedgerFileError
from peerexam.ledger.sqlite import SqliteLedger

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
        assert len(await ledger.known_keys()) == int(stored) < 400


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
        with_trigger(path, "CREATE TRIGGER full BEFORE INSERT ON calls BEGIN"
                           " SELECT RAISE(ABORT, 'database or disk is full'); END")  # fmt: skip
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(refused(ledger, f"k{number}")) for number in range(100)]
        assert all(f"{path}: database or disk is full" in task.result() for task in tasks)
        with_trigger(path, "DROP TRIGGER full")
        await put(ledger, "after", Completion("x"))
        assert await ledger.known_keys() == {"before", "after"}


async def refused(ledger: SqliteLedger, key: str) -> str:
    with pytest.raises(LedgerFileError) as error:
        await put(ledger, key, Completion("x"))
    return str(error.value)


def with_trigger(path: Path, statement: str) -> None:
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
    torn = path.read_bytes()[: 3 * 16384 + 100]
    path.write_bytes(torn)
    with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*torn.*left as it is"):
        SqliteLedger.open(path)
    assert path.read_bytes() == torn


async def test_a_ledger_torn_inside_says_so_where_it_is_read(tmp_path: Path) -> None:
    path = await ledger_file(tmp_path / "ledger.sqlite")
    content = bytearray(path.read_bytes())
    content[2 * 16384 :] = b"\xee" * (len(content) - 2 * 16384)
    path.write_bytes(content)
    async with SqliteLedger.open(path) as ledger:
        with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*torn"):
            await ledger.find("k1")
        with pytest.raises(LedgerFileError, match=r"ledger\.sqlite: .*torn"):
            await put(ledger, "new", Completion("x"))


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
        ("postgresql://me:secret@db/exam", "PostgreSQL comes with a later release"),
        ("mysql://db/exam", "no ledger is kept in 'mysql://'"),
        ("sqlite://", "sqlite:///relative"),
        ("sqlite:///", "sqlite:///relative"),
    ],
)
def test_a_url_that_names_no_ledger_says_what_to_write(url: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=complaint) as error:
        open_ledger(url)
    assert "secret" not in str(error.value)
