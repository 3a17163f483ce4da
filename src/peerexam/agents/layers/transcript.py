"""What was asked and replied while somebody listened: prompt and reply beside a record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from peerexam.agents.base import Wrapper
from peerexam.calls import Completion, Request

_heard: ContextVar[list[Exchange] | None] = ContextVar("exchanges that are listened to")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call as its role made it.

    Attributes:
        request: What was asked.
        completion: What came back; None where the call failed.
    """

    request: Request
    completion: Completion | None = None


@contextmanager
def overhearing() -> Iterator[list[Exchange]]:
    """Collect the exchanges of the calls that the block makes, those of its tasks too."""
    exchanges: list[Exchange] = []
    token = _heard.set(exchanges)
    try:
        yield exchanges
    finally:
        _heard.reset(token)


class Overheard(Wrapper):
    """An agent whose exchanges are noted within `overhearing`, and cost nothing elsewhere."""

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent."""
        exchanges = _heard.get(None)
        if exchanges is None:
            return await self.inner.complete(request)
        place = len(exchanges)
        exchanges.append(Exchange(request))
        completion = await self.inner.complete(request)
        exchanges[place] = Exchange(request, completion)
        return completion
