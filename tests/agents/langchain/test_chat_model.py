"""Agents as LangChain chat models: chains, batches, threads and loops."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.caches import InMemoryCache
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

import peerexam
from peerexam.agents.function import FunctionAgent, ScriptedAgent
from peerexam.agents.langchain.background_loop import BackgroundLoop
from peerexam.agents.langchain.chat_model import PeerexamChatModel
from peerexam.calls import Completion, Form, Message, Request, Sampling, TokenLogprob, Usage
from peerexam.errors import PermanentError, RateLimitedError, RefusedParameterError, RetryableError

FULL = Completion(
    text="Paris.",
    finish_reason="stop",
    usage=Usage(7, 3, 2),
    latency=0.25,
    thinking="It is in Europe.",
    logprobs=(TokenLogprob("Paris", -0.5), TokenLogprob(".", -0.25)),
    model="served",
    dropped=("seed",),
    cost=0.001,
    call="f" * 64,
)
ASK = Request((Message("user", "Capital of France?"),), Sampling(temperature=0.5, stop=("END",)))


def echo(request: Request) -> str:
    return f"{request.messages[-1].content}!"


def test_it_stands_in_a_chain() -> None:
    agent = ScriptedAgent(echo)
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{what}")])
    chain = prompt | peerexam.as_chat_model(agent) | StrOutputParser()
    assert chain.invoke({"what": "Why"}) == "Why!"
    assert chain.batch([{"what": str(n)} for n in range(5)]) == [f"{n}!" for n in range(5)]
    assert agent.requests[0].messages == (Message("system", "Be brief."), Message("user", "Why"))


async def test_it_may_be_called_plainly_and_asynchronously_inside_of_a_running_loop() -> None:
    async def answer(messages: list[dict[str, str]]) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return "yes"

    loops: set[int] = set()
    model = peerexam.as_chat_model(FunctionAgent("mine", answer))
    texts = [(await model.ainvoke("a")).content, model.invoke("b").content]
    texts += [reply.content for reply in await model.abatch(["c", "d"])]
    texts += [reply.content for reply in model.batch(["e", "f"])]
    texts += [chunk.content async for chunk in model.astream("g")][:1]
    assert texts == ["yes"] * 7
    assert len(loops) == 1, "an agent's connections belong to one event loop"
    assert id(asyncio.get_running_loop()) not in loops


async def test_calls_of_a_batch_are_made_at_once() -> None:
    async def answer(request: Request) -> str:
        arrived.append(request)
        if len(arrived) == 4:
            together.set()
        await together.wait()
        return "yes"

    arrived: list[Request] = []
    together = asyncio.Event()
    replies = await peerexam.as_chat_model(ScriptedAgent(answer)).abatch(["a", "b", "c", "d"])
    assert [reply.content for reply in replies] == ["yes"] * 4


async def test_whoever_stops_waiting_cancels_the_call() -> None:
    started, cancelled = threading.Event(), threading.Event()

    async def answer(request: Request) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    call = asyncio.ensure_future(peerexam.as_chat_model(ScriptedAgent(answer)).ainvoke("a"))
    await asyncio.to_thread(started.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(cancelled.wait, 10)


def test_the_message_carries_all_that_is_known_of_the_answer() -> None:
    message = peerexam.as_chat_model(ScriptedAgent(lambda request: FULL)).invoke("a")
    assert message.content == "Paris."
    assert message.usage_metadata == {
        "input_tokens": 7,
        "output_tokens": 3,
        "total_tokens": 10,
        "input_token_details": {"cache_read": 2},
    }
    told = message.response_metadata
    assert (told["state"], told["finish_reason"], told["model_name"]) == ("ok", "stop", "served")
    assert (told["dropped"], told["peerexam"]["cost"]) == (["seed"], 0.001)
    assert told["peerexam"]["call"] == FULL.call
    assert told["logprobs"]["content"][0] == {"token": "Paris", "logprob": -0.5}
    kinds = [(block["type"], block.get("reasoning")) for block in message.content_blocks]
    assert ("reasoning", "It is in Europe.") in kinds
    json.dumps(told)


@pytest.mark.parametrize("state", ["refused", "filtered", "truncated", "empty"])
def test_an_unusable_answer_is_a_message_with_its_state(state: Any) -> None:
    agent = ScriptedAgent(lambda request: Completion("No.", state))
    message = peerexam.as_chat_model(agent).invoke("a")
    assert message.response_metadata["state"] == state
    assert message.additional_kwargs.get("refusal") == ("No." if state == "refused" else None)
    assert message.usage_metadata is None


def test_a_failed_call_raises_the_agents_error_and_a_chain_can_retry_it() -> None:
    script: list[Any] = [RateLimitedError("slow", 0.0), "yes"]
    agent = ScriptedAgent(lambda request: script[agent.calls - 1])
    model = peerexam.as_chat_model(agent)
    with pytest.raises(RateLimitedError):
        model.invoke("a")
    script.insert(1, RateLimitedError("slow", 0.0))
    patient = model.with_retry(
        retry_if_exception_type=(RetryableError,), wait_exponential_jitter=False
    )
    assert patient.invoke("a").content == "yes"
    assert agent.calls == 3


def test_parameters_come_from_the_call_then_from_the_model() -> None:
    agent = ScriptedAgent(echo)
    model = peerexam.as_chat_model(agent, temperature=0.3, max_tokens=9)
    model.invoke("a")
    model.bind(stop=["X"], temperature=0.7, seed=5).invoke("a")
    model.invoke("a", max_completion_tokens=4, top_p=0.5, logprobs=True, draw=2)
    assert [request.sampling for request in agent.requests] == [
        Sampling(temperature=0.3, max_tokens=9),
        Sampling(temperature=0.7, max_tokens=9, stop=("X",), seed=5),
        Sampling(temperature=0.3, max_tokens=4, top_p=0.5, top_logprobs=0),
    ]
    assert [request.draw for request in agent.requests] == [0, 0, 2]


def test_a_json_schema_becomes_the_form_of_the_request() -> None:
    agent = ScriptedAgent(echo, features=("chat", "json_schema"))
    asked = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    peerexam.as_chat_model(agent).invoke("a", response_format=asked)
    assert agent.requests[0].sampling.form == Form("json_schema", '{"type":"object"}')
    with pytest.raises(RefusedParameterError, match="json_schema"):
        peerexam.as_chat_model(agent).invoke("a", response_format={"type": "json_object"})


@pytest.mark.parametrize("keyword", [{"tools": []}, {"n": 2}, {"tool_choice": "any"}])
def test_a_parameter_that_agents_do_not_have_is_refused_by_name(keyword: dict[str, Any]) -> None:
    agent = ScriptedAgent(echo)
    with pytest.raises(RefusedParameterError, match=next(iter(keyword))):
        peerexam.as_chat_model(agent).invoke("a", **keyword)
    assert not agent.requests


def test_text_messages_of_all_kinds_are_turns() -> None:
    agent = ScriptedAgent(echo)
    peerexam.as_chat_model(agent).invoke(
        [
            SystemMessage("a"),
            HumanMessage([{"type": "text", "text": "b"}, "c"]),
            AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "d"}]),
            ChatMessage(content="e", role="user"),
        ]
    )
    assert agent.requests[0].messages == (
        Message("system", "a"),
        Message("user", "bc"),
        Message("assistant", "d"),
        Message("user", "e"),
    )


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (ToolMessage("4", tool_call_id="1"), "a tool message"),
        (ChatMessage(content="x", role="critic"), "a critic message"),
        (AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": "1"}]), "tool calls"),
        (HumanMessage([{"type": "image_url", "image_url": {"url": "x"}}]), "image_url"),
    ],
)
def test_what_is_no_text_is_refused_with_the_mend(message: BaseMessage, words: str) -> None:
    agent = ScriptedAgent(echo)
    with pytest.raises(PermanentError, match=words):
        peerexam.as_chat_model(agent).invoke([message])
    assert not agent.requests


@pytest.mark.parametrize(
    "completion",
    [
        FULL,
        Completion("", "filtered", "content_filter"),
        Completion("", "truncated", thinking="hm"),
        Completion("I must not.", "refused", usage=Usage(None, 3)),
    ],
)
async def test_an_agent_comes_back_from_langchain_as_it_was(completion: Completion) -> None:
    agent = ScriptedAgent(lambda request: completion, "inner", fingerprint={"model": "own"})
    back = peerexam.from_langchain(peerexam.as_chat_model(agent), "outer")
    assert await back.complete(ASK) == completion
    assert agent.requests == [ASK]
    assert back.fingerprint["fields"]["agent"] == {"model": "own"}


async def test_an_error_comes_back_from_langchain_as_it_was() -> None:
    agent = ScriptedAgent(lambda request: RateLimitedError("slow", 3.0))
    back = peerexam.from_langchain(peerexam.as_chat_model(agent))
    with pytest.raises(RateLimitedError) as caught:
        await back.complete(ASK)
    assert caught.value.retry_after == 3.0


def test_langchains_cache_tells_agents_and_parameters_apart() -> None:
    cache = InMemoryCache()
    agents = [ScriptedAgent(echo, name) for name in ("a", "a", "b")]
    temperatures = (0.0, 0.5, 0.0)
    for _ in range(2):
        for agent, temperature in zip(agents, temperatures, strict=True):
            model = PeerexamChatModel(agent=agent, temperature=temperature, cache=cache)
            assert model.invoke("q").content == "q!"
    assert [agent.calls for agent in agents] == [1, 1, 1]


async def test_closing_the_model_closes_the_agent() -> None:
    for number in range(2):
        agent = ScriptedAgent(echo)
        model = peerexam.as_chat_model(agent)
        if number:
            model.close()
        else:
            await model.aclose()
        assert agent.closed


def test_tokens_are_estimated_without_a_tokenizer() -> None:
    assert peerexam.as_chat_model(ScriptedAgent(echo)).get_num_tokens("abcdef") == 2


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    made = BackgroundLoop("test")
    yield made
    made.stop()


def test_a_background_loop_starts_anew_after_it_was_stopped(loop: BackgroundLoop) -> None:
    async def name() -> str:
        return threading.current_thread().name

    assert loop.run(name()) == "test"
    loop.stop()
    loop.stop()
    assert loop.run(name()) == "test"


def test_a_plain_call_on_the_loops_own_thread_is_refused_and_does_not_hang(
    loop: BackgroundLoop,
) -> None:
    async def nested() -> str:
        return loop.run(asyncio.sleep(0, "never"))

    with pytest.raises(RuntimeError, match="ainvoke"):
        loop.run(nested())


async def test_an_asynchronous_call_on_the_loop_itself_is_made_there(loop: BackgroundLoop) -> None:
    async def nested() -> str:
        return await loop.arun(asyncio.sleep(0, "there"))

    assert await loop.arun(nested()) == "there"


def test_importing_peerexam_does_not_import_langchain() -> None:
    code = "import sys, peerexam; print([m for m in sys.modules if m.startswith('langchain')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_how_to_runs_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "langchain.md"
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "pupil ['chat']",
        "What colour is the sky? Blue.",
        "['The sea? Blue.', 'A whale? Blue.']",
    ]
