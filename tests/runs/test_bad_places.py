"""Places that cannot be written to, and Ctrl-C before anything runs: one line, no traceback."""

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

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX file systems and signals")

EXAM = """\
name: placed
agents:
  - {{name: one, model: "openai/one@{url}"}}
  - {{name: two, model: "openai/two@{url}"}}
questions: {{file: questions.txt}}
judging: {{ranking: none, marks: false}}
voting: {{rounds: 10}}
"""


def exam_in(folder: Path, url: str, questions: int = 3) -> None:
    folder.joinpath("exam.yaml").write_text(EXAM.format(url=url))
    folder.joinpath("questions.txt").write_text(
        "".join(f"Question {n}?\n" for n in range(questions))
    )


def a_file(folder: Path) -> str:
    folder.joinpath("taken").write_text("mine")
    return "taken"


def below_a_file(folder: Path) -> str:
    folder.joinpath("taken").write_text("mine")
    return "taken/out"


def too_long(folder: Path) -> str:
    return "x" * 300


def a_circle(folder: Path) -> str:
    folder.joinpath("circle").symlink_to("circle")
    return "circle"


def read_only(folder: Path) -> str:
    place = folder / "read-only"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(place)])
    if mounted.returncode:
        place.chmod(0o500)
    return "read-only"


def unmounted(folder: Path) -> None:
    subprocess.run(["umount", str(folder / "read-only")], capture_output=True)


PLACES = [a_file, below_a_file, too_long, a_circle, read_only]


@pytest.mark.parametrize("spoil", PLACES)
def test_a_bad_folder_is_named_with_the_fix_before_anything_is_paid(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chat_server: Any,
    spoil: Callable[[Path], str],
) -> None:
    monkeypatch.chdir(tmp_path)
    server = chat_server(["An answer."])
    exam_in(tmp_path, server.url)
    set_only = EXAM.format(url=server.url).replace("file: questions.txt", "domains: [rivers]")
    (tmp_path / "set.yaml").write_text(set_only)
    out = spoil(tmp_path)
    commands = [
        ["run", "exam.yaml", "--out", out, "--db", "elsewhere.sqlite"],
        ["run", "exam.yaml", "--out", out],
        ["generate", "set.yaml", "--out", out],
        [
            "consistency",
            "arithmetic",
            "--agents",
            f"openai/one@{server.url}",
            "--out",
            out,
            "--db",
            "elsewhere.sqlite",
        ],
    ]
    try:
        for command in commands:
            status = main(command)
            said = capsys.readouterr().err
            assert status == 2, said
            assert "Traceback" not in said
            # `generate` prints its plan first.
            (line,) = [line for line in said.splitlines() if line.startswith("peerexam: ")]
            assert line.startswith(f"peerexam: {out[:50]}"), line
            assert "Errno" not in line
            assert "choose" in line or "writable" in line
    finally:
        unmounted(tmp_path)
    assert not server.requests


def test_a_name_with_a_nul_is_no_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    server = chat_server(["An answer."])
    exam_in(tmp_path, server.url)
    assert main(["run", str(tmp_path / "exam.yaml"), "--out", "a\0b"]) == 2
    assert "NUL" in capsys.readouterr().err
    assert not server.requests


@pytest.mark.parametrize("name", ["answers.jsonl", "standings.json"])
def test_a_folder_in_the_place_of_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any, name: str
) -> None:
    server = chat_server(["An answer."])
    exam_in(tmp_path, server.url)
    (tmp_path / "out" / name).mkdir(parents=True)
    assert main(["run", str(tmp_path / "exam.yaml"), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert name in line
    assert not server.requests


def test_a_disk_that_fills_up_with_records_is_named(tmp_path: Path, chat_server: Any) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]).returncode:
        pytest.skip("no file system can be mounted here")
    server = chat_server(lambda served: "A long answer. " * 200)
    exam_in(tmp_path, server.url, questions=60)
    try:
        command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--quiet"]
        command += ["--out", "small/out", "--db", "ledger.sqlite"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 2, ended.stderr
        (line,) = ended.stderr.splitlines()
        assert line.startswith("peerexam: small/out/")
        assert "No space left on device; make room on the disk and run the same" in line
    finally:
        subprocess.run(["umount", str(place)], check=True)
    asked = len(server.requests)
    subprocess.run([*command[:-4], "--out", "big", *command[-2:]], cwd=tmp_path, timeout=60)
    assert len(server.requests) == 120 >= asked > 0, "what was paid for is in the ledger"


@pytest.mark.parametrize(
    "after",
    [0.2, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (0.12, 0.35, 0.5, 0.8))],
)
@pytest.mark.parametrize("command", [["run", "exam.yaml", "--out", "out"], ["selftest"]])
def test_two_presses_while_it_starts_end_without_a_traceback(
    tmp_path: Path, chat_server: Any, after: float, command: list[str]
) -> None:
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=5))
    exam_in(tmp_path, server.url)
    # The moment at which our own code is first in charge of the process.
    begin = "import peerexam.cli, sys; print('!', flush=True); sys.exit(peerexam.cli.main())"
    process = subprocess.Popen(
        [sys.executable, "-c", begin, *command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said


def test_a_press_in_a_finalizer_is_heard_after_it(tmp_path: Path) -> None:
    """Python drops what is raised there: the import system's own callbacks are such places."""
    begin = """
import os, signal, sys, time
import peerexam.cli

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)

def perform(given):
    Finalized()
    time.sleep(20)

peerexam.cli._perform = perform
sys.exit(peerexam.cli.main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", begin, "run"], capture_output=True, text=True, timeout=15
    )
    assert ended.returncode == 130
    assert ended.stderr.startswith("stopped\n")
    assert "Traceback" not in ended.stderr
