"""A timer against the standard library's own `asyncio.timeout`, whose rules it follows."""

from __future__ import annotations

import asyncio
import time

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.attempt_timeout import (
    AttemptTimeout,
    Timer,
    of_running_loop,
    time_limit,
)
from peerexam.agents.layers.budgets.session_clock import SessionClock
from peerexam.calls import Message, Request
from peerexam.errors import BudgetReachedError, CallTimeoutError

ASK = Request((Message("user", "Why?"),))


async def _hang(request: Request) -> str:
    await asyncio.Event().wait()
    return "late"


async def test_a_task_whose_time_was_up_counts_as_not_cancelled() -> None:
    with pytest.raises(CallTimeoutError):
        await AttemptTimeout(ScriptedAgent(_hang), 0.01).complete(ASK)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    async with asyncio.TaskGroup() as group:  # which asks for that count
        group.create_task(asyncio.sleep(0))


async def test_a_cancellation_from_outside_is_passed_on() -> None:
    task = asyncio.create_task(AttemptTimeout(ScriptedAgent(_hang), 60).complete(ASK))
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
    inner = AttemptTimeout(ScriptedAgent(_hang), 0.2)
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

    got = await AttemptTimeout(ScriptedAgent(stubborn), 0.01).complete(ASK)
    assert got.text == "here after all"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


# --- stalls of the loop ------------------------------------------------------------------------


async def test_a_loop_that_is_held_up_for_longer_than_the_limit_loses_no_reply() -> None:
    async def held_up(request: Request) -> str:
        time.sleep(1.5)  # noqa: ASYNC251  (as a stopped process would)
        await asyncio.sleep(0.01)  # the reply is read only now
        return "here"

    assert (await AttemptTimeout(ScriptedAgent(held_up), 0.8).complete(ASK)).text == "here"
    async with asyncio.TaskGroup() as group:  # one holds up the loop, the other's limit passes
        group.create_task(AttemptTimeout(ScriptedAgent(held_up), 60).complete(ASK))
        other = group.create_task(AttemptTimeout(ScriptedAgent(_soon), 0.8).complete(ASK))
    assert other.result().text == "soon"


async def _soon(request: Request) -> str:
    await asyncio.sleep(0.4)
    return "soon"


async def test_a_limit_holds_again_once_the_loop_goes_on() -> None:
    async def hangs() -> None:
        with time_limit(0.8):
            time.sleep(1.5)  # noqa: ASYNC251
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await hangs()


async def test_no_limit_is_none_and_a_cancellation_from_outside_is_no_time_out() -> None:
    async def waits() -> None:
        with time_limit(60):
            await asyncio.Event().wait()

    with time_limit(None):
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_loops_clock_leaves_out_what_it_was_held_up_for() -> None:
    clock = of_running_loop()
    began = clock.start()
    time.sleep(1.5)  # noqa: ASYNC251
    await asyncio.sleep(0)
    assert 0 < clock.now() - began <= 0.6  # two beats of a quarter, and what the test itself takes
    await asyncio.sleep(0.7)  # several beats: nothing is left out of time in which the loop runs
    assert clock.now() - began >= 0.7
    assert clock.stop() - began >= 0.7


async def test_a_stop_uses_nothing_of_a_session() -> None:
    ended: list[BudgetReachedError] = []
    session = SessionClock(1.0)
    session.when_over(ended.append)
    session.start()
    timer = Timer(60)  # a call is under way
    time.sleep(1.5)  # noqa: ASYNC251
    await asyncio.sleep(0.1)
    assert not ended
    assert session.would_break(0.1) is None
    await asyncio.sleep(1.0)
    assert len(ended) == 1
    timer.stop()
