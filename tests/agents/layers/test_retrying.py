from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.agents.layers.attempt_timeout import AttemptTimeout
from peerexam.agents.layers.deadline import Deadline
from peerexam.agents.layers.rate_limited import RateLimited
from peerexam.agents.layers.retrying import Retrying
from peerexam.agents.layers.stack import LayerSettings
from peerexam.calls import Message, Request
from peerexam.errors import (
    BadKeyError,
    BudgetReachedError,
    CallTimeoutError,
    ConnectionFailedError,
    ContextTooLongError,
    DeadlineExceededError,
    NoServerError,
    OverloadedError,
    PermanentError,
    RateLimitedError,
    RefusedParameterError,
    RetryableError,
    SetupError,
    UnknownModelError,
)

ASK = Request((Message("user", "Why?"),))
RETRYABLE = (RateLimitedError, OverloadedError, ConnectionFailedError, CallTimeoutError)
FINAL = (
    PermanentError,
    BadKeyError,
    UnknownModelError,
    RefusedParameterError,
    ContextTooLongError,
    DeadlineExceededError,
    BudgetReachedError,
    SetupError,
    RuntimeError,
)


class Waits:
    """A sleep that only writes down."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def _scripted(replies: Sequence[Reply]) -> ScriptedAgent:
    left = iter(replies)
    return ScriptedAgent(lambda request: next(left))


@pytest.mark.parametrize("kind", RETRYABLE)
async def test_errors_that_may_pass_are_tried_again(kind: type[RetryableError]) -> None:
    inner = _scripted([kind("no"), kind("no"), "ok"])
    got = await Retrying(inner, 3, sleep=Waits()).complete(ASK)
    assert (got.text, inner.calls) == ("ok", 3)


@pytest.mark.parametrize("kind", FINAL)
async def test_every_other_error_is_raised_at_once(kind: type[Exception]) -> None:
    inner = _scripted([kind("no"), "ok"])
    with pytest.raises(kind):
        await Retrying(inner, 3, sleep=Waits()).complete(ASK)
    assert inner.calls == 1


@given(
    failures=st.integers(0, 8),
    attempts=st.integers(1, 6),
    asked=st.none() | st.floats(0, 500),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_attempts_are_bounded_and_waits_are_jittered_and_honour_the_server(
    failures: int, attempts: int, asked: float | None, jitter: float
) -> None:
    waits = Waits()
    inner = _scripted([*[OverloadedError("no", asked) for _ in range(failures)], "ok"])
    agent = Retrying(inner, attempts, first=2.0, longest=9.0, sleep=waits, jitter=lambda: jitter)
    if failures < attempts:
        assert asyncio.run(agent.complete(ASK)).text == "ok"
    else:
        with pytest.raises(OverloadedError):
            asyncio.run(agent.complete(ASK))
    assert inner.calls == min(failures + 1, attempts)
    assert len(waits.seconds) == inner.calls - 1
    for number, wait in enumerate(waits.seconds):
        ours = min(9.0, 2.0 * 2**number)  # half of it to all of it, jittered
        least, extra = (0.0, ours) if asked is None else (asked, ours / 10)
        assert least + extra / 2 <= wait <= least + extra


async def test_waits_do_not_depend_on_anything_but_the_agents_name() -> None:
    seen = []
    for _ in range(2):
        waits = Waits()
        await Retrying(_scripted([OverloadedError("no")] * 4 + ["ok"]), sleep=waits).complete(ASK)
        seen.append(waits.seconds)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4


@pytest.mark.parametrize("jitter", [0.0, 0.999])
async def test_by_default_a_limit_a_minute_is_waited_out(jitter: float) -> None:
    # Half to the whole of 0.5, 1, 2, 4, 8, 16, 32 and 60 seconds: 61.75 to 123.5.
    waits = Waits()
    inner = ScriptedAgent(lambda request: RateLimitedError("no"))
    with pytest.raises(RateLimitedError):
        await Retrying(inner, sleep=waits, jitter=lambda: jitter).complete(ASK)
    assert 60 < sum(waits.seconds) < 124
    assert sum(waits.seconds) < LayerSettings().deadline  # type: ignore[operator]


@pytest.mark.parametrize("jitter", [0.0, 0.999])
async def test_where_nobody_listens_the_waits_are_half_a_minute_together(jitter: float) -> None:
    # Half to the whole of 0.5, 1, 2, 4 and four times 5 seconds: 13.75 to 27.5.
    waits = Waits()
    inner = ScriptedAgent(lambda request: NoServerError("refused"))
    with pytest.raises(NoServerError):
        await Retrying(inner, sleep=waits, jitter=lambda: jitter).complete(ASK)
    assert 13.7 < sum(waits.seconds) < 28


# One attempt's limit and the call's deadline.


async def _hang(request: Request) -> str:
    await asyncio.sleep(60)
    return "late"


async def test_an_attempt_that_takes_too_long_may_be_tried_again() -> None:
    with pytest.raises(CallTimeoutError, match=r"0\.01 seconds"):
        await AttemptTimeout(ScriptedAgent(_hang), 0.01).complete(ASK)


async def test_a_deadline_ends_the_call_with_all_its_attempts() -> None:
    inner = ScriptedAgent(_hang)
    agent = Deadline(Retrying(AttemptTimeout(inner, 0.02), 1000, first=0.001), 0.1)
    with pytest.raises(DeadlineExceededError, match=r"0\.1 seconds"):
        await agent.complete(ASK)
    assert 2 <= inner.calls < 10


async def test_an_inner_timeout_is_not_taken_for_the_layers_own() -> None:
    for layer in (AttemptTimeout, Deadline):
        with pytest.raises(TimeoutError, match="theirs"):
            await layer(_scripted([TimeoutError("theirs")]), 5).complete(ASK)


async def test_a_wait_longer_than_what_is_left_fails_at_once() -> None:
    waits = Waits()
    inner = _scripted([RateLimitedError("come back tomorrow", 86400), "ok"])
    with pytest.raises(DeadlineExceededError, match="come back tomorrow"):
        await Deadline(Retrying(inner, 3, sleep=waits), 30).complete(ASK)
    assert (inner.calls, waits.seconds) == (1, [])


async def test_time_in_our_own_queue_does_not_count_against_the_deadline() -> None:
    async def slow(request: Request) -> str:
        await asyncio.sleep(0.03)
        return "ok"

    agent = Deadline(RateLimited(AttemptTimeout(ScriptedAgent(slow), None), 1), 0.15)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agent.complete(ASK)) for _ in range(8)]
    assert [task.result().text for task in tasks] == ["ok"] * 8, "0.24 s of queue in all"


async def test_a_deadline_runs_on_after_the_queue() -> None:
    agent = Deadline(RateLimited(AttemptTimeout(ScriptedAgent(_hang), None), 1), 0.05)
    with pytest.raises(DeadlineExceededError):
        await agent.complete(ASK)
