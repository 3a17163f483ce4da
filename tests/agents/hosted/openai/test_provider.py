"""The openai provider: both its clients against a real HTTP server on the loopback."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from email.utils import formatdate
from typing import Any

import pytest

from peerexam.agents.hosted.openai.provider import OpenAIAgent, create
from peerexam.agents.spec import AgentSpec
from peerexam.calls import (
    Form,
    Message,
    Request,
    Sampling,
    TokenLogprob,
    Usage,
    canonical_json,
)
from peerexam.errors import (
    BadKeyError,
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    ContextTooLongError,
    MissingKeyError,
    OverloadedError,
    PermanentError,
    QuotaExhaustedError,
    RateLimitedError,
    RefusedParameterError,
    RetryableError,
    SetupError,
    UnknownModelError,
)

SECRET = "sk-very-secret-0123456789"
ASK = Request((Message("user", "Why is the sky blue?"),), Sampling(max_tokens=50))

Connect = Callable[..., OpenAIAgent]


@pytest.fixture(params=["lean", "sdk"])
async def connect(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connect]:
    """Builds agents by the provider's own factory, with either client, and closes them."""
    if request.param == "sdk":
        pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    async with AsyncExitStack() as stack:

        def connect(url: str, model: str = "m-1", **options: Any) -> OpenAIAgent:
            options = {"client": request.param, **options}
            agent = create(AgentSpec("pupil", "openai", model, url, "OPENAI_API_KEY", options))
            assert isinstance(agent, OpenAIAgent)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


async def test_an_answer_brings_text_usage_model_and_latency(
    chat_server: Any, connect: Connect
) -> None:
    body = chat_server.completion("Rayleigh scattering.")
    body["usage"] |= {"prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.0021}
    server = chat_server([body])
    got = await connect(server.url).complete(ASK)
    assert (got.text, got.state, got.finish_reason) == ("Rayleigh scattering.", "ok", "stop")
    usage = got.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (7, 3, 4)
    assert (got.model, got.cost, got.dropped) == ("served-model", 0.0021, ())
    assert got.latency is not None
    assert got.latency > 0
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {SECRET}"
    assert sent.body == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "Why is the sky blue?"}],
        "temperature": 0.0,
        "max_tokens": 50,
    }


async def test_every_sampling_setting_is_sent(chat_server: Any, connect: Connect) -> None:
    server = chat_server(["yes"])
    sampling = Sampling(
        0.7, 0.9, 20, stop=("\n",), seed=3, top_logprobs=2, form=Form("json_schema", '{"a":1}')
    )
    agent = connect(server.url, json_schema=True, extra_body={"top_k": 5})
    await agent.complete(Request((Message("user", "q"),), sampling))
    sent = server.requests[0].body
    assert sent["response_format"]["json_schema"]["schema"] == {"a": 1}
    expected = {
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 20,
        "stop": ["\n"],
        "seed": 3,
        "logprobs": True,
        "top_logprobs": 2,
        "top_k": 5,
    }
    assert {name: sent[name] for name in expected} == expected


async def test_a_temperature_of_none_is_not_sent(chat_server: Any, connect: Connect) -> None:
    server = chat_server(["yes"])
    await connect(server.url).complete(Request((Message("user", "q"),), Sampling(None)))
    assert set(server.requests[0].body) == {"model", "messages"}


async def test_a_grammar_is_sent_where_the_server_can_and_refused_where_not(
    chat_server: Any, connect: Connect
) -> None:
    server = chat_server(["yes"])
    ask = Request((Message("user", "q"),), Sampling(form=Form("grammar", 'root ::= "yes"')))
    await connect(server.url, grammar=True).complete(ask)
    assert server.requests[0].body["grammar"] == 'root ::= "yes"'
    with pytest.raises(RefusedParameterError, match="grammar: true"):
        await connect(server.url).complete(ask)
    assert len(server.requests) == 1


