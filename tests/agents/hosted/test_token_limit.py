"""Limits on replies that an endpoint refuses, over real connections."""

from __future__ import annotations

from typing import Any

import pytest

from peerexam.agents.hosted.openai.provider import create
from peerexam.agents.hosted.rejections import Rejection
from peerexam.agents.hosted.token_limit import TokenRoom
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Message, Request, Sampling
from peerexam.errors import CallError

ASK = Request((Message("user", "Why?"),), Sampling(max_tokens=16_384))


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        # OpenAI, Anthropic, Groq, vLLM now and before, as they put it.
        (
            "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, "
            "whereas you provided 16384.",
            4096,
        ),
        (
            "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for "
            "claude-3-5-sonnet-20241022",
            8192,
        ),
        ("`max_tokens` must be less than or equal to `8192`, the maximum value", 8192),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum "
            "context length is 4096 tokens and your request has 30 input tokens (16384 > 4096 - "
            "30).",
            4096 - 10,  # 2 tokens of "Why?" by its bytes, and 8 of the message
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 16414 "
            "tokens (30 in the messages, 16384 in the completion).",
            4096 - 10,
        ),
        # No room for an answer, a prompt that is too long by itself, and other refusals.
        ("max_tokens: 50 > 16, which is the maximum allowed number of output tokens", 16_384),
        (
            "This model's maximum context length is 4096 tokens. However, your messages resulted "
            "in 5000 tokens.",
            16_384,
        ),
        ("Unsupported parameter: 'max_tokens'.", 16_384),
    ],
)
def test_what_is_allowed_is_read_from_the_refusal(words: str, allowed: int) -> None:
    room = TokenRoom()
    room.learn(Rejection(400, words))
    assert room.within(ASK, 16_384) == allowed
    assert room.within(ASK, 300) == 300


async def test_a_limit_above_the_models_is_lowered_once_for_all_calls(chat_server: Any) -> None:
    def script(served: Any) -> Any:
        if served.body["max_tokens"] > 4096:
            words = "max_tokens is too large. This model supports at most 4096 completion tokens"
            return chat_server.error(400, words, param="max_tokens", code="invalid_value")
        return "Because."

    server = chat_server(script)
    agent = create(AgentSpec("a", "openai", "old", server.url))
    try:
        for _ in range(3):
            assert (await agent.complete(ASK)).text == "Because."
    finally:
        await agent.close()
    assert [one.body["max_tokens"] for one in server.requests] == [16_384, 4096, 4096, 4096]


async def test_a_server_that_goes_on_refusing_is_believed(chat_server: Any) -> None:
    words = "max_tokens is too large. This model supports at most 4096 completion tokens"
    server = chat_server(lambda served: chat_server.error(400, words, param="max_tokens"))
    agent = create(AgentSpec("a", "openai", "old", server.url))
    try:
        with pytest.raises(CallError, match="max_tokens"):
            await agent.complete(ASK)
    finally:
        await agent.close()
    assert len(server.requests) == 2
