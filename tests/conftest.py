"""Fixtures for all tests: a real HTTP server that speaks OpenAI's chat completions, PostgreSQL."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

# Before torch and scikit-learn are loaded: on a busy machine their threads spin, waiting for each
# other, three times as long as the work takes; and the workers of pytest-xdist have all cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Nothing here is a test of speed: a busy machine must not fail one. New examples are looked for
# where somebody works on what they find; a change is let in or not by the same ones each time.
for _profile, _examples in (("quick", 25), ("thorough", 200)):
    hypothesis_settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        derandomize=bool(os.environ.get("PEEREXAM_SAME_EXAMPLES")),
        suppress_health_check=[HealthCheck.too_slow],
    )
hypothesis_settings.load_profile("quick")  # the other one by --hypothesis-profile=thorough


@dataclass(frozen=True)
class Served:
    """One request that the server got."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages", ()))

    @property
    def last_user_text(self) -> str:
        return [turn["content"] for turn in self.messages if turn["role"] == "user"][-1]


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    `body` is a text (a completion with that text), a dict (JSON as it is) or bytes (as they are).
    `reset` drops the connection with a TCP reset, `hang` never answers.
    """

    body: str | dict[str, Any] | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False
    hang: bool = False


Scripted = Reply | str | dict[str, Any]
Script = Callable[[Served], Scripted | Awaitable[Scripted]] | Sequence[Scripted]


def completion(
    content: str | None, finish_reason: str | None = "stop", **message: Any
) -> dict[str, Any]:
    """The JSON of a chat completion; further keywords go into the message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


class ChatServer:
    """A chat server on 127.0.0.1, in a thread with an event loop of its own.

    Attributes:
        url: The base URL, `/v1` included.
        requests: What it got, in order; a request counts once it is read whole.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[Served] = []
        self._loop = asyncio.new_event_loop()
        self._handlers: set[asyncio.Task[None]] = set()
        # A thread of its own: the test's loop may be running already.
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result(10)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for handler in list(self._handlers):
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        pairs = [line.split(":", 1) for line in head[1:] if line]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        served = Served(path, headers, json.loads(raw) if raw else {})
        self.requests.append(served)
        reply = await self._reply(served, len(self.requests) - 1)
        await asyncio.sleep(reply.delay)
        if reply.hang:
            await asyncio.Event().wait()
        if reply.reset:
            raw_socket = writer.get_extra_info("socket")
            raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        writer.write(_encoded(reply))
        await writer.drain()
        return True

    async def _reply(self, served: Served, number: int) -> Reply:
        if callable(self._script):
            scripted = self._script(served)
            reply = await scripted if inspect.isawaitable(scripted) else scripted
        else:
            reply = self._script[min(number, len(self._script) - 1)]
        return reply if isinstance(reply, Reply) else Reply(reply)


def _encoded(reply: Reply) -> bytes:
    body = completion(reply.body) if isinstance(reply.body, str) else reply.body
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(data)),
        **reply.headers,
    }
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


class ChatServers:
    """Starts chat servers: `server = chat_server(script)`.

    A script is a function from the request (`path`, `headers`, `body`, `messages`,
    `last_user_text`) to a reply, or a list of replies of which the last is repeated. A reply is a
    text, a JSON dict, or `chat_server.reply(...)`.
    """

    reply = Reply
    completion = staticmethod(completion)

    def __init__(self) -> None:
        self._started: list[ChatServer] = []

    def __call__(self, script: Script) -> ChatServer:
        server = ChatServer(script)
        self._started.append(server)
        return server

    def error(
        self, status: int, message: str = "", headers: Mapping[str, str] | None = None, **error: Any
    ) -> Reply:
        """An error as OpenAI writes it; further keywords go into the error object."""
        return Reply({"error": {"message": message, **error}}, status, headers or {})

    def stop(self) -> None:
        for server in self._started:
            server.stop()


@pytest.fixture
def chat_server() -> Iterator[ChatServers]:
    """Starts scripted OpenAI-compatible servers on the loopback; see `ChatServers`."""
    servers = ChatServers()
    yield servers
    servers.stop()


# --- PostgreSQL --------------------------------------------------------------------------------


class PostgresServer:
    """A PostgreSQL server of the tests' own, in a temporary folder.

    Attributes:
        url: Of its database `postgres`; the password is in it.
    """

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        # The server refuses to run as root, so that it gets a folder and a user of its own.
        self._user = "postgres" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="peerexam-postgres-"))
        self._data = self._folder / "data"
        (self._folder / "password").write_text("planted-secret")
        if self._user:
            for path in (self._folder, self._folder / "password"):
                shutil.chown(path, self._user)
        self._run("initdb", "--auth=scram-sha-256", "--username=me", "--no-sync", "--no-locale",
                  f"--pwfile={self._folder / 'password'}", "--encoding=UTF8")  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql://me:planted-secret@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self) -> None:
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories= "
            "-c fsync=off -c shared_buffers=32MB -c max_connections=60"
        )
        self._run("pg_ctl", "start", "--wait", f"--log={self._folder / 'log'}", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "--wait", f"--mode={mode}")

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command: list[str] = [str(self._programs / program), f"--pgdata={self._data}", *arguments]
        subprocess.run(command, check=True, user=self._user, cwd="/", stdout=subprocess.DEVNULL)


def _postgres_programs() -> Path | None:
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    return newest.parent if newest else Path(on_path).resolve().parent if on_path else None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that a test may stop and start again; skips where PostgreSQL is not installed."""
    pytest.importorskip("psycopg")
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    server = PostgresServer(programs)
    yield server
    server.remove()


@pytest.fixture(scope="session")
def _postgres_databases(request: pytest.FixtureRequest) -> str:
    """URL of a server to make databases on: PEEREXAM_TEST_POSTGRES, or one of the tests' own."""
    pytest.importorskip("psycopg")
    given = os.environ.get("PEEREXAM_TEST_POSTGRES")
    server: PostgresServer | None = None if given else request.getfixturevalue("postgres_server")
    return given or (server.url if server else "")


_database_numbers = itertools.count()


@pytest.fixture
def postgres_url(_postgres_databases: str) -> Iterator[str]:
    """URL of an empty database; skips where there is no PostgreSQL."""
    import psycopg

    name = f"peerexam_test_{os.getpid()}_{time.time_ns()}_{next(_database_numbers)}"
    with psycopg.connect(_postgres_databases, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield _postgres_databases.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(_postgres_databases, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