async def test_log_probabilities_are_read_and_impossible_ones_have_a_floor(
    chat_server: Any, connect: Connect
) -> None:
    body = chat_server.completion("ab")
    body["choices"][0]["logprobs"] = {
        "content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": None}]
    }
    got = await connect(chat_server([body]).url, logprobs=True).complete(ASK)
    assert got.logprobs is not None
    assert [entry.logprob for entry in got.logprobs] == [-0.5, -9999.0]


@pytest.mark.parametrize("number", [10**400, -1, "12"])
async def test_numbers_that_no_call_has_are_unknown_and_cost_no_answer(
    chat_server: Any, connect: Connect, number: Any
) -> None:
    body = chat_server.completion("ab")
    body["usage"] = {"prompt_tokens": number, "completion_tokens": 3, "cost": number}
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": 10**400}]}
    got = await connect(chat_server([body]).url, logprobs=True).complete(ASK)
    assert (got.text, got.usage, got.cost) == ("ab", Usage(None, 3), None)
    assert got.logprobs == (TokenLogprob("a", -9999.0),)


async def test_a_base_model_is_asked_over_the_completions_endpoint(
    chat_server: Any, connect: Connect
) -> None:
    server = chat_server([{"choices": [{"text": " blue", "finish_reason": "stop"}]}])
    agent = connect(server.url, chat=False)
    got = await agent.complete(Request((Message("user", "The sky is"),), Sampling(max_tokens=2)))
    assert got.text == " blue"
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body["prompt"] == "The sky is"
    assert "chat" not in agent.features


# What the endpoint refuses (cases.jsonl pub-13).

USE_OTHER_LIMIT = {
    "type": "invalid_request_error",
    "code": "unsupported_parameter",
    "param": "max_tokens",
}
NO_TEMPERATURE = {"code": "unsupported_value", "param": "temperature"}


async def test_a_reasoning_model_costs_two_refusals_once_and_what_is_dropped_is_told(
    chat_server: Any, connect: Connect
) -> None:
    def reply(served: Any) -> Any:
        if "max_tokens" in served.body:
            return chat_server.error(400, "use max_completion_tokens", **USE_OTHER_LIMIT)
        if "temperature" in served.body:
            return chat_server.error(400, **NO_TEMPERATURE)
        return "fine"

    server = chat_server(reply)
    agent = connect(server.url)
    got = await agent.complete(ASK)
    assert (got.text, got.dropped) == ("fine", ("temperature",))
    assert len(server.requests) == 3
    assert server.requests[-1].body["max_completion_tokens"] == 50
    again = await agent.complete(Request((Message("user", "And red?"),), Sampling(max_tokens=9)))
    assert again.dropped == ("temperature",)
    assert len(server.requests) == 4, "the refusals are remembered"


async def test_a_refusal_of_both_limit_names_ends_after_one_renaming(
    chat_server: Any, connect: Connect
) -> None:
    def reply(served: Any) -> Any:
        name = "max_tokens" if "max_tokens" in served.body else "max_completion_tokens"
        return chat_server.error(400, "no", code="unsupported_parameter", param=name)

    server = chat_server(reply)
    with pytest.raises(RefusedParameterError) as caught:
        await connect(server.url).complete(ASK)
    assert caught.value.parameter == "max_completion_tokens"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("error", "named"),
    [
        ({"message": "no such thing", "param": "stop", "code": "unsupported_parameter"}, "stop"),
        ({"message": "temperature must be at most 1", "param": "temperature"}, "temperature"),
        ({"message": "max_tokens is too large: 50. At most 20.", "param": None}, "max_tokens"),
        ({"message": "Unknown field top_k"}, "top_k"),
    ],
)
async def test_what_cannot_be_adapted_fails_at_once_and_names_the_parameter(
    chat_server: Any, connect: Connect, error: dict[str, Any], named: str
) -> None:
    server = chat_server([chat_server.error(400, **error)])
    ask = Request(ASK.messages, Sampling(max_tokens=50, stop=("x",)))
    with pytest.raises(RefusedParameterError, match=named) as caught:
        await connect(server.url, extra_body={"top_k": 1}).complete(ask)
    assert caught.value.parameter == named
    assert len(server.requests) == 1


