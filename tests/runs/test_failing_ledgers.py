"""A ledger that fails ends all sending: what cannot be kept is not paid for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import peerexam
from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.config.models import ExamConfig

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs limits on a process")

EXAM = """\
name: failing
agents:
  - {{name: one, model: "openai/one@{url}"}}
  - {{name: two, model: "openai/two@{url}"}}
  - {{name: three, model: "openai/three@{url}"}}
questions: {{file: questions.txt}}
judging: {{ranking: none, marks: false}}
voting: {{rounds: 10}}
limits: {{concurrency: {at_once}, window: 64}}
"""
QUESTIONS = 200
CALLS = 3 * QUESTIONS
AT_ONCE = 64
"""Calls that may be on their way when a commit fails: 16 in flight, and those that it holds up."""

LONG = "An answer that takes its place on the disk. " * 100


def exam_in(folder: Path, url: str, at_once: int = 16) -> None:
    folder.joinpath("exam.yaml").write_text(EXAM.format(url=url, at_once=at_once))
    lines = (f"What is the name of river number {number}?\n" for number in range(QUESTIONS))
    folder.joinpath("questions.txt").write_text("".join(lines))


def run(
    folder: Path,
    *options: str,
    limit: tuple[int, int] | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    def before() -> None:
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--quiet", *options]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120,
        preexec_fn=before, env={**os.environ, **(env or {})},
    )  # fmt: skip


def stored(ledger: Path) -> int:
    database = sqlite3.connect(ledger)
    (calls,) = database.execute("SELECT count(*) FROM calls").fetchone()
    database.close()
    return int(calls)


def one_line(ended: subprocess.CompletedProcess[str]) -> str:
    """What a command said that was refused: one line, no traceback, status 2."""
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("peerexam: ")]
    return line


def unsaved(line: str) -> int:
    found = re.search(r"(\d+) answers? that (?:was|were) paid for could not be stored", line)
    return int(found[1]) if found else 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte; skips where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_ends_all_sending(
    tmp_path: Path, small_disk: Path, chat_server: Any
) -> None:
    server = chat_server(lambda served: chat_server.reply(LONG, delay=0.01))
    exam_in(tmp_path, server.url)
    ledger = small_disk / "ledger.sqlite"
    line = one_line(run(tmp_path, "--out", "out", "--db", str(ledger)))
    assert f"{ledger}: " in line
    assert "make room on the disk and run the same command again" in line
    asked = len(server.requests)
    assert 0 < asked < CALLS / 2
    # What was on its way when the disk was full, and nothing after.
    assert asked - stored(ledger) == unsaved(line) <= AT_ONCE


def test_a_file_that_may_not_grow_ends_all_sending_and_the_same_command_goes_on(
    tmp_path: Path, chat_server: Any
) -> None:
    server = chat_server(lambda served: chat_server.reply(LONG, delay=0.01))
    exam_in(tmp_path, server.url)
    line = one_line(run(tmp_path, "--out", "out", limit=(resource.RLIMIT_FSIZE, 700_000)))
    assert "ledger.sqlite: " in line
    kept = stored(tmp_path / "out" / "ledger.sqlite")
    asked = len(server.requests)
    assert asked - kept == unsaved(line) <= AT_ONCE
    again = run(tmp_path, "--out", "out")
    assert "report" in again.stdout, again.stderr
    assert len(server.requests) == asked + CALLS - kept


def test_a_full_disk_is_found_before_anything_is_paid(
    tmp_path: Path, small_disk: Path, chat_server: Any
) -> None:
    server = chat_server(["An answer."])
    exam_in(tmp_path, server.url)
    ballast = ["dd", "if=/dev/zero", f"of={small_disk / 'ballast'}", "bs=4k"]
    assert subprocess.run(ballast, capture_output=True).returncode != 0, "until the disk is full"
    line = one_line(run(tmp_path, "--out", "out", "--db", str(small_disk / "ledger.sqlite")))
    assert "make room on the disk" in line
    assert not server.requests


def test_too_few_descriptors_mean_fewer_calls_at_once_and_none_lost(
    tmp_path: Path, chat_server: Any
) -> None:
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=0.05))
    exam_in(tmp_path, server.url, at_once=600)
    ended = run(tmp_path, "--out", "out", limit=(resource.RLIMIT_NOFILE, 180))
    assert len(server.requests) == CALLS == stored(tmp_path / "out" / "ledger.sqlite"), ended.stderr
    assert "180 files open" in ended.stderr
    assert "ulimit -n" in ended.stderr


def test_a_soft_limit_on_descriptors_is_raised(tmp_path: Path, chat_server: Any) -> None:
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=0.05))
    exam_in(tmp_path, server.url, at_once=300)
    command = ["sh", "-c", 'ulimit -S -n 100; exec "$@"', "sh", sys.executable, "-m", "peerexam"]
    command += ["run", "exam.yaml", "--out", "out", "--quiet"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert len(server.requests) == CALLS == stored(tmp_path / "out" / "ledger.sqlite"), ended.stderr
    assert "ulimit" not in ended.stderr


# --- PostgreSQL --------------------------------------------------------------------------------


def test_a_database_whose_disk_is_full_ends_all_sending(
    tmp_path: Path, postgres_url: str, chat_server: Any
) -> None:
    import psycopg

    full = """
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM peerexam.calls) >= 50 THEN
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
        END IF; RETURN NULL; END $$;
    CREATE TRIGGER full_disk AFTER INSERT ON peerexam.calls FOR EACH STATEMENT
        EXECUTE FUNCTION full_disk();
    """
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=0.02))
    exam_in(tmp_path, server.url)
    subprocess.run(
        [sys.executable, "-c", "import sys\n"
         "from peerexam.ledger.postgres.ledger import PostgresLedger\n"
         "PostgresLedger.open(sys.argv[1])", postgres_url], check=True,
    )  # fmt: skip
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(full.encode())
    line = one_line(run(tmp_path, "--out", "out", "--db", postgres_url))
    assert "could not extend file; make room on the server's disk" in line
    assert "planted-secret" not in line
    with psycopg.connect(postgres_url) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM peerexam.calls").fetchone() or (0,)
    assert 0 < len(server.requests) - kept == unsaved(line) <= AT_ONCE


@pytest.mark.slow  # waits out six seconds; test_postgres.py restarts a server under a ledger
def test_while_a_database_is_away_nothing_is_sent_and_then_it_goes_on(
    tmp_path: Path, postgres_server: Any, chat_server: Any
) -> None:
    # A few calls at once and many that have claimed their request and wait for a place.
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=0.05))
    exam_in(tmp_path, server.url, at_once=4)
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE away")
    url = postgres_server.url.rpartition("/")[0] + "/away"
    command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--out", "out", "--db", url]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while len(server.requests) < 100 and process.poll() is None:
        time.sleep(0.01)
    try:
        postgres_server.stop("immediate")
        before = len(server.requests)
        time.sleep(4)
        # As many as the quarter of a second after which a commit counts as stuck lets through.
        assert len(server.requests) - before <= 4 * 10
        meanwhile = len(server.requests)
        time.sleep(1)
        assert len(server.requests) == meanwhile
    finally:
        postgres_server.start()
    _, said = process.communicate(timeout=120)
    asked = [json.dumps([one.body["model"], one.messages]) for one in server.requests]
    assert len(asked) == len(set(asked)) == CALLS, said


# --- one at a time -----------------------------------------------------------------------------


def test_a_second_process_that_asks_with_the_same_file_is_refused(
    tmp_path: Path, chat_server: Any
) -> None:
    refused = threading.Event()
    server = chat_server(
        lambda served: chat_server.reply("An answer.", delay=0.01 if refused.is_set() else 1.0)
    )
    exam_in(tmp_path, server.url, at_once=4)
    ledger = tmp_path / "shared.sqlite"
    command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--out", "one"]
    process = subprocess.Popen(
        [*command, "--db", str(ledger)], cwd=tmp_path, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while len(server.requests) < 6 and process.poll() is None:
            time.sleep(0.01)
        link = tmp_path / "another name.sqlite"
        link.symlink_to(ledger)
        for name in (ledger, link):
            line = one_line(run(tmp_path, "--out", "two", "--db", str(name)))
            assert f"{name}: process {process.pid} on " in line
            assert "wait for its end, name another ledger with --db, or" in line
        assert stored(ledger) > 0, "reading is for everyone"
    finally:
        refused.set()
        process.wait(timeout=120)
    asked = [json.dumps([one.body["model"], one.messages]) for one in server.requests]
    assert len(asked) == len(set(asked)) == CALLS
    run(tmp_path, "--out", "two", "--db", str(ledger))
    assert len(server.requests) == CALLS, "the second goes on from what the first has paid for"
    assert not ledger.with_name("shared.sqlite-lock").exists()


def test_a_killed_process_leaves_the_ledger_to_the_next(tmp_path: Path, chat_server: Any) -> None:
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=0.02))
    exam_in(tmp_path, server.url, at_once=4)
    command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--out", "out", "--quiet"]
    process = subprocess.Popen(command, cwd=tmp_path)
    while len(server.requests) < 20 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert (tmp_path / "out" / "ledger.sqlite-lock").exists()
    ended = run(tmp_path, "--out", "out")
    assert "report" in ended.stdout, ended.stderr


def test_one_process_may_run_two_exams_on_one_ledger_and_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    (tmp_path / "questions.txt").write_text("".join(f"Question {n}?\n" for n in range(30)))
    config = ExamConfig.model_validate(
        {
            "name": "shared",
            "agents": [{"name": name, "model": f"file/{name}"} for name in ("one", "two")],
            "questions": {"file": tmp_path / "questions.txt"},
            "judging": {"ranking": "none", "marks": False},
            "voting": {"rounds": 10},
        }
    )
    asked: list[str] = []

    def agents() -> dict[str, Agent]:
        async def reply(request: Request) -> str:
            asked.append(request.messages[-1].content)
            await asyncio.sleep(0.01)
            return "An answer."

        return {name: ScriptedAgent(reply, name) for name in ("one", "two")}

    def hold(out: str) -> None:
        peerexam.run(config, tmp_path / out, db=str(tmp_path / "ledger.sqlite"), agents=agents())

    threads = [threading.Thread(target=hold, args=(out,)) for out in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 60
    first, second = ((tmp_path / out / "answers.jsonl").read_bytes() for out in ("first", "second"))
    assert first == second
