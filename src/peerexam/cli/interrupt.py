"""Ctrl-C: the first press leaves everything resumable, the second one ends at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from peerexam.agents.layers.draining import ShutdownSignal, stop_by
from peerexam.cli.output import note
from peerexam.protocols.session import event_loop

T = TypeVar("T")

_STATUS = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_interruptibly(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop.

    Raises:
        KeyboardInterrupt: Ctrl-C (or SIGTERM) was pressed, and the work has been stopped.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        return event_loop.run(_supervised(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        # A loop that ends leaves Python's own, which would raise in the midst of what follows.
        with suppress(ValueError, TypeError):  # not in the main thread, or not from Python
            signal.signal(signal.SIGINT, before)


async def _supervised(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    pressed = False
    shutdown = ShutdownSignal()
    stop_by(shutdown)

    def press() -> None:
        nonlocal pressed
        if pressed:
            os._exit(_STATUS)  # what was answered is on disk already; nothing is left to save
        pressed = True
        note("stopping; press Ctrl-C again to end at once")
        shutdown.begin()
        if task is not None:
            task.cancel()

    loop = asyncio.get_running_loop()
    for signal_number in _SIGNALS:
        try:
            loop.add_signal_handler(signal_number, press)
        except (NotImplementedError, RuntimeError, ValueError):
            break  # no such thing on this system, or not in the main thread
    # The handlers stay until the loop closes: stopping may take long enough for a second press.
    return await work
