"""An official SDK as a wire: the reference that the lean one is tested against.

OpenAI's and Anthropic's SDKs come from one generator, and name their errors alike.
"""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from peerexam.agents.hosted.transport.base import (
    KEEP_THE_METHOD,
    MOST_REDIRECTS,
    WireReply,
    causes_in,
    endlessly_redirected,
    is_nobody,
    redirected,
    unconnected,
)
from peerexam.agents.layers.attempt_timeout import time_limit
from peerexam.agents.spec import AgentSpec
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    MissingExtraError,
    PermanentError,
)

NO_KEY = "none"
"""Sent to servers that want no key: the SDKs insist on one."""

CONNECT_SECONDS = 30.0
"""For making a connection, before anything is sent."""


_NAMES = {"openai": "OpenAI", "anthropic": "Anthropic"}


class SdkWire:
    """Calls one resource of one endpoint through its SDK.

    Args:
        spec: The agent.
        package: The SDK.
        resource: Whose `create` makes the call, as in `chat.completions`.
        url: The endpoint; a query is sent with every call.
        headers: Sent with every call.
        key: The key; empty where the server wants none.
        redact: Redacts the key in a message.
        own: What else the SDK's client is made with.

    Raises:
        MissingExtraError: The SDK is not installed.
    """

    def __init__(
        self,
        spec: AgentSpec,
        package: Literal["openai", "anthropic"],
        resource: str,
        url: str,
        headers: Mapping[str, str],
        *,
        key: str,
        redact: Callable[[str], str] = str,
        **own: Any,
    ) -> None:
        try:
            sdk = importlib.import_module(package)
        except ModuleNotFoundError:
            raise MissingExtraError(
                f"agent '{spec.name}': client sdk needs the package {package}: pip install "
                f"'peerexam[{package}]', or leave out the option client"
            ) from None
        parts = urlsplit(url)
        self._where = urlunsplit(parts._replace(query="", fragment=""))
        self._who = spec.model
        self._timeout = spec.options.get("timeout")
        self._redact = redact
        self._errors = sdk
        self._root = getattr(sdk, f"{_NAMES[package]}Error")
        self._client = getattr(sdk, f"Async{_NAMES[package]}")(
            api_key=key or NO_KEY,
            base_url=self._where,
            default_headers=dict(headers),
            default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            # Its own limit on a call would count the time in which the process was stopped.
            timeout=sdk.Timeout(None, connect=CONNECT_SECONDS),
            http_client=http_client(sdk, self._where),
            max_retries=0,  # the Retrying layer does that, once
            **own,
        )
        api = attrgetter(resource)(self._client)
        self._create = api.with_raw_response.create
        self._named = frozenset(inspect.signature(api.create).parameters)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._where!r})"

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
        errors = self._errors
        started = time.perf_counter()
        try:
            with time_limit(self._timeout):
                raw = await self._create(**self._arguments(body))
            return _reply(raw.http_response, time.perf_counter() - started)
        except (TimeoutError, errors.APITimeoutError):
            failure = CallTimeoutError(f"no reply from {self._who} in time")
        except errors.APIStatusError as error:
            return _reply(error.response, time.perf_counter() - started)
        except errors.APIConnectionError as error:
            failure = self._unconnected(error)
        except self._root as error:
            failure = PermanentError(self._redact(f"{type(error).__name__}: {error}"))
        raise failure

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _unconnected(self, error: Exception) -> CallError:
        cause = error.__cause__ or error
        if isinstance(cause, PermanentError):  # of `http_client`
            return PermanentError(self._redact(str(cause)))
        if type(cause).__name__ == "TooManyRedirects":
            return endlessly_redirected(self._where)
        words = self._redact(f"{type(cause).__name__}: {cause}")[:300]
        told = causes_in(error)
        if is_nobody(told):
            words = f"{words}; check the address, and that the server is up"
        return unconnected(f"no connection to {self._where}: {words}", told)

    def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that the SDK does not know go where it lets them pass."""
        named = {name: value for name, value in body.items() if name in self._named}
        extra = {name: value for name, value in body.items() if name not in self._named}
        return {**named, "extra_body": extra} if extra else named


def http_client(package: Any, where: str | None = None) -> Any:
    """An HTTP client as an SDK makes its own, that follows no redirect to another server.

    Args:
        package: The SDK, which has `DefaultAsyncHttpxClient`.
        where: The endpoint, for messages; None names what was asked.
    """

    async def check(response: Any) -> None:
        if not response.has_redirect_location:
            return
        asked = response.request.url
        here = where or _shown(asked)
        try:
            onward = asked.join(response.headers["location"])
        except Exception:  # whatever the HTTP library makes of what is no URL
            raise redirected(here, response.status_code, "no URL") from None
        same = (onward.scheme, onward.host, onward.port) == (asked.scheme, asked.host, asked.port)
        if not same or response.status_code not in KEEP_THE_METHOD:
            raise redirected(here, response.status_code, _shown(onward))

    return package.DefaultAsyncHttpxClient(
        event_hooks={"response": [check]}, max_redirects=MOST_REDIRECTS
    )


def _shown(url: Any) -> str:
    """Without login and query, which may be secrets."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"


def _reply(response: Any, latency: float) -> WireReply:
    return WireReply(response.status_code, response.headers, response.content, latency)
