"""How many calls a second the ledger makes durable, and how long it holds up the event loop.

    python benchmarks/ledger_throughput.py [--records 20000] [--scan 200000] [--dir FOLDER]

512 coroutines record calls of 2 KB, each waiting until its record is on disk before the next. In
the same run the same calls go, one commit each, through the same tables, so that the ratio does not
depend on the machine. Targets: 15,000 records a second, the loop held 20 ms at most.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from peerexam.calls import Call, Completion, Message, Request, Usage, call_of, encoded
from peerexam.ledger.sqlite import SqliteLedger

AGENT = "one"
FINGERPRINT = {"provider": "bench", "model": "mock-7b", "endpoint": "http://127.0.0.1:8000/v1"}
Put = Callable[[Call, Completion], Awaitable[object]]


def calls(n: int, size: int) -> list[tuple[Call, Completion]]:
    half = "x" * (size // 2 - 100)
    made = []
    for number in range(n):
        request = Request((Message("user", f"{number} {half}"),))
        made.append(
            (call_of(AGENT, encoded(FINGERPRINT), request), Completion(half, usage=Usage(400, 200)))
        )
    return made


async def drive(work: list[tuple[Call, Completion]], producers: int, put: Put) -> float:
    """Seconds for all of it."""
    waiting = iter(work)

    async def produce() -> None:
        for call, completion in waiting:
            await put(call, completion)

    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(producers):
            group.create_task(produce())
    return time.perf_counter() - start


async def with_hold_up(run: Awaitable[float]) -> tuple[float, float]:
    """The run's seconds, and the longest time for which the loop did not get round."""
    longest = 0.0

    async def pulse() -> None:
        nonlocal longest
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - start - 0.001)

    async with asyncio.TaskGroup() as group:
        pulsing = group.create_task(pulse())
        seconds = await run
        pulsing.cancel()
    return seconds, longest


async def grouped(folder: Path, work: list[tuple[Call, Completion]], producers: int) -> None:
    async with SqliteLedger.open(folder / "grouped.sqlite") as ledger:

        async def put(call: Call, completion: Completion) -> object:
            return await ledger.record(call, completion)

        used = time.process_time()
        seconds, held = await with_hold_up(drive(work, producers, put))
        used = (time.process_time() - used) / len(work)
        rate = len(work) / seconds

        fewer = work[: max(200, len(work) // 20)]
        alone = await one_commit_each(folder, fewer)
        print(f"group commit:     {rate:9,.0f} records/s, loop held {held * 1e3:.1f} ms at most")
        print(f"CPU:              {used * 1e6:9.0f} µs a record, both threads")
        print(f"a commit each:    {alone:9,.0f} records/s, one at a time")
        print(f"ratio:            {rate / alone:9.1f}")

        start = time.perf_counter()
        for call, _ in work[:2000]:
            await ledger.find(call.key)
        looked = (time.perf_counter() - start) / min(2000, len(work))
        print(f"find:             {looked * 1e6:9.0f} µs a look-up")


async def one_commit_each(folder: Path, work: list[tuple[Call, Completion]]) -> float:
    async with SqliteLedger.open(folder / "alone.sqlite") as ledger:
        start = time.perf_counter()
        for call, completion in work:
            await ledger.record(call, completion)
        return len(work) / (time.perf_counter() - start)


async def scan(folder: Path, n: int) -> None:
    """Fill a ledger behind its back, then read which keys are done."""
    path = folder / "grouped.sqlite"
    database = sqlite3.connect(path, isolation_level=None)
    rows = (
        (f"{number * 2654435761 % 2**256:064x}", 1, 0.0, 400, 200, "{}", "x" * 2000)
        for number in itertools.islice(itertools.count(1), n)
    )
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO calls(key, agent, created, prompt_tokens, completion_tokens, request,"
        " completion) VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    database.execute("COMMIT")
    database.close()
    async with SqliteLedger.open(path) as ledger:
        start = time.perf_counter()
        keys = await ledger.known_keys()
        seconds = time.perf_counter() - start
        print(f"known_keys:       {seconds:9.3f} s for {len(keys):,} calls")
        start = time.perf_counter()
        totals = await ledger.totals()
        print(f"totals:           {time.perf_counter() - start:9.3f} s for {totals.calls:,} calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--producers", type=int, default=512)
    parser.add_argument("--scan", type=int, default=200_000, help="calls in the scan; 0 leaves out")
    parser.add_argument("--dir", type=Path, default=None, help="where to write; on a real disk")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.dir))
    try:
        work = calls(options.records, options.size)
        asyncio.run(grouped(folder, work, options.producers))
        if options.scan:
            asyncio.run(scan(folder, options.scan))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
