"""One HTTP call to a provider's API, whichever client makes it.

A provider module says what is sent and reads what comes back. Between the two stands a `Wire`: the
lean one over pyreqwest (`wire_reqwest`), or a provider's own SDK (`wire_openai`, `wire_anthropic`),
which is slower by an order of magnitude and is the reference that the lean one is tested against.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from peerexam.errors import ConnectionFailedError, NoServerError, OverloadedError
from peerexam.fast_json import decode

Client = Literal["lean", "sdk"]
"""The option `client` of providers that have both."""

_STREAM = "text/event-stream"
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
        quoted: The body's text, keys blotted out.
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
    return NoServerError(message) if _NOBODY.search(causes) else ConnectionFailedError(message)
