"""The layers together, round the real provider, a real server and a real ledger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.function import FunctionAgent, ScriptedAgent
from peerexam.agents.layers.budgets.meter import BudgetLimits, BudgetMeter
from peerexam.agents.layers.stack import LayerSettings, RunContext, assemble, wrap
from peerexam.agents.pricing.priced import FlatPrice
from peerexam.agents.recorded import RecordedAgent
from peerexam.agents.spec import AgentSpec, parse_model
from peerexam.calls import Completion, Message, Request, Sampling, request_key
from peerexam.errors import BudgetReachedError, OverloadedError, SetupError
from peerexam.ledger.base import Ledger
from peerexam.ledger.opening import open_ledger

SECRET = "sk-very-secret-0123456789"
ASK = Request((Message("user", "Why?"),), Sampling(max_tokens=5))


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = open_ledger(tmp_path / "ledger.sqlite")
    yield opened
    await opened.close()


def _spec(text: str, **more: Any) -> AgentSpec:
    provider, model, base_url, options = parse_model(text)
    return AgentSpec("pupil", provider, model, base_url, options=options | more)


async def test_an_overload_is_tried_again_and_only_the_answer_is_stored(
    chat_server: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    overloaded = {"type": "overloaded_error"}
    half = chat_server.completion("The capi") | {"error": overloaded}
    wait = {"retry-after-ms": "1"}
    server = chat_server(
        [chat_server.error(529, headers=wait, **overloaded), half, "The capital is Paris."]
    )
    meter = BudgetMeter(BudgetLimits(usd=1.0))
    agent = assemble(
        _spec(f"openai/m-1@{server.url}?temperature=0.5"),
        LayerSettings(price=FlatPrice(1.0, 2.0)),
        RunContext(ledger=ledger, meters=[meter]),
    )
    got = await agent.complete(ASK)
    assert (got.text, len(server.requests)) == ("The capital is Paris.", 3)
    assert server.requests[0].body["temperature"] == 0.5
    assert got.cost == pytest.approx(13e-6)  # 7 · 1 + 3 · 2 millionths
    stored = await ledger.find(got.call)
    assert isinstance(stored, Completion)
    assert stored.cost == got.cost, "the cost is on disk"
    assert (await agent.complete(ASK)).text == got.text
    assert len(server.requests) == 3, "the second time nothing is asked"
    assert meter.spent.calls == 1, "and nothing counted"
    await agent.close()


async def test_after_the_last_attempt_the_call_has_failed_and_a_later_run_asks_again(
    chat_server: Any, ledger: Ledger
) -> None:
    replies = [chat_server.error(529, "Overloaded", {"retry-after-ms": "1"})]
    server = chat_server(lambda served: replies[0])
    spec = _spec(f"openai/m-1@{server.url}")
    agent = assemble(spec, LayerSettings(attempts=1), RunContext(ledger=ledger))
    with pytest.raises(OverloadedError):
        await agent.complete(ASK)
    await agent.close()
    replies[0] = "now"
    again = assemble(spec, LayerSettings(attempts=1), RunContext(ledger=ledger))
    assert (await again.complete(ASK)).text == "now"
    await again.close()


async def test_unusable_answers_are_stored_each_as_what_it_is(
    chat_server: Any, ledger: Ledger
) -> None:
    states = {"content_filter": "filtered", "length": "truncated", "stop": "empty"}

    def reply(served: Any) -> Any:
        finish = served.last_user_text
        return chat_server.completion("" if finish == "stop" else None, finish)

    server = chat_server(reply)
    agent = assemble(_spec(f"openai/m-1@{server.url}"), run=RunContext(ledger=ledger))
    for finish, state in states.items():
        got = await agent.complete(Request((Message("user", finish),)))
        stored = await ledger.find(got.call)
        assert isinstance(stored, Completion)
        assert (got.state, stored.state) == (state, state)
    await agent.close()


def _on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_no_key_reaches_the_disk(
    chat_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server = chat_server([chat_server.error(401, f"Incorrect key {SECRET}"), "ok"])
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    agent = assemble(_spec(f"openai/m-1@{server.url}"), run=RunContext(ledger=ledger))
    with suppress(Exception):
        await agent.complete(ASK)
    await agent.complete(Request((Message("user", "else"),)))
    await agent.close()
    await ledger.close()
    stored = _on_disk(tmp_path)
    assert b"Incorrect key [key]" in stored, "the failure is there"
    assert SECRET.encode() not in stored


async def test_one_model_with_two_settings_is_two_agents(ledger: Ledger) -> None:
    inner = ScriptedAgent(lambda request: f"at {request.sampling.temperature}")
    cold = wrap(inner, LayerSettings(temperature=0.0), RunContext(ledger=ledger))
    hot = wrap(inner, LayerSettings(temperature=1.0), RunContext(ledger=ledger))
    assert (await cold.complete(ASK)).text == "at 0.0"
    assert (await hot.complete(ASK)).text == "at 1.0"


async def test_the_same_question_asked_at_once_is_one_call_and_counts_once(
    ledger: Ledger,
) -> None:
    inner = ScriptedAgent(lambda request: "ok")
    meter = BudgetMeter(BudgetLimits(calls=1))
    agent = wrap(inner, run=RunContext(ledger=ledger, meters=[meter]))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(agent.complete(ASK))
    assert (inner.calls, meter.spent.calls) == (1, 1)


async def test_a_reached_budget_is_not_stored_as_a_failure(ledger: Ledger) -> None:
    inner = ScriptedAgent(lambda request: "ok")
    agent = wrap(inner, run=RunContext(ledger=ledger, meters=[BudgetMeter(BudgetLimits(calls=0))]))
    with pytest.raises(BudgetReachedError):
        await agent.complete(ASK)
    assert await ledger.find(request_key(inner.fingerprint, ASK)) is None


async def test_who_watches_paid_calls_sees_no_replay(ledger: Ledger) -> None:
    seen: list[Request] = []

    class Watching(Wrapper):
        async def complete(self, request: Request) -> Completion:
            seen.append(request)
            return await self.inner.complete(request)

    agent = wrap(ScriptedAgent(lambda request: "ok"), run=RunContext(ledger=ledger, paid=Watching))
    await agent.complete(ASK)
    await agent.complete(ASK)
    assert len(seen) == 1


async def test_recorded_answers_get_no_layers(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps({"question_id": "q", "answer": "So."}))
    usd = BudgetMeter(BudgetLimits(usd=1.0))
    agent = assemble(_spec(f"file/{path}"), run=RunContext(meters=[usd]))
    assert isinstance(agent, RecordedAgent)
    assert agent.answer_for("q", None).text == "So."


async def test_what_runs_in_this_process_costs_nothing_and_has_no_limit_on_an_attempt() -> None:
    async def slow(messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0.05)
        return "ok"

    settings = LayerSettings(timeout=0.01)
    meter = BudgetMeter(BudgetLimits(usd=0.0))
    agent = wrap(FunctionAgent("mine", slow), settings, RunContext(meters=[meter]), in_process=True)
    got = await agent.complete(ASK)
    assert (got.text, got.cost) == ("ok", 0.0)


def test_a_dollar_budget_and_an_agent_without_a_price_do_not_go_together() -> None:
    with pytest.raises(SetupError, match="price"):
        assemble(
            _spec("openai/m-1@http://127.0.0.1:1/v1"),
            run=RunContext(meters=[BudgetMeter(BudgetLimits(usd=1.0))]),
        )


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("openai/m?temperature=1", LayerSettings(temperature=0.5), "temperature is given twice"),
        ("openai/m?max_tokens=many", LayerSettings(), "max_tokens is a number"),
    ],
)
def test_settings_in_the_model_name_are_checked(
    text: str, settings: LayerSettings, words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        assemble(_spec(text), settings)


async def test_closing_the_outermost_closes_the_provider() -> None:
    inner = ScriptedAgent(lambda request: "ok")
    agent: Agent = wrap(inner)
    await agent.close()
    assert inner.closed
