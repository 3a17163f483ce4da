"""Wires against servers that send it elsewhere or never stop, and behind TLS or a proxy."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from peerexam.agents.base import Agent
from peerexam.agents.layers.attempt_timeout import AttemptTimeout
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Message, Request, Sampling
from peerexam.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    NoServerError,
    PermanentError,
    SetupError,
)
from peerexam.testing.faults.server import Asked, FaultServer, Reply, Scripted
from peerexam.testing.faults.wording import answer

pytest.importorskip("pyreqwest")

KEY = "sk-planted-0123456789"
REQUEST = Request((Message("user", "Which river runs through Paris?"),), Sampling(max_tokens=9))
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def agent_at(server: FaultServer, provider: str = "openai", **options: Any) -> Agent:
    url = server.openai_url if provider == "openai" else server.anthropic_url
    variable = f"{provider.upper()}_API_KEY"
    return create_agent(AgentSpec("pupil", provider, "m-1", url, variable, options))


@asynccontextmanager
async def served_by(
    handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[Agent]:
    """An agent at a server of the test's own."""
    handling: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handling.add(task)
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    async with server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        url = f"{'https' if context else 'http'}://{place}"
        yield create_agent(AgentSpec("pupil", "openai", "m-1", base_url=url))
        if handling:  # a handshake that failed comes to no handler
            await asyncio.wait(handling, timeout=20)