async def test_no_request_is_ever_sent_twice_when_everything_is_refused(
    chat_server: Any, connect: Connect
) -> None:
    order = ["max_tokens", "temperature", "top_p", "seed"]

    def reply(served: Any) -> Any:
        name = next((name for name in order if name in served.body), "max_completion_tokens")
        return chat_server.error(400, f"Unsupported parameter: '{name}'")

    server = chat_server(reply)
    ask = Request(ASK.messages, Sampling(0.5, 0.5, 50, seed=1))
    with pytest.raises(RefusedParameterError):
        await connect(server.url).complete(ask)
    bodies = [canonical_json(served.body) for served in server.requests]
    assert len(bodies) == len(set(bodies)) == 5


async def test_a_validation_error_as_fastapi_writes_it_is_understood(
    chat_server: Any, connect: Connect
) -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]

    def reply(served: Any) -> Any:
        return chat_server.reply({"detail": detail}, 422) if "seed" in served.body else "ok"

    ask = Request(ASK.messages, Sampling(seed=1))
    with pytest.raises(RefusedParameterError) as caught:
        await connect(chat_server([chat_server.reply({"detail": detail}, 422)]).url).complete(ask)
    assert caught.value.parameter == "seed"
    detail[0]["msg"] = "Extra inputs are not permitted"
    got = await connect(chat_server(reply).url).complete(ask)
    assert got.dropped == ("seed",)


async def test_the_hosted_name_of_the_limit_can_be_set(chat_server: Any, connect: Connect) -> None:
    server = chat_server(["ok"])
    await connect(server.url, max_tokens_param="max_completion_tokens").complete(ASK)
    assert server.requests[0].body["max_completion_tokens"] == 50


# Templates without a system role (cases.jsonl pub-15).


@pytest.mark.parametrize("status", [400, 500])
async def test_a_refused_system_message_goes_in_front_of_the_first_user_message(
    chat_server: Any, connect: Connect, status: int
) -> None:
    def reply(served: Any) -> Any:
        if served.messages[0]["role"] == "system":
            return chat_server.error(status, "TemplateError: System role not supported")
        return "a question"

    server = chat_server(reply)
    agent = connect(server.url)
    ask = Request((Message("system", "You are examiner E."), Message("user", "Ask one question.")))
    assert (await agent.complete(ask)).text == "a question"
    assert server.requests[1].messages == [
        {"role": "user", "content": "You are examiner E.\n\nAsk one question."}
    ]
    await agent.complete(ask)
    assert len(server.requests) == 3, "it is remembered"


async def test_two_user_messages_in_a_row_are_merged_for_templates_that_alternate(
    chat_server: Any, connect: Connect
) -> None:
    def reply(served: Any) -> Any:
        roles = [turn["role"] for turn in served.messages]
        if roles != ["system", "user"]:
            return chat_server.error(
                400, "After the optional system message, conversation roles must alternate"
            )
        return "ok"

    server = chat_server(reply)
    ask = Request((Message("system", "s"), Message("user", "one"), Message("user", "two")))
    assert (await connect(server.url).complete(ask)).text == "ok"
    assert server.requests[1].messages[1] == {"role": "user", "content": "one\n\ntwo"}


async def test_alternation_that_no_rewriting_satisfies_fails_without_a_resend(
    chat_server: Any, connect: Connect
) -> None:
    server = chat_server([chat_server.error(400, "Conversation roles must alternate")])
    with pytest.raises(PermanentError):
        await connect(server.url).complete(ASK)
    assert len(server.requests) == 1


# Answered but unusable (cases.jsonl pub-14).


