"""Asking again after errors that may pass."""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Awaitable, Callable

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.deadline import account
from peerexam.calls import Completion, Request
from peerexam.errors import DeadlineExceededError, NoServerError, RetryableError

Sleep = Callable[[float], Awaitable[object]]

ATTEMPTS = 9
"""By default. Their eight waits last one to two minutes, so that a limit a minute, or a server that
loads a model, is waited out where nobody says how long it takes."""

_LONGEST_UNREACHED = 5.0
"""Seconds of the longest wait for a server that nobody listens at: all waits together are then
14 to 28 seconds. It is starting, or the address is wrong."""


class Retrying(Wrapper):
    """Asks again after a `RetryableError`, and after nothing else.

    Before attempt k + 1 it waits between half and the whole of min(longest, first · 2^(k-1))
    seconds. Where the provider says how long, it waits that long and a tenth of the above. For a
    server that nobody listens at (`NoServerError`), longest is at most 5 seconds.

    Args:
        inner: The agent.
        attempts: How often it is asked at most, the first time included.
        first: Seconds of the first wait.
        longest: Seconds of the longest wait of our own choosing.
        sleep: Waits so many seconds.
        jitter: A number in [0, 1); by default from a generator seeded by the agent's name.
    """

    def __init__(
        self,
        inner: Agent,
        attempts: int = ATTEMPTS,
        *,
        first: float = 0.5,
        longest: float = 60.0,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(inner)
        self._attempts = attempts
        self._first = first
        self._longest = longest
        self._sleep = sleep
        # Waits decide no result; the seed only keeps agents from waiting in step.
        self._jitter = jitter or random.Random(zlib.crc32(inner.name.encode("utf-8"))).random

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent, again if need be.

        Raises:
            RetryableError: The last attempt's error.
            DeadlineExceededError: The provider asks to wait for longer than is left.
        """
        for attempt in range(1, self._attempts):
            try:
                return await self.inner.complete(request)
            except RetryableError as error:
                longest = _LONGEST_UNREACHED if isinstance(error, NoServerError) else self._longest
                wait = self._wait(attempt, error.retry_after, min(longest, self._longest))
                self._draw_on_the_deadline(wait, error)
            await self._sleep(wait)
        return await self.inner.complete(request)

    def _wait(self, attempt: int, asked: float | None, longest: float) -> float:
        ours = min(longest, self._first * 2.0 ** (attempt - 1))
        jittered = ours * (0.5 + 0.5 * self._jitter())
        # A little more than asked: calls told to come back together should not come in step.
        return jittered if asked is None else asked + 0.1 * jittered

    def _draw_on_the_deadline(self, wait: float, error: RetryableError) -> None:
        deadline = account()
        if deadline is None:
            return
        if wait > deadline.left:
            raise DeadlineExceededError(
                f"{self.name} gave no answer within its deadline of {deadline.seconds:g} seconds: "
                f"the next attempt would be in {wait:.1f} seconds, with "
                f"{max(0.0, deadline.left):.1f} left; the last one ended with: {error}"
            ) from error
        deadline.left -= wait
