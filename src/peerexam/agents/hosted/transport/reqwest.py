"""The lean wire: pyreqwest, one kept connection a call in flight, nothing done twice.

An SDK walks its type annotations for every call and looks at every pooled connection; this does
neither. HTTP is spoken by reqwest in a thread of its own, outside of Python; what a call costs here
does not grow with the number of calls in flight.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, RequestError
from pyreqwest.http import HeaderMap, Url
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.response import Response

from peerexam.agents.hosted.transport.base import (
    KEEP_THE_METHOD,
    MOST_REDIRECTS,
    WireReply,
    endlessly_redirected,
    redirected,
    unconnected,
)
from peerexam.agents.hosted.transport.proxies import proxy_for
from peerexam.agents.layers.attempt_timeout import limit_of_this_attempt, time_limit
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    PermanentError,
    SetupError,
)
from peerexam.fast_json import encode

_CONNECT = timedelta(seconds=30)
_LET_GO, _LATEST = 1.0, 3600.0
"""Seconds after a call's time limit at which its connection is dropped in any case.

A call that is cancelled goes on inside of reqwest, and nothing but a time limit of its own ends it
there: a server that never answers would keep one connection for each. But that limit counts the
time in which the process was stopped, and throws away a reply that came meanwhile. So it is short
only where many calls are left behind like this.
"""
_MOST_LEFT_BEHIND = 32
"""Calls of the last hour that may keep their connections after they were cancelled."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_REPLY = 64 * 1024 * 1024
"""Bytes, unpacked. No completion is as long; a server that never stops must not fill memory."""
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_FOR_URL = re.compile(r" for url \(.*\)")  # with its query, where secrets may stand
_LONGEST_PLACE = 200
_UNNAMED_HOST = "failed to lookup address information: "
_LONGEST_LIMIT = 1e8
"""Seconds, three years: a limit that may as well be none still has to be a number of reqwest's."""
_FORKED = (
    "calls were made before this process was forked, and none can be made after it: begin "
    "processes with multiprocessing's method 'spawn' (or 'forkserver'), or ask the first thing "
    "after the fork"
)
_process: int | None = None
"""The process in which the first call was made."""
_CERTIFICATES = {
    "invalid peer certificate": "where the server's certificate is of an authority of your own, "
    "name that one's file with SSL_CERT_FILE",
    "No CA certificates": "install this system's root certificates (ca-certificates), or name a "
    "file of them with SSL_CERT_FILE",
}


