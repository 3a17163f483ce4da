from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import peerexam
from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.errors import ConfigError, OverloadedError, PeerexamError, SetupError
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.dataset import Generated, generate, plan_setting
from peerexam.protocols.planning.plan import plan
from peerexam.protocols.run.runner import run_exam
from peerexam.records import to_json
from peerexam.runfolder import RunFolder
from peerexam.runfolder.sealing import canary_of, seal_of

DAY = "2024-05-17"


def config(**more: Any) -> ExamConfig:
    body: dict[str, Any] = {
        "name": "set",
        "agents": [
            {"name": name, "model": f"openai/{name}@http://127.0.0.1:9/v1", "roles": roles}
            for name, roles in (
                ("alice", ["examiner", "examinee", "judge"]),
                ("bob", ["examiner"]),
                ("grader", ["judge"]),
                ("idle", ["examinee", "judge"]),
            )
        ],
        "questions": {"domains": ["tides", "bread"], "per_domain": 2},
    }
    questions = {**body["questions"], **more.pop("questions", {})}
    return ExamConfig.model_validate({**body, **more, "questions": questions})


def author(name: str) -> Callable[[Request], str]:
    """Sets questions that name it and the domain, and answers its own with its name."""

    def reply(request: Request) -> str:
        text = request.messages[-1].content
        found = re.findall(r"domain: (.+)", text)
        if not found:
            return f"{name} holds so."
        domain = found[-1].strip()
        wanted = int(re.findall(r"Write ([0-9]+)", text)[0])
        things = ("first", "second", "third", "fourth")
        return "\n".join(
            f"{at}. What would {name} ask {things[at - 1]} of all about {domain}?"
            for at in range(1, wanted + 1)
        )

    return reply


def cast() -> dict[str, ScriptedAgent]:
    speakers: dict[str, Callable[[Request], Any]] = {
        "alice": author("alice"),
        "bob": author("bob"),
        "grader": lambda _: "Level: analysis",
    }
    return {name: ScriptedAgent(speak, name, features={"chat"}) for name, speak in speakers.items()}


async def made(
    out: Path, agents: dict[str, ScriptedAgent], exam: ExamConfig, today: str = DAY
) -> Generated:
    return await generate(exam, out, today=today, agents=agents)


def files_of(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*.*"))
        if path.is_file() and not path.name.startswith("ledger")
    }


async def test_a_data_set_has_its_questions_a_manifest_and_a_seal(tmp_path: Path) -> None:
    agents = cast()
    found = await made(tmp_path / "set", agents, config())
    assert (found.status, len(found.questions.questions)) == ("complete", 8)
    lines = (tmp_path / "set" / "data" / "questions.jsonl").read_text("utf-8").splitlines()
    bodies = [json.loads(line) for line in lines]
    assert bodies == [to_json(question) for question in found.questions.questions]
    manifest = RunFolder(tmp_path / "set").read_manifest()
    assert manifest["questions_hash"] == seal_of(bodies) == found.questions.seal
    assert manifest["canary"] == canary_of(manifest["questions_hash"])
    assert (manifest["kind"], manifest["generated"], manifest["seed"]) == ("dataset", DAY, 0)
    assert [agent["name"] for agent in manifest["agents"]] == ["alice", "bob"]
    assert manifest["agents"][0]["model"] == "openai/alice@http://127.0.0.1:9/v1"
    # Every question came of one prompt, whose hash stands in the question too.
    (prompt,) = manifest["prompts"]["questions"]
    assert prompt == bodies[0]["prompt"]
    assert PromptLibrary().render("questions_peer", True, domain="x", n=1, already=[], concise=0,
                                  complex=0, compound=0).prompt_hash == prompt  # fmt: skip
    assert not (tmp_path / "set" / "data" / "levels.jsonl").exists()


async def test_only_those_who_set_grade_or_check_are_built(tmp_path: Path) -> None:
    # `idle` has an address at which nobody listens, and no key: building it would not matter, a
    # call to it would.
    exam = config(
        questions={"levels": {"classifiers": ["grader"]}, "references": {"draws": 1}},
    )
    agents = cast()
    found = await made(tmp_path / "set", agents, exam)
    assert [agent["name"] for agent in found.manifest["agents"]] == ["alice", "bob", "grader"]
    assert found.manifest["agents"][2]["roles"] == ["classifier"]
    first = found.questions.questions[0]
    assert (first.level, first.reference) == ("analysis", "alice holds so.")
    data = RunFolder(tmp_path / "set" / "data")
    assert len(list(data.levels())) == len(list(data.references())) == 8
    assert found.manifest["counts"]["levels"] == {"planned": 8, "ok": 8}


