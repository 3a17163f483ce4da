"""An exam of a million calls: its time, its memory by phase, and the run that goes over it again.

    python benchmarks/million_calls.py players [--questions 10000] [--dir FOLDER]
    python benchmarks/million_calls.py agents [--questions 500] [--dir FOLDER]

`players` are simulated: 8 of them answer and 4 of these judge, by marks and merge sort, and no
model is asked. `agents` answer at once through the real prompts, readers and ledger. Every run has
a process of its own; the second goes over the same folder. Targets: under 500 MB whatever the
number of questions, and a second run at 50,000 calls a second or better.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from peerexam.agents.base import Agent, Provider
from peerexam.agents.function import completion_of
from peerexam.calls import Completion, Request
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.protocols.session.progress import Progress
from peerexam.report.run.html import write_report

EXAMINEES = 8
JUDGES = 4
KINDS = ("answers", "marks", "verdicts")
_MARKS = '{"accuracy": 3, "coherence": 3, "factuality": 3, "comprehensiveness": 2, "overall": 4}'
_RESPONSES = re.compile(r"\[\[begin Response . \w+\]\]\n(.*)\n")


class InstantAgent(Provider):
    """Answers at once: questions with 40 words, comparisons by the longer answer, marks with 4."""

    def __init__(self, name: str) -> None:
        super().__init__(name, {"provider": "bench", "model": name}, ("chat",))
        self._words = " ".join(f"word{len(name) * at % 97}" for at in range(40))

    async def complete(self, request: Request) -> Completion:
        """Reply in the form that the prompt asks for."""
        text = request.messages[-1].content
        if "Verdict:" in text:
            first, second = _RESPONSES.findall(text)
            return completion_of(f"Verdict: Response {1 if len(first) >= len(second) else 2}")
        if "overall" in text:
            return completion_of(_MARKS)
        return completion_of(f"{self.name} says {self._words} of {hash_of(text)}")

    async def close(self) -> None:
        """There is nothing to close."""


def hash_of(text: str) -> int:
    """A small number that differs from question to question."""
    return sum(map(ord, text)) % 10_007


def exam(kind: str, questions: int, folder: Path) -> ExamConfig:
    """Eight who answer, four of whom judge, on questions of a file."""
    file = folder / "questions.jsonl"
    if not file.exists():
        file.write_text(
            "".join(
                json.dumps({"id": f"q{at:06d}", "text": f"Question {at}: what holds?"}) + "\n"
                for at in range(questions)
            )
        )
    agents = [
        {
            "name": f"agent{at}",
            "model": f"sim/p?ability={at / 4}" if kind == "players" else f"openai/m{at}",
            "roles": ["examinee", "judge"] if at < JUDGES else ["examinee"],
        }
        for at in range(EXAMINEES)
    ]
    return ExamConfig.model_validate(
        {"name": "million", "agents": agents, "questions": {"file": str(file)}}
    )


@contextlib.contextmanager
def peaks(progress: Progress) -> Iterator[dict[str, float]]:
    """Peak memory in MB by what the run says it is doing; sampled every 20 ms."""
    seen: dict[str, float] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
            now = int(found[1]) / 1024 if found else 0.0
            seen[progress.note] = max(seen.get(progress.note, 0.0), now)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def one_run(kind: str, questions: int, folder: Path) -> dict[str, object]:
    """Hold the exam, or go over it again, in this process."""
    config = exam(kind, questions, folder)
    agents: dict[str, Agent] | None = None
    if kind == "agents":
        agents = {agent.name: InstantAgent(agent.name) for agent in config.agents}
    progress = Progress()
    out = folder / "run"
    with peaks(progress) as seen:
        start, spent = time.perf_counter(), time.process_time()
        outcome = asyncio.run(run_exam(config, out, agents=agents, progress=progress))
        wall, cpu = time.perf_counter() - start, time.process_time() - spent
        progress.note = "writing the report"
        start = time.perf_counter()
        write_report(out)
        report = time.perf_counter() - start
    calls = sum(lines(out / f"{name}.jsonl") for name in KINDS)
    return {
        "status": outcome.status,
        "records": calls,
        "wall_s": round(wall, 2),
        "cpu_us_a_call": round(cpu / calls * 1e6, 1),
        "calls_a_second": round(calls / wall),
        "report_s": round(report, 2),
        "peak_mb": {note: round(value) for note, value in seen.items()},
        "ledger_mb": round(sum(p.stat().st_size for p in out.glob("ledger.sqlite*")) / 1e6, 1),
        "folder_mb": round(sum(p.stat().st_size for p in out.iterdir()) / 1e6, 1),
    }


def lines(path: Path) -> int:
    """Lines of a file."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run twice, each time in a fresh process, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("players", "agents"))
    parser.add_argument("--questions", type=int)
    parser.add_argument("--dir", type=Path, help="kept afterwards; a temporary folder by default")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    questions = given.questions or (10_000 if given.kind == "players" else 500)
    if given.once:
        print(json.dumps(one_run(given.kind, questions, given.dir)))
        return
    folder = given.dir or Path(tempfile.mkdtemp(prefix="million"))
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, given.kind, "--questions", str(questions)]
    standings = []
    try:
        for label in ("first run", "again"):
            subprocess.run([*command, "--dir", str(folder), "--once"], check=True)
            standings.append((folder / "run" / "standings.json").read_bytes())
            print(f"  ^ {label}")
        print(f"the same standings: {standings[0] == standings[1]}")
    finally:
        if given.dir is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
