"""`kill -9` at random moments: nothing is lost, nothing committed is asked again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from peerexam.calls import Completion, canonical_json
from peerexam.ledger.sqlite.ledger import SqliteLedger

RECORDS = ("questions", "answers", "marks", "verdicts", "rankings")

EXAM = """
name: killed
seed: 7
agents:
  - {{name: one, model: "openai/one@{url}"}}
  - {{name: two, model: "openai/two@{url}"}}
  - {{name: three, model: "openai/three@{url}", temperature: 0.5}}
questions: {{domains: [rivers, numbers], per_domain: 2}}
follow_ups: {{rounds: 1}}
limits: {{concurrency: 8}}
"""


def reply_to(body: dict[str, Any]) -> str:
    """A model whose reply depends on what it is asked and on nothing else."""
    text = "\n".join(message["content"] for message in body["messages"])
    code = int(hashlib.sha256((body["model"] + text).encode()).hexdigest(), 16)
    low = text.lower()
    if "verdict" in low and "response 1" in low:
        return f"Verdict: Response {1 + code % 2}"
    if "coherence" in low and "overall" in low:
        names = ("accuracy", "coherence", "factuality", "comprehensiveness")
        lines = [f"{name}: {1 + (code >> 8 * i) % 3}" for i, name in enumerate(names)]
        return "\n".join([*lines, f"overall: {4 + code % 2}"])
    if "follow question" in low:
        return f"follow question: What lies behind number {code % 100000}?"
    if "domain" in low:
        return "\n".join(
            f"{i}. What does {body['model']} know of {word} and {code % 9973 + i}?"
            for i, word in enumerate(("springs", "deltas", "primes"), 1)
        )
    return f"It is {code % 1000003}, as {body['model']} sees it."


class CountingServer:
    """An OpenAI-compatible server that keeps a list of all that it was asked."""

    def __init__(self, latency: float) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(signature(body["model"], body["messages"]))
                time.sleep(latency)
                data = json.dumps(
                    {
                        "id": "x",
                        "object": "chat.completion",
                        "created": 0,
                        "model": body["model"],
                        "choices": [
                            {
                                "index": 0,
                                "finish_reason": "stop",
                                "message": {"role": "assistant", "content": reply_to(body)},
                            }
                        ],
                        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
                    }
                ).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client was killed

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                """A killed client is expected here."""

        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@contextmanager
def serving(latency: float = 0.004) -> Iterator[CountingServer]:
    server = CountingServer(latency)
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def signature(model: str, messages: list[dict[str, str]]) -> str:
    return canonical_json([model, [[m["role"], m["content"]] for m in messages]])


def committed(ledger: Path) -> set[str]:
    """What the ledger file holds as answered, read as any SQLite client would."""
    if not ledger.exists():
        return set()

    async def read() -> set[str]:
        async with SqliteLedger.open(ledger) as held:
            return {
                canonical_json([call.fingerprint["model"], call.request["messages"]])
                async for call in held.calls()
                if isinstance(call.outcome, Completion)
            }

    return asyncio.run(read())


def start(exam: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "peerexam", "run", str(exam), "--out", str(out), "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(exam: Path, out: Path) -> None:
    process = start(exam, out)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output.decode()


def killed_after(seconds: float, process: subprocess.Popen[bytes]) -> bool:
    """Kill a run in its work; False where it had ended by itself."""
    time.sleep(seconds)
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return running


def records(out: Path) -> dict[str, bytes]:
    return {name: (out / f"{name}.jsonl").read_bytes() for name in RECORDS}


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("wanted", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_leave_the_records_of_an_undisturbed_run(tmp_path: Path, wanted: int) -> None:
    rng = random.Random(20)
    calm = tmp_path / "calm"
    exam = tmp_path / "exam.yaml"
    with serving() as server:
        exam.write_text(EXAM.format(url=server.url))
        began = time.monotonic()
        finish(exam, calm)
        whole = time.monotonic() - began
        asked_calmly = set(server.asked)

        kills = rounds = 0
        hard = calm
        while kills < wanted:
            # A run of its own in a new folder; it is killed and resumed until it is done.
            rounds += 1
            hard = tmp_path / f"hard{rounds}"
            server.asked.clear()
            safe: set[str] = set()
            while kills < wanted:
                before = len(server.asked)
                if not killed_after(rng.uniform(0.15, 0.5) * whole, start(exam, hard)):
                    break
                kills += 1
                time.sleep(0.02)
                # What was committed before this session began was not asked again in it.
                assert not safe & set(server.asked[before:])
                safe = committed(hard / "ledger.sqlite")
            before = len(server.asked)
            finish(exam, hard)
            assert not safe & set(server.asked[before:])
            assert set(server.asked) == asked_calmly, "the same questions of the models, in all"
            assert records(hard) == records(calm)
            assert (hard / "standings.json").read_bytes() == (calm / "standings.json").read_bytes()

        before = len(server.asked)
        finish(exam, hard)
        assert len(server.asked) == before, "a finished exam asks nothing"


def test_the_ledger_file_is_plain_sqlite(tmp_path: Path) -> None:
    out = tmp_path / "out"
    exam = tmp_path / "exam.yaml"
    with serving(latency=0) as server:
        exam.write_text(EXAM.format(url=server.url))
        finish(exam, out)
        with sqlite3.connect(out / "ledger.sqlite") as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
        assert len(committed(out / "ledger.sqlite")) == len(set(server.asked))
