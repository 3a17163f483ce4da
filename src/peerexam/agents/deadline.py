"""A time limit on one attempt, and one on a whole call with all its attempts and waits.

Waiting in one's own queue (`Limited`) is not the provider's fault and does not count: with a
thousand calls planned and a few allowed at once, the last would else fail for having been last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request
from peerexam.errors import CallTimeoutError, DeadlineExceededError

_running: ContextVar[asyncio.Timeout | None] = ContextVar("deadline of this call", default=None)


class Timed(Wrapper):
    """One attempt may take so long.

    Args:
        inner: The provider.
        seconds: The limit.
    """

    def __init__(self, inner: Agent, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            CallTimeoutError: It took longer than the limit.
        """
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await self.inner.complete(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise CallTimeoutError(
                f"{self.name} gave no reply within {self._seconds:g} seconds"
            ) from error


class Deadline(Wrapper):
    """All attempts of a call, with the waits between them, may take so long.

    Args:
        inner: The agent, its retries included.
        seconds: The limit. Time in the queue of `Limited` is not counted.
    """

    def __init__(self, inner: Agent, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            DeadlineExceededError: Time is up.
        """
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                token = _running.set(limit)
                try:
                    return await self.inner.complete(request)
                finally:
                    _running.reset(token)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceededError(
                f"{self.name} gave no answer within its deadline of {self._seconds:g} seconds"
            ) from error


def time_left() -> float | None:
    """Seconds until the current call's deadline; None where there is none."""
    limit = _running.get()
    if limit is None or (when := limit.when()) is None:
        return None
    return when - asyncio.get_running_loop().time()


@contextmanager
def queueing() -> Iterator[None]:
    """Stop the current call's deadline clock while the call waits in our own queue."""
    limit = _running.get()
    left = time_left()
    if limit is None or left is None or limit.expired():
        yield
        return
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(asyncio.get_running_loop().time() + left)
