"""Ctrl-C, by real signals to a real process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

EXAM = """\
name: slow
agents:
  - {name: a, model: slow/a}
  - {name: b, model: slow/b}
questions: {file: questions.txt}
judging: {ranking: none, marks: false}
answers: {max_tokens: 10}
voting: {rounds: 10}
"""

PROGRAM = """\
import asyncio, os, sys
from pathlib import Path

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.registry import register
from peerexam.cli import main

def create(spec):
    async def reply(request):
        with open("calls.txt", "a") as log:
            print(spec.name, file=log, flush=True)
        count = len(Path("calls.txt").read_text().splitlines())
        if os.environ.get("HANG") and count > 4:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if os.environ["HANG"] == "stubborn":
                    await asyncio.sleep(60)
                raise
        return "An answer."
    return ScriptedAgent(reply, spec.name)

register("slow", create)
sys.exit(main(sys.argv[1:]))
"""

COMMAND = ("run", "EXAM.yaml", "--out", "out dir", "--quiet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "EXAM.yaml").write_text(EXAM)
    (tmp_path / "questions.txt").write_text("".join(f"Question {n}?\n" for n in range(6)))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def start(folder: Path, hang: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "program.py", *COMMAND],
        cwd=folder,
        env={**os.environ, "HANG": hang},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_calls(folder: Path, count: int) -> None:
    log = folder / "calls.txt"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and len(log.read_text().splitlines()) >= count:
            return
        time.sleep(0.02)
    raise TimeoutError("the program asked too little")


def test_the_first_press_says_how_to_go_on_and_the_same_command_does(folder: Path) -> None:
    process = start(folder, "politely")
    wait_for_calls(folder, 5)
    time.sleep(0.3)  # four answers are being committed meanwhile
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "peerexam run EXAM.yaml --out 'out dir' --quiet" in err
    assert "Traceback" not in err
    asked = len((folder / "calls.txt").read_text().splitlines())
    process = start(folder, "")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    again = len((folder / "calls.txt").read_text().splitlines()) - asked
    assert again == 12 - 4  # six questions, two agents, four answers kept


@pytest.mark.parametrize(
    "study", ["discriminate gsm8k", "mistakes find d", "bias style r", "trust prd d"]
)
def test_a_study_says_how_to_resume(
    study: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press(given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("peerexam.cli._perform", press)
    assert main(study.split()) == 130
    assert f"  peerexam {study}\n" in capsys.readouterr().err


def test_the_second_press_ends_at_once(folder: Path) -> None:
    process = start(folder, "stubborn")
    wait_for_calls(folder, 5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


LONG = {
    "underscores": "a" + "_" * 900_000 + "b",
    "backticks": "Verdict: Response 1" + "`" * 900_000 + "x",
    "blanks": "Verdict:" + " " * 900_000 + "x",
    "tags": "<answer><x>" * 80_000,
    "thinking tags": "<think>'</think>'" * 50_000,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "reply",
    # One run in the quick suite; test_linear_readers.py goes over all such replies without a run.
    [
        pytest.param(text, id=name, marks=[] if name == "tags" else pytest.mark.slow)
        for name, text in LONG.items()
    ],
)
def test_a_run_whose_judge_writes_a_million_characters_ends_when_it_is_told_to(
    reply: str, chat_server: Callable[..., Any], tmp_path: Path
) -> None:
    judged = 0

    def script(served: Any) -> str:
        nonlocal judged
        if "Response 1" not in served.last_user_text:
            return "An answer."
        judged += 1
        return reply

    server = chat_server(script)
    agents = "\n".join(f"  - {{name: {n}, model: 'openai/{n}@{server.url}'}}" for n in "abc")
    questions = tmp_path / "questions.txt"
    questions.write_text("".join(f"Question {n}?\n" for n in range(20)))
    (tmp_path / "EXAM.yaml").write_text(
        f"name: long\nagents:\n{agents}\nquestions: {{file: questions.txt}}\n"
        "judging: {marks: false}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "peerexam", *COMMAND, "--no-pilot"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while judged < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert judged >= 3, process.communicate(timeout=10)
    process.send_signal(signal.SIGTERM)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
