"""`peerexam discriminate`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.registry import register, unregister
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Request
from peerexam.cli import main
from peerexam.protocols.studies.result import read_result

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
MADE: list[ScriptedAgent] = []


@pytest.fixture(autouse=True)
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Agents: one answers 4 and names the label of its model's name, one marks with 6."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    lines = [{"question": f"What is {n} + 2?", "answer": f"#### {n + 2}"} for n in range(1, 7)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "test.jsonl").write_text(text, encoding="utf-8")
    question = {"question_id": 1, "category": "writing", "turns": ["Write a line.", "Again."]}
    (tmp_path / "question.jsonl").write_text(json.dumps(question), encoding="utf-8")

    @register("fixed")
    def create(spec: AgentSpec) -> Agent:
        def reply(request: Request) -> str:
            text = request.messages[0].content
            if "[[begin Response" in text:
                return "Rating: [[6]]"
            if "[[begin Answer" in text:
                return f"Choice: {spec.model}"
            return f"#### {4 + request.draw % 2}"

        MADE.append(ScriptedAgent(reply, spec.name))
        return MADE[-1]

    MADE.clear()
    yield
    unregister("fixed")


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """The JSON that the command prints."""
    assert main(["discriminate", *arguments, "--json", "--quiet"]) == status
    return json.loads(capsys.readouterr().out)


def value(body: Any, name: str, agent: str = "1", condition: str = "") -> Any:
    (found,) = (
        one
        for one in body["measures"]
        if (one["name"], one["agent"], one["condition"]) == (name, agent, condition)
    )
    return found["value"]


def test_a_run_leaves_records_and_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    body = told(capsys, "gsm8k", "test.jsonl", "--agents", "fixed/1")
    assert body["study"] == "discrimination"
    assert body["status"] == "complete"
    # Of six questions "4" answers the second and "5" the third, two draws each.
    assert value(body, "s_gen_expected") == pytest.approx(1 / 6)
    assert value(body, "s_disc") == pytest.approx(1 / 6)
    assert value(body, "oracle") == pytest.approx(2 / 6)
    out = Path("runs/discriminate-gsm8k")
    assert read_result(out)["measures"] == body["measures"]
    assert len((out / "candidates.jsonl").read_text(encoding="utf-8").splitlines()) == 24
    assert (out / "choices.jsonl").is_file()
    assert body["tables"]["correct_candidates"] == {"1": {"0": 4, "2": 2}}


def test_the_same_command_again_asks_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("gsm8k", "test.jsonl", "--agents", "fixed/1", "--variations", "plain,rotated")
    once = told(capsys, *arguments)
    # Candidates are 4, 5, 4, 5: of the four rotations two are the same prompt.
    assert sum(agent.calls for agent in MADE) == 6 * (4 + 2)
    MADE.clear()
    assert told(capsys, *arguments) == once
    assert sum(agent.calls for agent in MADE) == 0


def test_a_table_is_printed_and_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["discriminate", "gsm8k", ".", "--agents", "fixed/1", "fixed/9", "--peers"]
    assert main([*arguments, "--plan", "--limit", "2"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"1\s+candidates\s+8\s+8\s+8", printed)
    assert re.search(r"9\s+choices for peers\s+2\s+2\s+2", printed)
    assert not MADE
    assert main([*arguments, "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "DG-Diff: S_disc − S_gen" in printed
    assert re.search(r"9\s+gsm8k\s+replies that name no candidate\s+100.0 %", printed)
    assert "gsm8k by 9" in printed


def test_mt_bench_is_marked_by_a_judge_that_may_be_an_agent_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = told(capsys, "mt-bench", ".", "--agents", "fixed/1", "--judges", "fixed/1")
    assert value(body, "s_disc") == 6.0
    assert body["about"]["judges"] == ["1"]
    assert any("scores its own answers" in note for note in body["notes"])
    body = told(
        capsys, "mt-bench", ".", "--agents", "fixed/1", "--judges", "fixed/j", "fixed/k",
        "--out", "two",
    )  # fmt: skip
    assert value(body, "s_gen") == 6.0


def test_candidates_of_a_file_are_taken_in_place_of_the_agents(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    row = {"question": "What is 2 + 2?", "candidates": ["#### 5", "#### 4", "#### 4"]}
    Path("own.jsonl").write_text(json.dumps(row), encoding="utf-8")
    body = told(
        capsys, "gsm8k", "test.jsonl", "--agents", "fixed/2", "--candidates-from", "own.jsonl"
    )
    assert sum(agent.calls for agent in MADE) == 1
    assert value(body, "s_disc", "2") == 1.0
    assert value(body, "s_majority", "2") == 1.0
    assert body["about"]["candidates"] == 3
    # A study's own candidates are such a file, and are those of their agent alone.
    told(capsys, "gsm8k", "test.jsonl", "--agents", "fixed/1", "--out", "first")
    again = ("gsm8k", "test.jsonl", "--candidates-from", "first/candidates.jsonl")
    body = told(capsys, *again, "--agents", "fixed/1", "--out", "second")
    assert value(body, "s_gen_expected") == pytest.approx(1 / 6)
    assert main(["discriminate", *again, "--agents", "fixed/3", "--out", "third"]) == 2
    assert "for that one alone (here: 1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mmlu", "test.jsonl", "--agents", "fixed/1"), "there is no task 'mmlu'"),
        (("gsm8k", "none.jsonl", "--agents", "fixed/1"), "none.jsonl"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--judges", "fixed/2"), "has a key"),
        (("mt-bench", ".", "--agents", "fixed/1"), "--judges"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--variations", "x"), "no variation 'x'"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--candidates", "1"), "2 or more"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--max-tokens", "0"), "--max-tokens"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--peers"), "second agent"),
        (("gsm8k", "test.jsonl", "--agents", "fixed/1", "--candidates-from", "x"), "no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anyone_is_asked(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discriminate", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not MADE


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")
@pytest.mark.shared
def test_the_four_solutions_of_gsm8k_give_their_figures_through_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The data's README; label 1 is the first model, the 6B one with fine-tuning: 21.68 %.
    data = SHARED / "gsm8k"
    body = told(
        capsys, "gsm8k", str(data), "--agents", "fixed/1", "--candidates-from",
        str(data / "example_model_solutions.jsonl"),
    )  # fmt: skip
    for name, per_cent in (
        ("s_gen_expected", 37.926), ("oracle", 67.248), ("worst", 11.827), ("s_disc", 21.683)
    ):  # fmt: skip
        assert 100 * value(body, name) == pytest.approx(per_cent, abs=6e-4), name
    counts = {"0": 432, "1": 290, "2": 236, "3": 205, "4": 156}
    assert body["tables"]["correct_candidates"] == {"1": counts}
