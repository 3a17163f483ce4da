from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from peerexam.agents.function import FunctionAgent
from peerexam.agents.layers.draining import Draining, InFlightCall, ShutdownSignal, stop_by
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.calls import Completion, Message, Request, request_key
from peerexam.errors import OverloadedError, PermanentError, RateLimitedError
from peerexam.ledger.sqlite.ledger import SqliteLedger

REQUEST = Request((Message("user", "How are you?"),))


def slow(seconds: float, sent: list[str]) -> FunctionAgent:
    async def answer(messages: list[dict[str, str]]) -> str:
        sent.append(messages[-1]["content"])
        await asyncio.sleep(seconds)
        return "Well."

    return FunctionAgent("slow", answer)


async def call_off(task: asyncio.Task[Completion]) -> None:
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait((task,))


async def test_a_call_that_was_sent_reaches_the_ledger_when_the_run_is_called_off(
    tmp_path: Path,
) -> None:
    sent: list[str] = []
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        agent = wrap(slow(0.2, sent), LayerSettings(), RunContext(ledger=ledger))
        task = asyncio.create_task(agent.complete(REQUEST))
        await call_off(task)
        assert task.cancelled()
        stored = await ledger.find(request_key(agent.fingerprint, REQUEST))
        assert isinstance(stored, Completion)
        assert stored.text == "Well."
    assert sent == ["How are you?"]


async def test_who_is_told_twice_to_stop_still_lets_the_call_come_home(tmp_path: Path) -> None:
    """As in nested task groups, each of which calls off what is below it."""
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        agent = wrap(slow(0.3, []), LayerSettings(), RunContext(ledger=ledger))
        task = asyncio.create_task(agent.complete(REQUEST))
        for _ in range(3):
            await asyncio.sleep(0.05)
            task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        assert isinstance(await ledger.find(request_key(agent.fingerprint, REQUEST)), Completion), (
            "it was sent, and so it is paid for"
        )


async def test_what_still_waits_for_its_place_is_not_sent() -> None:
    sent: list[str] = []
    agent = wrap(slow(0.2, sent), LayerSettings(concurrency=1))
    first = asyncio.create_task(agent.complete(REQUEST))
    second = asyncio.create_task(agent.complete(Request((Message("user", "And you?"),))))
    await asyncio.sleep(0.05)
    second.cancel()
    first.cancel()
    await asyncio.wait((first, second))
    assert sent == ["How are you?"]


async def test_the_grace_ends_and_the_call_with_it() -> None:
    agent = Draining(slow(30, []))
    call = InFlightCall(agent.complete(REQUEST))
    await asyncio.sleep(0.05)
    started = asyncio.get_running_loop().time()
    await call.drain(grace=0.1)
    assert call.was_cancelled
    assert asyncio.get_running_loop().time() - started < 10


async def test_an_attempt_that_fails_after_the_run_was_called_off_is_not_repeated(
    tmp_path: Path,
) -> None:
    attempts = 0

    async def overloaded(messages: list[dict[str, str]]) -> str:
        nonlocal attempts
        attempts += 1
        await asyncio.sleep(0.2)
        raise OverloadedError("come again")

    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        agent = wrap(FunctionAgent("slow", overloaded), LayerSettings(), RunContext(ledger=ledger))
        task = asyncio.create_task(agent.complete(REQUEST))
        await call_off(task)
        assert task.cancelled()
        assert await ledger.find(request_key(agent.fingerprint, REQUEST)) is None
    assert attempts == 1


async def test_between_two_attempts_nothing_is_waited_for(tmp_path: Path) -> None:
    def limited(messages: list[dict[str, str]]) -> str:
        raise RateLimitedError("come again", 5.0)

    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as ledger:
        agent = wrap(FunctionAgent("slow", limited), LayerSettings(), RunContext(ledger=ledger))
        task = asyncio.create_task(agent.complete(REQUEST))
        started = asyncio.get_running_loop().time()
        await call_off(task)
        assert task.cancelled()
        assert asyncio.get_running_loop().time() - started < 4


async def test_errors_pass_as_they_are() -> None:
    def broken(messages: list[dict[str, str]]) -> str:
        raise ZeroDivisionError("a bug")

    with pytest.raises(PermanentError, match="a bug"):
        await Draining(FunctionAgent("broken", broken)).complete(REQUEST)


async def test_a_program_that_shuts_down_sends_nothing_more_and_has_one_grace_for_all() -> None:
    sent: list[str] = []
    shutdown = ShutdownSignal()
    stop_by(shutdown)
    agent = Draining(slow(3600, sent))
    call = InFlightCall(agent.complete(REQUEST))
    await asyncio.sleep(0.05)
    shutdown.begin()
    with pytest.raises(asyncio.CancelledError):
        await InFlightCall(agent.complete(Request((Message("user", "And you?"),)))).wait()
    assert sent == ["How are you?"]
    shutdown.until = asyncio.get_running_loop().time()  # the grace has been used up by others
    await asyncio.wait_for(call.drain(grace=3600), 60)
    assert call.was_cancelled
