"""One HTTP call to a provider's API, whichever client makes it.

A provider module says what is sent and reads what comes back. Between the two stands a `Wire`: the
lean one over pyreqwest (`reqwest`), or a provider's own SDK (`sdk`), which is slower by an order of
magnitude and is the reference that the lean one is tested against.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from peerexam.errors import (
    ConnectionFailedError,
    NoServerError,
    OverloadedError,
    PermanentError,
)
from peerexam.fast_json import decode

MOST_REDIRECTS = 3
"""On one server, method and body kept; see `redirected`."""

KEEP_THE_METHOD = frozenset({307, 308})
"""Statuses of redirects that leave a POST one."""

Client = Literal["lean", "sdk"]
"""The option `client` of providers that have both."""

_STREAM = "text/event-stream"
_MOST_CAUSES = 10
_NOBODY = re.compile(
    r"\b(?:os error|Errno) (?:61|111|10061)\b|refused|failed to lookup address"
    r"|Name or service not known|No address associated|nodename nor servname|getaddrinfo failed",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WireReply:
    """What came back, whatever its status.

    Attributes:
        status: The HTTP status.
        headers: The reply's headers; names are looked up in lower case.
        body: The whole body.
        latency: Seconds from sending to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float

    def json(self) -> Any:
        """The body as JSON, None where it is none."""
        try:
            return decode(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """The body as text, for error messages."""
        return self.body.decode("utf-8", "replace")


class Wire(Protocol):
    """A kept client for one endpoint."""

    async def post(self, body: Mapping[str, Any]) -> WireReply:
        """Send a JSON body and read the whole reply.

        Raises:
            CallTimeoutError: No reply within the time limit.
            ConnectionFailedError: No connection, or it broke off; `NoServerError` where nobody
                listens.
            PermanentError: The client itself refuses what is to be sent.
        """

    async def close(self) -> None:
        """Let go of the connections. More than once does no harm."""


def unreadable(reply: WireReply, model: str, quoted: str) -> OverloadedError:
    """The error for a 200 whose body is no JSON.

    Args:
        reply: What came back.
        model: The model, for the message.
        quoted: The body's text, keys redacted.
    """
    if reply.headers.get("content-type", "").startswith(_STREAM):
        # Pieces of an answer are no answer, so they are not quoted either.
        return OverloadedError(f"{model} sent a stream that nobody asked for")
    return OverloadedError(f"{model}'s reply is not JSON, it starts: {quoted[:200]!r}")


def unconnected(message: str, causes: str) -> ConnectionFailedError:
    """The error for a connection that failed; a `NoServerError` where nobody listens.

    Args:
        message: What is told.
        causes: The client's own words for it, in whatever language of errors.
    """
    return NoServerError(message) if is_nobody(causes) else ConnectionFailedError(message)


def is_nobody(causes: str) -> bool:
    """Whether the words for a failed connection say that nobody listens, or no host is there."""
    return _NOBODY.search(causes) is not None


def redirected(where: str, status: int, there: str) -> PermanentError:
    """The error for a redirect that is not followed.

    Whoever else is named there would get the key and the prompts, and a redirect that turns a POST
    into a GET loses what was asked.

    Args:
        where: The endpoint.
        status: The redirect's HTTP status.
        there: Where it leads, without a query and without keys.
    """
    return PermanentError(
        f"{where} redirects (HTTP {status}) to {there}: if that is the endpoint, name it in its "
        "place"
    )


def endlessly_redirected(where: str) -> PermanentError:
    """The error for a circle of redirects."""
    return PermanentError(f"{where} leads nowhere: it redirects again and again")


def causes_in(error: BaseException) -> str:
    """The words of an error and of all that caused it."""
    words: list[str] = []
    link: BaseException | None = error
    while link is not None and len(words) < _MOST_CAUSES:
        words.append(f"{type(link).__name__}: {link}")
        link = link.__cause__ or link.__context__
    return " ".join(words)
