"""An exam with a budget of time: it ends in order, and the same command goes on with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder

RECORDS = ("questions", "answers", "marks", "verdicts", "rankings")


def _exam(folder: Path, *, own: float | None = None, run: float | None = None) -> ExamConfig:
    questions = folder / "own.jsonl"
    questions.write_text(
        "".join(
            f'{{"id": "q{n}", "text": "What is the {n}th river?", "domain": "rivers"}}\n'
            for n in range(6)
        )
    )
    return ExamConfig.model_validate(
        {
            "name": "timed",
            "agents": [
                {
                    "name": name,
                    "model": f"openai/{name}@http://127.0.0.1:9/v1",
                    "roles": ["examinee", "judge"],
                    "budget": {"seconds": own} if name == "a" and own is not None else {},
                }
                for name in "abc"
            ],
            "questions": {"file": questions},
            "limits": {"concurrency": 4, "window": 2, "budget": {"seconds": run}},
        }
    )


def _speaker(name: str) -> Callable[[Request], Coroutine[Any, Any, str]]:
    async def reply(request: Request) -> str:
        text = request.messages[-1].content
        await asyncio.sleep(0.005)
        if "Verdict:" in text:
            return "Verdict: Response 1"
        if "overall" in text:
            return "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 4"
        return f"{name} says: the Nile."

    return reply


def _speakers() -> dict[str, ScriptedAgent]:
    return {name: ScriptedAgent(_speaker(name), name=name) for name in "abc"}


def _contents(folder: Path) -> dict[str, bytes]:
    return {kind: (folder / f"{kind}.jsonl").read_bytes() for kind in RECORDS}


async def _calm(folder: Path) -> tuple[dict[str, bytes], int]:
    agents = _speakers()
    outcome = await run_exam(_exam(folder), folder / "calm", agents=agents)
    assert outcome.status == "complete", outcome.reason
    return _contents(folder / "calm"), sum(agent.calls for agent in agents.values())


async def _until_complete(config: ExamConfig, out: Path) -> tuple[list[str], int]:
    """Hold sessions until the exam is complete; why each but the last ended, and all calls."""
    reasons: list[str] = []
    calls = 0
    for _ in range(200):
        agents = _speakers()
        outcome = await run_exam(config, out, agents=agents)
        calls += sum(agent.calls for agent in agents.values())
        if outcome.status == "complete":
            break
        reasons.append(outcome.reason or "")
        answered = [answer.question_id for answer in RunFolder(out).answers()]
        assert all(answered.count(name) == 3 for name in answered), "whole questions alone"
    return reasons, calls


async def test_sessions_of_a_few_calls_come_to_the_same_exam_and_pay_for_nothing_twice(
    tmp_path: Path,
) -> None:
    calm, needed = await _calm(tmp_path)
    reasons, calls = await _until_complete(_exam(tmp_path, run=0.12), tmp_path / "run")
    assert reasons, "162 calls of 0.005 seconds, four at once, take 0.2 at least"
    assert all("the budget of the run is reached" in reason for reason in reasons)
    assert all("0.12 seconds a session" in reason for reason in reasons)
    assert "questions completed" in reasons[0]
    assert calls == needed
    assert _contents(tmp_path / "run") == calm


async def test_an_agents_time_is_that_of_its_own_calls_of_this_session(tmp_path: Path) -> None:
    calm, needed = await _calm(tmp_path)
    reasons, calls = await _until_complete(_exam(tmp_path, own=0.2), tmp_path / "run")
    assert reasons, "its 54 calls take 0.27 seconds at least"
    assert all("the budget of agent 'a' is reached" in reason for reason in reasons)
    assert calls == needed
    assert _contents(tmp_path / "run") == calm
