"""Replay, single flight, and what is stored of calls that fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from peerexam.agents.base import Feature
from peerexam.agents.layers.ledgered import Ledgered
from peerexam.calls import (
    Completion,
    Json,
    Message,
    Request,
    Sampling,
    State,
    call_of,
    encoded,
)
from peerexam.errors import BudgetReachedError, PermanentError, RateLimitedError
from peerexam.ledger.base import Failure
from peerexam.ledger.sqlite.ledger import SqliteLedger


class Counting:
    """An agent that counts its calls and answers by a function, after the gate is opened."""

    def __init__(self, model: str, reply: Callable[[Request], Completion]) -> None:
        self.name = model
        self.fingerprint: Mapping[str, Json] = {"provider": "test", "model": model}
        self.features: frozenset[Feature] = frozenset({"chat"})
        self.asked: list[Request] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.reply = reply

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.reply(request)

    async def close(self) -> None:
        self.gate.set()


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


def ask(text: str = "2+2?", temperature: float = 0, draw: int = 0) -> Request:
    return Request((Message("user", text),), Sampling(temperature), draw)


def four(_: Request) -> Completion:
    return Completion("4")


def failing(error: Exception) -> Callable[[Request], Completion]:
    def reply(_: Request) -> Completion:
        raise error

    return reply


async def test_everything_that_changes_the_answer_is_part_of_the_key(ledger: SqliteLedger) -> None:
    """Public case pub-19: of five requests only the last, the same as the first, is a replay."""
    alpha, beta = Counting("alpha", four), Counting("beta", lambda _: Completion("four"))
    replayed: list[Completion] = []
    a = Ledgered(alpha, ledger, on_replay=replayed.append)
    b = Ledgered(beta, ledger, on_replay=replayed.append)
    texts = [
        (await a.complete(ask())).text,
        (await b.complete(ask())).text,
        (await a.complete(ask(temperature=0.7))).text,
        (await a.complete(ask(draw=2))).text,
        (await a.complete(ask())).text,
    ]
    assert texts == ["4", "four", "4", "4", "4"]
    assert (len(alpha.asked), len(beta.asked)) == (3, 1)
    assert [completion.text for completion in replayed] == ["4"]


async def test_a_completion_carries_its_key_and_is_on_disk_when_it_is_handed_on(
    ledger: SqliteLedger,
) -> None:
    completion = await Ledgered(Counting("alpha", four), ledger).complete(ask())
    stored = await ledger.stored(completion.call)
    assert stored is not None
    assert stored.outcome == completion
    assert stored.agent == "alpha"


@pytest.mark.parametrize("state", ["refused", "filtered", "truncated", "empty"])
async def test_an_answer_that_cannot_be_used_was_answered_too(
    ledger: SqliteLedger, state: State
) -> None:
    first = Counting("alpha", lambda _: Completion("", state))
    await Ledgered(first, ledger).complete(ask())
    again = Counting("alpha", four)
    assert (await Ledgered(again, ledger).complete(ask())).state == state
    assert again.asked == []


async def test_the_same_request_at_once_is_one_call(ledger: SqliteLedger) -> None:
    inner = Counting("alpha", four)
    agent = Ledgered(inner, ledger)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agent.complete(ask())) for _ in range(20)]
        group.create_task(agent.complete(ask("another")))
    assert len(inner.asked) == 2
    assert len({task.result() for task in tasks}) == 1


@pytest.mark.parametrize("leaver", [0, 1])
async def test_who_stops_waiting_does_not_disturb_the_others(
    ledger: SqliteLedger, leaver: int
) -> None:
    inner = Counting("alpha", four)
    inner.gate.clear()
    agent = Ledgered(inner, ledger)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agent.complete(ask())) for _ in range(2)]
        await asyncio.sleep(0.01)
        tasks[leaver].cancel()
        await asyncio.sleep(0.01)
        assert not tasks[1 - leaver].done()
        inner.gate.set()
    assert tasks[1 - leaver].result().text == "4"
    assert (len(inner.asked), inner.cancelled) == (1, 0)


async def test_a_call_that_nobody_waits_for_any_more_is_cancelled_and_can_be_asked_again(
    ledger: SqliteLedger,
) -> None:
    inner = Counting("alpha", four)
    inner.gate.clear()
    agent = Ledgered(inner, ledger)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(agent.complete(ask())) for _ in range(2)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
    assert inner.cancelled == 1
    assert await ledger.known_keys() == set()
    inner.gate.set()
    assert (await agent.complete(ask())).text == "4"
    assert len(inner.asked) == 2


async def test_a_failed_call_is_stored_and_not_asked_again_in_the_same_run(
    ledger: SqliteLedger,
) -> None:
    inner = Counting("alpha", failing(RateLimitedError("slow down", retry_after=3.0)))
    agent = Ledgered(inner, ledger)
    for _ in range(3):
        with pytest.raises(RateLimitedError, match="slow down") as error:
            await agent.complete(ask())
        assert error.value.retry_after == 3.0
    assert len(inner.asked) == 1
    (stored,) = [call async for call in ledger.calls()]
    assert stored.outcome == Failure("RateLimitedError", "slow down")


async def test_the_next_run_asks_what_failed_once_more(ledger: SqliteLedger) -> None:
    with pytest.raises(PermanentError):
        await Ledgered(Counting("alpha", failing(PermanentError("no"))), ledger).complete(ask())
    inner = Counting("alpha", four)
    completion = await Ledgered(inner, ledger).complete(ask())
    assert completion.text == "4"
    assert len(inner.asked) == 1
    assert await ledger.find(completion.call) == completion


async def test_all_who_wait_for_a_call_hear_of_its_failure(ledger: SqliteLedger) -> None:
    inner = Counting("alpha", failing(PermanentError("no such model")))
    agent = Ledgered(inner, ledger)

    async def hear() -> str:
        with pytest.raises(PermanentError) as error:
            await agent.complete(ask())
        return str(error.value)

    async with asyncio.TaskGroup() as group:
        heard = [group.create_task(hear()) for _ in range(5)]
    assert {task.result() for task in heard} == {"no such model"}
    assert len(inner.asked) == 1


@pytest.mark.parametrize("error", [BudgetReachedError("enough"), ZeroDivisionError("a bug")])
async def test_what_is_no_failed_call_is_raised_and_not_stored(
    ledger: SqliteLedger, error: Exception
) -> None:
    agent = Ledgered(Counting("alpha", failing(error)), ledger)
    for _ in range(2):
        with pytest.raises(type(error)):
            await agent.complete(ask())
    assert [call async for call in ledger.calls()] == []


async def test_the_answer_that_another_process_stored_first_is_the_one_handed_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shared.sqlite"
    async with SqliteLedger.open(path) as mine, SqliteLedger.open(path) as theirs:
        slow, late = Counting("alpha", four), Counting("alpha", failing(PermanentError("no")))
        slow.gate.clear()
        late.gate.clear()
        async with asyncio.TaskGroup() as group:
            after = [
                group.create_task(Ledgered(slow, mine).complete(ask())),
                group.create_task(Ledgered(late, mine).complete(ask())),
            ]
            await asyncio.sleep(0.01)
            # Recorded without a claim, as by a process on another machine.
            key = call_of("alpha", encoded(dict(slow.fingerprint)), ask())
            first = await theirs.record(key, Completion("four"))
            slow.gate.set()
            late.gate.set()
        assert [task.result() for task in after] == [first, first]