@asynccontextmanager
async def bare_server(reply: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[Agent]:
    """An agent at a server that sends the same bytes whatever it is asked."""

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()

    async with served_by(answer_all, context) as agent:
        yield agent


def http(*headers: bytes) -> bytes:
    """A reply of the API, as it goes over the line."""
    body = json.dumps(answer("openai", "The Seine.")).encode()
    head = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def identity(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def text_of(agent: Agent) -> str:
    try:
        return (await agent.complete(REQUEST)).text
    finally:
        await agent.close()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_closed_port_is_told_in_words_with_its_address_once(provider: str) -> None:
    with FaultServer(["The Seine."]) as server:
        agent = agent_at(server, provider)
        server.stop_listening()
        with pytest.raises(ConnectionFailedError, match="refused; check the address") as caught:
            await text_of(agent)
        assert str(caught.value).count(server.anthropic_url) == 1


@pytest.mark.parametrize("client", ["lean", "sdk"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_server_is_refused_and_nothing_is_sent_there(
    provider: str, status: int, client: str
) -> None:
    if client == "sdk":
        pytest.importorskip(provider)
    with FaultServer(["The Seine."]) as other:
        there = f"{other.anthropic_url}/v1/messages"
        with FaultServer([Reply(b"", status, headers={"Location": there})]) as server:
            with pytest.raises(PermanentError, match="name it in its place") as caught:
                await text_of(agent_at(server, provider, client=client))
            assert len(server.requests) == 1
        assert not other.requests
        assert there in str(caught.value)


@pytest.mark.parametrize("client", ["lean", "sdk"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_redirect_on_the_same_server_is_followed_with_key_and_body(
    provider: str, client: str
) -> None:
    if client == "sdk":
        pytest.importorskip(provider)

    def script(asked: Asked) -> Scripted:
        onward = {"Location": f"/moved{asked.path}"}
        return "The Seine." if "moved" in asked.path else Reply(b"", 307, headers=onward)

    with FaultServer(script) as server:
        assert await text_of(agent_at(server, provider, client=client)) == "The Seine."
        first, second = server.requests
        assert (first.body, first.key) == (second.body, second.key)
        assert second.key == KEY


@pytest.mark.parametrize("client", ["lean", "sdk"])
async def test_a_circle_of_redirects_ends(client: str) -> None:
    if client == "sdk":
        pytest.importorskip("openai")
    with FaultServer([Reply(b"", 308, headers={"Location": "/again"})]) as server:
        with pytest.raises(PermanentError, match="again and again"):
            await text_of(agent_at(server, client=client))
        assert len(server.requests) == 4


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_an_integration_of_langchain_follows_no_redirect_to_another_server(
    provider: str,
) -> None:
    pytest.importorskip(f"langchain_{provider}")
    with FaultServer(["The Seine."]) as other:
        there = f"{other.anthropic_url}/v1/messages"
        with FaultServer([Reply(b"", 307, headers={"Location": there})]) as server:
            url = server.openai_url if provider == "openai" else server.anthropic_url
            variable = f"{provider.upper()}_API_KEY"
            spec = AgentSpec("pupil", "langchain", f"{provider}:m-1", url, variable)
            with pytest.raises(PermanentError, match="name it in its place"):
                await text_of(create_agent(spec))
        assert not other.requests


@pytest.mark.parametrize("client", ["lean", "sdk", "langchain"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_refused_connection_is_known_for_one(provider: str, client: str) -> None:
    if client != "lean":
        pytest.importorskip(provider if client == "sdk" else f"langchain_{provider}")
    with FaultServer(["The Seine."]) as server:
        url = server.openai_url if provider == "openai" else server.anthropic_url
        server.stop_listening()
        model = f"{provider}:m-1" if client == "langchain" else "m-1"
        name = "langchain" if client == "langchain" else provider
        options = {} if client == "langchain" else {"client": client}
        variable = f"{provider.upper()}_API_KEY"
        with pytest.raises(NoServerError):
            await text_of(create_agent(AgentSpec("pupil", name, model, url, variable, options)))


async def taken_before_it_is_given_up(head: bytes, megabyte: bytes) -> int:
    """Bytes that a server gets rid of which pours on and on."""
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
        while sent < 300_000_000:
            writer.write(megabyte)
            await writer.drain()
            sent += 1_000_000

    async with served_by(pour) as agent:
        with pytest.raises(PermanentError, match="longer than 64 MB"):
            await text_of(agent)
    return sent


async def test_a_reply_without_an_end_is_given_up_before_it_fills_memory() -> None:
    head = b"Content-Type: application/json"
    assert await taken_before_it_is_given_up(head, b" " * 1_000_000) < 100_000_000


async def test_chunks_that_do_not_end_are_given_up_whatever_length_stands_beside_them() -> None:
    head = b"Content-Length: 5\r\nTransfer-Encoding: chunked"
    chunk = b"f4240\r\n" + b" " * 1_000_000 + b"\r\n"
    assert await taken_before_it_is_given_up(head, chunk) < 100_000_000


async def test_a_length_that_a_proxy_joined_from_two_is_no_fault() -> None:
    reply = http()
    length = next(line for line in reply.split(b"\r\n") if line.startswith(b"Content-Length"))
    joined = reply.replace(length, length + b"," + length.partition(b":")[2])
    async with bare_server(joined) as agent:
        assert await text_of(agent) == "The Seine."


@pytest.mark.parametrize("status", [b"302 Found", b"304 Not Modified"])
async def test_a_redirect_to_nowhere_is_told_with_its_own_status(status: bytes) -> None:
    reply = b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n"
    async with bare_server(reply) as agent:
        with pytest.raises(PermanentError, match=f"HTTP {status.decode()[:3]}"):
            await text_of(agent)


@pytest.mark.parametrize(
    "host", ["xn--", "256.256.256.256", "a b", "h<x>", "[fe80::1%25eth0]", "a^b.invalid"]
)
def test_a_host_that_cannot_be_is_refused_before_any_call_and_without_the_query(host: str) -> None:
    url = f"https://me:hidden-word@{host}/v1?token=hidden-word"
    with pytest.raises(SetupError, match=r"cannot be an endpoint|is no URL") as caught:
        create_agent(AgentSpec("pupil", "openai", "m-1", base_url=url))
    assert "hidden-word" not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize("header", [("X-Team", "hidden-word\ud800"), ("X" * 70_000, "hidden-word")])
def test_a_header_that_cannot_go_out_is_refused_before_any_call_and_without_its_value(
    header: tuple[str, str],
) -> None:
    options = {"headers": dict([header])}
    with pytest.raises(SetupError, match="cannot be sent") as caught:
        create_agent(
            AgentSpec("pupil", "openai", "m-1", base_url="http://127.0.0.1:1/v1", options=options)
        )
    assert "hidden-word" not in f"{caught.value!r} {caught.value.__context__!r}"


async def test_calls_that_are_given_up_keep_few_connections_at_a_server_that_never_answers() -> (
    None
):
    held, gone = 0, asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal held
        held += 1
        while await reader.read(1000):
            pass
        held -= 1
        gone.set()

    async with served_by(hang) as agent:
        timed = AttemptTimeout(agent, 0.1)
        for _ in range(8):  # 80 calls; the first 32 wait long for a reply that may yet come
            calls = (timed.complete(REQUEST) for _ in range(10))
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(error) for error in ended} == {CallTimeoutError}
        async with asyncio.timeout(20):
            while held > 40:
                gone.clear()
                await gone.wait()
        await agent.close()


async def test_closing_under_a_call_is_told_in_words_and_the_next_call_opens_anew() -> None:
    arrived, calls = asyncio.Event(), 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        await reader.readuntil(b"\r\n\r\n")
        calls += 1
        arrived.set()
        if calls == 1:
            await reader.read(1000)  # the body
            await released.wait()
        writer.write(http())
        await writer.drain()

    released = asyncio.Event()
    async with served_by(handle) as agent:
        call = asyncio.ensure_future(agent.complete(REQUEST))
        await arrived.wait()
        await agent.close()
        await agent.close()
        with pytest.raises(ConnectionFailedError, match=r"Client was closed$"):
            await call
        assert await text_of(agent) == "The Seine."
        released.set()


async def test_no_cookie_is_kept_between_calls() -> None:
    reply = Reply(answer("openai", "The Seine."), headers={"Set-Cookie": "visitor=1; Path=/"})
    with FaultServer([reply]) as server:
        agent = agent_at(server)
        for _ in range(2):
            await agent.complete(REQUEST)
        await agent.close()
        assert [asked.headers.get("cookie") for asked in server.requests] == [None, None]


ASK_AFTER_A_FORK = """
import asyncio, multiprocessing, sys
from peerexam.agents.hosted.transport.reqwest import ReqwestWire
from peerexam.errors import PermanentError

def ask(used):
    wire = used or ReqwestWire(sys.argv[1], {}, who="m-1")
    try:
        asyncio.run(asyncio.wait_for(wire.post({}), 20))
    except PermanentError as error:
        print(error, flush=True)

used = ReqwestWire(sys.argv[1], {}, who="m-1")
asyncio.run(used.post({}))
for wire in (used, None):
    child = multiprocessing.get_context("fork").Process(target=ask, args=(wire,))
    child.start()
    child.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_is_told_how_to_begin_one_that_can_call() -> None:
    with FaultServer(["The Seine."]) as server:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", ASK_AFTER_A_FORK, f"{server.openai_url}/chat"],
            capture_output=True,
            text=True,
        )
    assert done.stdout.count("method 'spawn'") == 2, done.stdout + done.stderr
    assert not done.stderr


async def test_a_long_header_is_no_fault() -> None:
    long = {"Content-Security-Policy": "x" * 20_000}
    with FaultServer([Reply(answer("openai", "The Seine."), headers=long)]) as server:
        assert await text_of(agent_at(server)) == "The Seine."


@pytest.mark.parametrize("name", [b"Retry-After", b"Content-Type", b"X-Server", b"Location"])
async def test_a_header_that_is_no_ascii_is_no_fault(name: bytes) -> None:
    reply = http(name + b": caf\xe9")
    async with bare_server(reply) as agent:
        assert await text_of(agent) == "The Seine."


async def test_an_authority_of_ones_own_is_trusted_where_the_environment_names_it(
    identity: ssl.SSLContext,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with bare_server(http(), identity) as agent:
        assert await text_of(agent) == "The Seine."


async def test_a_certificate_of_nobody_known_is_refused_with_the_mend(
    identity: ssl.SSLContext,
) -> None:
    async with bare_server(http(), identity) as agent:
        with pytest.raises(ConnectionFailedError, match=r"UnknownIssuer; .* with SSL_CERT_FILE"):
            await text_of(agent)


@pytest.fixture
def no_root_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    monkeypatch.setenv("SSL_CERT_DIR", os.path.join(os.devnull, "none"))


@pytest.mark.usefixtures("no_root_certificates")
async def test_a_system_without_root_certificates_reaches_servers_that_have_none() -> None:
    with FaultServer(["The Seine."]) as server:
        assert await text_of(agent_at(server)) == "The Seine."


@pytest.mark.usefixtures("no_root_certificates")
async def test_a_system_without_root_certificates_is_told_so(identity: ssl.SSLContext) -> None:
    async with bare_server(http(), identity) as agent:
        with pytest.raises(PermanentError, match="install this system's root certificates"):
            await text_of(agent)


ASK_AND_END = """
import asyncio, os, sys
from peerexam.agents.hosted.transport.reqwest import ReqwestWire

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

async def ask() -> None:
    wire = ReqwestWire(sys.argv[1], {}, who="m-1")
    async with asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(wire.post({}))
    await wire.close()

asyncio.run(ask())
"""


def test_a_program_that_ends_with_its_last_call_ends_well() -> None:
    # Without the wait at the end, one process in about seven aborts (SIGABRT) here.
    with FaultServer(["The Seine."]) as server:
        for _ in range(12):
            done = subprocess.run(
                [sys.executable, "-c", ASK_AND_END, f"{server.openai_url}/chat/completions"],
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("client", ["lean", "sdk"])
@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"X-Team": "blue\r\nX-Admin: yes"}},
        {"headers": {"X-Team\r\nX-Admin": "yes"}},
        {"headers": {"X Team": "blue"}},
        {"organization": "org\nX-Admin: yes"},
    ],
)
def test_what_would_begin_another_header_is_refused_before_any_call(
    options: dict[str, Any], client: str
) -> None:
    with (
        FaultServer(["The Seine."]) as server,
        pytest.raises(SetupError, match="cannot be sent"),
    ):
        agent_at(server, client=client, **options)


@pytest.mark.parametrize(
    ("no_proxy", "is_proxied"),
    [
        ("", True),
        ("127.0.0.1", False),
        ("127.0.0.1:{port}", False),
        ("127.0.0.1:1", True),
        ("10.0.0.0/8, 127.0.0.0/8", False),
        ("10.0.0.0/8", True),
        ("*", False),
    ],
)
@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
async def test_the_proxy_of_the_environment_is_used_but_where_it_says_not_to(
    monkeypatch: pytest.MonkeyPatch, variable: str, no_proxy: str, is_proxied: bool
) -> None:
    with FaultServer(["direct"]) as server, FaultServer(["by proxy"]) as proxy:
        port = server.openai_url.split(":")[-1].removesuffix("/v1")
        monkeypatch.setenv(variable, proxy.anthropic_url)
        monkeypatch.setenv("no_proxy", no_proxy.format(port=port))
        assert await text_of(agent_at(server)) == ("by proxy" if is_proxied else "direct")


@pytest.mark.parametrize("proxy", ["socks5://me:hidden-word@127.0.0.1:1", "me:hidden-word@h:x"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with (
        FaultServer(["The Seine."]) as server,
        pytest.raises(SetupError, match="write http_proxy as in") as caught,
    ):
        agent_at(server)
    assert "hidden-word" not in str(caught.value)
