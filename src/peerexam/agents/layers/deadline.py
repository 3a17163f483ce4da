"""A time limit on a whole call with all its attempts and waits.

Waiting in one's own queue (`RateLimited`) is not the provider's fault and does not count: with a
thousand calls planned and a few allowed at once, the last would else fail for having been last. So
a call has an account of seconds, and only what uses them draws on it: `AttemptTimeout` for an
attempt, `Retrying` for the waits between.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request


@dataclass(slots=True)
class Account:
    """Seconds of one call: all that it may take, and what is left of them."""

    seconds: float
    left: float


_account: ContextVar[Account | None] = ContextVar("deadline of this call", default=None)


class Deadline(Wrapper):
    """All attempts of a call, with the waits between them, may take so long.

    It opens the account; `AttemptTimeout` and `Retrying`, inside of it, keep to it.

    Args:
        inner: The agent, its retries included.
        seconds: The limit. Time in the queue of `RateLimited` is not counted.
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
