"""An agent's own settings, laid over every request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from typing import Any

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Message, Request

MOST_ROOM = 32_768
"""Tokens up to which a limit on replies is raised."""

_times: ContextVar[int] = ContextVar("how much more room than usual this call has", default=1)


@contextmanager
def more_room(times: int) -> Iterator[None]:
    """Multiply the agents' own limits on replies, for calls after a reply that was cut at one."""
    token = _times.set(times)
    try:
        yield
    finally:
        _times.reset(token)


def widened(limit: int, times: int) -> int:
    """A limit on replies with more room, within bounds.

    >>> widened(512, 2), widened(20_000, 2), widened(40_000, 2)
    (1024, 32768, 40000)
    """
    return min(limit * times, max(limit, MOST_ROOM))


class Configured(Wrapper):
    """An agent with settings of its own: those that are given win over the request's.

    It stands outside of the ledger, so that the settings are part of each stored request. A
    request for the log-probabilities of a given text draws nothing and keeps its sampling.

    Args:
        inner: The agent.
        name: Who it is in the exam; the inner agent's name by default.
        system: Put in front of the messages, before a system message that is there already. For
            an agent without `chat` it is put in front of the text.
        temperature: See `Sampling`, as for the others.
        top_p: Nucleus.
        max_tokens: Upper limit on the reply's tokens; `more_room` multiplies it.
        seed: For agents that can be seeded.
    """

    def __init__(
        self,
        inner: Agent,
        *,
        name: str | None = None,
        system: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(inner)
        self._name = name
        self._system = system
        given = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
        }
        self._sampling: dict[str, Any] = {k: v for k, v in given.items() if v is not None}

    @cached_property
    def name(self) -> str:
        """Who it is in the exam."""
        return self.inner.name if self._name is None else self._name

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent with the settings laid over."""
        return await self.inner.complete(self.configured(request))

    def configured(self, request: Request) -> Request:
        """The request as the inner agent gets it."""
        if self._sampling and request.continuation is None:
            request = replace(request, sampling=replace(request.sampling, **self._own()))
        if not self._system:
            return request
        role: Any = "system" if "chat" in self.features else "user"
        return replace(request, messages=_with_system(request.messages, self._system, role))

    def _own(self) -> dict[str, Any]:
        times, limit = _times.get(), self._sampling.get("max_tokens")
        if times == 1 or limit is None:
            return self._sampling
        return {**self._sampling, "max_tokens": widened(limit, times)}


def _with_system(messages: tuple[Message, ...], system: str, role: Any) -> tuple[Message, ...]:
    if not messages:
        return (Message(role, system),)
    first, *rest = messages
    if role == "user" or first.role == "system":
        return (replace(first, content=f"{system}\n\n{first.content}"), *rest)
    return (Message("system", system), *messages)
