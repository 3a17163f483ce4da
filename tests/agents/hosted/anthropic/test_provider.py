"""The anthropic provider: both of its clients against a real HTTP server on the loopback."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from peerexam.agents.hosted.anthropic.provider import AnthropicAgent, create
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Form, Message, Request, Sampling, canonical_json
from peerexam.errors import (
    BadKeyError,
    CallError,
    ContextTooLongError,
    MissingKeyError,
    OverloadedError,
    PermanentError,
    QuotaExhaustedError,
    RateLimitedError,
    RefusedParameterError,
    SetupError,
)
from peerexam.testing.faults.server import Conditions, Fault, FaultServer, Reply
from peerexam.testing.faults.wording import answer, error

SECRET = "sk-ant-very-secret-0123456789"
ASK = Request((Message("user", "Why is the sky blue?"),), Sampling(max_tokens=50))

Connect = Callable[..., AnthropicAgent]


@pytest.fixture(params=["lean", "sdk"])
async def connect(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connect]:
    """Builds agents by the provider's own factory, with either client, and closes them."""
    if request.param == "sdk":
        pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    async with AsyncExitStack() as stack:

        def connect(server: FaultServer, url: str = "", **options: Any) -> AnthropicAgent:
            options = {"client": request.param, **options}
            url = url or server.anthropic_url
            agent = create(
                AgentSpec("pupil", "anthropic", "m-1", url, "ANTHROPIC_API_KEY", options)
            )
            assert isinstance(agent, AnthropicAgent)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


def refused(words: str, kind: str = "invalid_request_error", status: int = 400) -> Reply:
    return Reply(error("anthropic", kind, words), status)


def message(*blocks: dict[str, Any], reason: str = "end_turn", **more: Any) -> Reply:
    return Reply(answer("anthropic", None, reason) | {"content": list(blocks)} | more)


async def test_an_answer_brings_text_usage_model_and_latency(connect: Connect) -> None:
    usage = {
        "input_tokens": 7,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 3,
    }
    with FaultServer([message({"type": "text", "text": "Rayleigh."}, usage=usage)]) as server:
        got = await connect(server).complete(ASK)
    assert (got.text, got.state, got.finish_reason) == ("Rayleigh.", "ok", "end_turn")
    # 7 fresh, 100 read from the cache and 20 written to it are 127 tokens of prompt.
    spent = got.usage
    assert (spent.prompt_tokens, spent.completion_tokens, spent.cached_tokens) == (127, 3, 100)
    assert (got.model, got.dropped) == ("served-model", ())
    assert got.latency is not None
    assert got.latency > 0
    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.key == SECRET
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.body == {
        "model": "m-1",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "Why is the sky blue?"}],
        "temperature": 0.0,
    }


async def test_every_setting_is_sent_and_a_seed_is_told_as_dropped(connect: Connect) -> None:
    sampling = Sampling(0.7, 0.9, 20, ("END", "\n"), seed=3, form=Form("json_schema", '{"a":1}'))
    with FaultServer(["yes\nno"]) as server:
        agent = connect(
            server, json_schema=True, extra_body={"top_k": 5}, betas=["b-1", "b-2"], cache=True
        )
        turns = (Message("system", "Be brief."), Message("user", "q"))
        got = await agent.complete(Request(turns, sampling))
    sent = server.requests[0]
    assert sent.headers["anthropic-beta"] == "b-1,b-2"
    assert sent.body == {
        "model": "m-1",
        "max_tokens": 20,
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [{"role": "user", "content": "q"}],
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": {"a": 1}}},
    }
    assert got.dropped == ("seed",)
    assert got.text == "yes", "the API refuses a stop of white space, so the text is cut here"


async def test_a_request_without_a_limit_gets_the_agents_own(connect: Connect) -> None:
    ask = Request((Message("user", "q"),), Sampling(None))
    with FaultServer(["yes"]) as server:
        await connect(server).complete(ask)
        await connect(server, default_max_tokens=99).complete(ask)
    assert [served.body["max_tokens"] for served in server.requests] == [4096, 99]
    assert "temperature" not in server.requests[0].body


async def test_turns_alternate_system_texts_are_joined_and_empty_turns_left_out(
    connect: Connect,
) -> None:
    turns = (
        Message("system", "One."),
        Message("user", "a"),
        Message("assistant", " "),
        Message("system", "Two."),
        Message("user", "b\ud800"),
        Message("assistant", "So: \n"),
    )
    with FaultServer(["yes"]) as server:
        agent = connect(server)
        await agent.complete(Request(turns, Sampling()))
        await agent.complete(Request((Message("system", "Alone."),), Sampling()))
    first, second = (served.body for served in server.requests)
    assert first["system"] == "One.\n\nTwo."
    assert first["messages"] == [
        {"role": "user", "content": "a\n\nb\ufffd"},
        {"role": "assistant", "content": "So:"},
    ]
    assert "system" not in second
    assert second["messages"] == [{"role": "user", "content": "Alone."}]