class _Headers(Mapping[str, str]):
    """A reply's headers, in any case; one that is no ASCII text counts as not there."""

    __slots__ = ("_found",)

    def __init__(self, found: HeaderMap) -> None:
        self._found = found

    def __getitem__(self, name: str) -> str:
        try:
            return self._found[name]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class ReqwestWire:
    """Posts JSON to one URL.

    It may be used from several event loops.

    Args:
        url: Where to. No login in it: that is a header.
        headers: Sent with every call, the key's among them.
        who: The model, for messages.
        timeout: Seconds for one call; None is no limit of its own.
        redact: Redacts the key in a message.

    Raises:
        SetupError: The URL's host, a header or the environment's proxy cannot be used.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        who: str,
        timeout: float | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._url = url
        self._headers = _checked_headers({**headers, "Content-Type": "application/json"})
        self._who = who
        self._timeout = timeout
        self._redact = redact
        self._proxy = proxy_for(url)
        self._target = self._parsed()
        self._client: Client | None = None
        self._given_up: deque[float] = deque(maxlen=_MOST_LEFT_BEHIND)

    def __repr__(self) -> str:
        return f"ReqwestWire({self._where()!r})"  # never the headers

    async def post(self, body: Mapping[str, Any]) -> WireReply:
        """Send a JSON body and read the whole reply.

        Raises:
            CallTimeoutError: No reply within the time limit.
            ConnectionFailedError: No connection, or it broke off.
            PermanentError: The body is no JSON, the URL leads nowhere or a redirect elsewhere, or
                the reply has no end.
        """
        data = _encoded(body)
        # Raised outside of `except`, and so without a context: it may hold headers.
        failure: CallError
        started = time.perf_counter()
        try:
            with time_limit(self._timeout):  # None: the layers outside have their own
                status, headers, content = await self._exchange(data)
            return WireReply(status, headers, content, time.perf_counter() - started)
        except TimeoutError:
            self._given_up.append(time.monotonic())
            failure = CallTimeoutError(f"no reply from {self._who} in time")
        except asyncio.CancelledError:
            self._given_up.append(time.monotonic())
            raise
        except BuilderError as error:
            failure = PermanentError(f"{self._where()} leads nowhere: {self._words(error)}")
        except RequestError as error:
            words = self._words(error)
            failure = unconnected(f"no connection to {self._where()}: {words}", _causes(error))
        raise failure

    async def close(self) -> None:
        """Close the connections. More than once does no harm.

        That of a call which was cancelled before closes with its answer, or when its time is up.
        """
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _exchange(self, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        client, target, limit = self._connected(), self._target, self._limit()
        for _ in range(1 + MOST_REDIRECTS):
            sending = client.post(target).body_bytes(data)
            if limit is not None:
                sending = sending.timeout(limit)
            async with sending.build_streamed() as response:
                status, headers = response.status, _Headers(response.headers)
                location = headers.get("location") if status in _REDIRECTS else None
                if location is None:
                    return status, headers, await self._body(response, headers)
                target = self._onward(target, status, location)
        raise endlessly_redirected(self._where())

    async def _body(self, response: Response, headers: Mapping[str, str]) -> bytes:
        if _is_short(headers):
            return bytes(await response.bytes())
        pieces: list[bytes] = []
        size = 0
        while (piece := await response.body_reader.read_chunk()) is not None:
            size += len(piece)
            if size > _LONGEST_REPLY:
                raise PermanentError(
                    f"{self._who}'s reply is longer than {_LONGEST_REPLY >> 20} MB, which no "
                    f"completion is: check what answers at {self._where()}"
                )
            pieces.append(bytes(piece))
        return b"".join(pieces)

    def _onward(self, target: Url, status: int, location: str) -> Url:
        """Where a redirect leads, if it is on the same server."""
        try:
            onward = target.join(location)
        except ValueError:
            there = "no URL"
        else:
            if status in KEEP_THE_METHOD and onward.origin_ascii == target.origin_ascii:
                return onward
            there = self._redact(f"{onward.origin_ascii}{onward.path}")
        raise redirected(self._where(), status, there)

    def _limit(self) -> timedelta | None:
        limits = (self._timeout, limit_of_this_attempt())
        known = [limit for limit in limits if limit is not None]
        if not known:
            return None
        let_go = _LET_GO if self._leaves_many_behind() else _LATEST
        return timedelta(seconds=min(min(known), _LONGEST_LIMIT) + let_go)

    def _leaves_many_behind(self) -> bool:
        given_up = self._given_up
        return len(given_up) == given_up.maxlen and time.monotonic() - given_up[0] < _LATEST

    def _connected(self) -> Client:
        """The client, made with the first call.

        Raises:
            PermanentError: Another process made reqwest's thread, and this one was forked from it:
                the calls would wait for a thread that is not here.
        """
        if _thread_is_elsewhere():
            raise PermanentError(_FORKED)
        if self._client is not None:
            return self._client
        try:
            return self._connect()
        except RuntimeError as error:
            failure = PermanentError(_FORKED if "fork" in str(error) else self._redact(str(error)))
        raise failure

    def _connect(self) -> Client:
        # No limit here: how many calls are made at once is decided by the layers outside.
        building = ClientBuilder().default_headers(self._headers).connect_timeout(_CONNECT)
        building = building.follow_redirects(False).no_proxy()
        if self._proxy is not None:
            building = building.proxy(ProxyBuilder.all(self._proxy))
        if not any(url.startswith("https:") for url in (self._url, self._proxy or "")):
            # No certificate will be seen. It would else insist on a machine with root certificates.
            building = building.danger_accept_invalid_certs(True)
        self._client = building.build()
        return self._client

    def _parsed(self) -> Url:
        try:
            return Url(self._url)
        except ValueError as error:
            wrong = str(error)
        raise SetupError(f"{self._who}: {self._where()} cannot be an endpoint: {wrong}")

    def _where(self) -> str:
        parts = urlsplit(self._url)
        where = f"{parts.scheme}://{parts.netloc}{parts.path}"
        return where if len(where) <= _LONGEST_PLACE else f"{where[:_LONGEST_PLACE]}…"

    def _words(self, error: BuilderError | RequestError) -> str:
        # The outermost message is the address once more; the innermost one says what happened.
        causes = error.details.get("causes") or []
        said = " ".join((causes[-1]["message"] if causes else error.message).split())
        for sign, hint in _CERTIFICATES.items():
            if sign in said:
                return f"{said}; {hint}"
        if number := _OS_ERROR.search(said):
            return f"{os.strerror(int(number[1]))}; check the address, and that the server is up"
        if said.startswith(_UNNAMED_HOST):
            host = self._redact(urlsplit(self._url).hostname or "")
            return f"host {host}: {said.removeprefix(_UNNAMED_HOST)}; check the address"
        return self._redact(f"{type(error).__name__}: {_FOR_URL.sub('', said)}")[:300]


def _causes(error: RequestError) -> str:
    return " ".join(cause["message"] for cause in error.details.get("causes") or [])


def _checked_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        try:
            HeaderMap({name: value})
        except ValueError:
            break
    else:
        return headers
    # Neither the value nor what the client says of it, which repeats it: it may be a secret.
    raise SetupError(f"header {name[:40]!r} cannot be sent: it is too long or no text")


def _is_short(headers: Mapping[str, str]) -> bool:
    """Whether a reply cannot be too long by what its headers say.

    The length is not there where the body was packed, and says nothing beside chunks.
    """
    said = headers.get("content-length", "")
    if not said.isdecimal() or "transfer-encoding" in headers:
        return False
    return int(said) <= _LONGEST_REPLY


def _thread_is_elsewhere() -> bool:
    """Whether this process was forked from one in which reqwest's thread runs."""
    global _process
    if _process is None:
        _process = os.getpid()
    return _process != os.getpid()


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return encode(body)
    except (TypeError, ValueError) as error:
        raise PermanentError(f"the request cannot be sent as JSON: {error}") from None


def _let_the_thread_in() -> None:
    """Reqwest's thread may still wait for the interpreter, to end a call that has come back.

    Sleeping lets it in. Once the interpreter is being taken down the whole process would abort, all
    work done and stored: with one core and 200 calls at once, one process in seven did.
    """
    time.sleep(0.05)


atexit.register(_let_the_thread_in)
