"""How many calls at once, and how many requests and tokens a minute."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.pricing.token_estimate import actual, estimate
from peerexam.calls import Completion, Request
from peerexam.errors import (
    CallTimeoutError,
    DeadlineExceededError,
    OverloadedError,
    RateLimitedError,
    RetryableError,
)

PUSH_BACKS = (RateLimitedError, OverloadedError, CallTimeoutError, DeadlineExceededError)
"""What says that a provider has more to do than it can; a lost connection does not.

A deadline that passes in here passed during an attempt, so it is a time limit like the other.
"""

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


class TokenBucket:
    """A bucket that fills at a steady rate; what is taken out must have flowed in.

    It holds one second's flow (at least one unit), so that calls are spread over the minute. More
    than it holds may be taken at once: it then owes, and the next one waits until that is paid.
    So in any t seconds at most rate · t, what it holds, and the last take go out.

    Args:
        per_minute: The rate.
        clock: Seconds, steady.
        sleep: Waits so many seconds.
    """

    def __init__(
        self, per_minute: float, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._rate = per_minute / 60.0
        self._holds = max(1.0, self._rate)
        self._level = self._holds
        self._clock = clock
        self._sleep = sleep
        self._filled_at = clock()
        self._queue = asyncio.Lock()  # first come, first served

    async def take(self, amount: float) -> None:
        """Wait until the amount, or a full bucket, is there, and take the amount."""
        wanted = min(amount, self._holds)
        async with self._queue:
            self._fill()
            while self._level < wanted - 1e-9:
                await self._sleep((wanted - self._level) / self._rate)
                self._fill()
            self._level -= amount

    def put_back(self, amount: float) -> None:
        """Correct what was taken: give back an excess, or (negative) owe the rest."""
        self._level = min(self._holds, self._level + amount)

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._holds, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now


class RateLimited(Wrapper):
    """At most so many calls at once, and so many requests and tokens a minute.

    Tokens are estimated before a call and corrected after it. Waiting here does not count against
    the call's deadline. It stands inside of the retries, so that a call that waits to be tried
    again holds no place, and inside of the ledger, so that a replayed one leaves no trace here.

    Args:
        inner: The agent.
        concurrency: Calls at once.
        adapt_from: Begin with so many and adapt to what the provider bears; see `ConcurrencyLimit`.
        requests_per_minute: None is no limit.
        tokens_per_minute: Prompt and reply together; None is no limit.
        run_slots: Shared by all agents of a run: calls at once in all; None is no limit.
        clock: Seconds, steady.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        inner: Agent,
        concurrency: int = 16,
        *,
        adapt_from: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        run_slots: ConcurrencyLimit | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self.slots = ConcurrencyLimit(concurrency, start=adapt_from, name=inner.name)
        self._run_slots = run_slots
        self._requests = _bucket(requests_per_minute, clock, sleep)
        self._tokens = _bucket(tokens_per_minute, clock, sleep)

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent when it is this call's turn."""
        entered = await self.slots.enter()
        try:
            if self._requests is not None:
                await self._requests.take(1)
            if self._tokens is not None:
                return await self._counting_tokens(self._tokens, entered, request)
            return await self._in_a_slot(entered, request)
        finally:
            self.slots.leave()

    async def _counting_tokens(
        self, tokens: TokenBucket, entered: float, request: Request
    ) -> Completion:
        expected = estimate(request).total
        await tokens.take(expected)
        completion = await self._in_a_slot(entered, request)
        tokens.put_back(expected - actual(request, completion).total)
        return completion

    async def _in_a_slot(self, entered: float, request: Request) -> Completion:
        """The run's own limit comes last, so that nobody waits while holding one."""
        if self._run_slots is None:
            return await self._ask(entered, request)
        await self._run_slots.enter()
        try:
            return await self._ask(entered, request)
        finally:
            self._run_slots.leave()

    async def _ask(self, entered: float, request: Request) -> Completion:
        try:
            completion = await self.inner.complete(request)
        except PUSH_BACKS as error:
            asked = error.retry_after if isinstance(error, RetryableError) else None
            self.slots.pushed_back(entered, asked)
            raise
        self.slots.succeeded(entered)
        return completion


def _bucket(per_minute: int | None, clock: Clock, sleep: Sleep) -> TokenBucket | None:
    return None if per_minute is None else TokenBucket(per_minute, clock, sleep)
