"""`peerexam trust`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import csv
import json
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
from peerexam.errors import BadKeyError
from peerexam.runfolder import RunFolder

PEOPLE = """\
question,reference,answer 1,rating 1,answer 2,rating 2,answer 3,rating 3,ranking
What is 2 + 2?,It is 4,It is 4,5,It is GOOD 4 of course,4,=7,1,1>2>3
What is 3 + 3?,It is 6,nine,1,It is GOOD 6,5,It is 6,5,2=3>1
What is 4 + 4?,It is 8,It is GOOD 8,5,one,NULL,,NULL,NULL
"""
MADE: list[ScriptedAgent] = []


@pytest.fixture(autouse=True)
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Judges: one takes the answer with GOOD in it, one the first, one has no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")

    @register("fixed")
    def create(spec: AgentSpec) -> Agent:
        def reply(request: Request) -> str | Exception:
            text = request.messages[-1].content
            if spec.model == "keyless":
                return BadKeyError("401: no such key")
            if "Verdict:" not in text:
                rest = "coherence: 2\nfactuality: 2\ncomprehensiveness: 2\noverall:"
                return f"accuracy: 2\n{rest} {5 if 'GOOD' in text else 2}"
            second = text.partition("[[begin Response 2")[2]
            better = 2 if spec.model == "good" and "GOOD" in second else 1
            return f"Verdict: Response {better}"

        MADE.append(ScriptedAgent(reply, spec.name))
        return MADE[-1]

    MADE.clear()
    yield
    unregister("fixed")


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """The JSON that the command prints."""
    assert main(["trust", *arguments, "--quiet", "--json"]) == status
    return json.loads(capsys.readouterr().out)


def rows(body: Any) -> dict[str, Any]:
    return {row["name"]: row for row in body["rows"]}


def test_metrics_are_held_against_people(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rouge_score")
    body = told(capsys, "annotations", "people.csv", "--metrics", "rouge")
    assert (body["questions"], body["rated"], body["pairs"]) == (3, 7, 6)
    found = rows(body)
    assert list(found) == ["ROUGE-1", "ROUGE-2", "ROUGE-L"]
    one = found["ROUGE-1"]
    assert one["spearman"]["n"] == 7
    # By hand: all 5 pairs that people decided, the closer to the reference the better.
    assert one["accuracy"]["accuracy"]["value"] == 1.0
    assert one["accuracy"]["accuracy"]["n"] == 5
    assert one["accuracy"]["human_ties"] == 1
    assert one["accuracy"]["strict"]["low"] < 1.0
    assert "never without labels" in body["warning"]


def test_judges_are_asked_what_people_were_asked(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("annotations", "people.csv", "--metrics", "none", "--out", "study")
    body = told(capsys, *arguments, "--judges", "fixed/good", "fixed/first")
    found = rows(body)
    # 7 rated answers, 6 ranked pairs in both orders.
    assert [len(agent.requests) for agent in MADE] == [19, 19]
    assert found["first"]["orders"]["agreement"]["value"] == 0.0
    assert found["first"]["card"]["prefer_first"]["value"] == 1.0
    assert found["first"]["accuracy"]["accuracy"]["value"] == 0.5
    assert found["first"]["accuracy"]["strict"]["value"] == 0.0
    # By hand, of the decided pairs: 1>2 wrong, 1>3 tied, 2>3 right; then 2>1 right, 3>1 tied.
    assert found["good"]["accuracy"]["accuracy"]["value"] == pytest.approx(3 / 5)
    assert found["good"]["card"]["read"] == 12
    folder = RunFolder(Path("study"))
    assert len(list(folder.marks())) == 14
    assert len(list(folder.verdicts())) == 24
    with Path("study/trust.csv").open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["good", "first"]
    assert json.loads(Path("study/trust.json").read_text(encoding="utf-8"))["rows"] == body["rows"]


def test_the_same_command_again_asks_nothing_and_says_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("annotations", "people.csv", "--metrics", "none", "--out", "study")
    before = told(capsys, *arguments, "--judges", "fixed/good")
    MADE.clear()
    after = told(capsys, *arguments, "--judges", "fixed/good")
    assert sum(len(agent.requests) for agent in MADE) == 0
    assert after["rows"] == before["rows"]


def test_a_judge_that_cannot_be_had_leaves_a_partial_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("annotations", "people.csv", "--metrics", "none", "--judges", "fixed/keyless")
    body = told(capsys, *arguments, status=3)
    row = rows(body)["keyless"]
    assert row["accuracy"]["accuracy"]["value"] is None
    assert row["accuracy"]["accuracy"]["reason"]
    assert row["accuracy"]["strict"]["value"] == 0.0


def test_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rouge_score")
    assert main(["trust", "annotations", "people.csv", "--judges", "fixed/good", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("annotations: 3 questions, 7 answers with a rating, 6 pairs")
    assert "ROUGE-L" in said
    assert "report card" in said
    assert "never without labels" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tables", "people.csv"), "choose from annotations"),
        (("annotations", "none.csv"), "no file none.csv"),
        (("annotations", "people.csv", "--metrics", "meteor"), "no metric 'meteor'"),
        (("llmbar", "people.csv"), "output_1 must be text"),
        (("prd", "."), "PRD"),
        (("prd-lfqa", "."), "no file"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert main(["trust", *arguments, "--judges", "fixed/good", "--quiet"]) == 2
    assert said in capsys.readouterr().err
    assert not MADE


def test_a_run_is_not_gone_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}", encoding="utf-8")
    assert main(["trust", "annotations", "people.csv", "--out", "run"]) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_people_alone_are_told_of_and_judges_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "experts_pairwise_human_preferences.jsonl").write_text(
        '{"question": "Why?", "answer_a": "a", "answer_b": "b", "overall_preference": -1}\n',
        encoding="utf-8",
    )
    assert main(["trust", "prd-lfqa", "."]) == 0
    assert "name some with --judges" in capsys.readouterr().out
    body = told(capsys, "prd-lfqa", ".", "--judges", "fixed/first")
    assert rows(body)["first"]["card"]["prefer_first"]["value"] == 1.0


def test_a_stall_is_a_number_above_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "annotations", "people.csv", "--stall", "0"]) == 2
    assert "--stall" in capsys.readouterr().err


def test_recorded_verdicts_of_one_order_are_held_against_named_people(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # One prompt with several pairs, three people, one judge in one order. People's balance, in the
    # order of the rows: first, second, second, first; the judge: first, second, first, tie.
    # Accuracy (1 + 1 + 0 + ½) / 4, ties as a class 2 of 4; F1: first 2 · 1 ÷ (2 + 2), second
    # 2 · 1 ÷ (2 + 1), tie 0, their mean 7/18.
    pairs = {"ab": ("1>2 1>2 1=2", "1>2"), "cd": ("2>1 2>1 2>1", "2>1"),
             "ac": ("1=2 1=2 2>1", "1>2"), "bd": ("1>2 1=2 1>2", "1=2")}  # fmt: skip
    lines = ["question,answer 1,answer 2,ranking,annotator,verdict GPT-4"]
    for pair, (said, verdict) in pairs.items():
        for who, ranking in zip(("ann", "bo", "cy"), said.split(), strict=True):
            lines.append(f"Why?,{pair[0]},{pair[1]},{ranking},{who},{verdict}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["trust", "annotations", str(path), "--metrics", "none", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 4
    (judge,) = [row for row in found["rows"] if row["kind"] == "judge"]
    assert judge["accuracy"]["accuracy"]["value"] == pytest.approx(2.5 / 4, abs=1e-6)
    assert judge["accuracy"]["three_classes"]["value"] == 0.5
    assert judge["accuracy"]["macro_f1"]["value"] == pytest.approx(7 / 18, abs=1e-6)
    assert judge["accuracy"]["accuracy"]["left_out"] == 0
    assert judge["signature"].endswith("one order a pair")
    assert judge["orders"] is None
    people = {tuple(one["people"]): one["kappa"] for one in found["pairwise"]}
    # ann: first, second, tie, first; bo: first, second, tie, tie. Agreement 3/4; by chance
    # ½ · ¼ + ¼ · ¼ + ¼ · ½ = 5/16.
    assert people["ann", "bo"]["value"] == pytest.approx((3 / 4 - 5 / 16) / (1 - 5 / 16), abs=1e-6)
    assert len(people) == 3
    assert main(["trust", "annotations", str(path), "--metrics", "none"]) == 0
    text = capsys.readouterr().out
    assert "ann and bo: 0.636" in text
    assert "macro-F1" in text