async def test_thinking_is_kept_apart_and_redacted_thinking_left_out(connect: Connect) -> None:
    reply = message(
        {"type": "thinking", "thinking": "Light scatters.", "signature": "x"},
        {"type": "redacted_thinking", "data": "AAAA"},
        {"type": "text", "text": "Because "},
        {"type": "text", "text": "of air."},
    )
    with FaultServer([reply]) as server:
        got = await connect(server, thinking=2048).complete(ASK)
    assert (got.text, got.thinking) == ("Because of air.", "Light scatters.")
    assert got.dropped == ("temperature",), "a thinking model draws at temperature 1"
    sent = server.requests[0].body
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert sent["max_tokens"] == 50 + 2048, "the answer keeps its room"
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("option", "sent", "dropped"),
    [
        ("adaptive", {"type": "adaptive"}, ("temperature", "top_p")),
        (False, {"type": "disabled"}, ()),
        ({"type": "adaptive", "display": "omitted"}, None, ("temperature", "top_p")),
    ],
)
async def test_thinking_can_be_adaptive_off_or_the_apis_own_mapping(
    connect: Connect, option: Any, sent: Any, dropped: tuple[str, ...]
) -> None:
    with FaultServer(["yes"]) as server:
        ask = Request(ASK.messages, Sampling(0.0, 0.5, 50))
        got = await connect(server, thinking=option).complete(ask)
    assert server.requests[0].body["thinking"] == (sent or option)
    assert got.dropped == dropped


@pytest.mark.parametrize(
    ("reason", "text", "state"),
    [
        ("end_turn", "a", "ok"),
        ("stop_sequence", "a", "ok"),
        ("end_turn", " ", "empty"),
        ("refusal", "a", "refused"),
        ("max_tokens", "a", "truncated"),
        ("max_tokens", "", "truncated"),
        ("model_context_window_exceeded", "a", "truncated"),
        ("pause_turn", "a", "truncated"),
    ],
)
async def test_the_stop_reason_decides_the_state(
    connect: Connect, reason: str, text: str, state: str
) -> None:
    with FaultServer([message({"type": "text", "text": text}, reason=reason)]) as server:
        got = await connect(server).complete(ASK)
    assert (got.state, got.finish_reason) == (state, reason)


async def test_a_refusal_without_text_is_explained(connect: Connect) -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "Not this."}
    with FaultServer([message(reason="refusal", stop_details=details)]) as server:
        got = await connect(server).complete(ASK)
    assert (got.state, got.text) == ("refused", "Not this.")


async def test_a_refused_temperature_costs_one_resend_and_is_remembered(connect: Connect) -> None:
    def script(asked: Any) -> Any:
        return Fault.REFUSED_TEMPERATURE if "temperature" in asked.body else "yes"

    with FaultServer(script) as server:
        agent = connect(server)
        first = await agent.complete(ASK)
        second = await agent.complete(ASK)
    assert first.dropped == second.dropped == ("temperature",)
    assert len(server.requests) == 3
    assert "temperature" not in server.requests[1].body


async def test_where_temperature_and_top_p_exclude_each_other_temperature_stays(
    connect: Connect,
) -> None:
    words = "`temperature` and `top_p` cannot both be specified for this model."

    def script(asked: Any) -> Any:
        return refused(words) if {"temperature", "top_p"} <= asked.body.keys() else "yes"

    with FaultServer(script) as server:
        agent = connect(server)
        both = await agent.complete(Request(ASK.messages, Sampling(0.5, 0.9, 50)))
        alone = await agent.complete(Request(ASK.messages, Sampling(None, 0.9, 50)))
    assert (both.dropped, alone.dropped) == (("top_p",), ())
    sent = [served.body for served in server.requests]
    assert [("temperature" in body, "top_p" in body) for body in sent] == [
        (True, True),
        (True, False),
        (False, True),
    ]


async def test_a_version_without_sampling_is_not_asked_for_any(connect: Connect) -> None:
    with FaultServer(["yes"]) as server:
        got = await connect(server, version="2026-10-21").complete(ASK)
    assert server.requests[0].headers["anthropic-version"] == "2026-10-21"
    assert "temperature" not in server.requests[0].body
    assert got.dropped == ("temperature",)


