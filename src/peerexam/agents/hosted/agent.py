"""Asking one model behind a URL, whichever API it speaks.

A request is put as the model takes it, sent over the wire, and read. What the model refuses is
learnt and the request put anew. No exception but ours comes from a reply, however malformed it is,
and no key is in a completion or an error that leaves here.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from peerexam.agents.base import Feature, Provider
from peerexam.agents.hosted.rejections import Rejection, naming, refused_parameter, rejection_in
from peerexam.agents.hosted.transport.base import Wire, WireReply
from peerexam.agents.redaction import Redactor
from peerexam.calls import Completion, Json, Request
from peerexam.errors import BadKeyError, CallError, OverloadedError

_LONG = 100_000
"""Bytes above which reading a reply may take longer than the loop should be held."""


class Dialect(Protocol):
    """How a request is put to one model, and what it has refused so far."""

    def body(self, request: Request) -> dict[str, Any]:
        """The call's JSON body."""

    def dropped(self, request: Request) -> tuple[str, ...]:
        """The parameters that the request asked for and that are not sent."""

    def adapt(self, rejection: Rejection, sent: Mapping[str, Any], request: Request) -> bool:
        """Learn from a refusal; whether the request, put anew, differs from what was sent."""


class HostedAgent(Provider):
    """One model at one endpoint; a subclass says which API it speaks.

    Args:
        name: Who it is in the exam.
        fingerprint: What decides its answers.
        features: What it can do.
        model: The model's name at the endpoint.
        dialect: How requests are put to it.
        wire: Sends them.
        redactor: Redacts its keys.
        extra: Fields sent with every call.
        keyless: Said beside an error about the key where none was sent; empty where one was.
    """

    def __init__(
        self,
        name: str,
        fingerprint: Mapping[str, Json],
        features: Iterable[Feature],
        *,
        model: str,
        dialect: Dialect,
        wire: Wire,
        redactor: Redactor,
        extra: Mapping[str, Any],
        keyless: str = "",
    ) -> None:
        super().__init__(name, fingerprint, features)
        self._model = model
        self._dialect = dialect
        self._wire = wire
        self._redactor = redactor
        self._extra = extra
        self._keyless = keyless

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self._name!r}, model={self._model!r})"

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        A parameter that the model refuses is renamed or left out and the request sent again, once
        for each parameter; what was left out is told in `Completion.dropped`. A request that was
        refused is never sent again as it was.

        Raises:
            RetryableError: Rate limit, overload, time-out, no connection, unreadable reply.
            PermanentError: Anything that would fail again.
        """
        self._check(request)
        # Raised outside of `except`, and so without a context: that one may hold a key.
        failure: CallError
        try:
            return self._redactor.completion(await self._answered(request))
        except CallError as error:
            failure = self._redactor.error(error)
        raise failure

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _answered(self, request: Request) -> Completion:
        while True:
            sent = self._dialect.body(request)
            reply = await self._wire.post({**self._extra, **sent} if self._extra else sent)
            said = await self._read_beside_the_loop(reply, request)
            if isinstance(said, Completion):
                return said
            if not self._dialect.adapt(said, sent, request):
                raise self._refusal(said, sent)

    async def _read_beside_the_loop(
        self, reply: WireReply, request: Request
    ) -> Completion | Rejection:
        """A long reply is read in a thread, so that signals and other calls are still heard."""
        if len(reply.body) <= _LONG:
            return self._understood(reply, request)
        return await asyncio.to_thread(self._understood, reply, request)

    def _understood(self, reply: WireReply, request: Request) -> Completion | Rejection:
        """A reply's completion, or what the server said instead.

        Raises:
            OverloadedError: It cannot be read.
        """
        try:
            body = reply.json()
            rejection = rejection_in(reply, body, self._model, self._redactor)
            if rejection is None:
                return self._read(body, reply.latency, request)
        except CallError:
            raise
        except Exception as error:  # a reply's own fault, since reading it depends on nothing else
            reason = type(error).__name__
        else:
            return self._filtered(rejection) or rejection
        raise OverloadedError(f"{self._model}'s reply cannot be read ({reason})")

    def _refusal(self, rejection: Rejection, sent: Mapping[str, Any]) -> CallError:
        name = refused_parameter(rejection, {**self._extra, **sent}) or rejection.param
        error = naming(self._error(rejection), rejection, name)
        if self._keyless and isinstance(error, BadKeyError):
            return BadKeyError(f"{error}; {self._keyless}")
        return error

    @abstractmethod
    def _check(self, request: Request) -> None:
        """Refuse what the API does not have."""

    @abstractmethod
    def _read(self, body: Any, latency: float, request: Request) -> Completion:
        """The completion of a reply that holds no error."""

    @abstractmethod
    def _filtered(self, rejection: Rejection) -> Completion | None:
        """The completion of a prompt or an answer that a filter stopped; None where none did."""

    @abstractmethod
    def _error(self, rejection: Rejection) -> CallError:
        """The error of ours that a rejection is."""
