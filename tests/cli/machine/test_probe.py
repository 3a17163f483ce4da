"""`peerexam agents probe`, through `main` as a user's arguments reach it."""

from __future__ import annotations

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

MADE: list[ScriptedAgent] = []
EXAM = """\
name: three
agents:
  - {name: first, model: "fixed/first"}
  - {name: other, model: "fixed/other"}
  - {name: writer, model: "fixed/writer", roles: [examiner, examinee]}
questions: {domains: [geography], per_domain: 1}
"""


@pytest.fixture(autouse=True)
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A provider whose judges always name the first place and give a middling mark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    (tmp_path / "EXAM.yaml").write_text(EXAM, encoding="utf-8")

    @register("fixed")
    def create(spec: AgentSpec) -> Agent:
        def reply(request: Request) -> str | Exception:
            if spec.model == "keyless":
                return BadKeyError("401: no such key")
            if "Verdict:" in request.messages[0].content:
                return "Verdict: Response 1"
            return "accuracy: 2\ncoherence: 2\nfactuality: 2\ncomprehensiveness: 2\noverall: 3"

        MADE.append(ScriptedAgent(reply, spec.name))
        return MADE[-1]

    MADE.clear()
    yield
    unregister("fixed")


def probed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """The JSON that the command prints."""
    assert main(["agents", "probe", *arguments, "--quiet", "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_model_is_probed_and_its_rates_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    body = probed(capsys, "fixed/m-1", "--samples", "2")
    (judge,) = body["judges"]
    assert (body["canaries"], judge["agent"], judge["probed"]) == (2, "m-1", True)
    assert judge["attack_success"]["value"] == 0.0
    assert judge["attack_success"]["n"] == 2 * 2 * len(judge["by_style"])
    assert judge["swap_consistency"]["value"] == 0.0  # always the first place
    assert judge["unreadable"]["plain"] == {"count": 0, "of": 12}
    assert judge["failed_calls"] == 0


def test_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "probe", "fixed/m-1", "--samples", "1", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("m-1\n")
    assert "attack success rate" in said
    assert "same verdict in both orders" in said
    assert "unreadable: 0 of 6 replies without an attack" in said


def test_the_second_time_nothing_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = probed(capsys, "fixed/m-1", "--samples", "1")
    assert (tmp_path / "runs" / "probes" / "ledger.sqlite").exists()
    assert probed(capsys, "fixed/m-1", "--samples", "1") == first
    assert [agent.calls > 0 for agent in MADE] == [True, False]


def test_out_keeps_the_records_and_its_own_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probed(capsys, "fixed/m-1", "--samples", "1", "--out", "kept")
    lines = (tmp_path / "kept" / "probes.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == MADE[0].calls
    assert json.loads(lines[0])["judge"] == "m-1"
    assert not (tmp_path / "runs").exists()


def test_the_judges_of_an_exam_are_probed_as_it_builds_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = probed(capsys, "--exam", "EXAM.yaml", "--samples", "1")
    assert [judge["agent"] for judge in whole["judges"]] == ["first", "other"]
    assert probed(capsys, "EXAM.yaml", "--samples", "1") == whole
    (only,) = probed(capsys, "--exam", "EXAM.yaml", "other", "--samples", "1")["judges"]
    assert only == whole["judges"][1]


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (["--exam", "EXAM.yaml", "writer"], "its judges are first, other"),
        ([], "name a judge"),
        (["fixed/m-1", "--samples", "9"], "from 1 to 8"),
        (["nobody/m-1"], "no provider 'nobody'"),
        (["fixed/m-1", "--out", "run"], "holds a run"),
    ],
)
def test_what_cannot_be_probed_is_said_with_the_mend(
    arguments: list[str], mend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "exam.yaml").write_text(EXAM, encoding="utf-8")
    assert main(["agents", "probe", *arguments, "--quiet"]) == 2
    assert mend in capsys.readouterr().err


def test_a_judge_that_cannot_be_asked_makes_it_partial(capsys: pytest.CaptureFixture[str]) -> None:
    (judge,) = probed(capsys, "fixed/keyless", "--samples", "1", status=3)["judges"]
    assert judge["attack_success"]["value"] is None
    assert judge["failed_calls"] > 0
    assert "no such key" not in json.dumps(judge)


def test_agents_without_probe_still_lists_and_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    assert "openai/" in capsys.readouterr().out
    assert main(["agents", "--check", "fixed/m-1"]) == 0
    assert "m-1" in capsys.readouterr().out
