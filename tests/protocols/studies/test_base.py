"""Asking agents outside an exam."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from peerexam import FunctionAgent
from peerexam.calls import Message, Request
from peerexam.errors import ConfigError, SetupError
from peerexam.protocols.config.models import AgentConfig, Budget, Limits
from peerexam.protocols.planning.ranges import exactly
from peerexam.protocols.studies.base import Reply, Study, ask, study_config, studying
from peerexam.protocols.studies.plan import StudyWork, study_plan
from peerexam.protocols.studies.result import Measure, StudyResult, read_result, write_result
from peerexam.stats.core.estimate import Estimate

Chat = list[dict[str, str]]

ECHO = AgentConfig(name="echo", model="file/none.jsonl")


def request(text: str) -> Request:
    return Request((Message("user", text),))


async def numbers(study: Study, items: Sequence[int]) -> tuple[list[str | None], str | None]:
    async def one(item: int) -> str | None:
        reply: Reply = await ask(study.agents["echo"], request(f"say {item}"))
        return reply.text

    gone = await study.over(items, one)
    return list(gone.found), gone.stopped


async def test_what_was_asked_once_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    async def loud(messages: Chat) -> str:
        asked.append(messages[-1]["content"])
        return messages[-1]["content"].upper()

    echo = FunctionAgent("echo", loud)

    config = study_config([ECHO], "numbers")
    for _ in range(2):
        async with studying(config, tmp_path / "study", agents={"echo": echo}) as study:
            found, stopped = await numbers(study, range(5))
        assert found == [f"SAY {n}" for n in range(5)]
        assert stopped is None
    assert sorted(asked) == [f"say {n}" for n in range(5)]


async def test_a_reached_budget_leaves_the_first_items_whole(tmp_path: Path) -> None:
    async def same(messages: Chat) -> str:
        return messages[-1]["content"]

    echo = FunctionAgent("echo", same)
    few = study_config([ECHO], "numbers", limits=Limits(concurrency=1, budget=Budget(calls=3)))
    async with studying(few, tmp_path / "study", agents={"echo": echo}) as study:
        found, stopped = await numbers(study, range(5))
    assert found == [f"say {n}" for n in range(3)]
    assert stopped is not None
    assert "3 calls" in stopped
    more = study_config([ECHO], "numbers", limits=Limits(concurrency=1, budget=Budget(calls=5)))
    async with studying(more, tmp_path / "study", agents={"echo": echo}) as study:
        found, stopped = await numbers(study, range(5))
    assert len(found) == 5
    assert stopped is None


async def test_a_failed_call_is_a_reply_that_says_why(tmp_path: Path) -> None:
    async def silent(messages: Chat) -> str:
        raise ValueError("no voice")

    echo = FunctionAgent("echo", silent)

    async with studying(
        study_config([ECHO], "numbers"), tmp_path / "study", agents={"echo": echo}
    ) as study:
        reply = await ask(study.agents["echo"], request("say 1"))
    assert reply.text is None
    assert reply.error is not None
    assert "no voice" in reply.error


def test_simulated_players_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'toy' is a simulated participant"):
        study_config([AgentConfig(name="toy", model="sim/toy")], "numbers")
    with pytest.raises(ConfigError, match="at least one agent"):
        study_config([], "numbers")


async def test_the_folder_of_an_exam_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text("name: mine\n")
    with pytest.raises(SetupError, match="holds an exam"):
        async with studying(study_config([ECHO], "numbers"), tmp_path):
            pass


def test_a_plan_prices_what_it_can() -> None:
    priced = AgentConfig.model_validate(
        {"name": "dear", "model": "openai/x@http://here", "price": {"input": 2, "output": 10}}
    )
    unknown = AgentConfig(name="who", model="openai/x@http://here")
    config = study_config([priced, unknown], "numbers")
    work = [
        StudyWork(name, "sums", exactly(10), exactly(1_000_000), exactly(100_000))
        for name in ("dear", "who")
    ]
    body = study_plan(config, work, ["sums are short"]).to_json()
    assert body["calls"] == {"least": 20, "expected": 20, "most": 20}
    # By hand: a million tokens in at 2 dollars and a tenth of one out at 10.
    assert body["lines"][0]["cost_usd"]["expected"] == 3.0
    assert body["lines"][1]["cost_usd"] is None
    assert body["assumptions"][0] == "sums are short"


def test_a_result_comes_back_as_it_was_left(tmp_path: Path) -> None:
    known = Measure("a", "dg_diff", "DG-Diff", Estimate(1.5, 1, 2, n=4), "gsm8k", unit="points")
    none = Measure("a", "dg_diff", "DG-Diff", Estimate(None, reason="no items"), "triviaqa")
    result = StudyResult("discrimination", {"seed": 0}, {"a": {"model": "m"}}, [known, none])
    write_result(tmp_path / "study", result)
    assert read_result(tmp_path / "study") == result.to_json()
    assert read_result(tmp_path / "study")["measures"][1]["value"] is None
    with pytest.raises(SetupError, match="missing"):
        read_result(tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(SetupError, match="no result of a study"):
        read_result(tmp_path)
