"""Processor time of the commands that must be quick, and of an import.

    python benchmarks/start_up.py

The least of nine, since other work on the machine only ever adds. Target: `--help` in 100 ms.
"""

from __future__ import annotations

import resource
import subprocess
import sys

COMMANDS = {
    "python alone": ["-c", "pass"],
    "import peerexam": ["-c", "import peerexam"],
    "peerexam --help": ["-m", "peerexam", "--help"],
    "peerexam agents": ["-m", "peerexam", "agents"],
}


def cpu(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


for name, arguments in COMMANDS.items():
    print(f"{name:20}{min(cpu(arguments) for _ in range(9)) * 1e3:6.0f} ms")
