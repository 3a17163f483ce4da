"""A call that was sent is waited for: it is paid for, whoever stops waiting."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass

from peerexam.agents.base import Wrapper
from peerexam.calls import Completion, Request
from peerexam.errors import CallError

GRACE = 10.0
"""Seconds for which a call that was sent is waited for when the work is called off."""


@dataclass(slots=True, eq=False)
class Flight:
    """A call on its way to the ledger, which may have several who wait for it.

    Attributes:
        task: Asks the agent and stores what comes back.
        waiters: How many wait for it.
        sent: Whether the provider is being asked now.
        called_off: Nobody waits any more: what is not sent yet shall not be.
    """

    task: asyncio.Task[Completion]
    waiters: int = 0
    sent: bool = False
    called_off: bool = False

    async def land(self, grace: float = GRACE) -> None:
        """End it: at once where nothing is sent, else when the answer is stored or grace is over.

        What the provider has already been asked will be billed all the same, so the answer is
        given a little time, and goes on its usual way into the ledger.
        """
        self.called_off = True
        try:
            if self.sent:
                await asyncio.wait((self.task,), timeout=grace)
        finally:
            self.task.cancel()  # does nothing to a task that has ended
        await asyncio.wait((self.task,))
        if not self.task.cancelled():
            self.task.exception()  # seen, so that asyncio does not report it as lost


_current: ContextVar[Flight | None] = ContextVar("flight that this task is", default=None)


def board(flight: Flight) -> None:
    """Say that the running task is this flight's."""
    _current.set(flight)


class Landing(Wrapper):
    """Says of a flight whether the provider is being asked; it stands next to the provider.

    What still waits for a place, or between two attempts, was not sent, and once the work is
    called off it is simply not sent.
    """

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            asyncio.CancelledError: The work was called off before, or this attempt failed after.
        """
        flight = _current.get()
        if flight is None:
            return await self.inner.complete(request)
        if flight.called_off:
            raise asyncio.CancelledError
        flight.sent = True
        try:
            return await self.inner.complete(request)
        except CallError:
            if flight.called_off:
                raise asyncio.CancelledError from None  # nobody is left to try again for
            raise
        finally:
            flight.sent = False
