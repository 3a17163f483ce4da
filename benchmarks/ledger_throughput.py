"""How many calls a second the ledger makes durable, and how long it holds up the event loop.

    python benchmarks/ledger_throughput.py [--records 20000] [--scan 200000] [--dir FOLDER]
    python benchmarks/ledger_throughput.py --db postgresql://…/an_empty_database

512 coroutines record calls of 2 KB, each waiting until its record is on disk before the next. In
the same run the same calls go, one commit each, through the same tables, so that the ratio does not
depend on the machine. Targets: 15,000 records a second, the loop held 20 ms at most.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from peerexam.calls import Call, Completion, Message, Request, Usage, call_of, encoded
from peerexam.ledger.opening import open_ledger
from peerexam.ledger.sqlite.ledger import SqliteLedger
from peerexam.ledger.sqlite.schema import stored_key

AGENT = "one"
FINGERPRINT = {"provider": "bench", "model": "mock-7b", "endpoint": "http://127.0.0.1:8000/v1"}
Put = Callable[[Call, Completion], Awaitable[object]]
Work = tuple[Call, Completion]


def calls(n: int, size: int) -> list[Work]:
    half = "x" * (size // 2 - 100)
    made = []
    for number in range(n):
        request = Request((Message("user", f"{number} {half}"),))
        made.append(
            (call_of(AGENT, encoded(FINGERPRINT), request), Completion(half, usage=Usage(400, 200)))
        )
    return made


async def drive(work: list[Work], producers: int, put: Put) -> float:
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


async def measure(where: str, alone: str | None, work: list[Work], producers: int) -> None:
    """Record all of it at once and some of it one by one, then look it up."""
    ledger = open_ledger(where)
    gc.collect()
    gc.freeze()  # or the collector walks over the prepared calls, which a run does not have
    used = time.process_time()
    seconds, held = await with_hold_up(drive(work, producers, ledger.record))
    used = (time.process_time() - used) / len(work)
    rate = len(work) / seconds
    print(f"group commit:     {rate:9,.0f} records/s, loop held {held * 1e3:.1f} ms at most")
    print(f"CPU:              {used * 1e6:9.0f} µs a record, both threads of this process")
    if alone is not None:
        single = await one_commit_each(alone, work[: max(200, len(work) // 20)])
        print(f"a commit each:    {single:9,.0f} records/s, one at a time")
        print(f"ratio:            {rate / single:9.1f}")
    start = time.perf_counter()
    for call, _ in work[:2000]:
        await ledger.find(call.key)
    looked = (time.perf_counter() - start) / min(2000, len(work))
    print(f"find:             {looked * 1e6:9.0f} µs a look-up, one after the other")
    seconds = await drive(work, producers, lambda call, _: ledger.find(call.key))
    print(f"find:             {len(work) / seconds:9,.0f} look-ups/s, {producers} at once")
    await ledger.close()


async def measure_claims(where: str, work: list[Work], producers: int) -> None:
    """What it takes to reserve a request that nobody has asked, and to let go of it."""
    ledger = open_ledger(where)

    async def put(call: Call, _: Completion) -> None:
        await ledger.reserve(call.key)
        await ledger.release(call.key)

    fresh = [(replace(call, key=call.key[::-1]), completion) for call, completion in work]
    used = time.process_time()
    seconds = await drive(fresh, producers, put)
    used = (time.process_time() - used) / len(work)
    print(f"reserve, release: {len(work) / seconds:9,.0f} /s, {producers} at once")
    print(f"CPU:              {used * 1e6:9.0f} µs for both")
    await ledger.close()


async def one_commit_each(where: str, work: list[Work]) -> float:
    ledger = open_ledger(where)
    start = time.perf_counter()
    for call, completion in work:
        await ledger.record(call, completion)
    seconds = time.perf_counter() - start
    await ledger.close()
    return len(work) / seconds


async def scan(path: Path, n: int) -> None:
    """Fill an SQLite ledger behind its back, then read which keys are done."""
    database = sqlite3.connect(path, isolation_level=None)
    rows = (
        (stored_key(hashlib.sha256(b"%d" % number).hexdigest()), 1, 0.0, "{}", "x" * 2000)
        for number in range(n)
    )
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO calls(key, agent, created, request, completion) VALUES (?, ?, ?, ?, ?)", rows
    )
    database.execute("COMMIT")
    database.close()
    async with SqliteLedger.open(path) as ledger:
        for name, read in (("known_keys:", ledger.known_keys), ("totals:", ledger.totals)):
            start, used = time.perf_counter(), time.process_time()
            await read()
            seconds, used = time.perf_counter() - start, time.process_time() - used
            print(f"{name:18}{seconds:9.3f} s, of which CPU {used:.3f} s, over {n:,} calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--producers", type=int, default=512)
    parser.add_argument("--scan", type=int, default=200_000, help="calls in the scan; 0 leaves out")
    parser.add_argument("--dir", type=Path, default=None, help="where to write; on a real disk")
    parser.add_argument("--db", help="an empty PostgreSQL database, in place of SQLite")
    options = parser.parse_args()
    work = calls(options.records, options.size)
    if options.db:
        asyncio.run(measure(options.db, None, work, options.producers))
        asyncio.run(measure_claims(options.db, work, options.producers))
        return
    folder = Path(tempfile.mkdtemp(dir=options.dir))
    try:
        path = folder / "grouped.sqlite"
        asyncio.run(measure(str(path), str(folder / "alone.sqlite"), work, options.producers))
        if options.scan:
            asyncio.run(scan(path, options.scan))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