@pytest.mark.parametrize(
    ("message", "finish", "state", "text"),
    [
        ({"content": None, "refusal": None}, "content_filter", "filtered", ""),
        ({"content": None}, "length", "truncated", ""),
        ({"content": ""}, "stop", "empty", ""),
        ({"content": "Half an ans"}, "length", "truncated", "Half an ans"),
        ({"content": None, "refusal": "I can't help."}, "stop", "refused", "I can't help."),
        ({"content": None, "reasoning_content": "hm"}, "length", "truncated", ""),
        ({"content": "<think>hm"}, "stop", "truncated", ""),
        ({"content": "<think>hm</think>"}, "stop", "empty", ""),
        ({"content": " \n"}, "stop", "empty", " \n"),
    ],
)
async def test_unusable_answers_are_completions_with_a_state(
    chat_server: Any,
    connect: Connect,
    message: dict[str, Any],
    finish: str,
    state: str,
    text: str,
) -> None:
    body = chat_server.completion(None, finish)
    body["choices"][0]["message"] = message
    got = await connect(chat_server([body]).url).complete(ASK)
    assert (got.state, got.text) == (state, text)


async def test_a_prompt_that_the_filter_stops_is_filtered_not_an_error(
    chat_server: Any, connect: Connect
) -> None:
    server = chat_server(
        [chat_server.error(400, "The response was filtered", code="content_filter")]
    )
    got = await connect(server.url).complete(ASK)
    assert (got.state, got.text) == ("filtered", "")


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        ({"content": "Four.", "reasoning_content": "2+2"}, "2+2"),
        ({"content": "Four.", "reasoning": "2+2"}, "2+2"),
        ({"content": "<think>\n2+2\n</think>\n\nFour."}, "2+2"),
        ({"content": "2+2</think>Four."}, "2+2"),
        (
            {"content": [{"type": "thinking", "thinking": [{"text": "2+2"}]}, {"text": "Four."}]},
            "2+2",
        ),
    ],
)
async def test_thinking_is_kept_apart_from_the_answer(
    chat_server: Any, connect: Connect, message: dict[str, Any], thinking: str
) -> None:
    body = chat_server.completion(None)
    body["choices"][0]["message"] = message
    got = await connect(chat_server([body]).url).complete(ASK)
    assert (got.text, got.thinking, got.state) == ("Four.", thinking, "ok")


# Errors (cases.jsonl pub-16 a, and the error inside a 200).


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "slow down"}, RateLimitedError),
        (500, {"message": "oops"}, OverloadedError),
        (503, {"message": "Loading model"}, OverloadedError),
        (529, {"type": "overloaded_error"}, OverloadedError),
        (408, {"message": "slow"}, CallTimeoutError),
        (429, {"message": "pay", "code": "insufficient_quota"}, QuotaExhaustedError),
        (401, {"message": "bad key"}, BadKeyError),
        (403, {"message": "not yours"}, BadKeyError),
        (404, {"message": "no model"}, UnknownModelError),
        (400, {"message": "x", "code": "model_not_found"}, UnknownModelError),
        (400, {"message": "x", "code": "context_length_exceeded"}, ContextTooLongError),
        (400, {"message": "This model's maximum context length is 8"}, ContextTooLongError),
        (400, {"message": "the request exceeds the available context size"}, ContextTooLongError),
        (413, {"message": "too large"}, ContextTooLongError),
        (400, {"message": "bad request"}, PermanentError),
        (402, {"message": "pay"}, QuotaExhaustedError),
        (501, {"message": "not made"}, PermanentError),
        (200, {"type": "overloaded_error", "message": "Overloaded"}, OverloadedError),
        (200, {"code": 429, "message": "slow"}, RateLimitedError),
        (200, {"code": "rate_limit_exceeded", "message": "slow"}, RateLimitedError),
        (200, {"code": 401, "message": "who?"}, BadKeyError),
        (200, {"message": "something odd"}, OverloadedError),
    ],
)
async def test_each_error_reply_becomes_its_error(
    chat_server: Any,
    connect: Connect,
    status: int,
    error: dict[str, Any],
    kind: type[CallError],
) -> None:
    server = chat_server([chat_server.reply({"error": error}, status)])
    with pytest.raises(kind) as caught:
        await connect(server.url).complete(ASK)
    assert type(caught.value) is kind
    assert len(server.requests) == 1, "the provider itself never retries"


