"""The lean wire: aiohttp, one kept connection a call in flight, nothing done twice.

An SDK walks its type annotations for every call and looks at every pooled connection; this does
neither. What a call costs here does not grow with the number of calls in flight.
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from peerexam.agents.wire import WireReply
from peerexam.errors import CallTimeoutError, ConnectionFailedError, PermanentError
from peerexam.fast_json import encode

_CONNECT_SECONDS = 30.0
_MOST_REDIRECTS = 3


class AiohttpWire:
    """Posts JSON to one URL.

    It belongs to the event loop that first uses it; in another loop it connects anew.

    Args:
        url: Where to. No login in it: that is a header.
        headers: Sent with every call, the key's among them.
        who: The model, for messages.
        timeout: Seconds for one call; None is no limit of its own.
        blot: Blots the key out of a message.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        who: str,
        timeout: float | None = None,
        blot: Callable[[str], str] = str,
    ) -> None:
        self._url = url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._who = who
        self._timeout = timeout
        self._blot = blot
        self._proxy = _proxy_for(url)
        self._target = URL(url)  # read once
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"AiohttpWire({self._where()!r})"  # never the headers

    async def post(self, body: Mapping[str, Any]) -> WireReply:
        """Send a JSON body and read the whole reply.

        Raises:
            CallTimeoutError: No reply within the time limit.
            ConnectionFailedError: No connection, or it broke off.
            PermanentError: The body is no JSON, or the URL or a redirect leads nowhere.
        """
        data = _encoded(body)
        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = self._connect()
        # Raised outside of `except`, and so without a context: it may hold headers.
        failure: Exception
        started = time.perf_counter()
        try:
            if self._timeout is None:  # the layers outside have their own
                status, headers, content = await self._exchange(session, data)
            else:
                async with asyncio.timeout(self._timeout):
                    status, headers, content = await self._exchange(session, data)
            return WireReply(status, headers, content, time.perf_counter() - started)
        except TimeoutError:
            failure = CallTimeoutError(f"no reply from {self._who} in time")
        except (aiohttp.InvalidURL, aiohttp.TooManyRedirects) as error:
            failure = PermanentError(f"{self._where()} leads nowhere: {self._words(error)}")
        except aiohttp.ClientError as error:
            failure = ConnectionFailedError(
                f"no connection to {self._where()}: {self._words(error)}"
            )
        raise failure

    async def close(self) -> None:
        """Close the connections. More than once does no harm."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    async def _exchange(
        self, session: aiohttp.ClientSession, data: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        sending = session.post(self._target, data=data, max_redirects=_MOST_REDIRECTS)
        async with sending as response:
            return response.status, response.headers, await response.read()

    def _connect(self) -> aiohttp.ClientSession:
        # No limit here: how many calls are made at once is decided by the layers outside.
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            headers=self._headers,
            proxy=self._proxy,
        )
        return self._session

    def _where(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def _words(self, error: Exception) -> str:
        return self._blot(f"{type(error).__name__}: {error}")[:300]


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return encode(body)
    except (TypeError, ValueError) as error:
        raise PermanentError(f"the request cannot be sent as JSON: {error}") from None


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL; looked up once, not for every call."""
    parts = urlsplit(url)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)
