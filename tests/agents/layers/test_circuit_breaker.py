"""An agent that keeps failing is disabled; what it has answered is not lost with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.budgets.meter import BudgetMeter
from peerexam.agents.layers.circuit_breaker import CircuitBreaker, CircuitBreaking
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.calls import Message, Request
from peerexam.errors import (
    AgentLostError,
    BadKeyError,
    CallError,
    ConnectionFailedError,
    ContextTooLongError,
    DeadlineExceededError,
    NoServerError,
    OverloadedError,
    PermanentError,
    QuotaExhaustedError,
    RefusedParameterError,
    UnknownModelError,
)
from peerexam.ledger.opening import open_ledger

Made = Callable[[], CallError | str]

SUCCESS, FAULT, OWN = "answered", "failed", "the request's own fault"


def _ask(number: int = 0) -> Request:
    return Request((Message("user", f"question {number}"),))


def _in_turn(*replies: CallError | str) -> ScriptedAgent:
    left: Iterator[CallError | str] = iter(replies)
    return ScriptedAgent(lambda request: next(left), "pupil")


@pytest.mark.parametrize(
    "error",
    [BadKeyError("no such key"), UnknownModelError("no m-9"), QuotaExhaustedError("pay first")],
)
async def test_what_every_call_would_meet_gives_an_agent_up_at_once(error: CallError) -> None:
    inner = _in_turn(error)
    agent = CircuitBreaking(inner, CircuitBreaker("pupil"))
    with pytest.raises(type(error)):
        await agent.complete(_ask(0))
    with pytest.raises(AgentLostError) as lost:
        await agent.complete(_ask(1))
    assert inner.calls == 1
    for words in ("'pupil'", f"{type(error).__name__}: {error}", "fix it and run the same command"):
        assert words in str(lost.value)


async def test_so_many_failed_calls_in_a_row_give_an_agent_up() -> None:
    failures = [ConnectionFailedError("refused"), DeadlineExceededError("late"), PermanentError("")]
    breaker = CircuitBreaker("pupil", give_up_after=3)
    agent = CircuitBreaking(_in_turn(*failures[:2], "ok", *failures, "never"), breaker)
    for number in range(6):
        assert breaker.lost is None
        if number == 2:
            assert (await agent.complete(_ask(number))).text == "ok"
            continue
        with pytest.raises(CallError):
            await agent.complete(_ask(number))
    assert breaker.lost == "3 calls in a row failed, the last with PermanentError:"


@given(st.lists(st.sampled_from([SUCCESS, FAULT, OWN]), max_size=30), st.integers(1, 4))
def test_an_agent_is_lost_where_so_many_calls_failed_since_the_last_answer(
    events: list[str], most: int
) -> None:
    made: dict[str, Made] = {
        SUCCESS: lambda: "ok",
        FAULT: lambda: OverloadedError("busy"),
        OWN: lambda: ContextTooLongError("long") if most % 2 else RefusedParameterError("no"),
    }
    breaker = CircuitBreaker("pupil", give_up_after=most)
    inner = _in_turn(*(made[event]() for event in events))
    agent = CircuitBreaking(inner, breaker)

    async def ask_all() -> None:
        for number in range(len(events)):
            with contextlib.suppress(CallError):
                await agent.complete(_ask(number))

    asyncio.run(ask_all())
    # The slow way: forget what says nothing, and look for a run of failures.
    telling = [event for event in events if event != OWN]
    runs = "".join("x" if event == FAULT else "." for event in telling)
    at = runs.find("x" * most)
    assert (breaker.lost is not None) == (at >= 0)
    if at < 0:
        assert inner.calls == len(events)
    else:
        told = [place for place, event in enumerate(events) if event != OWN]
        assert inner.calls == told[at + most - 1] + 1, "none after the last straw"


async def test_calls_that_wait_for_their_turn_are_called_off_and_not_sent() -> None:
    def reply(request: Request) -> CallError:
        return BadKeyError("no such key")

    inner = ScriptedAgent(reply, "pupil")
    meter = BudgetMeter()
    # One call a minute: the queue would take ten minutes to empty.
    agent = wrap(
        inner,
        LayerSettings(concurrency=1, requests_per_minute=1),
        RunContext(meters=[meter], breaker=CircuitBreaker("pupil")),
    )
    async with asyncio.timeout(20):
        ended = await asyncio.gather(
            *(agent.complete(_ask(number)) for number in range(10)), return_exceptions=True
        )
    assert inner.calls == 1
    assert sorted(type(error).__name__ for error in ended) == 9 * ["AgentLostError"] + [
        "BadKeyError"
    ]
    assert meter.spent.calls == 1, "what was not sent is not charged"
    assert meter.held.calls == 0


async def test_a_call_that_waits_to_be_tried_again_is_called_off_too() -> None:
    def reply(request: Request) -> CallError:
        if request.messages[0].content == "question 0":
            return OverloadedError("come back in five minutes", retry_after=300)
        return BadKeyError("revoked meanwhile")

    agent = wrap(ScriptedAgent(reply, "pupil"), run=RunContext(breaker=CircuitBreaker("pupil")))
    async with asyncio.timeout(20):
        patient = asyncio.ensure_future(agent.complete(_ask(0)))
        await asyncio.sleep(0.05)
        with pytest.raises(BadKeyError):
            await agent.complete(_ask(1))
        with pytest.raises(AgentLostError, match="revoked meanwhile"):
            await patient


async def test_a_call_that_was_sent_before_still_gets_its_answer() -> None:
    sent, go = asyncio.Event(), asyncio.Event()

    async def reply(request: Request) -> str | CallError:
        if request.messages[0].content == "question 0":
            sent.set()
            await go.wait()
            return "on its way already"
        return BadKeyError("revoked meanwhile")

    agent = wrap(ScriptedAgent(reply, "pupil"), run=RunContext(breaker=CircuitBreaker("pupil")))
    async with asyncio.timeout(20):
        early = asyncio.ensure_future(agent.complete(_ask(0)))
        await sent.wait()
        with pytest.raises(BadKeyError):
            await agent.complete(_ask(1))
        go.set()
        assert (await early).text == "on its way already"


async def test_a_lost_agent_replays_and_a_later_session_asks_what_failed(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    first = wrap(
        _in_turn("known", QuotaExhaustedError("spent")),
        run=RunContext(ledger=ledger, breaker=CircuitBreaker("pupil")),
    )
    known = await first.complete(_ask(0))
    for number, error in ((1, QuotaExhaustedError), (2, AgentLostError)):
        with pytest.raises(error):
            await first.complete(_ask(number))
    assert (await first.complete(_ask(0))).call == known.call

    healed = _in_turn("one", "two")
    again = wrap(healed, run=RunContext(ledger=ledger, breaker=CircuitBreaker("pupil")))
    texts = [(await again.complete(_ask(number))).text for number in range(3)]
    assert texts == ["known", "one", "two"]
    assert healed.calls == 2
    await ledger.close()


async def test_the_failures_of_a_lost_agent_are_kept_by_name(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    agent = wrap(
        _in_turn(BadKeyError("revoked")),
        run=RunContext(ledger=ledger, breaker=CircuitBreaker("pupil")),
    )
    for number in range(3):
        with pytest.raises(PermanentError):
            await agent.complete(_ask(number))
    assert (await ledger.totals_by_agent())["pupil"].failures == 3
    await ledger.close()


async def test_giving_up_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    agent = CircuitBreaking(_in_turn(BadKeyError("no such key")), CircuitBreaker("pupil"))
    for number in range(3):
        with pytest.raises(PermanentError):
            await agent.complete(_ask(number))
    assert [record.getMessage() for record in caplog.records] == [
        "agent 'pupil' is disabled: BadKeyError: no such key; the run continues without it"
    ]


# What an agent has shown before.


@pytest.mark.parametrize("error", [BadKeyError("HTTP 403"), UnknownModelError("HTTP 404")])
async def test_one_such_reply_after_good_ones_does_not_end_an_agent(error: CallError) -> None:
    replies: list[CallError | str] = [*["fine"] * 30, error, *["fine"] * 3]
    breaker = CircuitBreaker("pupil")
    agent = wrap(_in_turn(*replies), run=RunContext(breaker=breaker))
    for number, reply in enumerate(replies):
        if reply == "fine":
            assert (await agent.complete(_ask(number))).text == "fine"
        else:
            with pytest.raises(type(error)):
                await agent.complete(_ask(number))
    assert breaker.lost is None


async def test_a_key_that_is_revoked_gives_the_agent_up_after_some_calls_in_a_row() -> None:
    breaker = CircuitBreaker("pupil", give_up_after=3)
    agent = wrap(_in_turn("fine", *[BadKeyError("revoked")] * 3), run=RunContext(breaker=breaker))
    await agent.complete(_ask(0))
    for number in (1, 2, 3):
        with pytest.raises(BadKeyError):
            await agent.complete(_ask(number))
    assert breaker.lost is not None
    assert "3 calls in a row failed" in breaker.lost


REFUSED = NoServerError("no connection to http://127.0.0.1:9/v1: Connection refused")


async def test_an_agent_that_nobody_answers_for_is_told_at_once_and_given_up_with_its_first_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    breaker = CircuitBreaker("pupil")
    inner = ScriptedAgent(lambda request: REFUSED, "pupil")
    agent = wrap(inner, LayerSettings(attempts=3), RunContext(breaker=breaker))
    with pytest.raises(NoServerError):
        await agent.complete(_ask(0))
    assert breaker.lost is not None
    assert inner.calls == 3
    first, second = [record.getMessage() for record in caplog.records]
    assert "http://127.0.0.1:9/v1" in first
    assert "tried again for about 20 seconds" in first
    assert "is disabled" in second
    with pytest.raises(AgentLostError, match="Connection refused"):
        await agent.complete(_ask(1))


async def test_a_server_that_starts_meanwhile_is_asked() -> None:
    breaker = CircuitBreaker("pupil")
    agent = wrap(_in_turn(REFUSED, "fine"), LayerSettings(attempts=2), RunContext(breaker=breaker))
    assert (await agent.complete(_ask(0))).text == "fine"
    assert breaker.lost is None


async def test_a_server_that_goes_away_later_is_waited_for_as_an_overload_is() -> None:
    breaker = CircuitBreaker("pupil")
    agent = wrap(_in_turn("fine", REFUSED), LayerSettings(attempts=1), RunContext(breaker=breaker))
    await agent.complete(_ask(0))
    with pytest.raises(ConnectionFailedError) as caught:
        await agent.complete(_ask(1))
    assert type(caught.value) is ConnectionFailedError, "the long waits, not the short ones"
    assert breaker.lost is None
