"""Prices where a user meets them: plan and manifest."""

from __future__ import annotations

from typing import Any

import pytest

from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.prices import price_held, price_text, quotes
from peerexam.protocols.planning.plan import plan
from peerexam.report.run.basis import agent_rows

HERE: dict[str, Any] = {"source": "runs here", "input": 0.0, "output": 0.0}


def exam(*agents: dict[str, Any]) -> ExamConfig:
    return ExamConfig.model_validate(
        {"agents": list(agents), "questions": {"domains": ["x"], "per_domain": 2}}
    )


SET = {"name": "set", "model": "openai/m@http://127.0.0.1:1/v1"}
CONFIG = exam(
    {**SET, "price": {"input": 1.0, "output": 2.0, "cached_input": 0.25}},
    {"name": "mystery", "model": "openai/m@http://127.0.0.1:2/v1"},
    {"name": "player", "model": "sim/parrot"},
    {"name": "local", "model": "local/smollm2"},
)


def test_a_plan_shows_every_price_with_its_source_and_unknown_as_null() -> None:
    assert plan(CONFIG).to_json()["prices"] == {
        "set": {"input": 1.0, "output": 2.0, "cached_input": 0.25, "source": "config"},
        "mystery": None,
        "player": HERE,
        "local": HERE,
    }


def test_a_plan_takes_nothing_as_cached() -> None:
    dear = plan(CONFIG).lines
    for line in (line for line in dear if line.agent == "set"):
        assert line.cost is not None
        # 1 and 2 dollars a million
        expected = (line.prompt_tokens.most + 2 * line.completion_tokens.most) / 1e6
        assert line.cost.most == pytest.approx(expected)


def test_a_hosted_model_is_planned_and_held_by_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("genai_prices")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    config = exam({"name": "big", "model": "openai/gpt-4o-mini"}, SET)
    planned = plan(config)
    assert planned.unpriced == ("set",)
    assert planned.cost.most > 0
    quote = planned.prices["big"]
    assert quote is not None
    assert price_text(quote).startswith("$0.15 in, $0.6 out")
    held = price_held(config.agents[0], {"provider": "openai"})
    assert held["listed_as"] == "openai/gpt-4o-mini"
    assert held["price_list"].startswith("genai-prices ")


def test_an_agent_that_a_program_handed_over_has_only_the_exams_own_price() -> None:
    big = exam({"name": "big", "model": "openai/gpt-4o-mini"}, SET).agents[0]
    assert price_held(big, {"provider": "function"}) is None
    assert price_held(CONFIG.agents[0], {"provider": "function"})["source"] == "config"


def test_the_report_calls_an_unknown_price_unknown_and_a_free_one_none() -> None:
    agents = [{"name": agent.name, "price": price_held(agent, {})} for agent in CONFIG.agents]
    rows = agent_rows({"agents": [*agents, {"name": "of an older run"}]})
    set_here = "$1 in, $2 out (set by the exam)"
    assert [row.price for row in rows] == [set_here, "unknown", "none", "none", "–"]


def test_quotes_name_every_agent() -> None:
    assert list(quotes(CONFIG)) == ["set", "mystery", "player", "local"]
