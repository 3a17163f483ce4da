"""A run over HTTP on either event loop: what signals do to it, and what is left of it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from peerexam.protocols.session import event_loop
from peerexam.testing.faults.server import Asked, FaultServer, Reply, Scripted
from peerexam.testing.faults.wording import answer

EXAM = """\
name: hosted
agents:
  - {{name: a, model: openai/a, base_url: {url}}}
  - {{name: b, model: openai/b, base_url: {url}}}
questions: {{file: questions.txt}}
judging: {{ranking: none, marks: false}}
answers: {{max_tokens: 10}}
voting: {{rounds: 10}}
"""
PROGRAM = """\
import sys
if {is_blocked}:
    sys.modules["uvloop"] = None
from peerexam.cli import main
sys.exit(main(["run", "EXAM.yaml", "--out", "out", "--quiet"]))
"""
QUESTIONS = 6

LOOPS = [
    pytest.param(
        "uvloop",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed"
        ),
    ),
    "asyncio",
]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def start(folder: Path, loop: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(is_blocked=loop == "asyncio")],
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "sk-planted-0123456789"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def prepare(folder: Path, server: FaultServer) -> None:
    (folder / "EXAM.yaml").write_text(EXAM.format(url=server.openai_url))
    (folder / "questions.txt").write_text("".join(f"Question {n}?\n" for n in range(QUESTIONS)))


def wait_for_requests(server: FaultServer, count: int) -> None:
    until = time.monotonic() + 60
    while len(server.requests) < count:
        assert time.monotonic() < until, "the program asked too little"
        time.sleep(0.02)


def stored(folder: Path) -> int:
    """How many calls a whole ledger holds."""
    (path,) = folder.rglob("*.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (count,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    return int(count)


@posix
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "signal_number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_lets_what_was_sent_land_and_the_same_command_asks_the_rest(
    tmp_path: Path, loop: str, signal_number: signal.Signals
) -> None:
    late = True

    def script(asked: Asked) -> Scripted:
        return (
            Reply(answer("openai", "An answer."), delay=1.5)
            if late and asked.number >= 4
            else "An answer."
        )

    with FaultServer(script) as server:
        prepare(tmp_path, server)
        process = start(tmp_path, loop)
        wait_for_requests(server, 5)
        process.send_signal(signal_number)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, "Traceback" in err) == (130, False), err
        asked = len(server.requests)
        assert stored(tmp_path) == asked, "what was sent was answered and is kept"
        late = False
        process = start(tmp_path, loop)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert len(server.requests) == 2 * QUESTIONS, "nothing was asked twice"


@posix
@pytest.mark.parametrize("loop", LOOPS)
def test_a_second_signal_ends_a_run_whose_server_hangs_and_the_ledger_is_whole(
    tmp_path: Path, loop: str
) -> None:
    with FaultServer([*["An answer."] * 4, Reply(b"", hang=True)]) as server:
        prepare(tmp_path, server)
        process = start(tmp_path, loop)
        wait_for_requests(server, 6)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None, "what was sent is waited for"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, "Traceback" in err) == (130, False), err
        assert stored(tmp_path) <= 4


@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_is_the_one_that_is_installed(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if loop == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)

    async def module() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert event_loop.run(module()).startswith(loop)


async def test_a_running_loop_is_told_and_the_work_is_not_begun() -> None:
    begun = False

    async def work() -> None:
        nonlocal begun
        begun = True

    with pytest.raises(RuntimeError, match="running in this thread already") as caught:
        event_loop.run(work())
    assert caught.value.__context__ is None, "one error, and no other over its cleaning up"
    assert not begun
