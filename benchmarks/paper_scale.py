"""An exam of the paper's size, from `plan` to report as a user would hold it: time and memory.

    python benchmarks/paper_scale.py [--domains 1000] [--per-domain 10] [--models 8] [--judges 4]
        [--examiners 2] [--classifiers 2] [--follow-up-share 0.05] [--kill-half] [--dir FOLDER]

Simulated players set, classify, answer, mark and sort, so that no model is waited for and every
figure is the framework's own. The domains are drawn from the taxonomy that comes with it. Every
command is a process of its own; a run's stages are told apart from outside, by the files that its
process holds open. Linux only. Targets on two cores: 15 minutes in all, 500 MB in every stage, the
report within 10 s, the export within 60 s, 20,000 judgements a second.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_TICK = os.sysconf("SC_CLK_TCK")
_STAGES = ("setting", "examining", "counting", "report")
_HEAD = ("stage", "wall s", "CPU s", "peak MB", "done", "a CPU second")


@dataclass
class Cost:
    """What one stage took; `done` is what it made, in words, and `number` how many that are."""

    stage: str
    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    done: str = ""
    number: int = 0

    def row(self) -> tuple[str, ...]:
        """The stage as cells of the table."""
        rate = f"{self.number / self.cpu:,.0f}" if self.number and self.cpu else ""
        sizes = (f"{self.wall:.1f}", f"{self.cpu:.1f}", f"{self.peak:.0f}")
        return self.stage, *sizes, f"{self.number:,} {self.done}" if self.number else "", rate


def exam(given: argparse.Namespace) -> dict[str, object]:
    """Models of rising ability; the first of them judge too, and the first of these set."""
    each, rest = divmod(given.per_domain, given.examiners)
    if rest or not given.examiners <= given.judges <= given.models:
        raise SystemExit("--per-domain must be a multiple of --examiners <= --judges <= --models")
    agents = [
        {
            "name": f"model-{place + 1}",
            "model": f"sim/p?ability={place / 4}&first_preference=0.1&error_rate=0.01",
            "roles": [
                *(["examiner"] if place < given.examiners else []),
                "examinee",
                *(["judge"] if place < given.judges else []),
            ],
        }
        for place in range(given.models)
    ]
    classifiers = [agent["name"] for agent in agents[: given.classifiers]]
    questions = {
        "taxonomy": "google-trends",
        "sample": given.domains,
        "per_domain": each,
        "style": "breadth",
        "levels": {"classifiers": classifiers},
    }
    share = given.follow_up_share
    follow_ups = {"follow_ups": {"rounds": 1, "share": share}} if share else {}
    return {
        "name": "paper-scale",
        "seed": 1,
        "agents": agents,
        "questions": questions,
        **follow_ups,
    }


def command(name: str, *arguments: object) -> list[str]:
    """A command line of peerexam."""
    return [sys.executable, "-m", "peerexam", name, *map(str, arguments)]


def whole(stage: str, line: Sequence[str]) -> Cost:
    """One command, from outside."""
    start = time.perf_counter()
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(line)} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(stage, time.perf_counter() - start, cpu, usage.ru_maxrss / 1024)


class Watch:
    """A run's process, its costs stage by stage."""

    def __init__(self, line: Sequence[str], folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        self._proc = Path(f"/proc/{self._process.pid}")
        self._files = {str((folder / f"{kind}.jsonl").resolve()) for kind in ("answers", "marks")}
        self._wrote = False
        self.costs = {stage: Cost(stage) for stage in _STAGES}

    def stages(self) -> Iterator[str]:
        """The stage that the run is in, looked at every 20 ms until it has ended."""
        seen, cpu = time.perf_counter(), 0.0
        stage = _STAGES[0]
        while self._process.poll() is None:
            yield stage
            time.sleep(0.02)
            try:
                stage, spent, peak = self._stage(), self._cpu(), self._peak()
            except (OSError, IndexError, ValueError):  # it ends just now
                continue
            now, cost = time.perf_counter(), self.costs[stage]
            cost.wall, cost.cpu = cost.wall + now - seen, cost.cpu + spent - cpu
            cost.peak = max(cost.peak, peak)
            seen, cpu = now, spent
        if self._process.returncode not in (0, 3, -signal.SIGKILL):
            raise SystemExit(f"peerexam run ended with {self._process.returncode}")

    def kill(self) -> None:
        """End the process as the kernel does when memory is short."""
        self._process.kill()

    def _stage(self) -> str:
        if (self._folder / "manifest.json").exists():
            return "report"
        held = set()
        for link in (self._proc / "fd").iterdir():
            held.add(os.readlink(link))
        if self._files <= held:  # its writers hold all of them at once, a reader one at a time
            self._wrote = True
            return "examining"
        return "counting" if self._wrote else "setting"

    def _cpu(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def _peak(self) -> float:
        """MB at most since the last look; the kernel keeps it, and starts again when told."""
        status = (self._proc / "status").read_text()
        (self._proc / "clear_refs").write_text("5")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def held_exam(config: Path, run: Path) -> list[Cost]:
    """`peerexam run`, stage by stage."""
    watch = Watch(command("run", config, "--out", run, "--quiet"), run)
    for _ in watch.stages():
        pass
    costs = watch.costs
    judgements = lines(run / "marks.jsonl") + lines(run / "verdicts.jsonl")
    costs["setting"].number, costs["setting"].done = lines(run / "questions.jsonl"), "questions"
    costs["examining"].number, costs["examining"].done = judgements, "judgements"
    costs["counting"].number, costs["counting"].done = judgements, "judgements"
    return list(costs.values())


def killed_exam(config: Path, run: Path, size: int) -> Cost:
    """Kill a run when half of its verdicts (bytes) are written; then until it writes the next."""
    line, verdicts = command("run", config, "--out", run, "--quiet"), run / "verdicts.jsonl"
    first = Watch(line, run)
    for _ in first.stages():
        if verdicts.exists() and verdicts.stat().st_size > size / 2:
            first.kill()
    half = verdicts.stat().st_size
    again = Watch(line, run)
    stages = again.stages()
    took = Cost("resumed")
    for _ in stages:
        if verdicts.stat().st_size > half:
            costs = [again.costs[stage] for stage in ("setting", "examining")]
            took.wall, took.cpu = sum(one.wall for one in costs), sum(one.cpu for one in costs)
            took.peak = max(one.peak for one in costs)
            took.number, took.done = half // (1 << 20), "MB of verdicts taken over"
            break
    for _ in stages:
        pass
    return took


def lines(path: Path) -> int:
    """Lines of a file."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def size_of(folder: Path) -> float:
    """Megabytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def table(costs: Sequence[Cost]) -> str:
    """The costs, and their sum."""
    whole_path = Cost(
        "all",
        sum(cost.wall for cost in costs),
        sum(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
    )
    rows = [_HEAD, *(cost.row() for cost in (*costs, whole_path))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def measure(given: argparse.Namespace, folder: Path) -> None:
    """All commands one after the other, and the table."""
    config, run = folder / "EXAM.yaml", folder / "run"
    config.write_text(yaml.safe_dump(exam(given), sort_keys=False))
    costs = [whole("plan", command("plan", config)), *held_exam(config, run)]
    costs.append(whole("report again", command("report", run)))
    costs.append(whole("export", command("export", run, "--out", folder / "data", "--no-parquet")))
    print(table(costs))
    page, data = (run / "report.html").stat().st_size / 1e6, size_of(folder / "data")
    print(f"run {size_of(run):.0f} MB, its page {page:.1f} MB, export {data:.0f} MB")
    if given.kill_half:
        standings = (run / "standings.json").read_bytes()
        size, again = (run / "verdicts.jsonl").stat().st_size, folder / "killed"
        print(table([killed_exam(config, again, size)]).partition("\nall")[0])
        print("the same standings:", standings == (again / "standings.json").read_bytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in a folder that is kept where it was named, and removed otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domains", type=int, default=1000)
    parser.add_argument("--per-domain", type=int, default=10, help="by all examiners together")
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--judges", type=int, default=4)
    parser.add_argument("--examiners", type=int, default=2)
    parser.add_argument("--classifiers", type=int, default=2)
    parser.add_argument("--follow-up-share", type=float, default=0.05)
    parser.add_argument("--kill-half", action="store_true", help="kill a second run half-way, too")
    parser.add_argument("--dir", type=Path, help="must be new; kept afterwards")
    given = parser.parse_args(arguments)
    folder = given.dir or Path(tempfile.mkdtemp(prefix="paper-scale"))
    folder.mkdir(parents=True, exist_ok=given.dir is None)
    try:
        measure(given, folder)
    finally:
        if given.dir is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
