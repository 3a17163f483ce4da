from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.layers.rate_limited import RateLimited
from peerexam.agents.layers.retrying import Retrying
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.calls import Message, Request
from peerexam.errors import BadKeyError, CallError, OverloadedError, RateLimitedError
from peerexam.ledger.sqlite.ledger import SqliteLedger


def ask(number: int) -> Request:
    return Request((Message("user", str(number)),))


async def a_round(slots: ConcurrencyLimit, calls: int, *, refused: bool = False) -> int:
    """That many calls at once; those inside are answered or refused. Returns how many they were.

    The rest goes away again, so that the next round finds all slots free.
    """
    tasks = [asyncio.create_task(slots.enter()) for _ in range(calls)]
    await asyncio.sleep(0)
    inside = [task for task in tasks if task.done()]
    for task in inside:
        if refused:
            slots.pushed_back(task.result())
        else:
            slots.succeeded(task.result())
        slots.leave()  # lets the next one in, as in a run
    late = [task for task in tasks if task not in inside]
    for task in late:
        task.cancel()
    await asyncio.wait(late or tasks)
    for _ in range(slots.inside):
        slots.leave()
    return len(inside)


async def test_the_number_doubles_a_round_until_the_first_push_back_and_then_grows_by_one() -> None:
    slots = ConcurrencyLimit(64, start=4)
    assert [await a_round(slots, 100) for _ in range(3)] == [4, 8, 16]
    await a_round(slots, 100, refused=True)
    assert slots.limit == 16, "32 had been reached, and many refusals of one round cut once"
    # Additive: 16 answers make room for about one more (1/16 + 1/16.06 + …), two rounds for two.
    await a_round(slots, 100)
    await a_round(slots, 100)
    assert slots.limit == 17


async def test_it_never_leaves_one_to_the_ceiling() -> None:
    slots = ConcurrencyLimit(3, start=2)
    for _ in range(5):
        await a_round(slots, 10)
    assert slots.limit == 3
    for _ in range(5):
        await a_round(slots, 10, refused=True)
    assert slots.limit == 1
    assert await a_round(slots, 10) == 1


async def test_a_line_that_is_not_full_is_no_reason_to_make_it_wider() -> None:
    slots = ConcurrencyLimit(64, start=8)
    for _ in range(5):
        await a_round(slots, 3)
    assert slots.limit == 8


async def test_a_fixed_number_stays() -> None:
    slots = ConcurrencyLimit(8)
    await a_round(slots, 20, refused=True)
    assert slots.limit == 8
    assert await a_round(slots, 20) == 8


async def test_what_was_sent_before_a_cut_neither_cuts_nor_grows() -> None:
    slots = ConcurrencyLimit(64, start=8)
    early = [await slots.enter() for _ in range(8)]
    slots.pushed_back(early[0])
    assert slots.limit == 4
    await asyncio.sleep(0.01)
    for entered in early[1:4]:
        slots.pushed_back(entered)
    for entered in early[4:]:
        slots.succeeded(entered)
    assert slots.limit == 4


async def test_a_wait_that_the_provider_asks_for_is_kept_to_by_all() -> None:
    slots = ConcurrencyLimit(8)
    entered = await slots.enter()
    slots.pushed_back(entered, retry_after=0.2)
    slots.leave()
    loop = asyncio.get_running_loop()
    started = loop.time()
    await slots.enter()
    assert loop.time() - started > 0.15


async def test_an_hour_that_it_asks_for_is_not_waited_by_those_behind() -> None:
    slots = ConcurrencyLimit(8)
    slots.pushed_back(await slots.enter(), retry_after=3600.0)
    async with asyncio.timeout(1):
        await slots.enter()


class Crowd:
    """Some who wait for a slot, and some who are inside."""

    def __init__(self, slots: ConcurrencyLimit) -> None:
        self.slots = slots
        self.outside: list[asyncio.Task[float]] = []
        self.inside: list[float] = []

    async def do(self, step: str) -> None:
        if step == "enter":
            self.outside.append(asyncio.create_task(self.slots.enter()))
        elif step == "cancel" and self.outside:
            self.outside[-1].cancel()
        elif self.inside:
            self._one_inside(step)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in [task for task in self.outside if task.done()]:
            self.outside.remove(task)
            if not task.cancelled():
                self.inside.append(task.result())

    def _one_inside(self, step: str) -> None:
        if step == "leave":
            self.inside.pop()
            self.slots.leave()
        elif step == "yes":
            self.slots.succeeded(self.inside[-1])
        elif step == "no":
            self.slots.pushed_back(self.inside[-1])


@given(
    st.lists(st.sampled_from(["enter", "leave", "cancel", "yes", "no"]), max_size=80),
    st.integers(1, 6),
    st.booleans(),
)
def test_places_are_neither_lost_nor_doubled(steps: list[str], ceiling: int, adapts: bool) -> None:
    async def run() -> None:
        crowd = Crowd(ConcurrencyLimit(ceiling, start=1 if adapts else None))
        for step in steps:
            await crowd.do(step)
            assert crowd.slots.inside == len(crowd.inside) <= ceiling
        while crowd.outside or crowd.inside:
            await crowd.do("leave")
        assert crowd.slots.inside == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "limit"), [(RateLimitedError, 8), (OverloadedError, 8), (BadKeyError, 16)]
)
async def test_only_an_overload_is_a_push_back(error: type[CallError], limit: int) -> None:
    def reply(request: Request) -> str:
        raise error("no")

    agent = RateLimited(ScriptedAgent(reply), 64, adapt_from=16)
    with pytest.raises(error):
        await agent.complete(ask(1))
    assert agent.slots.limit == limit


async def test_a_server_that_bears_four_at_once_is_soon_asked_by_few() -> None:
    """The whole of it: sawtooth around what the provider bears, and every call answered."""
    inside, refused, answered = 0, 0, 0

    async def four_at_once(request: Request) -> str:
        nonlocal inside, refused, answered
        if inside >= 4:
            refused += 1
            raise RateLimitedError("four at once")
        inside += 1
        await asyncio.sleep(0.002)
        inside -= 1
        answered += 1
        return "ok"

    limited = RateLimited(ScriptedAgent(four_at_once), 64, adapt_from=16)
    agent = Retrying(limited, attempts=50, first=0.002, longest=0.01)
    async with asyncio.TaskGroup() as group:
        for number in range(400):
            group.create_task(agent.complete(ask(number)))
    assert answered == 400
    assert limited.slots.limit <= 8
    assert refused < 400, "without adapting, each of 400 is refused many times"


async def test_replayed_calls_leave_no_trace_in_the_gate(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "l.sqlite") as ledger:
        inner = ScriptedAgent(lambda request: "ok")
        agent = wrap(inner, LayerSettings(), RunContext(ledger=ledger))
        await asyncio.gather(*(agent.complete(ask(number)) for number in range(40)))
        again = wrap(inner, LayerSettings(), RunContext(ledger=ledger))
        limited = again
        while not isinstance(limited, RateLimited):
            limited = limited.inner  # type: ignore[attr-defined]
        await asyncio.gather(*(again.complete(ask(number)) for number in range(40)))
        assert limited.slots.limit == 16
    assert inner.calls == 40
