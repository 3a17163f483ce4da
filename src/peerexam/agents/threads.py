"""Blocking functions in threads that may be left behind.

The event loop's own pool has a few threads, and both the loop's end and the interpreter's wait for
all of them: one function that never returns would keep a run from ending, and a few would keep the
others from starting. A thread of ours belongs to one call and holds up nobody.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_own_thread(work: Callable[[], T], name: str) -> T:
    """Do some work in a thread of its own.

    Whoever stops waiting leaves the thread to itself: Python has no way to end it.

    Args:
        work: What to do; what it raises is raised here.
        name: Of the thread.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return  # nobody waits any more
        if error is None:
            outcome.set_result(result)  # type: ignore[arg-type]
        else:
            outcome.set_exception(error)

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(work)
        except BaseException as error:
            # A future cannot hold it, and it would say nothing of what the work wanted.
            failure = RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
        with suppress(RuntimeError):  # the loop is closed: the run has ended without us
            loop.call_soon_threadsafe(settle, result, failure)

    context = contextvars.copy_context()
    threading.Thread(target=run, name=name, daemon=True).start()
    return await outcome
