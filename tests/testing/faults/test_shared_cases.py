"""The public cases about APIs and caches, through both clients and both ledgers, where they are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.layers.retrying import Retrying
from peerexam.agents.layers.stack import LayerSettings, RunContext, assemble
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Message, Request, Sampling, request_key
from peerexam.errors import OverloadedError, PermanentError
from peerexam.ledger.base import Failure, Ledger
from peerexam.ledger.opening import open_ledger
from peerexam.testing.faults.server import Asked, Fault, FaultServer, Reply
from peerexam.testing.faults.wording import HALF, answer, error

CASES = Path(__file__).resolve().parents[3] / ".." / "shared" / "cases.jsonl"

pytestmark = pytest.mark.shared


class Client(NamedTuple):
    provider: str
    name: str


CLIENTS = [Client(p, c) for p in ("openai", "anthropic") for c in ("lean", "sdk")]
Connect = Callable[..., Agent]


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    if not CASES.exists():
        pytest.skip("the public cases are not here")
    with CASES.open(encoding="utf-8") as lines:
        return {case["id"]: case["input"] for case in map(json.loads, lines)}


@pytest.fixture(params=["sqlite", "postgres"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    where = tmp_path / "ledger.sqlite"
    postgres = request.param == "postgres"
    opened = open_ledger(request.getfixturevalue("postgres_url") if postgres else where)
    yield opened
    await opened.close()


@pytest.fixture(params=CLIENTS, ids="-".join)
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.param
    return found


@pytest.fixture
async def connect(
    client: Client, monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> AsyncIterator[Connect]:
    """Builds agents with all their layers and three attempts, between which no time passes."""
    if client.name == "sdk":
        pytest.importorskip(client.provider)
    monkeypatch.setenv(f"{client.provider.upper()}_API_KEY", "sk-very-secret-0123456789")
    async with AsyncExitStack() as stack:

        def connect(
            server: FaultServer, model: str = "m-1", temperature: float | None = None
        ) -> Agent:
            url = server.openai_url if client.provider == "openai" else server.anthropic_url
            options = {"client": client.name}
            spec = AgentSpec(
                "pupil", client.provider, model, url, f"{client.provider.upper()}_API_KEY", options
            )
            agent = assemble(
                spec, LayerSettings(temperature=temperature), RunContext(ledger=ledger)
            )
            _wait_in_no_time(agent)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


def _wait_in_no_time(agent: Any) -> None:
    async def wait(seconds: float) -> None:
        pass

    while not isinstance(agent.inner, Retrying):
        agent = agent.inner
    agent.inner = Retrying(agent.inner.inner, 3, sleep=wait, jitter=lambda: 0.0)


def asked(*texts: str, draw: int = 0, **sampling: Any) -> Request:
    turns = tuple(Message("user", text) for text in texts)
    return Request(turns, Sampling(max_tokens=40, **sampling), draw=draw)


async def stored(agent: Agent, request: Request, ledger: Ledger) -> Completion | Failure | None:
    return await ledger.find(request_key(agent.fingerprint, request))


async def test_pub_13_a_refused_parameter_costs_one_resend(
    cases: dict[str, Any], client: Client, connect: Connect, ledger: Ledger
) -> None:
    limit, temperature = cases["pub-13"]["body"], cases["pub-13"]["also"]["body"]
    if client.provider == "anthropic":  # it names no parameter, and max_tokens has no other name
        words = "temperature: not supported by this model"
        temperature = error("anthropic", "invalid_request_error", words)

    def reply(served: Asked) -> Reply | str:
        if client.provider == "openai" and "max_tokens" in served.body:
            return Reply(limit, 400)
        return Reply(temperature, 400) if "temperature" in served.body else "4"

    one, other = asked("2+2?", temperature=0.5), asked("3+3?", temperature=0.5)
    with FaultServer(reply) as server:
        agent = connect(server)
        first, second = await agent.complete(one), await agent.complete(other)
    bodies = [json.dumps(served.body, sort_keys=True) for served in server.requests]
    assert len(bodies) == len(set(bodies)) == (4 if client.provider == "openai" else 3)
    assert first.dropped == second.dropped == ("temperature",)
    assert await stored(agent, one, ledger) == first


async def test_pub_13_what_cannot_be_adapted_fails_at_once_by_name(
    client: Client, connect: Connect
) -> None:
    kind = "invalid_request_error"
    name = "stop" if client.provider == "openai" else "stop_sequences"
    words = f"{name}: not supported by this model"
    refused = error("openai", kind, words, "unsupported_parameter", name)
    if client.provider == "anthropic":
        refused = error("anthropic", kind, words)
    with FaultServer([Reply(refused, 400)]) as server:
        with pytest.raises(PermanentError, match=name):
            await connect(server).complete(asked("Why?", stop=("Q",)))
        assert len(server.requests) == 1


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_pub_14_three_ways_to_say_nothing_are_three_states(
    cases: dict[str, Any], client: Client, connect: Connect, number: int
) -> None:
    said = cases["pub-14"]["responses"][number]
    state = ("filtered", "truncated", "empty")[number]
    body = answer("openai", None)
    body["choices"] = [{"index": 0, **said, "message": {"role": "assistant", **said["message"]}}]
    if client.provider == "anthropic":
        state = ("refused", "truncated", "empty")[number]
        stop = ("refusal", "max_tokens", "end_turn")[number]
        body = answer("anthropic", said["message"]["content"], stop)
    with FaultServer([Reply(body)]) as server:
        got = [await connect(server).complete(asked("Why?")) for _ in range(2)]
        assert ([one.state for one in got], len(server.requests)) == ([state, state], 1)


@pytest.mark.parametrize("client", [Client("openai", "lean"), Client("openai", "sdk")])
async def test_pub_15_a_template_without_a_system_role_is_asked_in_its_own_way(
    cases: dict[str, Any], client: Client, connect: Connect
) -> None:
    system, user = (turn["content"] for turn in cases["pub-15"]["messages"])
    turns = (Message("system", system), Message("user", user))

    def reply(served: Asked) -> Reply | str:
        roles = [turn["role"] for turn in served.body["messages"]]
        if "system" in roles:
            return Reply(error("openai", "error", cases["pub-15"]["backend_error"]), 400)
        if any(one == other for one, other in pairwise(roles)):
            words = "Conversation roles must alternate user/assistant/user/assistant/..."
            return Reply(error("openai", "error", words), 400)
        return "Why?"

    with FaultServer(reply) as server:
        agent = connect(server)
        for extra in ((), ("Another.",), ("A third.",)):
            messages = (*turns, *(Message("user", text) for text in extra))
            assert (await agent.complete(Request(messages))).text == "Why?"
    sent = [served.body["messages"] for served in server.requests]
    assert len(sent) == 4, "one refusal costs one resend, and is remembered"
    assert sent[1] == [{"role": "user", "content": f"{system}\n\n{user}"}]
    assert sent[3] == [{"role": "user", "content": f"{system}\n\n{user}\n\nA third."}]


@pytest.mark.parametrize("fault", [Fault.OVERLOADED, Fault.OVERLOAD_IN_200, Fault.UNASKED_STREAM])
async def test_pub_16_an_overload_is_one_whatever_its_status(
    fault: Fault, connect: Connect, ledger: Ledger
) -> None:
    request = asked("What is the capital of France?")
    with FaultServer([fault]) as server:
        agent = connect(server)
        with pytest.raises(OverloadedError):
            await agent.complete(request)
        assert len(server.requests) == 3
        failure = await stored(agent, request, ledger)
        assert isinstance(failure, Failure)
        assert HALF not in failure.message
        server.script = ["Paris."]
        assert (await connect(server).complete(request)).text == "Paris."


async def test_pub_17_line_separators_pass_through_the_ledger(
    cases: dict[str, Any], connect: Connect, ledger: Ledger
) -> None:
    text = cases["pub-17"]["record_1_answer"]
    with FaultServer([text]) as server:
        agent = connect(server)
        assert (await agent.complete(asked("Why?"))).text == text
    found = await stored(agent, asked("Why?"), ledger)
    assert isinstance(found, Completion)
    assert found.text == text


async def test_pub_19_only_the_same_call_is_a_replay(
    cases: dict[str, Any], connect: Connect
) -> None:
    with FaultServer(["4"]) as server, FaultServer(["5"]) as elsewhere:
        for call in cases["pub-19"]:
            agent = connect(server, call["model"], call["temperature"])
            await agent.complete(asked(call["prompt"], draw=call.get("sample", 1) - 1))
        assert len(server.requests) == 4
        # And an endpoint of the same name is another model.
        agent = connect(elsewhere, "alpha", 0)
        assert (await agent.complete(asked("2+2?"))).text == "5"
