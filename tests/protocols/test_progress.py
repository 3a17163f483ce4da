"""How far a run is, by a clock that the test turns."""

from __future__ import annotations

import asyncio

import pytest

from peerexam.agents.base import Wrapper
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.watched import Watched
from peerexam.calls import Completion, Message, Request, Usage
from peerexam.errors import OverloadedError
from peerexam.protocols.progress import Progress

REQUEST = Request((Message("user", "?"),))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Failing(Wrapper):
    async def complete(self, request: Request) -> Completion:
        raise OverloadedError("busy")


class Replaying(Wrapper):
    """Answers from memory after the first time, as a ledger does."""

    answered: Completion | None = None

    async def complete(self, request: Request) -> Completion:
        if self.answered is None:
            self.answered = await self.inner.complete(request)
        return self.answered


def test_rate_and_time_left_follow_the_clock() -> None:
    clock = Clock()
    progress = Progress(planned=20, clock=clock)
    for _ in range(10):
        ticket = progress.started("a")
        clock.now += 1
        progress.finished(ticket, Completion("x"))
    now = progress.snapshot()
    # Ten ends within the 9 s since the first of them.
    assert now.rate == pytest.approx(10 / 9)
    assert now.seconds_left == pytest.approx(10 / (10 / 9))
    clock.now += 1000
    assert progress.snapshot().rate is None


def test_known_and_unknown_cost_are_kept_apart() -> None:
    progress = Progress()
    for cost in (0.25, None, 0.5):
        completion = Completion("x", usage=Usage(10, 5), cost=cost)
        progress.finished(progress.started("a"), completion)
    now = progress.snapshot()
    assert (now.cost, now.unpriced, now.tokens) == (0.75, 1, 45)
    assert now.planned is None
    assert now.seconds_left is None


def test_the_oldest_call_in_flight_is_named_with_its_age() -> None:
    clock = Clock()
    progress = Progress(clock=clock)
    slow = progress.started("slow")
    clock.now += 5
    progress.finished(progress.started("quick"), Completion("x"))
    progress.started("late")
    clock.now += 2
    now = progress.snapshot()
    assert (now.oldest_agent, now.oldest_seconds, now.in_flight) == ("slow", 7, 2)
    progress.finished(slow, Completion("x"))
    assert progress.snapshot().oldest_agent == "late"


async def test_watched_agents_count_failures_and_pass_them_on() -> None:
    progress = Progress()
    agent = Watched(Failing(ScriptedAgent(lambda _: "x", "a")), progress)
    with pytest.raises(OverloadedError):
        await agent.complete(REQUEST)
    now = progress.snapshot()
    assert (now.done, now.failed, now.in_flight) == (1, 1, 0)


async def test_a_call_given_up_is_no_failure() -> None:
    async def forever(_: Request) -> str:
        await asyncio.sleep(60)
        return "late"

    progress = Progress()
    agent = Watched(ScriptedAgent(forever, "a"), progress)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.complete(REQUEST)
    now = progress.snapshot()
    assert (now.done, now.failed, now.in_flight) == (0, 0, 0)


async def test_replayed_calls_are_told_from_paid_ones() -> None:
    progress = Progress()
    inner = Watched(ScriptedAgent(lambda _: "x", "a"), progress.paid)
    agent = Watched(Replaying(inner), progress)
    for _ in range(3):
        await agent.complete(REQUEST)
    now = progress.snapshot()
    assert (now.done, now.replayed, now.unpriced) == (3, 2, 1)
