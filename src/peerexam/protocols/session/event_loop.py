"""The event loop of a run: uvloop where it is installed, else asyncio's own.

An exam of a million calls spends much of its time in the loop itself, and uvloop's costs less. It
is an extra, since it is not to be had on every system.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a new event loop, as `asyncio.run` does.

    Raises:
        RuntimeError: A loop is running in this thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:  # a second loop would be made, and be in the way of its own end
        work.close()
        raise RuntimeError("an event loop is running in this thread already: await the work there")
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