async def test_the_same_command_again_asks_nothing_and_leaves_the_same_bytes(
    tmp_path: Path,
) -> None:
    exam = config(questions={"levels": {"classifiers": ["grader"]}})
    await made(tmp_path / "set", cast(), exam)
    before = files_of(tmp_path / "set")
    agents = cast()
    await made(tmp_path / "set", agents, exam, today="2031-01-01")
    assert files_of(tmp_path / "set") == before  # the first date stays, too
    assert [agent.calls for agent in agents.values()] == [0, 0, 0]


async def test_other_questions_have_another_date(tmp_path: Path) -> None:
    await made(tmp_path / "set", cast(), config())
    before = files_of(tmp_path / "set")
    other = config(questions={"per_domain": 3})
    with pytest.raises(SetupError, match=r"(?s)questions.per_domain: 2 → 3.*--replace"):
        await made(tmp_path / "set", cast(), other, today="2031-01-01")
    assert files_of(tmp_path / "set") == before
    found = await generate(other, tmp_path / "set", today="2031-01-01", agents=cast(), replace=True)
    assert found.manifest["generated"] == "2031-01-01"


async def test_what_sets_no_question_may_change_beside_a_data_set(tmp_path: Path) -> None:
    await made(tmp_path / "set", cast(), config())
    judging = config(judging={"marks": False}, answers={"max_tokens": 9}, limits={"concurrency": 3})
    assert (await made(tmp_path / "set", cast(), judging)).status == "complete"


async def test_another_prompt_in_the_same_file_is_another_set_up(tmp_path: Path) -> None:
    prompt = tmp_path / "questions.j2"
    shipped = Path(peerexam.__file__).parent / "examiners" / "templates" / "questions_peer.j2"
    prompt.write_text(shipped.read_text())
    exam = config(prompts={"questions_peer": str(prompt)})
    await made(tmp_path / "set", cast(), exam)
    prompt.write_text(prompt.read_text() + " ")
    with pytest.raises(SetupError, match=r"prompts.questions_peer: its content has changed"):
        await made(tmp_path / "set", cast(), exam)


async def test_a_reached_budget_leaves_what_is_whole_and_a_bigger_one_goes_on(
    tmp_path: Path,
) -> None:
    whole = await made(tmp_path / "whole", cast(), config())
    agents = cast()
    part = await made(tmp_path / "set", agents, config(limits={"budget": {"calls": 3}}))
    assert part.status == "partial"
    assert part.reason is not None
    assert "6 of 8 questions are set; run the same command" in part.reason
    assert sum(agent.calls for agent in agents.values()) == 3
    held = RunFolder(tmp_path / "set").read_manifest()
    assert held["status"] == "partial"
    assert held["questions_hash"] == part.questions.seal
    agents = cast()
    found = await made(tmp_path / "set", agents, config())
    assert sum(agent.calls for agent in agents.values()) == 1
    assert found.questions.seal == whole.questions.seal
    assert found.status == "complete"


async def test_a_budget_that_ends_the_notes_keeps_the_questions(tmp_path: Path) -> None:
    exam = config(
        questions={"levels": {"classifiers": ["grader"]}}, limits={"budget": {"calls": 6}}
    )
    found = await made(tmp_path / "set", cast(), exam)
    assert found.status == "partial"
    assert len(found.questions.questions) == 8
    assert "levels and references are missing" in str(found.reason)


async def test_a_budget_too_small_for_one_paper_is_partial_and_goes_on(tmp_path: Path) -> None:
    found = await made(tmp_path / "set", cast(), config(limits={"budget": {"calls": 0}}))
    assert (found.status, found.questions.questions) == ("partial", ())
    assert (await made(tmp_path / "set", cast(), config())).status == "complete"