async def test_an_error_beside_choices_wins_and_the_half_answer_is_thrown_away(
    chat_server: Any, connect: Connect
) -> None:
    body = chat_server.completion("The capi")
    body["error"] = {"type": "overloaded_error", "message": "Overloaded"}
    broken_off = chat_server.completion("The capi", "error")
    for reply in (body, broken_off):
        with pytest.raises(OverloadedError) as caught:
            await connect(chat_server([reply]).url).complete(ASK)
        assert "The capi" not in str(caught.value)


async def test_an_overload_inside_a_stream_is_retried_and_the_half_answer_thrown_away(
    chat_server: Any, connect: Connect
) -> None:
    # pub-16 b: the status is 200, and a piece of the answer has come already.
    stream = (
        b'data: {"choices": [{"delta": {"content": "The capi"}}]}\n\n'
        b'event: error\ndata: {"error": {"type": "overloaded_error"}}\n\n'
    )
    broken = chat_server.reply(stream, 200, {"content-type": "text/event-stream"})
    server = chat_server([broken, "The capital is Paris."])
    agent = connect(server.url)
    with pytest.raises(RetryableError) as caught:
        await agent.complete(ASK)
    assert "The capi" not in str(caught.value)
    assert (await agent.complete(ASK)).text == "The capital is Paris."


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Bad gateway</html>",
        b"",
        b'{"choices": [',
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": ["text"]}',
        b"[" * 100_000,
    ],
)
async def test_a_reply_that_is_no_completion_may_be_asked_for_again(
    chat_server: Any, connect: Connect, body: bytes
) -> None:
    server = chat_server([chat_server.reply(body)])
    with pytest.raises(OverloadedError):
        await connect(server.url).complete(ASK)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_wait_that_the_server_asks_for_is_passed_on(
    chat_server: Any, connect: Connect, headers: dict[str, str], seconds: float | None
) -> None:
    server = chat_server([chat_server.error(429, "slow down", headers)])
    with pytest.raises(RateLimitedError) as caught:
        await connect(server.url).complete(ASK)
    assert caught.value.retry_after == seconds


async def test_a_wait_given_as_a_date_is_seconds_from_now(
    chat_server: Any, connect: Connect
) -> None:
    date = formatdate(time.time() + 100, usegmt=True)
    server = chat_server([chat_server.error(503, "later", {"retry-after": date})])
    with pytest.raises(OverloadedError) as caught:
        await connect(server.url).complete(ASK)
    assert caught.value.retry_after == pytest.approx(100, abs=5)


async def test_a_reset_and_a_closed_port_are_connection_failures(
    chat_server: Any, connect: Connect
) -> None:
    server = chat_server([chat_server.reply(reset=True)])
    for url in (server.url, "http://127.0.0.1:1/v1"):
        with pytest.raises(ConnectionFailedError):
            await connect(url).complete(ASK)


async def test_a_server_that_hangs_is_a_timeout(chat_server: Any, connect: Connect) -> None:
    server = chat_server([chat_server.reply(hang=True)])
    with pytest.raises(CallTimeoutError):
        await connect(server.url, timeout=0.1).complete(ASK)


async def test_lone_surrogates_in_a_prompt_can_be_sent(chat_server: Any, connect: Connect) -> None:
    server = chat_server(["ok"])
    await connect(server.url).complete(Request((Message("user", "a\ud800b"),)))
    assert server.requests[0].last_user_text == "a\ufffdb"


# Keys.


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
async def test_a_key_that_the_server_repeats_is_in_no_error(
    chat_server: Any, connect: Connect, status: int
) -> None:
    error = {"message": f"Incorrect API key: {SECRET}", "code": SECRET, "param": SECRET}
    agent = connect(chat_server([chat_server.reply({"error": error}, status)]).url)
    with pytest.raises(CallError) as caught:
        await agent.complete(ASK)
    _assert_no_secret(caught.value, agent)


