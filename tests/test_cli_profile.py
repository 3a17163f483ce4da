"""`peerexam profile`: a run and the studies of its agents side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.cli import main
from peerexam.protocols.study_result import Measure, StudyResult, write_result
from peerexam.stats.estimate import Estimate

EXAM = """
name: toy
agents:
  - {name: ada, model: "sim/ada?ability=1"}
  - {name: bob, model: "sim/bob?ability=0"}
  - {name: cyd, model: "sim/cyd?ability=-1"}
questions: {domains: [tides], per_domain: 4}
voting: {rounds: 50}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "exam.yaml").write_text(EXAM)
    assert (
        main(["run", str(tmp_path / "exam.yaml"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    )
    return tmp_path / "run"


def study(folder: Path, *measures: Measure, agents: tuple[str, ...] = ("ada",)) -> Path:
    fingerprints = {name: {"provider": "sim", "model": f"sim/{name}?ability=9"} for name in agents}
    write_result(folder, StudyResult("discrimination", {"task": "gsm8k"}, fingerprints, measures))
    return folder


def dg_diff(agent: str, value: float | None, *, headline: bool = True) -> Measure:
    reason = None if value is not None else "no item was answered"
    low, high = (None, None) if value is None else (value - 1, value + 1)
    estimate = Estimate(value, low, high, n=40, reason=reason)
    return Measure(agent, "dg_diff", "DG-Diff", estimate, "gsm8k", "plain", "points", headline)


def test_a_profile_holds_standing_judging_and_studies(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = study(tmp_path / "study", dg_diff("ada", -2.5), dg_diff("ada", 9.0, headline=False))
    capsys.readouterr()
    assert main(["profile", str(run), str(left), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    lines = {one["agent"]: one["measures"] for one in body["agents"]}
    assert list(lines) == ["ada", "bob", "cyd"]
    titles = [line["title"] for line in lines["ada"]]
    assert titles[:2] == ["score (rank 1)", "same verdict in both orders"]
    found = lines["ada"][-1]
    assert (found["value"], found["low"], found["high"], found["n"]) == (-2.5, -3.5, -1.5, 40)
    assert 9.0 not in [line["value"] for line in lines["ada"]]
    assert all(line["study"] == "exam" for line in lines["bob"])
    page = (run / "report.html").read_text()
    assert 'id="profiles"' in page
    assert "−2.500" in page


def test_who_is_not_the_same_or_not_there_is_said(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = study(
        tmp_path / "study", dg_diff("ada", None), dg_diff("dan", 1.0), agents=("ada", "dan")
    )
    assert main(["profile", str(run), str(left)]) == 0
    shown = capsys.readouterr()
    assert "no item was answered" in shown.out
    assert "ada is not the same model in the exam and in the study" in shown.err
    assert "dan took part in the study of discrimination, and not in the exam" in shown.err


def test_a_report_without_profiles_has_no_such_section(run: Path) -> None:
    assert main(["report", str(run)]) == 0
    assert 'id="profiles"' not in (run / "report.html").read_text()


@pytest.mark.parametrize("text", ["{", "{}", '{"agents": [{}], "notes": []}'])
def test_damaged_profiles_are_refused_with_a_mend(
    run: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "profiles.json").write_text(text)
    assert main(["report", str(run)]) == 2
    assert "run `peerexam profile` again" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"measures": [1]},
        {"measures": [{}]},
        {"measures": [{"agent": "ada", "name": "x", "title": "X", "unit": "share", "n": 1.5}]},
        {"measures": [{"agent": ["ada"], "name": "x", "title": "X", "unit": "share", "n": 1}]},
        {"measures": [{"agent": "ada", "name": "x", "title": "X", "unit": "miles", "n": 1}]},
        {"agents": [1]},
        {"agents": {"ada": 3}},
    ],
)
def test_a_damaged_study_is_named_and_leaves_the_report_alone(
    run: Path, tmp_path: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    left = study(tmp_path / "study", dg_diff("ada", 1.0))
    body = json.loads((left / "result.json").read_text())
    (left / "result.json").write_text(json.dumps({**body, **change}))
    assert main(["profile", str(run), str(left)]) == 2
    assert f"{left / 'result.json'} is damaged" in capsys.readouterr().err
    assert not (run / "profiles.json").exists()


def test_a_value_that_is_no_number_is_damage(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = study(tmp_path / "study", dg_diff("ada", 1.0))
    text = (left / "result.json").read_text()
    for bad in ("NaN", '"abc"', "true", "[]"):
        (left / "result.json").write_text(text.replace('"value": 1.0', f'"value": {bad}'))
        assert main(["profile", str(run), str(left)]) == 2
        assert "measure 1 is none" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"standings": 5}, {"standings": [{}]}, {"judges": [{}]}])
def test_damaged_standings_are_named(
    run: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.loads((run / "standings.json").read_text())
    (run / "standings.json").write_text(json.dumps({**body, **change}))
    assert main(["profile", str(run)]) == 2
    assert "standings.json is damaged" in capsys.readouterr().err


def test_a_folder_without_a_study_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(run), str(tmp_path)]) == 2
    assert "result.json is missing" in capsys.readouterr().err
