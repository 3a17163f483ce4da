from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.layers.rate_limited import RateLimited, TokenBucket
from peerexam.calls import Completion, Message, Request, Sampling, Usage
from peerexam.errors import DeadlineExceededError


class VirtualTime:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def _ask(number: int, max_tokens: int = 10) -> Request:
    return Request((Message("user", str(number)),), Sampling(max_tokens=max_tokens))


@given(limit=st.integers(1, 8), calls=st.integers(1, 40), yields=st.integers(0, 3))
def test_never_more_at_once_than_allowed_and_as_many_as_allowed(
    limit: int, calls: int, yields: int
) -> None:
    inside, most = 0, 0

    async def reply(request: Request) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for _ in range(yields + 1):
            await asyncio.sleep(0)
        inside -= 1
        return "ok"

    async def run() -> None:
        agent = RateLimited(ScriptedAgent(reply), limit)
        async with asyncio.TaskGroup() as group:
            for number in range(calls):
                group.create_task(agent.complete(_ask(number)))

    asyncio.run(run())
    assert most == min(limit, calls)


@given(
    per_minute=st.integers(1, 600),
    amounts=st.lists(st.integers(1, 50), min_size=1, max_size=30),
)
def test_a_bucket_gives_out_no_more_than_flows_in(per_minute: int, amounts: list[int]) -> None:
    time = VirtualTime()
    taken: list[tuple[float, int]] = []

    async def run() -> None:
        bucket = TokenBucket(per_minute, time, time.sleep)
        for amount in amounts:
            await bucket.take(amount)
            taken.append((time.now, amount))

    asyncio.run(run())
    rate, holds = per_minute / 60, max(1.0, per_minute / 60)
    for start, (since, _) in enumerate(taken):
        for end in range(start, len(taken)):
            out = sum(amount for _, amount in taken[start:end])  # the last may be owed
            assert out <= holds + rate * (taken[end][0] - since) + 1e-6


async def test_requests_a_minute_are_spread_evenly() -> None:
    time = VirtualTime()
    starts: list[float] = []

    def reply(request: Request) -> str:
        starts.append(time.now)
        return "ok"

    agent = RateLimited(
        ScriptedAgent(reply), 1, requests_per_minute=30, clock=time, sleep=time.sleep
    )
    for number in range(4):
        await agent.complete(_ask(number))
    assert starts == pytest.approx([0, 2, 4, 6])  # 60 s / 30


async def test_tokens_a_minute_are_counted_by_what_the_call_really_took() -> None:
    time = VirtualTime()
    starts: list[float] = []

    def reply(request: Request) -> Completion:
        starts.append(time.now)
        return Completion("ok", usage=Usage(20, 100))

    agent = RateLimited(ScriptedAgent(reply), 1, tokens_per_minute=60, clock=time, sleep=time.sleep)
    for number in range(3):
        await agent.complete(_ask(number, max_tokens=5000))
    # One token a second: the estimate of about 5,000 is corrected to 120 each.
    assert starts == pytest.approx([0, 120, 240], abs=1)


async def test_a_slot_is_free_again_after_an_error_and_after_a_cancelled_call() -> None:
    async def reply(request: Request) -> str:
        if inner.calls == 1:
            raise RuntimeError("bug")
        if inner.calls == 2:
            await asyncio.Event().wait()
        return "ok"

    inner = ScriptedAgent(reply)
    agent = RateLimited(inner, 1)
    with pytest.raises(RuntimeError):
        await agent.complete(_ask(1))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.complete(_ask(2))
    assert (await agent.complete(_ask(3))).text == "ok"


async def test_the_agents_of_a_run_share_its_slots() -> None:
    inside, most = 0, 0

    async def reply(request: Request) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return "ok"

    slots = ConcurrencyLimit(3)
    agents = [RateLimited(ScriptedAgent(reply), 2, run_slots=slots) for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(agents[number % 4].complete(_ask(number)))
    assert most == 3


async def test_an_attempt_that_ends_with_the_deadline_halves_what_adapts() -> None:
    # With a deadline shorter than the time limit of an attempt no other error is ever seen.
    async def never(request: Request) -> str:
        raise DeadlineExceededError("no answer within its deadline")

    agent = RateLimited(ScriptedAgent(never), 64, adapt_from=16)
    with pytest.raises(DeadlineExceededError):
        await agent.complete(_ask(1))
    assert agent.slots.limit == 8
