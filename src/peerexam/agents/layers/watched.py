"""An agent that tells a watcher when each call starts and how it ends."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Protocol

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request

_role: ContextVar[str | None] = ContextVar("the role in which this call is asked", default=None)


class Watcher(Protocol):
    """Who is told."""

    def started(self, agent: str, role: str | None = None) -> int:
        """A call starts, of an agent in a role; returns a ticket to hand back when it ends."""

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """A call ended, with a completion or (None) without one."""

    def abandoned(self, ticket: int) -> None:
        """A call was cancelled from outside, as when the run is stopped."""


class Watched(Wrapper):
    """Tells a watcher of every call that passes.

    Outside the ledger it sees every call, replayed ones too; inside, only those that are paid for.

    Args:
        inner: Who answers.
        watcher: Who is told.
        role: What the agent is asked as; None is what a watcher further out knows.
    """

    def __init__(self, inner: Agent, watcher: Watcher, role: str | None = None) -> None:
        super().__init__(inner)
        self._watcher = watcher
        self._asked_as = role

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent, and tell the watcher whatever comes of it."""
        if self._asked_as is not None:
            _role.set(self._asked_as)  # for those further in; the next call sets its own
        ticket = self._watcher.started(self.name, _role.get())
        try:
            completion = await self.inner.complete(request)
        except asyncio.CancelledError:
            self._watcher.abandoned(ticket)
            raise
        except BaseException:
            self._watcher.finished(ticket, None)
            raise
        self._watcher.finished(ticket, completion)
        return completion
