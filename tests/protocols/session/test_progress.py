"""How far a run is, by a clock that the test turns."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from peerexam.agents.base import Wrapper
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.watched import Watched
from peerexam.calls import Completion, Message, Request, Usage
from peerexam.errors import OverloadedError
from peerexam.protocols.session.progress import Progress

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
    # Ten ends within the 9 s since the first of them, and within the 10 s since the first start.
    assert now.rate == pytest.approx(10 / 9)
    assert now.seconds_left == pytest.approx(10)
    clock.now += 1000
    assert progress.snapshot().rate is None


def told(progress: Progress, clock: Clock, steps: list[tuple[float, int]]) -> list[float]:
    """The time left after each step of so many seconds, in which so many paid calls end."""
    found = []
    for seconds, calls in steps:
        for _ in range(calls):
            tickets = progress.started("a"), progress.paid.started("a")
            clock.now += seconds / calls
            progress.finished(tickets[0], Completion("x"))
            progress.paid.finished(tickets[1], Completion("x"))
        if not calls:
            clock.now += seconds
        left = progress.snapshot().seconds_left
        if left is not None:
            found.append(left)
    return found


def test_the_time_left_does_not_swing_with_bursts_and_lulls() -> None:
    clock = Clock()
    progress = Progress(planned=2000, clock=clock)
    # Bursts of 40 calls in 2 s and 20 s without any: by the last half minute's rate the time left
    # would go up and down by more than three times.
    left = told(progress, clock, [(2.0, 40), (20.0, 0)] * 20)
    settled = left[4:]
    swings = [max(a, b) / min(a, b) for a, b in itertools.pairwise(settled)]
    assert max(swings) < 1.5


def test_replayed_calls_promise_no_haste() -> None:
    clock = Clock()
    progress = Progress(planned=1000, clock=clock)
    paid = progress.paid
    for _ in range(500):  # from the ledger, in half a second
        progress.finished(progress.started("a"), Completion("x"))
        clock.now += 0.001
    assert progress.snapshot().seconds_left is None
    left = told(progress, clock, [(20.0, 20)])
    assert paid.done == 20
    assert left == [pytest.approx(480)]  # 480 calls to go at one a second


def test_the_time_left_waits_for_something_to_go_by() -> None:
    clock = Clock()
    progress = Progress(planned=100, clock=clock)
    assert told(progress, clock, [(5.0, 9), (2.0, 3)]) == []
    assert told(progress, clock, [(9.0, 8)]) == [pytest.approx(80 * 16 / 20)]


def test_only_a_call_that_takes_unusually_long_is_unusual() -> None:
    clock = Clock()
    progress = Progress(clock=clock)
    slow = progress.started("slow")
    for _ in range(10):
        ticket = progress.started("quick")
        clock.now += 1
        progress.finished(ticket, Completion("x"))
    assert not progress.snapshot().oldest_is_unusual  # 10 s, of calls that take 1 s
    clock.now += 6
    assert progress.snapshot().oldest_is_unusual
    progress.finished(slow, Completion("x"))
    assert not progress.snapshot().oldest_is_unusual
    thinker = Progress(clock=clock)
    for _ in range(3):
        ticket = thinker.started("deep")
        clock.now += 60
        thinker.finished(ticket, Completion("x"))
    thinker.started("deep")
    clock.now += 100
    assert not thinker.snapshot().oldest_is_unusual  # such calls take a minute


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
