"""Replies as other servers write them, and replies that no server should write."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.base import Agent
from peerexam.agents.hosted.anthropic.reply import read_message
from peerexam.agents.hosted.openai.reply import read_reply
from peerexam.agents.hosted.rejections import error_of, read_rejection
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Message, Request, Sampling, completion_to_json, encoded
from peerexam.errors import CallError, OverloadedError
from peerexam.testing.faults.server import Asked, FaultServer, Reply, Scripted
from peerexam.testing.faults.wording import answer, error

KEY = "sk-planted+some/key==0123456789"
ASK = Request((Message("user", "Why?"),), Sampling(max_tokens=50, temperature=0.5))

Connect = Callable[[FaultServer], Agent]


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["lean", "sdk"])
async def connect(
    request: pytest.FixtureRequest, provider: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connect]:
    """Builds agents of either dialect with either client, and closes them."""
    if request.param == "sdk":
        pytest.importorskip(provider)
    monkeypatch.setenv("PUPIL_KEY", KEY)
    async with AsyncExitStack() as stack:

        def connect(server: FaultServer) -> Agent:
            url = server.openai_url if provider == "openai" else server.anthropic_url
            spec = AgentSpec("pupil", provider, "m", url, "PUPIL_KEY", {"client": request.param})
            agent = create_agent(spec)
            stack.push_async_callback(agent.close)
            return agent

        yield connect


def ending(provider: str, reason: str | None, text: str = "Half a") -> dict[str, Any]:
    body = answer(provider, text)  # type: ignore[arg-type]
    if provider == "openai":
        body["choices"][0]["finish_reason"] = reason
    else:
        body["stop_reason"] = reason
    return body


# Why a reply ended.


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("model_length", "truncated"),  # Mistral's
        ("MAX_TOKENS", "truncated"),  # Gemini's
        ("max_output_tokens", "truncated"),
        ("FINISH_REASON_MAX_TOKENS", "truncated"),
        ("length", "truncated"),
        ("context-length-exceeded", "truncated"),
        ("MaxTokens", "truncated"),
        ("contentFilter", "filtered"),
        ("endTurn", "ok"),
        ("SAFETY", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("content_filter", "filtered"),
        ("guardrail_intervened", "filtered"),
        ("refusal", "refused"),
        ("eos", "ok"),
        ("COMPLETE", "ok"),
        ("STOP", "ok"),
        ("gone-fishing", "ok"),
        (None, "ok"),
    ],
)
async def test_a_finish_reason_of_another_server_is_understood(
    connect: Connect, provider: str, reason: str | None, state: str
) -> None:
    with FaultServer([Reply(ending(provider, reason))]) as server:
        got = await connect(server).complete(ASK)
    assert (got.text, got.state, got.finish_reason) == ("Half a", state, reason)


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
async def test_a_reply_that_broke_off_is_no_answer(
    connect: Connect, provider: str, reason: str
) -> None:
    with (
        FaultServer([Reply(ending(provider, reason))]) as server,
        pytest.raises(OverloadedError, match=f"broke off: {reason}"),
    ):
        await connect(server).complete(ASK)


# Errors in odd places.


def in_a_list(body: dict[str, Any]) -> Any:
    return [body]


def in_two_lists(body: dict[str, Any]) -> Any:
    return [{"error": [body["error"]]}]


def under_errors(body: dict[str, Any]) -> Any:
    return {"success": False, "errors": [body["error"]]}


def handed_on(body: dict[str, Any]) -> Any:
    raw = {"message": "Provider returned error", "metadata": {"raw": json.dumps(body)}}
    return {**body, "error": {**body["error"], **raw}}


@pytest.mark.parametrize("put", [in_a_list, in_two_lists, under_errors, handed_on])
async def test_an_error_in_a_list_is_adapted_to_as_a_bare_one(
    connect: Connect, provider: str, put: Callable[[dict[str, Any]], Any]
) -> None:
    words = (
        'Invalid JSON payload received. Unknown name "temperature": Cannot find field. '
        "temperature is deprecated"
    )

    def script(asked: Asked) -> Scripted:
        if "temperature" in asked.body:
            refusal = error(asked.dialect, "invalid_request_error", words)
            return Reply(json.dumps(put(refusal)).encode(), 400)
        return "Fine."

    with FaultServer(script) as server:
        got = await connect(server).complete(ASK)
        assert (got.text, got.dropped) == ("Fine.", ("temperature",))
        assert len(server.requests) == 2


async def test_an_error_in_a_list_inside_a_200_is_an_error(connect: Connect, provider: str) -> None:
    body = json.dumps([{"error": {"code": 429, "message": "slow down"}}]).encode()
    with (
        FaultServer([Reply(body)]) as server,
        pytest.raises(CallError, match="slow down") as caught,
    ):
        await connect(server).complete(ASK)
    assert type(caught.value).__name__ == "RateLimitedError"


async def test_a_placeholder_key_neither_hides_words_nor_changes_an_answer(
    chat_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(served: Any) -> Any:
        if "max_tokens" in served.body:
            words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return chat_server.error(400, words)
        return "An x marks the exit."

    monkeypatch.setenv("PUPIL_KEY", "x")
    server = chat_server(reply)
    agent = create_agent(AgentSpec("pupil", "openai", "m", server.url, "PUPIL_KEY"))
    got = await agent.complete(ASK)
    await agent.close()
    assert got.text == "An x marks the exit."
    assert server.requests[-1].body["max_completion_tokens"] == 50
    assert len(server.requests) == 2


# What is billed: output tokens by hand, total - prompt, or thinking beside the completion.


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, 603),
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "total_tokens": 81,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            60,
        ),
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            65,
        ),
        (
            {
                "prompt_tokens": 20,
                "completion_tokens": 70,
                "total_tokens": 90,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            70,
        ),
        ({"prompt_tokens": 20, "total_tokens": 90}, 70),
        ({"prompt_tokens": 20, "completion_tokens": 3}, 3),
        ({"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 3}, 3),
    ],
)
def test_thinking_outside_of_the_completion_is_counted(usage: dict[str, Any], written: int) -> None:
    body = answer("openai", "Fine.") | {"usage": usage}
    assert read_reply(body, 0.1).usage.completion_tokens == written


# A malformed reply ends its call, never the run.

HUGE = b"9" * 5000
DEEP = b'{"error":' * 900 + b"1" + b"}" * 900
MALFORMED = {
    "superscript code": '{"error": {"code": "²"}}'.encode(),
    "code of 5,000 digits": b'{"error": {"code": "' + HUGE + b'"}}',
    "number of 5,000 digits": b'{"error": {"code": ' + HUGE + b"}}",
    "message of 5,000 digits": b'{"error": {"message": ' + HUGE + b"}}",
    "nested error": DEEP,
    "nested list": b'{"error": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "error is a number": b'{"error": 7}',
    "error is true": b'{"error": true}',
    "error is a list of nothing": b'{"error": [null]}',
    "a bare list": b"[]",
    "a bare number": b"7",
    "null": b"null",
    "no UTF-8": b'{"choices": "\xff\xfe"}',
    "no choices": b'{"choices": [], "content": null}',
    "choices of null": b'{"choices": [null], "content": {}}',
    "huge numbers": b'{"choices": [{"finish_reason": ' + HUGE + b', "error": ' + HUGE + b"}]}",
    "not a number": b'{"choices": [{"message": NaN, "error": Infinity}], "content": NaN}',
    "lone surrogate": b'{"error": {"message": "\\ud800", "code": "\\udfff"}}',
    "empty": b"",
}


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_reply_is_an_error_of_ours(
    connect: Connect, body: bytes, status: int
) -> None:
    with FaultServer([Reply(body, status)]) as server, pytest.raises(CallError):
        await connect(server).complete(ASK)


NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([5000, 400]).map(lambda digits: 10**digits),
    st.floats(),
    st.booleans(),
    st.none(),
)
WORDS = st.one_of(
    st.text(st.characters(exclude_categories=())),  # lone surrogates, too
    st.sampled_from(["²", "400", "99999", "stop", "error", "text", "thinking", "\x00", "refusal"]),
)
NAMES = (
    "choices message content text thinking type error code param detail loc msg usage details "
    "prompt_tokens completion_tokens total_tokens completion_tokens_details reasoning_tokens "
    "prompt_tokens_details logprobs token logprob tokens token_logprobs finish_reason stop_reason "
    "stop_details explanation model refusal reasoning cost retryDelay retry_after seconds errors "
    "metadata headers status input_tokens output_tokens cache_read_input_tokens"
)
FIELDS = NAMES.split()
VALUES = st.recursive(
    NUMBERS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELDS) | WORDS, inner, max_size=6)
    ),
    max_leaves=25,
)


def shaped(inner: Any) -> Any:
    """Values where a reader looks for them."""
    choice = st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
    return st.one_of(
        inner,
        st.fixed_dictionaries(
            {"choices": st.lists(choice, max_size=2), "content": st.lists(choice, max_size=2)},
            optional={"usage": inner, "model": inner, "stop_reason": inner, "error": inner},
        ),
        st.fixed_dictionaries({"error": choice}),
    )


@given(body=shaped(VALUES), status=st.sampled_from([200, 400, 429, 503]))
def test_no_body_brings_out_an_exception_that_is_not_ours(body: Any, status: int) -> None:
    for read in (read_reply, read_message):
        try:
            found = read(body, 0.1)
        except CallError:
            continue
        assert isinstance(found, Completion)
        encoded(completion_to_json(found))  # the ledger can keep it
    rejection = read_rejection(status, {}, body)
    assert isinstance(error_of(rejection, "m"), CallError)
    assert rejection.retry_after is None or 0 <= rejection.retry_after < float("inf")


# Keys in every field of every kind of reply.


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a JSON value holds something that is no container."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    found = False
    for name, part in inner:
        found = True
        yield from places(part, (*path, name))
    if not found:
        yield path


def planted(value: Any, path: tuple[Any, ...], key: str) -> Any:
    """The value with a key at one place."""
    if not path:
        return f"it is {key}."
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = planted(copy[path[0]], path[1:], key)
    return copy


OPENAI = answer("openai", "Fine.", refusal=None, reasoning="hm", tool_calls=[{"id": "1"}])
OPENAI["choices"][0]["logprobs"] = {"content": [{"token": "Fine", "logprob": -1.0}]}
OPENAI["choices"][0]["error"] = None
ANTHROPIC = answer("anthropic", "Fine.")
ANTHROPIC["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
ANTHROPIC["stop_details"] = {"explanation": "none"}
KINDS = {
    "openai": [
        OPENAI,
        answer("openai", "Fine.", "content_filter"),
        error("openai", "server_error", "no", "c", "p"),
        {"choices": [{"finish_reason": "error", "error": {"message": "no", "code": "c"}}]},
        {"detail": [{"loc": ["body", "seed"], "msg": "no"}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]},
    ],
    "anthropic": [
        ANTHROPIC,
        answer("anthropic", None, "refusal") | {"stop_details": {"explanation": "no"}},
        error("anthropic", "overloaded_error", "no"),
    ],
}


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
async def test_a_key_in_any_field_of_any_reply_is_in_nothing_that_comes_of_it(
    connect: Connect, provider: str, status: int
) -> None:
    spelt = [KEY, KEY.upper(), quote(KEY, safe=""), json.dumps(KEY).replace("/", "\\/")]
    replies = [
        planted(body, path, spelt[number % len(spelt)])
        for body in KINDS[provider]
        for number, path in enumerate(places(body))
    ]
    headers = {"x-request-id": KEY, "retry-after": KEY, "x-ratelimit-reset-tokens": KEY}
    scripted = [Reply(json.dumps(body).encode(), status, headers=headers) for body in replies]
    scripted += [
        Reply(f"<p>{KEY}</p>".encode(), status),
        Reply(f"{'x' * 190}{KEY}".encode(), status),
    ]
    found: list[str] = []
    with FaultServer(scripted) as server:
        agent = connect(server)
        for _ in scripted:
            try:
                completion = await agent.complete(ASK)
            except CallError as failed:
                found.append(f"{failed!r} {vars(failed)!r} {failed.__cause__} {failed.__context__}")
            else:
                found.append(json.dumps(completion_to_json(completion)))
    everything = "\n".join(found).lower()
    # No spelling of it, nor its first or last dozen characters by themselves.
    for piece in (KEY[:15], KEY[-12:], quote(KEY, safe="")[:15]):
        assert piece.lower() not in everything
    assert "[key]" in everything
