"""The benchmarks by name (Self-[In]Correct, Table 1)."""

from __future__ import annotations

from peerexam.errors import SetupError
from peerexam.tasks.benchmarks.base import BenchmarkTask
from peerexam.tasks.benchmarks.gsm8k import GSM8K
from peerexam.tasks.benchmarks.mt_bench import MT_BENCH
from peerexam.tasks.benchmarks.triviaqa import TRIVIAQA
from peerexam.tasks.benchmarks.truthfulqa import TRUTHFULQA

BENCHMARKS = {task.name: task for task in (GSM8K, TRIVIAQA, TRUTHFULQA, MT_BENCH)}


def benchmark(name: str) -> BenchmarkTask:
    """The benchmark of a name.

    Raises:
        SetupError: There is none.
    """
    found = BENCHMARKS.get(name.strip().lower().replace("_", "-"))
    if found is None:
        raise SetupError(f"there is no task '{name}': choose from {', '.join(BENCHMARKS)}")
    return found
