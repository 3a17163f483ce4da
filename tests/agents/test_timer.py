"""A timer against the standard library's own `asyncio.timeout`, whose rules it follows."""

from __future__ import annotations

import asyncio

import pytest

from peerexam.agents.deadline import Timed
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.timer import Timer
from peerexam.calls import Message, Request
from peerexam.errors import CallTimeoutError

ASK = Request((Message("user", "Why?"),))


async def _hang(request: Request) -> str:
    await asyncio.Event().wait()
    return "late"


async def test_a_task_whose_time_was_up_counts_as_not_cancelled() -> None:
    with pytest.raises(CallTimeoutError):
        await Timed(ScriptedAgent(_hang), 0.01).complete(ASK)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    async with asyncio.TaskGroup() as group:  # which asks for that count
        group.create_task(asyncio.sleep(0))


async def test_a_cancellation_from_outside_is_passed_on() -> None:
    task = asyncio.create_task(Timed(ScriptedAgent(_hang), 60).complete(ASK))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_from_outside_wins_over_a_time_that_is_up() -> None:
    """Both at once: `asyncio.timeout` raises CancelledError then, and so does this."""
    started = asyncio.Event()

    async def waits() -> None:
        timer = Timer(0.01)
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert not timer.has_cancelled()
            raise
        finally:
            timer.stop()

    task = asyncio.create_task(waits())
    await started.wait()
    # Called in this order in one turn of the loop: the timer's own cancellation, then ours.
    asyncio.get_running_loop().call_later(0.01, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_inner_limit_does_not_hide_the_outer_one() -> None:
    inner = Timed(ScriptedAgent(_hang), 0.2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await inner.complete(ASK)


async def test_a_cancellation_that_was_swallowed_leaves_no_trace() -> None:
    async def stubborn(request: Request) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "here after all"
        return "never"

    got = await Timed(ScriptedAgent(stubborn), 0.01).complete(ASK)
    assert got.text == "here after all"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
