"""Blocking functions in threads of their own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from peerexam.agents.function import Chat, FunctionAgent
from peerexam.agents.layers.stack import LayerSettings, wrap
from peerexam.agents.threads import in_own_thread
from peerexam.calls import Message, Request
from peerexam.errors import DeadlineExceededError

ASK = Request((Message("user", "Why?"),))


@pytest.fixture
def over() -> Iterator[threading.Event]:
    """Set at the end of the test, so that what hangs in it does not hang for ever."""
    event = threading.Event()
    yield event
    event.set()


async def test_the_result_the_error_and_the_context_are_those_of_the_work() -> None:
    where = contextvars.ContextVar("where", default="nowhere")
    where.set("here")
    assert await in_own_thread(where.get, "worker") == "here"

    def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_own_thread(broken, "worker")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_own_thread(lambda: next(iter(())), "worker")


def test_the_loop_ends_though_a_function_never_does(over: threading.Event) -> None:
    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await in_own_thread(over.wait, "stuck")

    asyncio.run(give_up())  # would wait for the threads of the loop's own pool


async def test_functions_that_hang_do_not_keep_others_from_starting(over: threading.Event) -> None:
    hanging = [asyncio.ensure_future(in_own_thread(over.wait, "stuck")) for _ in range(100)]
    assert await in_own_thread(lambda: "free", "worker") == "free"
    over.set()
    assert all(await asyncio.gather(*hanging))


@pytest.mark.parametrize("in_process", [True, False])
async def test_the_deadline_bounds_a_function_that_hangs(
    over: threading.Event, in_process: bool
) -> None:
    def stuck(messages: Chat) -> str:
        over.wait()
        return "late"

    settings = LayerSettings(timeout=None, deadline=0.1)
    agent = wrap(FunctionAgent("stuck", stuck), settings, in_process=in_process)
    async with asyncio.timeout(30):
        with pytest.raises(DeadlineExceededError):
            await agent.complete(ASK)
