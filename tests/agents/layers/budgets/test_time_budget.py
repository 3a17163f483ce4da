"""Budgets of time, by a clock that the agents under test turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.budgets.meter import Admission, BudgetLimits, BudgetMeter, Spend
from peerexam.agents.layers.budgets.session_clock import SessionClock
from peerexam.agents.layers.budgets.time_budgeted import TimeBudgeted
from peerexam.agents.layers.circuit_breaker import CircuitBreaker
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.calls import Message, Request
from peerexam.errors import BudgetReachedError, OverloadedError, RateLimitedError
from peerexam.ledger.opening import open_ledger


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _ask(number: int = 0) -> Request:
    return Request((Message("user", f"question {number}"),))


def _taking(clock: Clock, seconds: float) -> ScriptedAgent:
    def reply(request: Request) -> str:
        clock.now += seconds
        return "ok"

    return ScriptedAgent(reply, "pupil")


async def test_a_call_for_which_the_session_has_no_time_is_not_made() -> None:
    clock = Clock()
    inner = _taking(clock, 2.0)
    agent = TimeBudgeted(inner, session=SessionClock(5.0, clock))
    await agent.complete(_ask())  # 0 to 2; nothing is known of its length
    await agent.complete(_ask())  # 2 to 4
    with pytest.raises(BudgetReachedError, match=r"the run.*no time.*5 seconds a session"):
        await agent.complete(_ask())  # would be 4 to 6
    assert inner.calls == 2


async def test_the_session_starts_with_its_first_call() -> None:
    clock = Clock()
    session = SessionClock(5.0, clock)
    agent = TimeBudgeted(_taking(clock, 1.0), session=session)
    clock.now += 3600  # replaying, loading
    assert session.elapsed == 0
    await agent.complete(_ask())
    assert session.elapsed == 1


async def test_no_time_at_all_is_no_call_at_all() -> None:
    clock = Clock()
    inner = _taking(clock, 1.0)
    own = BudgetMeter(BudgetLimits(seconds=0), "agent 'pupil'")
    for agent in (
        TimeBudgeted(inner, session=SessionClock(0, clock)),
        TimeBudgeted(inner, [own], SessionClock(None, clock)),
    ):
        with pytest.raises(BudgetReachedError, match="0 seconds"):
            await agent.complete(_ask())
    assert inner.calls == 0


async def test_an_agents_time_is_added_up_over_its_calls() -> None:
    clock = Clock()
    own = BudgetMeter(BudgetLimits(seconds=5.0), "agent 'pupil'")
    agent = TimeBudgeted(_taking(clock, 2.0), [own], SessionClock(None, clock))
    for _ in range(2):
        await agent.complete(_ask())
        clock.now += 100  # not its time
    with pytest.raises(BudgetReachedError, match=r"agent 'pupil'.*5 seconds"):
        await agent.complete(_ask())
    assert own.spent == Spend(seconds=4.0)
    assert own.held == Spend()


async def test_calls_in_flight_count_by_the_mean_of_those_before() -> None:
    clock = Clock()
    go = asyncio.Event()

    async def reply(request: Request) -> str:
        if request.messages[0].content != "question 0":
            await go.wait()
        clock.now += 2.0
        return "ok"

    own = BudgetMeter(BudgetLimits(seconds=6.0), "agent 'pupil'")
    inner = ScriptedAgent(reply, "pupil")
    agent = TimeBudgeted(inner, [own], SessionClock(None, clock))
    await agent.complete(_ask(0))
    async with asyncio.TaskGroup() as group:
        for number in (1, 2):
            group.create_task(agent.complete(_ask(number)))
        await asyncio.sleep(0)
        assert own.held.seconds == 4.0
        with pytest.raises(BudgetReachedError):
            await agent.complete(_ask(3))
        go.set()
    assert inner.calls == 3


async def test_a_failed_attempt_takes_time_and_the_wait_after_it_takes_none() -> None:
    clock = Clock()
    replies: Iterator[str | Exception] = iter([OverloadedError("busy", retry_after=0.001), "ok"])

    def reply(request: Request) -> str | Exception:
        clock.now += 2.0
        return next(replies)

    own = BudgetMeter(BudgetLimits(seconds=60.0), "agent 'pupil'")
    agent = wrap(
        ScriptedAgent(reply, "pupil"),
        run=RunContext(meters=[own], session=SessionClock(None, clock)),
    )
    await agent.complete(_ask())
    assert (own.spent.calls, own.spent.seconds) == (1, 4.0)


async def test_a_replayed_call_takes_no_time(tmp_path: Path) -> None:
    clock = Clock()
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    own = BudgetMeter(BudgetLimits(seconds=2.5), "agent 'pupil'")
    session = SessionClock(2.5, clock)
    inner = _taking(clock, 2.0)
    agent = wrap(inner, run=RunContext(ledger=ledger, meters=[own], session=session))
    for _ in range(5):
        await agent.complete(_ask())
    assert (inner.calls, own.spent.seconds, session.elapsed) == (1, 2.0, 2.0)
    await ledger.close()


async def test_calls_in_the_queue_are_called_off_when_the_time_is_up() -> None:
    clock = Clock()
    inner = _taking(clock, 2.0)
    run = BudgetMeter()
    session = SessionClock(1.0, clock)
    # One call a minute: the queue would take ten minutes to empty.
    agent = wrap(
        inner,
        LayerSettings(concurrency=1, requests_per_minute=1),
        RunContext(meters=[run], session=session, breaker=CircuitBreaker("pupil")),
    )
    session.start()
    clock.now += 2.0
    async with asyncio.timeout(20):
        # The first is refused when its turn comes, and the others with it.
        ended = await asyncio.gather(
            *(agent.complete(_ask(number)) for number in range(10)), return_exceptions=True
        )
    assert {type(error) for error in ended} == {BudgetReachedError}
    assert (inner.calls, run.spent, run.held) == (0, Spend(), Spend())


# Whole questions.


async def test_a_question_is_let_in_while_one_like_those_before_has_time() -> None:
    clock = Clock()
    session = SessionClock(10.0, clock)
    inner = _taking(clock, 2.0)
    agent = wrap(inner, run=RunContext(meters=[BudgetMeter()], session=session))
    admission = Admission({}, session)
    admitted = []
    for question in range(4):
        admitted.append(await admission.admit())
        if admitted[-1]:
            await agent.complete(_ask(2 * question))
            await agent.complete(_ask(2 * question + 1))
        else:
            with pytest.raises(BudgetReachedError, match=r"the run.*whole question.*10 seconds"):
                await agent.complete(_ask(2 * question))
        admission.release()
    # Each takes four seconds: 0 to 4, 4 to 8, and one from 8 to 12 does not fit.
    assert admitted == [True, True, False, False]
    assert inner.calls == 4


async def test_before_any_has_ended_a_question_takes_at_least_the_age_of_the_oldest() -> None:
    clock = Clock()
    session = SessionClock(10.0, clock)
    session.start()
    admission = Admission({}, session)

    async def enter() -> bool:
        return await admission.admit()

    assert await asyncio.create_task(enter())
    clock.now += 4.0
    assert await asyncio.create_task(enter())  # four seconds more fit
    clock.now += 2.0
    assert not await asyncio.create_task(enter())  # six do not


async def test_a_replayed_question_says_nothing_of_how_long_the_next_one_takes() -> None:
    clock = Clock()
    session = SessionClock(10.0, clock)
    agent = wrap(_taking(clock, 6.0), run=RunContext(meters=[BudgetMeter()], session=session))
    admission = Admission({}, session)
    for _ in range(100):
        await admission.admit()
        admission.release()
    await admission.admit()
    await agent.complete(_ask())
    admission.release()
    assert not await admission.admit(), "six seconds, and four are left"


@given(
    limit=st.integers(1, 40),
    seconds=st.integers(1, 5),
    calls=st.integers(1, 4),
    n=st.integers(1, 8),
)
def test_an_agents_time_ends_between_questions_once_the_first_call_is_known(
    limit: int, seconds: int, calls: int, n: int
) -> None:
    clock = Clock()
    own = BudgetMeter(BudgetLimits(seconds=limit), "agent 'pupil'")
    agent = wrap(
        _taking(clock, seconds), run=RunContext(meters=[own], session=SessionClock(None, clock))
    )
    done: list[int] = []

    async def run() -> None:
        admission = Admission({own: Spend(calls=calls)})
        for number in range(n):
            await admission.admit()
            try:
                for call in range(calls):
                    await agent.complete(_ask(10 * number + call))
                done.append(number)
            except BudgetReachedError:
                continue
            finally:
                admission.release()

    asyncio.run(run())
    # The first call is made whatever it takes, since nobody knows.
    whole = limit // (seconds * calls) or int(calls == 1)
    assert done == list(range(min(n, whole)))
    assert own.spent.seconds <= max(limit, seconds)
    if whole:
        assert own.spent.seconds == len(done) * calls * seconds, "no call for what is not whole"
    assert own.held.seconds == pytest.approx(0)


async def test_time_that_is_up_ends_a_wait_that_the_provider_asked_for() -> None:
    def limited(request: Request) -> str:
        raise RateLimitedError("come back in half a minute", 30.0)

    breaker, session = CircuitBreaker("slow"), SessionClock(0.2)
    session.when_over(breaker.stop)
    agent = wrap(
        ScriptedAgent(limited), LayerSettings(), RunContext(breaker=breaker, session=session)
    )
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(BudgetReachedError, match=r"time is up \(0\.2 seconds a session\)"):
        await agent.complete(_ask())
    assert loop.time() - started < 20, "and not after the half minute"