async def test_failed_calls_make_it_partial_and_are_asked_again(tmp_path: Path) -> None:
    agents = cast()
    agents["bob"] = ScriptedAgent(lambda _: OverloadedError("busy"), "bob", features={"chat"})
    exam = config(
        agents=[
            {**agent.model_dump(exclude_unset=True), "limits": {"attempts": 1}}
            for agent in config().agents
        ]
    )
    found = await made(tmp_path / "set", agents, exam)
    assert found.status == "partial"
    assert "calls failed: bob as examiner (2)" in str(found.reason)
    assert [short["examiner"] for short in found.manifest["shortfalls"]] == ["bob", "bob"]
    assert (await made(tmp_path / "set", cast(), exam)).status == "complete"


async def test_without_a_single_question_there_is_no_data_set(tmp_path: Path) -> None:
    agents = {
        name: ScriptedAgent(lambda _: "No.", name, features={"chat"}) for name in ("alice", "bob")
    }
    with pytest.raises(PeerexamError, match="no examiner set a single question"):
        await made(tmp_path / "set", agents, config())


async def test_the_same_config_generates_and_then_examines(tmp_path: Path) -> None:
    simulated = ExamConfig.model_validate(
        {
            "name": "both",
            "agents": [
                {"name": name, "model": f"sim/{name}?ability={ability}"}
                for name, ability in (("a", 2), ("b", 1), ("c", 0))
            ],
            "questions": {
                "domains": ["rivers", "primes"],
                "per_domain": 4,
                "file": str(tmp_path / "set"),  # not there yet
            },
            "voting": {"rounds": 20},
        }
    )
    found = await generate(simulated, tmp_path / "set", today=DAY)
    assert len(found.questions.questions) == 24
    outcome = await run_exam(simulated, tmp_path / "run")
    assert outcome.status == "complete"
    assert RunFolder(tmp_path / "run").read_manifest()["questions_hash"] == found.questions.seal
    # The authors are among the examinees, so that it is seen whether their own suit them.
    home = {row["agent"]: row["n"] for row in outcome.standings["home_advantage"]}
    assert home == {"a": 24, "b": 24, "c": 24}


async def test_nothing_is_added_to_sealed_questions(tmp_path: Path) -> None:
    agents = cast()
    plain = await made(tmp_path / "set", agents, config())  # without levels and references
    more = {
        "file": str(tmp_path / "set"),
        "levels": {"classifiers": ["grader"]},
        "references": {"draws": 1},
    }
    exam = config(questions=more, judging={"ranking": "none"})
    assert {line.task for line in plan(exam).lines} == {"answers", "marks"}
    agents = {**cast(), "idle": ScriptedAgent(lambda _: "So.", "idle", features={"chat"})}
    await run_exam(exam, tmp_path / "run", agents=dict(agents), pilot=False)
    manifest = RunFolder(tmp_path / "run").read_manifest()
    assert manifest["questions_hash"] == plain.questions.seal
    assert any("sealed data set" in note for note in manifest["notes"])


async def test_a_run_and_a_data_set_do_not_share_a_folder(tmp_path: Path) -> None:
    exam = config()
    await made(tmp_path / "set", cast(), exam)
    with pytest.raises(SetupError, match="holds a data set, not a run"):
        await run_exam(exam, tmp_path / "set", agents=dict(cast()))


async def test_with_a_file_and_nothing_to_ask_about_nothing_is_set(tmp_path: Path) -> None:
    exam = config(questions={"domains": [], "file": str(tmp_path / "q.txt")})
    with pytest.raises(ConfigError, match="add domains"):
        await made(tmp_path / "set", cast(), exam)


def test_the_plan_counts_the_setting_alone() -> None:
    exam = config(
        questions={"levels": {"classifiers": ["grader"]}, "references": {"draws": 1}},
        follow_ups={"rounds": 2},
    )
    planned = plan_setting(exam)
    assert planned.questions == 8
    assert {(line.agent, line.task, line.calls.expected) for line in planned.lines} == {
        ("alice", "questions", 2),
        ("alice", "references", 4),
        ("bob", "questions", 2),
        ("bob", "references", 4),
        ("grader", "levels", 8),
    }
    assert planned.calls.most == 2 * 2 * 4 + 2 * 4 + 8 * 2  # attempts; draws; one reask a level
    assert set(planned.prices) == {"alice", "bob", "grader"}
