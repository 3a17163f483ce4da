"""`peerexam profile`: a run and the studies of its agents side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from peerexam.calls import Json
from peerexam.cli import main
from peerexam.protocols.studies.result import Measure, StudyResult, write_result
from peerexam.stats.core.estimate import Estimate

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


def consistency(folder: Path, about: dict[str, Json], *, partial: bool = False) -> Path:
    measure = Measure("ada", "consistency", "consistent", Estimate(0.5, 0.4, 0.6, n=9))
    result = StudyResult(
        "consistency",
        about,
        {"ada": {"provider": "sim", "model": "sim/another"}},
        [replace(measure, headline=True)],
        status="partial" if partial else "complete",
        status_reason="the budget is spent" if partial else None,
    )
    write_result(folder, result)
    return folder


def exam_of(tmp_path: Path, agents: str, status: int = 0) -> Path:
    """A run of these agents, one `name: roles` a word."""
    listed = [
        f"  - {{name: {name}, model: sim/{name}, roles: [{roles}]}}"
        for name, roles in (one.split(":") for one in agents.split())
    ]
    text = EXAM.splitlines()
    (tmp_path / "other.yaml").write_text("\n".join([*text[:3], *listed, *text[6:]]))
    out = tmp_path / "other"
    assert (
        main(["run", str(tmp_path / "other.yaml"), "--out", str(out), "--quiet", "--no-pilot"])
        == status
    )
    return out


def lines_of(run: Path, *studies: Path) -> dict[str, dict[str, dict[str, Json]]]:
    """By agent and title, what `profile` left."""
    assert main(["profile", str(run), *map(str, studies), "--json"]) == 0
    body = json.loads((run / "profiles.json").read_text())
    return {
        one["agent"]: {line["title"]: line for line in one["measures"]} for one in body["agents"]
    }


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
    assert titles[:3] == [
        "score (rank 1)",
        "same verdict in both orders",
        "agrees with the other judges",
    ]
    found = lines["ada"][-1]
    assert (found["value"], found["low"], found["high"], found["n"]) == (-2.5, -3.5, -1.5, 40)
    assert found["counts"] == "items"
    # 4 questions by each of three examiners; every judge sees each question's 3 pairs of answers.
    of_exam = {line["title"]: (line["n"], line["counts"]) for line in lines["bob"]}
    assert of_exam["score (rank 2)"] == (12, "questions")
    assert of_exam["same verdict in both orders"] == (36, "pairs of answers")
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
    assert "dan took part in the study discrimination gsm8k, and not in the exam" in shown.err
    (line,) = [line for line in shown.out.splitlines() if "took no part" in line]
    assert " ".join(line.split()) == "exam score – – 0 it took no part in this exam"


def test_other_weights_under_the_same_file_name_are_not_the_same_model(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def weights(digest: str) -> dict[str, Json]:
        return {"provider": "gguf", "model": "model.gguf", "weights": digest}

    manifest = json.loads((run / "manifest.json").read_text())
    for agent, digest in zip(manifest["agents"], ("a" * 64, "b" * 64, "c" * 64), strict=True):
        agent["fingerprint"] = weights(digest)
    (run / "manifest.json").write_text(json.dumps(manifest))
    measured = [dg_diff("ada", 1.0), dg_diff("bob", 1.0)]
    about = {"ada": weights("a" * 64), "bob": weights("d" * 64)}
    write_result(tmp_path / "study", StudyResult("discrimination", {}, about, measured))
    assert main(["profile", str(run), str(tmp_path / "study")]) == 0
    said = capsys.readouterr().err
    assert "bob is not the same model" in said
    assert "ada is not the same model" not in said


def test_studies_of_one_kind_are_told_apart_by_what_they_did(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    actions = ("arithmetic", "hypothetical", "geoquery")
    left = [
        consistency(tmp_path / name, {"action": name}, partial=name == "geoquery")
        for name in actions
    ]
    capsys.readouterr()
    assert main(["profile", str(run), *map(str, left)]) == 0
    shown = capsys.readouterr()
    page = (run / "report.html").read_text()
    for name in actions:
        assert f"\nconsistency {name} " in shown.out
        assert f"the exam and in the study consistency {name}: read" in shown.err
        assert f"<td>consistency {name}</td>" in page
    assert "the study consistency geoquery is partial: the budget is spent" in shown.err
    assert "the study consistency geoquery is partial: the budget is spent" in page


def test_studies_that_share_a_name_stand_with_their_folders(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = (consistency(tmp_path / name, {"action": "geoquery"}) for name in ("one", "two"))
    capsys.readouterr()
    assert main(["profile", str(run), str(one), str(two), str(one)]) == 0
    shown = capsys.readouterr()
    for folder in (one, two):
        assert shown.out.count(f"consistency geoquery ({folder})") == 1
        assert shown.err.count(f"consistency geoquery ({folder})") == 1


@pytest.mark.parametrize("about", [{"action": 3}, [], {"action": "<b>bold</b>"}])
def test_what_a_study_says_of_itself_is_text(run: Path, tmp_path: Path, about: Json) -> None:
    left = consistency(tmp_path / "study", {})
    body = json.loads((left / "result.json").read_text())
    (left / "result.json").write_text(json.dumps({**body, "about": about}))
    assert main(["profile", str(run), str(left)]) == 0
    assert "<b>bold" not in (run / "report.html").read_text()


def test_agreement_with_peers_stands_with_interval_n_and_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Four agents, so that every pair of answers has two judges that wrote neither.
    run = exam_of(
        tmp_path,
        " ".join(f"{name}:examiner,examinee,judge" for name in ("ada", "bob", "cyd", "dan")),
    )
    line = lines_of(run)["bob"]["agrees with the other judges"]
    assert 0 <= line["low"] <= line["value"] <= line["high"] <= 1
    assert line["n"] > 0
    assert line["condition"].startswith("(chance ")
    capsys.readouterr()
    assert main(["profile", str(run)]) == 0
    assert "agrees with the other judges (chance " in capsys.readouterr().out
    assert "Agrees with others, %" in (run / "report.html").read_text()


def test_a_judge_that_does_not_answer_and_has_no_peer_is_shown_with_the_reasons(
    tmp_path: Path,
) -> None:
    run = exam_of(tmp_path, "ada:examiner,examinee bob:examinee jay:judge")
    lines = lines_of(run)
    assert list(lines)[-1] == "jay"
    assert lines["jay"]["score"]["reason"] == "it judges here and does not answer"
    assert lines["jay"]["same verdict in both orders"]["value"] is not None
    agrees = lines["jay"]["agrees with the other judges"]
    assert (agrees["value"], agrees["reason"]) == (None, "there is no other judge")
    assert [list(lines[name])[1:] for name in ("ada", "bob")] == [[], []]
    assert "there is no other judge" in (run / "report.html").read_text()


def test_an_agent_without_a_place_is_shown_with_the_reason(tmp_path: Path) -> None:
    run = exam_of(tmp_path, "ada:examiner,examinee,judge bob:examinee", status=4)
    lines = lines_of(run)
    assert "only judge that counts is the agent itself" in lines["ada"]["score"]["reason"]
    assert lines["bob"]["score"]["value"] is None


def test_an_agent_that_only_sets_questions_has_no_standing(tmp_path: Path) -> None:
    run = exam_of(tmp_path, "ada:examiner bob:examinee cyd:examinee dan:judge")
    assert "ada" not in lines_of(run)
    lines = lines_of(run, study(tmp_path / "study", dg_diff("ada", 1.0)))
    assert lines["ada"]["score"]["reason"] == "it neither answers nor judges in this exam"
    assert lines["ada"]["DG-Diff"]["value"] == 1.0


def test_standings_of_an_older_version_are_read_and_say_what_they_lack(run: Path) -> None:
    body = json.loads((run / "standings.json").read_text())
    for judge in body["judges"]:
        del judge["peer_agreement"]
    (run / "standings.json").write_text(json.dumps(body))
    line = lines_of(run)["ada"]["agrees with the other judges"]
    assert line["value"] is None
    assert "older version" in line["reason"]
    page = (run / "report.html").read_text()
    assert "Agrees with others, %" not in page
    assert "older version" in page


def test_profiles_of_an_older_version_are_shown(run: Path) -> None:
    lines_of(run)
    body = json.loads((run / "profiles.json").read_text())
    for one in body["agents"]:
        for line in one["measures"]:
            del line["from"]
    (run / "profiles.json").write_text(json.dumps(body))
    assert main(["report", str(run)]) == 0
    assert 'id="profiles"' in (run / "report.html").read_text()


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


@pytest.mark.parametrize(
    "change",
    [
        {"standings": 5},
        {"standings": [{}]},
        {"judges": [{}]},
        {"judges": [{"agent": "ada", "peer_agreement": [1]}]},
        {"judges": [{"agent": "ada", "peer_agreement": {"chance": "x"}}]},
        {"voting": {"unplaced": [{}]}},
    ],
)
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
