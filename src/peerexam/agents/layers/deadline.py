"""A time limit on one attempt, and one on a whole call with all its attempts and waits.

Waiting in one's own queue (`Limited`) is not the provider's fault and does not count: with a
thousand calls planned and a few allowed at once, the last would else fail for having been last. So
a call has an account of seconds, and only what uses them draws on it: `Timed` for an attempt,
`Retrying` for the waits between.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.attempt_timeout import Timer
from peerexam.calls import Completion, Request
from peerexam.errors import CallError, CallTimeoutError, DeadlineExceededError


@dataclass(slots=True)
class Account:
    """Seconds of one call: all that it may take, and what is left of them."""

    seconds: float
    left: float


_account: ContextVar[Account | None] = ContextVar("deadline of this call", default=None)
_attempt: ContextVar[float | None] = ContextVar("seconds for this attempt", default=None)


class Timed(Wrapper):
    """One attempt may take so long, and no longer than is left of the call's deadline.

    Args:
        inner: The provider.
        seconds: The limit; None is none but the deadline.
    """

    def __init__(self, inner: Agent, seconds: float | None) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            CallTimeoutError: It took longer than the limit.
            DeadlineExceededError: It took all that was left of the call's deadline.
        """
        account = _account.get()
        limit, is_last = self._limit(account)
        if limit is None:
            return await self.inner.complete(request)
        timer, token = Timer(limit), _attempt.set(limit)
        try:
            return await self.inner.complete(request)
        except asyncio.CancelledError as error:
            if not timer.has_cancelled():
                raise
            raise self._too_late(account if is_last else None) from error
        finally:
            _attempt.reset(token)
            took = timer.stop()
            if account is not None:
                account.left -= took

    def _too_late(self, account: Account | None) -> CallError:
        if account is not None:
            return DeadlineExceededError(
                f"{self.name} gave no answer within its deadline of {account.seconds:g} seconds"
            )
        return CallTimeoutError(f"{self.name} gave no reply within {self._seconds:g} seconds")

    def _limit(self, account: Account | None) -> tuple[float | None, bool]:
        """Seconds for this attempt, and whether they are the call's last."""
        if account is None or (self._seconds is not None and self._seconds < account.left):
            return self._seconds, False
        return account.left, True


class Deadline(Wrapper):
    """All attempts of a call, with the waits between them, may take so long.

    It opens the account; `Timed` and `Retrying`, inside of it, keep to it.

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
        token = _account.set(Account(self._seconds, self._seconds))
        try:
            return await self.inner.complete(request)
        finally:
            _account.reset(token)


def account() -> Account | None:
    """The current call's account; None where there is no deadline."""
    return _account.get()


def limit_of_this_attempt() -> float | None:
    """Seconds that the current attempt may take in all; None where there is no limit."""
    return _attempt.get()
