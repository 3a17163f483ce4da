import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.hf.batching import Batcher, BatchLimits, Job, Kind, Size, choose

sizes = st.lists(st.builds(Size, st.integers(1, 600), st.integers(0, 600)), min_size=1, max_size=40)
limits = st.builds(BatchLimits, st.integers(1, 20), st.integers(64, 5000))


@given(sizes, limits)
def test_a_batch_has_the_first_and_keeps_to_its_limits(
    waiting: list[Size], limit: BatchLimits
) -> None:
    taken = choose(waiting, limit)
    assert taken[0] == 0
    assert taken == sorted(set(taken))
    assert len(taken) <= limit.rows
    rows = [waiting[index] for index in taken]
    padded = len(rows) * (max(row.prompt for row in rows) + max(row.reply for row in rows))
    assert len(rows) == 1 or padded <= limit.tokens


@given(sizes, limits)
def test_nobody_is_left_out_while_there_is_room(waiting: list[Size], limit: BatchLimits) -> None:
    taken = choose(waiting, limit)
    if len(taken) == limit.rows:
        return
    rows = [waiting[index] for index in taken]
    prompt, reply = max(row.prompt for row in rows), max(row.reply for row in rows)
    left = [size for index, size in enumerate(waiting) if index not in taken]
    for size in left:
        widest = max(prompt, size.prompt) + max(reply, size.reply)
        assert (len(rows) + 1) * widest > limit.tokens


def test_those_of_like_length_go_together() -> None:
    waiting = [Size(100, 10), Size(900, 10), Size(110, 10), Size(5, 10), Size(95, 10)]
    assert choose(waiting, BatchLimits(rows=3)) == [0, 2, 4]


def test_one_that_is_too_large_for_any_batch_goes_alone() -> None:
    assert choose([Size(5000, 10), Size(5, 10)], BatchLimits(rows=8, tokens=100)) == [0]


class Runner:
    """Writes down its batches; the first waits until it may go on."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, batch: list[Job[str]]) -> None:
        self.batches.append([job.work for job in batch])
        self.begun.set()
        self.go.wait(20)
        for job in batch:
            if job.work == "bug":
                raise ZeroDivisionError("a bug")
            job.finish(job.work.upper())


def job(work: str, kind: Kind = "generate", rows: int = 16) -> Job[str]:
    return Job(kind, Size(10, 10), BatchLimits(rows=rows), work)


async def results(*jobs: Job[str]) -> list[object]:
    waiting = (asyncio.wrap_future(one.future) for one in jobs)
    return list(await asyncio.gather(*waiting, return_exceptions=True))


async def test_what_comes_while_a_batch_runs_is_the_next_batch_one_kind_at_a_time() -> None:
    runner = Runner()
    batcher = Batcher(runner, "test")
    jobs = [job("first", rows=1)]
    batcher.submit(jobs[0])
    await asyncio.to_thread(runner.begun.wait, 20)
    jobs += [job("a"), job("x", "score"), job("b"), job("y", "score")]
    for one in jobs[1:]:
        batcher.submit(one)
    runner.go.set()
    assert await results(*jobs) == ["FIRST", "A", "X", "B", "Y"]
    assert runner.batches == [["first"], ["a", "b"], ["x", "y"]]
    batcher.close()


async def test_a_job_that_was_cancelled_while_it_waited_is_not_run() -> None:
    runner = Runner()
    batcher = Batcher(runner, "test")
    first, second, third = job("first", rows=1), job("second"), job("third")
    batcher.submit(first)
    await asyncio.to_thread(runner.begun.wait, 20)
    batcher.submit(second)
    batcher.submit(third)
    second.future.cancel()
    runner.go.set()
    assert await results(first, third) == ["FIRST", "THIRD"]
    assert runner.batches == [["first"], ["third"]]
    batcher.close()


async def test_an_error_is_the_outcome_of_its_batch_and_the_next_batch_runs() -> None:
    runner = Runner()
    runner.go.set()
    batcher = Batcher(runner, "test")
    one = job("bug")
    batcher.submit(one)
    (failed,) = await results(one)
    assert isinstance(failed, ZeroDivisionError)
    after = job("after")
    batcher.submit(after)
    assert await results(after) == ["AFTER"]
    batcher.close()


async def test_closing_ends_the_running_batch_and_drops_the_others() -> None:
    runner = Runner()
    batcher = Batcher(runner, "test")
    first, second = job("first", rows=1), job("second")
    batcher.submit(first)
    await asyncio.to_thread(runner.begun.wait, 20)
    batcher.submit(second)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wrap_future(second.future)
    runner.go.set()
    assert await results(first) == ["FIRST"]
    closing.join()
    with pytest.raises(RuntimeError, match="closed"):
        batcher.submit(job("late"))
