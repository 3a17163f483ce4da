"""The official Anthropic SDK as a wire: the reference that the lean one is tested against."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import anthropic

from peerexam.agents.wire import WireReply
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    PermanentError,
)

_NO_KEY = "none"  # sent to servers that want no key; the SDK insists on one
_CONNECT_SECONDS = 30.0


class AnthropicWire:
    """Calls one endpoint's messages through the SDK.

    Args:
        url: The endpoint, without `/v1`; a query is sent with every call.
        headers: Sent with every call.
        key: The key; empty where the server wants none.
        who: The model, for messages.
        timeout: Seconds for one call; None is no limit of its own.
        blot: Blots the key out of a message.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        key: str,
        who: str,
        timeout: float | None = None,
        blot: Callable[[str], str] = str,
    ) -> None:
        parts = urlsplit(url)
        self._url = urlunsplit(parts._replace(query="", fragment=""))
        self._who = who
        self._timeout = timeout
        self._blot = blot
        self._client = anthropic.AsyncAnthropic(
            api_key=key or _NO_KEY,
            base_url=self._url,
            default_headers=dict(headers),
            default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            timeout=anthropic.Timeout(timeout, connect=_CONNECT_SECONDS),
            max_retries=0,  # the Retrying layer does that, once
        )
        self._create = self._client.messages.with_raw_response.create
        self._named = frozenset(inspect.signature(self._client.messages.create).parameters)

    def __repr__(self) -> str:
        return f"AnthropicWire({self._url!r})"

    async def post(self, body: Mapping[str, Any]) -> WireReply:
        """Call the SDK with a body's fields.

        Raises:
            CallTimeoutError: No reply within the time limit.
            ConnectionFailedError: No connection, or it broke off.
            PermanentError: The SDK itself refuses what is to be sent.
        """
        # Raised outside of `except`, and so without a context: the SDK's own error holds the
        # request with its headers.
        failure: CallError
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                raw = await self._create(**self._arguments(body))
            return _reply(raw.http_response, time.perf_counter() - started)
        except (TimeoutError, anthropic.APITimeoutError):
            failure = CallTimeoutError(f"no reply from {self._who} in time")
        except anthropic.APIStatusError as error:
            return _reply(error.response, time.perf_counter() - started)
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            words = self._blot(f"{type(cause).__name__}: {cause}")[:300]
            failure = ConnectionFailedError(f"no connection to {self._url}: {words}")
        except anthropic.AnthropicError as error:
            failure = PermanentError(self._blot(f"{type(error).__name__}: {error}"))
        raise failure

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that the SDK does not know, temperature among them, go past it."""
        named = {name: value for name, value in body.items() if name in self._named}
        extra = {name: value for name, value in body.items() if name not in self._named}
        return {**named, "extra_body": extra} if extra else named


def _reply(response: Any, latency: float) -> WireReply:
    return WireReply(response.status_code, response.headers, response.content, latency)
