"""`peerexam.run` from Python: a dict, agents of one's own, and what comes back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import peerexam
from peerexam.cli import main
from peerexam.errors import ConfigError, MissingExtraError, SetupError
from peerexam.protocols.config.models import ExamConfig
from peerexam.runfolder import RunFolder

MARK = "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 5"


def speaker(name: str) -> peerexam.FunctionAgent:
    async def say(messages: list[dict[str, str]]) -> str:
        text = messages[-1]["content"]
        if "Verdict:" in text:
            return "Verdict: Response 1"
        return MARK if "overall" in text else f"{name}, of course"

    return peerexam.FunctionAgent(name, say)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text(
        '{"id": "q1", "text": "Why?", "domain": "d"}\n{"id": "q2", "text": "How?", "domain": "d"}\n'
    )
    return {"questions": {"file": Path("q.jsonl")}, "voting": {"rounds": 20}, "name": "mine"}


def test_a_dict_and_functions_make_an_exam(asked: dict[str, Any]) -> None:
    agents = {name: speaker(name) for name in ("ada", "my own/b?", "cy")}
    outcome = peerexam.run(asked, agents=agents)
    assert outcome.folder == Path("runs/mine")
    assert outcome.status == "complete", outcome.reason
    assert {row["agent"] for row in outcome.standings["standings"]} == set(agents)
    models = {
        row["name"]: row["model"] for row in RunFolder(outcome.folder).read_manifest()["agents"]
    }
    assert models == {"ada": "given/ada", "my own/b?": "given/my%20own%2Fb%3F", "cy": "given/cy"}
    again = peerexam.run(asked, agents=agents)
    assert again.standings == outcome.standings


def test_listed_agents_need_no_model_in_a_dict_or_a_file(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    listed = [
        {"name": "ada", "roles": ["examinee"]},
        {"name": "cy"},
        {"name": "s", "model": "sim/s"},
    ]
    agents = {name: speaker(name) for name in ("ada", "cy")}
    by_dict = peerexam.run({**asked, "agents": listed}, "one", agents=agents)
    (tmp_path / "EXAM.yaml").write_text(
        "name: mine\nquestions: {file: q.jsonl}\nvoting: {rounds: 20}\n"
        "agents: [{name: ada, roles: [examinee]}, {name: cy}, {name: s, model: sim/s}]\n"
    )
    by_file = peerexam.run("EXAM.yaml", "two", agents=agents)
    assert by_dict.standings == by_file.standings
    assert (Path("one/standings.json").read_bytes()) == Path("two/standings.json").read_bytes()


def test_a_dict_is_checked_like_a_file(asked: dict[str, Any], monkeypatch: Any) -> None:
    bad = {**asked, "agents": [{"name": "ada", "model": "nobody/x"}, {"name": "b"}], "sed": 3}
    with pytest.raises(ConfigError) as error:
        peerexam.run(bad)
    assert str(error.value).splitlines() == [
        "'agents.1.model' is missing; add it",
        "unknown key 'sed'; did you mean 'seed'?",
    ]
    with pytest.raises(ConfigError, match="no provider 'nobody'"):
        peerexam.run({**asked, "agents": [{"name": "ada", "model": "nobody/x"}]})
    with pytest.raises(ConfigError, match="key"):
        peerexam.run(
            {**asked, "agents": [{"name": "a", "model": "sim/a", "api_key": "sk-12345678"}]}
        )
    monkeypatch.setenv("PEEREXAM_SET__voting__rounds", "nothing")
    with pytest.raises(ConfigError, match="PEEREXAM_SET__voting__rounds"):
        peerexam.run(asked, agents={name: speaker(name) for name in "abc"})


def test_a_name_that_is_not_listed_is_refused(asked: dict[str, Any]) -> None:
    listed = [{"name": name, "model": f"sim/{name}"} for name in "abc"]
    with pytest.raises(SetupError, match=r"'parot' was passed in .* add \{name: parot\} to agents"):
        peerexam.run({**asked, "agents": listed}, agents={"parot": speaker("parot")})
    assert not Path("runs/mine/ledger.sqlite").exists()


def test_the_dict_is_left_as_it_was(asked: dict[str, Any]) -> None:
    before = {**asked, "questions": dict(asked["questions"])}
    peerexam.run(asked, agents={name: speaker(name) for name in "abc"})
    assert asked == before


def test_a_folder_with_agents_from_python_says_who_must_be_handed_over(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    agents = {name: speaker(name) for name in "abc"}
    outcome = peerexam.run(asked, agents=agents)
    assert main(["report", str(outcome.folder)]) == 0
    config = str(outcome.folder / "exam.yaml")
    capsys.readouterr()
    assert main(["run", config, "--out", "elsewhere", "--quiet"]) == 2
    assert "pass it again" in capsys.readouterr().err
    assert peerexam.run(config, outcome.folder, agents=agents).standings == outcome.standings


def test_an_outcome_is_short_to_read_and_a_table_in_a_notebook(tmp_path: Path) -> None:
    rows = [
        {"rank": n, "agent": f"<b>agent {n}</b>", "tier": 1, "score": 0.5, "score_low": 0.4,
         "score_high": 0.6, "win_rate": None, "questions": 8}
        for n in range(1, 41)
    ]  # fmt: skip
    standings = {"exam": "<i>x</i>", "standings": rows, "big": "x" * 100_000}
    outcome = peerexam.Outcome(tmp_path, "partial", "the <budget>", standings)
    assert len(repr(outcome)) < 200 + len(str(tmp_path))
    assert "1. <b>agent 1</b>" in repr(outcome)
    assert "37 more" in repr(outcome)
    html = outcome._repr_html_()
    assert html.count("<tr>") == 41
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<budget>" not in html
    assert "&lt;b&gt;agent 40&lt;/b&gt;" in html
    assert "–" in html
    empty = peerexam.Outcome(tmp_path, "partial", None, {})
    assert "no standings" in repr(empty)
    assert "<table>" in empty._repr_html_()


def test_frames_hold_standings_and_records(asked: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    outcome = peerexam.run(asked, agents={name: speaker(name) for name in "abc"})
    frame = outcome.to_pandas()
    assert list(frame["agent"]) == [row["agent"] for row in outcome.standings["standings"]]
    answers = outcome.to_pandas("answers")
    stored = list(RunFolder(outcome.folder).answers())
    assert list(answers["text"]) == [answer.text for answer in stored]
    assert set(outcome.to_pandas("marks").columns) >= {"judge", "overall", "accuracy", "call"}
    assert len(outcome.to_pandas("probes")) == 0
    with pytest.raises(SetupError, match=r"'votes'.*standings, questions"):
        outcome.to_pandas("votes")


def test_without_pandas_the_install_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        peerexam.Outcome(tmp_path, "complete", None, {}).to_pandas()


def test_a_config_object_is_still_taken(asked: dict[str, Any]) -> None:
    agents = [{"name": name, "model": f"sim/{name}"} for name in "abc"]
    config = ExamConfig.model_validate({**asked, "agents": agents})
    assert peerexam.run(config).status == "complete"
