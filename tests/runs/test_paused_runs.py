"""A process that is stopped for longer than its time limits pays for no call twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")

EXAM = """\
name: paused
agents:
  - {{name: one, model: "openai/one@{url}?client={client}", limits: {{{limits}}}}}
  - {{name: two, model: "openai/two@{url}?client={client}", limits: {{{limits}}}}}
questions: {{file: questions.txt}}
judging: {{ranking: none, marks: false}}
voting: {{rounds: 10}}
limits: {{{whole}}}
"""
CALLS = 16


@pytest.mark.parametrize(
    ("client", "limits", "whole", "at_once"),
    [
        ("lean", "timeout: 1.5", "", 16),
        # Seven seconds each; test_timer.py holds each kind of limit still within this process.
        pytest.param("sdk", "timeout: 1.5", "", 16, marks=pytest.mark.slow),
        pytest.param("lean", "timeout: 30, deadline: 1.5", "", 16, marks=pytest.mark.slow),
        pytest.param("lean", "timeout: 30", ", budget: {seconds: 4}", 8, marks=pytest.mark.slow),
    ],
)
def test_replies_that_came_while_the_process_was_stopped_are_used(
    tmp_path: Path, chat_server: Any, client: str, limits: str, whole: str, at_once: int
) -> None:
    if client == "sdk":
        pytest.importorskip("openai")
    # Each reply takes most of the limit, and comes while nobody reads.
    server = chat_server(lambda served: chat_server.reply("An answer.", delay=1.0))
    (tmp_path / "questions.txt").write_text("".join(f"Question {n}?\n" for n in range(8)))
    exam = EXAM.format(
        url=server.url, client=client, limits=limits, whole=f"concurrency: {at_once}{whole}"
    )
    (tmp_path / "exam.yaml").write_text(exam)
    command = [sys.executable, "-m", "peerexam", "run", "exam.yaml", "--out", "out", "--quiet"]
    command += ["--stall", "3"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        while len(server.requests) < at_once and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        time.sleep(4)
    finally:
        process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=60)
    assert set(Counter(map(_signature, server.requests)).values()) == {1}, said
    assert len(server.requests) == CALLS
    answers = (tmp_path / "out" / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["state"] for line in answers] == ["ok"] * CALLS
    assert "stalled" not in said


def _signature(served: Any) -> str:
    return json.dumps([served.body["model"], served.messages])