async def test_what_cannot_be_left_out_fails_at_once_by_name(connect: Connect) -> None:
    with (
        FaultServer([Fault.REFUSED_MAX_TOKENS]) as server,
        pytest.raises(RefusedParameterError, match="max_tokens") as caught,
    ):
        await connect(server).complete(ASK)
    assert caught.value.parameter == "max_tokens"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refused("prompt is too long: 9 tokens > 8 maximum"), ContextTooLongError),
        (
            refused("input length and `max_tokens` exceed context limit: 7 + 2 > 8"),
            ContextTooLongError,
        ),
        (refused("Too big", "request_too_large", 413), ContextTooLongError),
        (refused("Your credit balance is too low."), QuotaExhaustedError),
        (refused("Pay first.", "billing_error", 402), QuotaExhaustedError),
        (refused("You have reached your specified API usage limits."), QuotaExhaustedError),
        (refused("invalid x-api-key", "authentication_error", 401), BadKeyError),
        (refused("No.", "permission_error", 403), BadKeyError),
        (refused("Slow down.", "rate_limit_error", 429), RateLimitedError),
        (refused("Internal.", "api_error", 500), OverloadedError),
        (refused("Overloaded", "overloaded_error", 529), OverloadedError),
        (refused("Overloaded", "overloaded_error", 200), OverloadedError),
        (refused("messages: roles are wrong"), PermanentError),
    ],
)
async def test_errors_become_ours(connect: Connect, reply: Reply, kind: type[CallError]) -> None:
    with FaultServer([reply]) as server, pytest.raises(CallError) as caught:
        await connect(server).complete(ASK)
    assert type(caught.value) is kind
    assert len(server.requests) == 1


async def test_what_the_api_does_not_have_is_refused_without_a_call(connect: Connect) -> None:
    with FaultServer(["yes"]) as server:
        agent = connect(server)
        for sampling, words in [
            (Sampling(top_logprobs=2), "log-probabilities"),
            (Sampling(form=Form("json_schema", "{}")), "json_schema: true"),
            (Sampling(form=Form("grammar", "root ::= x")), "grammar$"),
        ]:
            with pytest.raises(RefusedParameterError, match=words):
                await agent.complete(Request(ASK.messages, sampling))
        with pytest.raises(PermanentError, match="log-probabilities"):
            await agent.complete(Request(ASK.messages, continuation=" blue"))
    assert not server.requests


@pytest.mark.parametrize("fault", [Fault.BAD_KEY, Fault.MALFORMED_JSON, Fault.OVERLOAD_IN_200])
async def test_a_key_that_a_server_repeats_is_nowhere_in_the_error(
    connect: Connect, fault: Fault
) -> None:
    with FaultServer([fault], Conditions(echo_key=True)) as server:
        agent = connect(server)
        with pytest.raises(CallError) as caught:
            await agent.complete(ASK)
    assert server.requests[0].key == SECRET
    told = "".join(traceback.format_exception(caught.value)) + repr(agent)
    assert "[key]" in told
    assert SECRET not in told + canonical_json(dict(agent.fingerprint))
    assert caught.value.__context__ is None


async def test_a_login_in_the_url_is_sent_beside_the_key_and_never_told(connect: Connect) -> None:
    with FaultServer(["yes"]) as server:
        agent = connect(server, server.anthropic_url.replace("//", "//me:pass-word@") + "/v1/")
        got = await agent.complete(ASK)
    assert got.text == "yes"
    headers = server.requests[0].headers
    # base64("me:pass-word"), by the coreutils' base64
    assert headers["authorization"] == "Basic bWU6cGFzcy13b3Jk"
    assert headers["x-api-key"] == SECRET
    assert agent.fingerprint["endpoint"] == server.anthropic_url


async def test_a_query_of_the_endpoint_is_sent_with_every_call(connect: Connect) -> None:
    with FaultServer(["yes"]) as server:
        agent = connect(server, f"{server.anthropic_url}/v1/?api-version=2")
        await agent.complete(ASK)
    assert server.requests[0].path == "/v1/messages?api-version=2"
    assert agent.fingerprint["endpoint"] == server.anthropic_url


def test_the_endpoint_and_the_key_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(MissingKeyError, match="ANTHROPIC_API_KEY"):
        create(AgentSpec("pupil", "anthropic", "m-1"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/v1")
    agent = create(AgentSpec("pupil", "anthropic", "m-1", options={"default_max_tokens": 9}))
    assert agent.fingerprint == {
        "provider": "anthropic",
        "model": "m-1",
        "endpoint": "http://127.0.0.1:9",
        "default_max_tokens": 9,
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"thinking": 100}, "1024 tokens or more"),
        ({"thinking": True}, "1024 tokens or more"),
        ({"default_max_tokens": 0}, "default_max_tokens"),
        ({"client": "curl"}, "client is"),
        ({"top_k": 5}, "extra_body"),
        ({"headers": {"x-api-key": "x"}}, "api_key_env"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_with_the_mend(
    options: dict[str, Any], words: str
) -> None:
    spec = AgentSpec("pupil", "anthropic", "m-1", base_url="http://127.0.0.1:9", options=options)
    with pytest.raises(SetupError, match=words):
        create(spec)
