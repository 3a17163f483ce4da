"""A loopback server that speaks OpenAI's and Anthropic's API, with faults.

For tests of agents, one's own included::

    with FaultServer([Fault.OVERLOADED, "Paris."]) as server:
        agent = create(AgentSpec("pupil", "openai", "m-1", base_url=server.openai_url))
        ...
        assert len(server.requests) == 2

It answers `…/chat/completions`, `…/completions` and `…/messages` on one port, in the words of the
API that was asked. Nothing but the loopback can reach it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from peerexam.testing.faults.kinds import Conditions, Fault
from peerexam.testing.faults.replies import Reply, reply_for
from peerexam.testing.faults.wording import Dialect, answer

__all__ = ["Asked", "Conditions", "Fault", "FaultServer", "Reply", "Scripted"]

_PIECES = 40
"""Into so many pieces a dripping body is cut."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that the server got.

    Attributes:
        path: The path with its query.
        headers: Names in lower case.
        body: The decoded JSON.
        number: Requests before this one.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int

    @property
    def dialect(self) -> Dialect:
        """Which API was asked."""
        return "anthropic" if self.path.split("?")[0].endswith("/messages") else "openai"

    @property
    def key(self) -> str:
        """The key that came with it, empty where none did."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer

    @property
    def secrets(self) -> str:
        """All of it that may be secret: the path with its query, and the headers for keys."""
        sent = (self.headers.get(name) for name in ("authorization", "x-api-key", "api-key"))
        return " ".join([self.path, *(value for value in sent if value)])


Scripted = Reply | Fault | str
"""A raw reply, a fault, or the text of a good answer."""

Script = Sequence[Scripted] | Callable[[Asked], Scripted | Awaitable[Scripted]]
"""One entry a request, the last repeated; or a function from the request."""


class FaultServer:
    """A server on 127.0.0.1, in a thread with an event loop of its own.

    Args:
        script: What it does with each request.
        conditions: The numbers in the faults.

    Attributes:
        script: As given; it may be replaced while the server runs.
        requests: What it got, in order; a request counts once it is read whole.
        peak: How many requests were being answered at once, at most.
        answering: How many are now.
    """

    def __init__(self, script: Script, conditions: Conditions | None = None) -> None:
        self.script = script
        self._conditions = conditions or Conditions()
        self.requests: list[Asked] = []
        self.peak = 0
        self.answering = 0
        self._port = 0
        self._server: asyncio.Server | None = None
        self._handlers: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        # A thread of its own: the caller's loop may be running already.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.listen_again()

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's clients, `/v1` included."""
        return f"{self.anthropic_url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base URL for Anthropic's clients, without `/v1`."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> FaultServer:
        """The server, stopped at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop_listening(self) -> None:
        """From now on a new connection is refused, and the open ones are closed."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)

    def listen_again(self) -> None:
        """Take connections, on the same port as before."""
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)

    def stop(self) -> None:
        """End the server and its thread. More than once does no harm."""
        if self._loop.is_closed():
            return
        self.stop_listening()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=512)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        handlers = list(self._handlers)
        for handler in handlers:
            handler.cancel()
        if handlers:
            await asyncio.wait(handlers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._handlers.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, has gone
        finally:
            if task is not None:
                self._handlers.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        asked = await self._read(reader)
        self.requests.append(asked)
        self.answering += 1
        self.peak = max(self.peak, self.answering)
        try:
            return await _send(await self._reply(asked), writer)
        finally:
            self.answering -= 1

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(":", 1) for line in head[1:] if line]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        path = head[0].split(" ")[1]
        return Asked(path, headers, json.loads(raw) if raw else {}, len(self.requests))

    async def _reply(self, asked: Asked) -> Reply:
        if callable(self.script):
            made = self.script(asked)
            scripted = await made if inspect.isawaitable(made) else made
        else:
            scripted = self.script[min(asked.number, len(self.script) - 1)]
        if isinstance(scripted, Reply):
            return scripted
        if isinstance(scripted, Fault):
            return reply_for(scripted, asked.dialect, self._conditions, asked.secrets)
        return Reply(answer(asked.dialect, scripted))


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send a reply; whether the connection stays open for the next request."""
    await asyncio.sleep(reply.delay)
    if reply.hang:
        await asyncio.Event().wait()
    head, body = reply.encoded()
    if reply.sent > 0:
        writer.write(head)
        await _send_body(body[: int(len(body) * reply.sent)], reply.drip, writer)
    if reply.reset:
        if reply.sent > 0:
            await asyncio.sleep(0.02)  # a reset at once would overtake what was sent
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    return reply.sent >= 1 and not reply.reset


async def _send_body(body: bytes, drip: float, writer: asyncio.StreamWriter) -> None:
    size = max(1, -(-len(body) // _PIECES)) if drip else max(1, len(body))
    for at in range(0, len(body), size):
        writer.write(body[at : at + size])
        await writer.drain()
        if drip:
            await asyncio.sleep(drip * size / len(body))
