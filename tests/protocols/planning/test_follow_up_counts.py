"""Every follow-up that was due is in the counts, as a question or as one that is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import peerexam
from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.config.models import ExamConfig

EXAM: dict[str, Any] = {
    "questions": {"domains": ["tides"], "per_domain": 2},
    "follow_ups": {"rounds": 1},
    "judging": {"self_preference": False},
    "voting": {"rounds": 20},
}
NAMES = ("a", "b", "c")
FULL_MARKS = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 5"


def speaker(name: str, follow_up: str) -> Callable[[Request], str]:
    """Sets two questions, gives full marks to everybody, and follows up as it is told to."""

    def speak(request: Request) -> str:
        text = request.messages[0].content
        if "follow question" in text:
            return follow_up
        if "[[begin Response 1" in text:
            return "Verdict: Response 1"
        if "[[begin Answer" in text:
            return FULL_MARKS
        if "tides" in text:
            return f"1. How high are the tides, {name}?\n2. Why do tides turn twice a day, {name}?"
        return f"By the moon, says {name}."

    return speak


def spoken_exam(out: Path, lost_by: str | None) -> dict[str, Any]:
    """The counts of an exam in which one examiner never gets a follow-up out."""
    follow_ups = {
        name: "none today" if name == lost_by else "follow question: And why is that so?"
        for name in NAMES
    }
    agents = {name: ScriptedAgent(speaker(name, follow_ups[name]), name=name) for name in NAMES}
    models = [{"name": name, "model": f"openai/{name}@http://127.0.0.1:9/v1"} for name in NAMES]
    config = ExamConfig.model_validate({**EXAM, "agents": models})
    counts: dict[str, Any] = peerexam.run(config, out, agents=agents).standings["counts"]
    return counts


# Three authors, two questions each, two other examinees, full marks: 12 follow-ups are due.
@pytest.mark.parametrize(("lost_by", "had"), [(None, 12), ("a", 8)])
def test_follow_ups_that_were_due_are_planned_questions(
    tmp_path: Path, lost_by: str | None, had: int
) -> None:
    counts = spoken_exam(tmp_path, lost_by)
    assert counts["questions"] == {"planned": 6 + 12, "ok": 6 + had}


def test_a_run_that_is_judged_or_joined_later_counts_its_follow_ups_once(tmp_path: Path) -> None:
    players = [{"name": n, "model": f"sim/{n}?ability=3"} for n in NAMES]
    config = ExamConfig.model_validate({**EXAM, "agents": players})
    peerexam.run(config, tmp_path / "run")
    judge = peerexam.AgentConfig(name="z", model="sim/z")

    def questions(folder: Path) -> dict[str, int]:
        run = peerexam.RunFolder(folder)
        lines = sum(1 for _ in run.questions())
        counts: dict[str, int] = run.read_standings()["counts"]["questions"]
        assert counts == run.read_manifest()["counts"]["questions"]
        assert lines > 6
        return {**counts, "lines": lines}

    before = questions(tmp_path / "run")
    assert before["planned"] == before["ok"] == before["lines"]
    asyncio.run(peerexam.rejudge(tmp_path / "run", [judge], tmp_path / "again"))
    assert questions(tmp_path / "again") == before
    asyncio.run(peerexam.add(tmp_path / "run", judge))
    after = questions(tmp_path / "run")
    assert after["planned"] == after["ok"] == after["lines"] >= before["lines"]
