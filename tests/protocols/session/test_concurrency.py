from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from peerexam.errors import BudgetReachedError
from peerexam.protocols.session.concurrency import both, in_order, in_turn, together


async def test_results_come_in_the_order_of_the_items_whatever_ends_first() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(0.001 * (7 - item % 7))
        return item * item

    assert [value async for value in in_order(range(50), work, 6)] == [n * n for n in range(50)]


async def test_no_more_than_the_window_runs_and_little_is_drawn_ahead() -> None:
    running = peak = drawn = ended = 0

    def source() -> Iterator[int]:
        nonlocal drawn
        for item in range(200):
            drawn += 1
            assert drawn - ended <= 4 * 5
            yield item

    async def work(item: int) -> int:
        nonlocal running, peak, ended
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return item

    async for _ in in_order(source(), work, 5):
        ended += 1
    assert peak == 5
    assert ended == 200


async def test_a_reached_budget_wins_over_other_errors() -> None:
    async def fail(error: Exception) -> None:
        raise error

    with pytest.raises(BudgetReachedError):
        await together([fail(ValueError("x")), fail(BudgetReachedError("spent"))])


async def test_one_failure_cancels_the_rest() -> None:
    cancelled = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await together([wait(), fail()])
    assert cancelled.is_set()


async def test_a_cancellation_reaches_all_at_once_though_some_take_long_to_end() -> None:
    told: list[int] = []
    all_told = asyncio.Event()

    async def work(item: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(item)
            if len(told) == 3:
                all_told.set()
            await all_told.wait()  # it ends only when every other has been told
            raise

    async def consume() -> None:
        async for _ in in_order(range(3), work, 3):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait((task,), timeout=5)
    assert task.done()
    assert sorted(told) == [0, 1, 2]


async def test_in_turn_one_ends_before_the_next_begins_and_results_are_the_same() -> None:
    told: list[str] = []

    async def work(item: int) -> int:
        told.append(f"{item} begins")
        await asyncio.sleep(0)
        told.append(f"{item} ends")
        return item * item

    with in_turn():
        assert await together(work(item) for item in range(3)) == [0, 1, 4]
        assert await both(work(3), work(4)) == (9, 16)
    assert told == [f"{item} {what}" for item in range(5) for what in ("begins", "ends")]
    told.clear()
    assert await together(work(item) for item in range(2)) == [0, 1]
    assert told == ["0 begins", "1 begins", "0 ends", "1 ends"]


async def test_in_turn_nothing_begins_behind_a_failure() -> None:
    """What was not begun is closed, too: else Python warns of it, and warnings are errors here."""
    begun: list[int] = []

    async def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise ValueError("broken")

    with in_turn(), pytest.raises(ValueError, match="broken"):
        await together(work(item) for item in range(4))
    assert begun == [0, 1]
    with in_turn(), pytest.raises(ValueError, match="broken"):
        await both(work(1), work(2))
    assert begun == [0, 1, 1]
