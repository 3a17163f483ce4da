"""The lean wire: aiohttp, one kept connection a call in flight, nothing done twice.

An SDK walks its type annotations for every call and looks at every pooled connection; this does
neither. What a call costs here does not grow with the number of calls in flight.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs
from yarl import URL

from peerexam.agents.proxies import proxy_for
from peerexam.agents.wire import WireReply
from peerexam.errors import CallTimeoutError, ConnectionFailedError, PermanentError
from peerexam.fast_json import encode

_CONNECT_SECONDS = 30.0
_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_THE_METHOD = frozenset({307, 308})
_LONGEST_HEADER = 65_536
_LONGEST_REPLY = 64 * 1024 * 1024
"""Bytes, unpacked. No completion is as long; a server that never stops must not fill memory."""


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
        self._proxy = proxy_for(url)
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
            PermanentError: The body is no JSON, the URL leads nowhere or a redirect elsewhere, or
                the reply has no end.
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
        except aiohttp.InvalidURL as error:
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
        target = self._target
        for _ in range(1 + _MOST_REDIRECTS):
            sending = session.post(target, data=data, allow_redirects=False)
            async with sending as response:
                if response.status not in _REDIRECTS or "Location" not in response.headers:
                    return response.status, response.headers, await self._body(response)
                target = self._onward(target, response.status, response.headers["Location"])
        raise PermanentError(f"{self._where()} leads nowhere: it redirects again and again")

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        said = response.content_length
        if (
            said is not None
            and said <= _LONGEST_REPLY
            and hdrs.CONTENT_ENCODING not in response.headers
        ):
            return await response.read()  # it cannot be longer than it says
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > _LONGEST_REPLY:
                response.close()
                raise PermanentError(
                    f"{self._who}'s reply is longer than {_LONGEST_REPLY >> 20} MB, which no "
                    f"completion is: check what answers at {self._where()}"
                )
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _onward(self, target: URL, status: int, location: str) -> URL:
        """Where a redirect leads, if it is on the same server.

        Whoever else is named there would get the key and the prompts, and a redirect that turns a
        POST into a GET loses what was asked.
        """
        try:
            onward = target.join(URL(location))
            if status in _KEEP_THE_METHOD and onward.origin() == target.origin():
                return onward
            there = self._blot(f"{onward.origin()}{onward.path}")
        except ValueError:
            there = "no URL"
        raise PermanentError(
            f"{self._where()} redirects (HTTP {status}) to {there}: if that is the endpoint, name "
            "it in its place"
        )

    def _connect(self) -> aiohttp.ClientSession:
        # No limit here: how many calls are made at once is decided by the layers outside.
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            headers=self._headers,
            proxy=self._proxy,
            max_field_size=_LONGEST_HEADER,
        )
        return self._session

    def _where(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def _words(self, error: Exception) -> str:
        # aiohttp tells these two with the address once more, its own class, and no mend.
        if type(error) is aiohttp.ClientConnectorError and error.errno:
            return f"{os.strerror(error.errno)}; check the address, and that the server is up"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return self._blot(f"host {error.host}: {error.strerror}; check the address")
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return self._blot(said)[:300]


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return encode(body)
    except (TypeError, ValueError) as error:
        raise PermanentError(f"the request cannot be sent as JSON: {error}") from None