async def test_a_key_is_in_no_error_of_an_unreadable_reply_or_a_lost_connection(
    chat_server: Any, connect: Connect
) -> None:
    garbage = chat_server([chat_server.reply(f"<html>{SECRET}".encode())]).url
    for url in (garbage, chat_server([chat_server.reply(reset=True)]).url):
        agent = connect(url)
        with pytest.raises(RetryableError) as caught:
            await agent.complete(ASK)
        _assert_no_secret(caught.value, agent)


def _assert_no_secret(error: BaseException, agent: OpenAIAgent) -> None:
    assert SECRET not in "".join(traceback.format_exception(error))
    assert error.__context__ is None, "the SDK's error holds the request with its key"
    assert SECRET not in repr(error) + repr(vars(error)) + repr(agent)
    assert SECRET not in canonical_json(dict(agent.fingerprint))


def test_a_key_written_into_the_options_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    for options in ({"extra_body": {"k": SECRET}}, {"headers": {"Authorization": "Bearer x"}}):
        with pytest.raises(SetupError, match=r"written to disk") as caught:
            create(AgentSpec("a", "openai", "m", options=options))
        assert SECRET not in str(caught.value)


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        create(AgentSpec("a", "openai", "m"))
    with pytest.raises(MissingKeyError, match="MY_KEY"):
        create(AgentSpec("a", "openai", "m", "http://127.0.0.1:1/v1", api_key_env="MY_KEY"))


async def test_each_agent_has_its_own_endpoint_and_key(
    chat_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", "mine-mine-mine\n")
    named, default = chat_server(["named"]), chat_server(["default"])
    monkeypatch.setenv("OPENAI_BASE_URL", default.url)
    for spec, answer, sent in (
        (AgentSpec("a", "openai", "m", named.url, "MY_KEY"), "named", "Bearer mine-mine-mine"),
        (AgentSpec("b", "openai", "m"), "default", None),
    ):
        agent = create(spec)
        assert (await agent.complete(ASK)).text == answer
        await agent.close()
        await agent.close()
        server = named if answer == "named" else default
        assert server.requests[0].headers.get("authorization") == sent


# Identity and options.


def test_the_fingerprint_is_what_decides_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    url = "https://user:password@example.org/v1/?token=abc"

    def fingerprint(**options: Any) -> Any:
        return create(AgentSpec("a", "openai", "m", url, options=options)).fingerprint

    plain = fingerprint()
    assert plain == {"provider": "openai", "model": "m", "endpoint": "https://example.org/v1"}
    assert fingerprint(timeout=5, logprobs=True) == plain
    assert fingerprint(extra_body={"top_k": 1}) != plain
    assert fingerprint(chat=False) != plain
    assert json.loads(canonical_json(dict(plain))) == plain


def test_features_come_from_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    spec = AgentSpec("a", "openai", "m", options={"logprobs": True, "json_schema": True})
    assert create(spec).features == {"chat", "logprobs", "json_schema"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top_k": 5}, "extra_body"),
        ({"max_tokens_param": "tokens"}, "max_tokens_param"),
        ({"timeout": 0}, "timeout"),
        ({"extra_body": "x"}, "extra_body"),
    ],
)
def test_an_option_that_cannot_be_used_is_a_setup_error(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(SetupError, match=words):
        create(AgentSpec("a", "openai", "m", options=options))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("127.0.0.1:80/v1", "neither http:// nor https://"),
        (" http://127.0.0.1:80/v1", "a blank"),
        ("http://127.0.0.1:0/v1", "port is 0"),
        ("http://me:secret-pass@/v1", "no host"),
        ("http://127.0.0.1/v1#top", "after #"),
    ],
)
def test_an_endpoint_that_is_no_url_is_a_setup_error(
    url: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    for base_url in (url, None):
        with pytest.raises(SetupError, match=f"the endpoint of 'a' is no URL: .*{problem}") as said:
            create(AgentSpec("a", "openai", "m", base_url=base_url))
        assert "secret-pass" not in str(said.value)


async def test_a_given_text_cannot_be_scored(chat_server: Any, connect: Connect) -> None:
    with pytest.raises(PermanentError, match="log-prob"):
        await connect(chat_server(["x"]).url).complete(
            Request((Message("user", "q"),), continuation="a")
        )
