"""A bug is no fault of a provider: no retry, the run ends, and what was answered stays."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent, Provider
from peerexam.agents.function import FunctionAgent
from peerexam.agents.layers.stack import LayerSettings, RunContext, wrap
from peerexam.calls import Completion, Message, Request, request_key
from peerexam.ledger.opening import open_ledger
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam

ASK = Request((Message("user", "Why?"),))


class Buggy(Provider):
    """An agent with a bug in its code, until it is fixed."""

    def __init__(self, name: str, bug: Exception) -> None:
        super().__init__(name, {"provider": "buggy", "name": name}, {"chat"})
        self.bug: Exception | None = bug
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        await asyncio.sleep(0)
        if self.bug is not None:
            raise self.bug
        return Completion("Because.")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "bug", [TypeError("not a number"), KeyError("choices"), RuntimeError("x"), TimeoutError("own")]
)
async def test_an_exception_from_an_agents_own_code_is_raised_and_not_tried_again(
    bug: Exception, tmp_path: Path
) -> None:
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    buggy = Buggy("buggy", bug)
    agent = wrap(buggy, LayerSettings(attempts=6), RunContext(ledger=ledger))
    with pytest.raises(type(bug)) as caught:
        await agent.complete(ASK)
    assert caught.value is bug
    assert buggy.calls == 1
    assert await ledger.find(request_key(agent.fingerprint, ASK)) is None, "no failure of a call"
    buggy.bug = None
    assert (await agent.complete(ASK)).text == "Because."
    await ledger.close()


def _exam(tmp_path: Path) -> ExamConfig:
    (tmp_path / "questions.jsonl").write_text(
        '{"id": "sky", "text": "What colour is the sky?", "domain": "nature"}\n'
        '{"id": "legs", "text": "How many legs has a horse?", "domain": "nature"}\n'
    )
    agents: list[dict[str, Any]] = [
        {"name": name, "model": f"own/{name}", "roles": [role]}
        for name, role in (("good", "examinee"), ("buggy", "examinee"), ("judge", "judge"))
    ]
    return ExamConfig.model_validate(
        {
            "agents": agents,
            "questions": {"file": tmp_path / "questions.jsonl"},
            "judging": {"marks": False, "reasks": 0},
        }
    )


async def test_a_bug_ends_the_run_and_the_fixed_run_goes_on_from_the_ledger(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    async def good(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return "Blue, and four."

    async def judge(messages: list[dict[str, str]]) -> str:
        return "Verdict: Response 1"

    buggy = Buggy("buggy", KeyError("choices"))
    agents: dict[str, Agent] = {
        "good": FunctionAgent("good", good),
        "buggy": buggy,
        "judge": FunctionAgent("judge", judge),
    }
    config = _exam(tmp_path)
    with pytest.RaisesGroup(KeyError, allow_unwrapped=True, flatten_subgroups=True):
        await run_exam(config, tmp_path / "run", agents=agents)
    with closing(sqlite3.connect(tmp_path / "run" / "ledger.sqlite")) as file:
        assert file.execute("pragma integrity_check").fetchone() == ("ok",)
    before = set(asked)
    buggy.bug = None
    outcome = await run_exam(config, tmp_path / "run", agents=agents)
    assert outcome.status == "complete", outcome.reason
    assert len(asked) == len(set(asked)), "nothing that was answered is asked again"
    assert before <= set(asked)
