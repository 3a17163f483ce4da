from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from peerexam.agents.function import Chat, FunctionAgent, ScriptedAgent
from peerexam.calls import Completion, Message, Request
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    PermanentError,
    RateLimitedError,
)

ASK = Request((Message("system", "Be brief."), Message("user", "Why?")))


async def answer(messages: list[dict[str, str]]) -> str:
    return f"{messages[0]['content']} {messages[1]['role']}"


def _always(text: str) -> Callable[[Chat], str]:
    return lambda messages: text


async def test_an_async_function_from_messages_to_text_is_an_agent() -> None:
    agent = FunctionAgent("mine", answer)
    got = await agent.complete(ASK)
    assert (got.text, got.state, agent.name) == ("Be brief. user", "ok", "mine")
    assert agent.features == {"chat"}
    await agent.close()


async def test_a_plain_function_runs_in_a_thread_of_its_own() -> None:
    def blocking(messages: list[dict[str, str]]) -> str:
        time.sleep(0.01)
        return threading.current_thread().name

    got = await FunctionAgent("mine", blocking).complete(ASK)
    assert got.text != threading.current_thread().name


async def test_a_callable_object_that_returns_an_awaitable_is_an_agent() -> None:
    class Model:
        def __call__(self, messages: list[dict[str, str]]) -> Any:
            return answer(messages)

    agent = FunctionAgent("mine", Model())
    assert (await agent.complete(ASK)).text == "Be brief. user"
    assert "Model" in agent.fingerprint["function"]


async def test_thinking_and_empty_text_are_told_apart() -> None:
    for text, state in (("<think>a</think>b", "ok"), ("<think>a", "truncated"), ("", "empty")):
        got = await FunctionAgent("mine", _always(text)).complete(ASK)
        assert got.state == state


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (KeyError("x"), PermanentError),
        (TimeoutError(), CallTimeoutError),
        (ConnectionResetError("gone"), ConnectionFailedError),
        (RateLimitedError("slow", 3.0), RateLimitedError),
    ],
)
async def test_what_the_function_raises_becomes_an_error_of_ours(
    raised: Exception, kind: type[CallError]
) -> None:
    async def failing(messages: list[dict[str, str]]) -> str:
        raise raised

    with pytest.raises(kind) as caught:
        await FunctionAgent("mine", failing).complete(ASK)
    assert type(caught.value) is kind


async def test_a_function_that_returns_no_text_fails() -> None:
    broken: Any = lambda messages: None  # noqa: E731
    with pytest.raises(PermanentError, match="NoneType"):
        await FunctionAgent("mine", broken).complete(ASK)


def test_the_fingerprint_tells_functions_names_and_versions_apart() -> None:
    agents = [
        FunctionAgent("a", answer),
        FunctionAgent("b", answer),
        FunctionAgent("a", answer, version="2"),
        FunctionAgent("a", lambda messages: "x"),
        FunctionAgent("a", answer, fingerprint={"model": "own"}),
    ]
    seen = [dict(agent.fingerprint) for agent in agents]
    assert all(one not in seen[at + 1 :] for at, one in enumerate(seen))
    assert seen[4] == {"model": "own"}


async def test_a_scripted_agent_counts_its_calls_and_gives_what_the_script_says() -> None:
    script: list[Any] = ["text", Completion("", "refused"), RateLimitedError("slow")]
    agent = ScriptedAgent(lambda request: script[agent.calls - 1])
    assert (await agent.complete(ASK)).text == "text"
    assert (await agent.complete(ASK)).state == "refused"
    with pytest.raises(RateLimitedError):
        await agent.complete(ASK)
    assert agent.calls == 3
    assert agent.requests == [ASK] * 3
