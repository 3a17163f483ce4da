"""One model asked with and without examples, through a whole exam."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder

MARK = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: {}"
MODELS = {"judge": "j", "plain": "m", "shown": "m"}
QUESTIONS = ("What is chalk?", "Why is chalk white?")


def speak(request: Request) -> str:
    """Answers in two lines, rightly only behind examples, and marks what says so."""
    text = request.messages[0].content
    if "[[begin Response 1" in text:
        return "Verdict: tie"
    if "[[begin Answer" in text:
        return MARK.format(5 if "rightly so" in text else 2)
    return "rightly so\nand more" if text.count("\nAnswer: ") == 5 else "badly\nand more"


def exam(tmp_path: Path, **changes: Any) -> ExamConfig:
    file = tmp_path / "questions.txt"
    file.write_text("\n".join(QUESTIONS), "utf-8")
    models = {"judge": ["examiner", "judge"], "plain": ["examinee"], "shown": ["examinee"]}
    agents = [
        {"name": name, "model": f"openai/{MODELS[name]}@http://127.0.0.1:9/v1", "roles": roles,
         **changes.get(name, {})}
        for name, roles in models.items()
    ]  # fmt: skip
    body = {"agents": agents, "questions": {"file": str(file)}, "voting": {"rounds": 20}}
    return ExamConfig.model_validate(body)


def players() -> dict[str, ScriptedAgent]:
    return {name: ScriptedAgent(speak, name=name) for name in ("judge", "plain", "shown")}


async def test_variants_are_asked_as_told_and_stand_side_by_side(tmp_path: Path) -> None:
    shown = {"shots": 5, "stop_at_line": True, "variant_of": "plain"}
    agents = players()
    config = exam(tmp_path, plain={"shots": 0}, shown=shown)
    outcome = await run_exam(config, tmp_path / "run", agents=agents)
    asked = {name: [r.messages[0].content for r in agents[name].requests] for name in agents}
    assert sorted(asked["plain"]) == sorted(QUESTIONS)
    assert all(len(re.findall("^Question: ", text, re.M)) == 6 for text in asked["shown"])
    answers = {(a.examinee, a.text) for a in RunFolder(tmp_path / "run").answers()}
    assert answers == {("plain", "badly\nand more"), ("shown", "rightly so")}
    benchmark = outcome.standings["benchmark"]
    cells = dict(zip(benchmark["examinees"], benchmark["single"]["all"], strict=True))
    assert {name: cell["percent"] for name, cell in cells.items()} == {"plain": 0.0, "shown": 100.0}
    (pair,) = benchmark["few_shot"]["pairs"]
    assert (pair["zero"], pair["five"]) == ("plain", "shown")


async def test_a_judge_has_no_say_on_its_own_model_behind_examples(tmp_path: Path) -> None:
    judging = {"roles": ["examiner", "judge"], "model": "openai/m@http://127.0.0.1:9/v1"}
    config = exam(tmp_path, judge=judging, shown={"shots": 5})
    await run_exam(config, tmp_path / "run", agents=players(), pilot=False)
    assert list(RunFolder(tmp_path / "run").marks()) == []


async def test_a_default_that_is_written_out_is_answered_from_the_ledger(tmp_path: Path) -> None:
    first, again = players(), players()
    db = str(tmp_path / "calls.sqlite")
    await run_exam(exam(tmp_path), tmp_path / "one", agents=first, db=db)
    written = exam(tmp_path, plain={"shots": 0, "stop_at_line": False})
    await run_exam(written, tmp_path / "two", agents=again, db=db)
    assert len(first["plain"].requests) == len(QUESTIONS)
    assert again["plain"].requests == []
    # Another way of asking is another question.
    other = players()
    await run_exam(exam(tmp_path, plain={"shots": 5}), tmp_path / "three", agents=other, db=db)
    assert len(other["plain"].requests) == len(QUESTIONS)


async def test_examples_for_an_agent_that_answers_nothing_change_nothing(tmp_path: Path) -> None:
    agents = players()
    outcome = await run_exam(exam(tmp_path, judge={"shots": 5}), tmp_path / "run", agents=agents)
    assert outcome.status == "complete"
    assert not any("\nAnswer: " in r.messages[0].content for r in agents["judge"].requests)
