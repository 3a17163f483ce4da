"""An agent that tells a watcher when each call starts and how it ends."""

from __future__ import annotations

import asyncio
from typing import Protocol

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request


class Watcher(Protocol):
    """Who is told."""

    def started(self, agent: str) -> int:
        """A call starts; returns a ticket to hand back when it ends."""

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """A call ended, with a completion or (None) without one."""

    def abandoned(self, ticket: int) -> None:
        """A call was given up from outside, as when the run is stopped."""


class Watched(Wrapper):
    """Tells a watcher of every call that passes.

    Outside the ledger it sees every call, replayed ones too; inside, only those that are paid for.

    Args:
        inner: Who answers.
        watcher: Who is told.
    """

    def __init__(self, inner: Agent, watcher: Watcher) -> None:
        super().__init__(inner)
        self._watcher = watcher

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent, and tell the watcher whatever comes of it."""
        ticket = self._watcher.started(self.name)
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
