"""The official OpenAI SDK as a wire: the reference that the lean one is tested against."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import openai

from peerexam.agents.wire import WireReply
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    PermanentError,
)

_NO_KEY = "none"  # sent to servers that want no key; the SDK insists on one


class OpenAIWire:
    """Calls one endpoint's chat completions, or its completions, through the SDK.

    Args:
        url: The endpoint; a query is sent with every call.
        headers: Sent with every call.
        key: The key; empty where the server wants none.
        chat: Whether chat completions are called.
        who: The model, for messages.
        organization: The OpenAI organisation.
        timeout: Seconds for one call; None leaves it to the SDK.
        blot: Blots the key out of a message.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        key: str,
        chat: bool,
        who: str,
        organization: str | None = None,
        timeout: float | None = None,
        blot: Callable[[str], str] = str,
    ) -> None:
        parts = urlsplit(url)
        self._url = urlunsplit(parts._replace(query="", fragment=""))
        self._who = who
        self._timeout = timeout
        self._blot = blot
        self._client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=self._url,
            organization=organization,
            default_headers=dict(headers),
            default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            timeout=timeout if timeout is not None else openai.NOT_GIVEN,
            max_retries=0,  # the Retrying layer does that, once
        )
        completions: Any = self._client.chat.completions if chat else self._client.completions
        self._create = completions.with_raw_response.create
        self._named = frozenset(inspect.signature(completions.create).parameters)

    def __repr__(self) -> str:
        return f"OpenAIWire({self._url!r})"

    async def post(self, body: Mapping[str, Any]) -> WireReply:
        """Call the SDK with a body's fields.

        Raises:
            CallTimeoutError: No reply within the time limit.
            ConnectionFailedError: No connection, or it broke off.
            PermanentError: The SDK itself refuses what is to be sent.
        """
        # Raised outside of `except`, and so without a context: the SDK's own error holds the
        # request with its Authorization header.
        failure: CallError
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                raw = await self._create(**self._arguments(body))
            return _reply(raw.http_response, time.perf_counter() - started)
        except (TimeoutError, openai.APITimeoutError):
            failure = CallTimeoutError(f"no reply from {self._who} in time")
        except openai.APIStatusError as error:
            return _reply(error.response, time.perf_counter() - started)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            words = self._blot(f"{type(cause).__name__}: {cause}")[:300]
            failure = ConnectionFailedError(f"no connection to {self._url}: {words}")
        except openai.OpenAIError as error:
            failure = PermanentError(self._blot(f"{type(error).__name__}: {error}"))
        raise failure

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that the SDK does not know go where it lets them pass."""
        named = {name: value for name, value in body.items() if name in self._named}
        extra = {name: value for name, value in body.items() if name not in self._named}
        return {**named, "extra_body": extra} if extra else named


def _reply(response: Any, latency: float) -> WireReply:
    return WireReply(response.status_code, response.headers, response.content, latency)
