"""`self-bias` from a run, an import and a file of scores, through the command line."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np
import pytest

from peerexam.cli import main
from peerexam.errors import RecordFileError, SetupError
from peerexam.protocols.self_bias_study import study_self_bias
from peerexam.protocols.standings_json import plain
from peerexam.records import Question, Verdict, Winner
from peerexam.report.judges_view import self_preference_rows
from peerexam.report.numbers import probability, signed
from peerexam.report.tables import standings_text
from peerexam.runfolder import RunFolder
from peerexam.stats.interval_test import finest_level
from peerexam.tasks.score_file import read_scores
from peerexam.tasks.source_diversity import source_diversity

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

EXAM = """
name: planted
seed: 3
output: {output}
agents:
  - {{name: ada, model: "sim/ada?self_preference=0.3"}}
  - {{name: bob, model: "sim/bob?home_advantage=0.3&ability=0.2"}}
  - {{name: cyd, model: "sim/cyd?ability=-0.2"}}
  - {{name: dan, model: "sim/dan"}}
questions: {{domains: [a, b], per_domain: 15}}
judging: {{ranking: {ranking}}}
voting: {{rounds: 50}}
"""


@pytest.fixture(params=["round_robin", "merge_sort"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """An exam with one judge that favours itself and one author that is better at home."""
    folder = tmp_path / "run"
    config = tmp_path / "EXAM.yaml"
    config.write_text(EXAM.format(output=folder, ranking=request.param), encoding="utf-8")
    assert main(["run", str(config), "--quiet"]) == 0
    return folder


def measured(found: dict[str, Any], name: str, role: str) -> dict[str, dict[str, Any]]:
    return {
        one["agent"]: one
        for one in found["measures"]
        if one["name"] == name and one["condition"] == role
    }


def test_what_is_planted_in_an_exam_is_found_in_its_roles(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    out = tmp_path / "study"
    command = ["self-bias", str(run), "--rounds", "500", "--out", str(out), "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert json.loads((out / "result.json").read_text())["measures"] == found["measures"]
    # Win points as planted: ada by 0.3 as evaluator, bob by 0.3 as author, both show in both.
    planted = {
        "test set": {"bob": 0.3, "ada": 0.0, "cyd": 0.0},
        "evaluator": {"ada": 0.3, "bob": 0.0, "cyd": 0.0, "dan": 0.0},
        "both": {"ada": 0.3, "bob": 0.3, "cyd": 0.0},
    }
    for role, agents in planted.items():
        third = measured(found, "self_bias_win_rate_third_party", role)
        ranks = measured(found, "self_bias_third_party", role)
        for agent, value in agents.items():
            # Four standard errors on either side, from the interval's width: 16 intervals at 95 %
            # would miss one by chance.
            one = third[agent]
            assert abs(one["value"] - value) <= one["high"] - one["low"], (role, agent)
            assert ranks[agent]["value"] == pytest.approx(-3 * one["value"])
            if value:
                assert one["low"] > 0.05
                assert ranks[agent]["p_holm"] < 0.05
    comparisons = found["tables"]["decomposition"]["comparisons"]["effects"]
    by_agent = {one["of"][0]: one for one in comparisons["self"]}
    assert by_agent["ada"]["low"] > 0.15
    home = {one["of"][0]: one for one in comparisons["home"]}
    assert home["bob"]["low"] > 0.15
    assert home["bob"]["smallest_findable"] > 0
    headlines = [one for one in found["measures"] if one["headline"]]
    assert {one["condition"] for one in headlines} == {"both"}
    assert [one["name"] for one in headlines] == ["self_bias_third_party"] * 4


def test_it_is_printed_for_people_with_both_estimates(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["self-bias", str(run), "--rounds", "50"]) == 0
    printed = capsys.readouterr()
    for word in ("Eq. 1", "third parties", "test set", "evaluator", "both", "home advantage"):
        assert word in printed.out
    assert "types ÷ tokens" in printed.out
    assert "no truth" in printed.err
    # The estimate that leads stands above the others, a line a judge.
    lead, _, others = printed.out.partition("other estimates")
    assert len([line for line in lead.splitlines() if line.startswith("ada ")]) == 1
    assert "test set" in others


def test_one_judge_can_be_the_evaluator_of_the_test_sets(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["self-bias", str(run), "--rounds", "50", "--evaluator", "dan", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tables"]["theta"]["test set"]["targets"] == ["ada", "bob", "cyd"]
    with pytest.raises(SetupError, match="no judge 'eve'"):
        study_self_bias(run, evaluator="eve")


@pytest.mark.shared
def test_on_prd_ranks_and_win_rates_disagree_in_sign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = SHARED / "prd_vicuna80"
    if not source.exists():
        pytest.skip("the shared data is not here")
    assert main(["import", "prd", str(source), "--out", str(tmp_path / "prd")]) == 0
    found = study_self_bias(tmp_path / "prd", rounds=500).to_json()
    assert set(found["tables"]["missing_roles"]) == {"test set", "both"}
    ranks = measured(found, "self_bias", "evaluator")
    won = measured(found, "self_bias_win_rate", "evaluator")
    assert len(ranks) == 5
    assert {one["n"] for one in ranks.values()} == {80}
    # Independently, from the rows of the data set: win points within a question, their ranks.
    text = (source / "ratings_compact.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    names = sorted(ranks)
    at = {name: place for place, name in enumerate(names)}
    first = np.full((5, 80, 5, 5), np.nan)
    for row in rows:
        if row["reviewer"] not in at or "answer-gpt35" in row["file"]:
            continue
        if "answer-gpt4" in row["file"]:
            continue
        place = (at[row["reviewer"]], int(row["question_id"]) - 1)
        first[place][at[row["answer1"]], at[row["answer2"]]] = {"1": 1.0, "2": 0.0, "3": 0.5}[
            row["score"]
        ]
    back = 1 - first.transpose(0, 1, 3, 2)
    points = np.where(first == back, first, 0.5)  # orders that disagree are a tie
    points[:, :, np.arange(5), np.arange(5)] = 0
    score = points.sum(axis=3)
    above = (score[..., None, :] > score[..., :, None]).sum(axis=3)
    level = (score[..., None, :] == score[..., :, None]).sum(axis=3)
    theta = (above + (level + 1) / 2).mean(axis=1)
    rate = score.mean(axis=1) / 4
    for name, i in at.items():
        peers = [j for j in range(5) if j != i]
        assert ranks[name]["value"] == pytest.approx(theta[i, i] - theta[peers, i].mean())
        assert won[name]["value"] == pytest.approx(rate[i, i] - rate[peers, i].mean())
    # Favours itself by win rate, and ranks itself no better: README, section 8.
    assert won["bard"]["value"] > 0
    assert ranks["bard"]["value"] > 0
    assert ranks["gpt4"]["value"] < 0 < won["gpt4"]["value"]


@pytest.mark.parametrize("seed", range(6))
def test_every_role_ranks_within_the_question_as_counted_by_hand(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Paper 004, Eq. 1, in fractions and without our tables: three questions, a wrote two and b one;
    # verdicts are drawn, a third of them ties. Ranks are taken within a question, then averaged.
    random = Random(seed)
    authors = {"q1": "a", "q2": "a", "q3": "b"}
    kinds: dict[Fraction, tuple[Winner, Winner]] = {
        Fraction(1): ("first", "second"),
        Fraction(1, 2): ("tie", "tie"),
        Fraction(0): ("second", "first"),
    }
    said: dict[tuple[str, ...], Fraction] = {}
    folder = RunFolder(tmp_path / "run")
    with folder.writer("questions") as questions, folder.writer("verdicts") as verdicts:
        for name, author in authors.items():
            questions.emit(Question(name, "Why?", "d", author=author))
            for judge, (one, other) in product("abc", combinations("abc", 2)):
                points = random.choice(list(kinds))
                said[name, judge, one, other], said[name, judge, other, one] = points, 1 - points
                for (x, y), winner in zip(((one, other), (other, one)), kinds[points], strict=True):
                    verdicts.emit(Verdict(name, judge, x, y, winner))
    roles = ["examiner", "examinee", "judge"]
    folder.write_manifest({"agents": [{"name": name, "roles": roles} for name in "abc"]})

    def ranks(name: str, judges: str, asked: bool) -> dict[str, Fraction]:
        """Of the points by judges, on their own answers too where they are asked about these."""

        def points(x: str, y: str) -> Fraction:
            return mean(said[name, j, x, y] for j in judges if asked or j not in (x, y))

        won = {x: sum((points(x, y) for y in "abc" if y != x), Fraction(0)) for x in "abc"}
        behind = {
            (x, y): Fraction((won[y] > won[x]) + (won[y] >= won[x]), 2) for x in won for y in won
        }
        return {x: Fraction(1) + sum(behind[x, y] for y in won if y != x) for x in won}

    by = {
        "evaluator": {j: [ranks(name, j, True) for name in authors] for j in "abc"},
        "both": {j: [ranks(name, j, True) for name in authors if authors[name] == j] for j in "ab"},
        "test set": {
            j: [ranks(name, "abc", False) for name in authors if authors[name] == j] for j in "ab"
        },
    }
    assert main(["self-bias", str(folder.path), "--rounds", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for role, tables in by.items():
        theta = {(x, j): mean(one[x] for one in held) for j, held in tables.items() for x in "abc"}
        values = {name: one["value"] for name, one in measured(found, "self_bias", role).items()}
        assert values == {
            x: pytest.approx(float(theta[x, x] - mean(theta[x, j] for j in tables if j != x)))
            for x in tables
        }


def written(path: Path, rows: list[tuple[Any, ...]], *head: str) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head or HEAD, *rows])
    return path


HEAD = ("segment", "target", "benchmark", "score", "role")
LOWER = [
    [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [3.0, 2.0, 2.0]],
    [[1.0, 3.0, 3.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0]],
]


def rows_of(role: str) -> list[tuple[Any, ...]]:
    return [
        (f"s{s}", "abc"[i], "abc"[j], LOWER[s][j][i], role)
        for s in range(2)
        for j in range(3)
        for i in range(3)
    ]


@pytest.mark.parametrize("role", ["testset", "evaluator", "both", ""])
def test_scores_from_outside_give_equation_1_in_every_role(tmp_path: Path, role: str) -> None:
    path = written(tmp_path / "scores.csv", rows_of(role))
    found = study_self_bias(path, orientation="lower", rounds=50).to_json()
    named = {"testset": "test set"}.get(role, role)
    # As worked by hand in tests/stats/test_self_bias.py.
    values = [one["value"] for one in measured(found, "self_bias", named).values()]
    assert values == pytest.approx([-1.0, -0.75, -1.625])
    assert found["about"]["better_scores"] == "lower"


def test_all_parts_take_the_rounds_that_are_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["segment,target,benchmark,score,role"]
    for segment in range(60):
        for judge in "abc":
            for target in "abc":
                score = rng.normal() + 4 * (judge == target == "a")
                lines.append(f"s{segment},{target},{judge},{score:.4f},evaluator")
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = study_self_bias(path, rounds=4000).to_json()
    ((part,),) = [found["tables"]["decomposition"].values()]
    # With no draw on the other side of 0, p is the smallest level that so many draws can tell of.
    (own,) = [one for one in part["effects"]["self"] if one["of"] == ["a"]]
    assert own["p"] == pytest.approx(finest_level(4000, 60))
    assert measured(found, "self_bias", "evaluator")["a"]["p"] == pytest.approx(
        finest_level(4000, 60)
    )


def test_a_file_may_hold_several_roles_and_the_texts_of_its_segments(tmp_path: Path) -> None:
    rows = [(*row, "the cat sat" if row[2] == "a" else row[0]) for row in rows_of("testset")]
    rows += [(*row, "") for row in rows_of("evaluator")]
    path = written(tmp_path / "scores.csv", rows, *HEAD, "source")
    found = study_self_bias(path, rounds=20).to_json()
    assert set(found["tables"]["theta"]) == {"test set", "evaluator"}
    first = found["tables"]["sources"][0]
    # Two sources of the same three words.
    assert (first["author"], first["sources"], first["type_token_ratio"]) == ("a", 2, 0.5)


def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    with pytest.raises(RecordFileError, match=r"scores.csv:3: the score 'good' is no number"):
        read_scores(written(path, [("s", "a", "a", 1, ""), ("s", "b", "a", "good", "")]))
    with pytest.raises(RecordFileError, match=r":3: a has a score on segment s by a already"):
        read_scores(written(path, [("s", "a", "a", 1, ""), ("s", "a", "a", 2, "")]))
    with pytest.raises(RecordFileError, match="'referee' is no role"):
        read_scores(written(path, [("s", "a", "a", 1, "referee")]))
    with pytest.raises(SetupError, match="no column benchmark"):
        read_scores(written(path, [], "segment", "target", "score"))
    with pytest.raises(SetupError, match="no score"):
        read_scores(written(path, []))
    with pytest.raises(SetupError, match="there is no file"):
        study_self_bias(tmp_path / "none.csv")
    with pytest.raises(SetupError, match="cannot be told"):
        study_self_bias(written(path, [("s", "a", "b", 1, ""), ("s", "c", "b", 2, "")]), rounds=9)


@pytest.mark.parametrize("role", ["testset", "evaluator", "both", ""])
def test_one_model_alone_has_no_rivals(tmp_path: Path, role: str) -> None:
    path = written(tmp_path / "scores.csv", [("s", "a", "a", 1, role)])
    with pytest.raises(SetupError, match="scores of a alone"):
        study_self_bias(path, rounds=9)


def test_a_score_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.csv", [("s", "a", "a", "-1e308", "")])
    with pytest.raises(RecordFileError, match=r":2: the score -1e\+308 is too large"):
        study_self_bias(path, rounds=9)


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.csv", rows_of(""))
    with pytest.raises(SetupError, match="--seed"):
        study_self_bias(path, seed=-1)
    with pytest.raises(SetupError, match="--rounds"):
        study_self_bias(path, rounds=0)
    with pytest.raises(SetupError, match="--evaluator"):
        study_self_bias(path, evaluator="a")
    with pytest.raises(SetupError, match="--orientation"):
        study_self_bias(tmp_path, orientation="lower")
    with pytest.raises(SetupError, match="no run"):
        study_self_bias(tmp_path)


def test_sources_that_say_the_same_are_less_diverse() -> None:
    pytest.importorskip("sacrebleu")
    alike = ["how far is the moon from here", "how far is the sun from here", "how far is it"]
    unlike = ["why do cats purr", "name a prime above ninety", "translate: good morning"]
    one, other = source_diversity({"alike": alike, "unlike": unlike}, k=1)
    assert one.type_token_ratio is not None
    assert other.type_token_ratio is not None
    # By hand: 9 different words (how far is the moon from here sun it) of 18.
    assert one.words == 18
    assert one.type_token_ratio == pytest.approx(9 / 18)
    assert other.type_token_ratio > one.type_token_ratio
    assert np.mean(one.chrf) > np.mean(other.chrf)
    assert len(one.chrf) == 3


def test_chrf_at_k_is_that_of_sacrebleu_with_the_nearest() -> None:
    chrf = pytest.importorskip("sacrebleu").sentence_chrf
    texts = ["the red house", "the red horse", "a blue boat"]
    (found,) = source_diversity({"a": texts}, k=1, seed=0)
    expected = [max(chrf(x, [y]).score for y in texts if y != x) for x in texts]
    assert sorted(found.chrf) == pytest.approx(sorted(expected))


def test_a_file_whose_segments_all_agree_is_not_read_as_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # On each of 12 segments every model puts itself first, and the others in the same order.
    ranks = {"a": "abc", "b": "bac", "c": "cab"}
    rows = [
        (f"s{k}", target, judge, 3 - order.index(target), "evaluator")
        for k in range(12)
        for judge, order in ranks.items()
        for target in "abc"
    ]
    path = written(tmp_path / "scores.csv", rows)
    assert main(["self-bias", str(path), "--rounds", "50"]) == 0
    printed = capsys.readouterr()
    # By hand: 1 − 0.05^(1 ÷ 12) = 0.2209 could differ, by −1 to +3 ranks.
    assert "-1.00  [-1.22, -0.34]" in printed.out
    assert "nothing to resample" in printed.err
    assert "judge" in printed.out
    assert "no interval" in printed.out


def test_a_run_whose_manifest_tells_of_one_model_leaves_it_out_as_third_party(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = study_self_bias(run, rounds=20)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    for agent in manifest["agents"]:
        if agent["name"] in ("ada", "dan"):
            agent["fingerprint"] = {"provider": "openai", "model": "m", "endpoint": "https://x"}
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    after = study_self_bias(run, rounds=20)
    assert after.tables["same_model"] == [["ada", "dan"]]
    assert before.tables["third_parties"]["evaluator"] == dict.fromkeys(
        ("ada", "bob", "cyd", "dan"), 3
    )
    # Of bob's and cyd's rivals, either twin judges the other models' answers.
    assert after.tables["third_parties"]["evaluator"] == {"ada": 2, "bob": 3, "cyd": 3, "dan": 2}
    changed = {
        one.name
        for one, other in zip(after.measures, before.measures, strict=True)
        if plain(one.estimate.value) != plain(other.estimate.value)  # standings are rounded
    }
    assert changed == {
        "self_bias_third_party",
        "self_bias_win_rate_third_party",
        "self_preference_third_party",
    }
    capsys.readouterr()
    assert main(["self-bias", str(run), "--rounds", "20"]) == 0
    told = capsys.readouterr().err
    assert "ada and dan are one model" in told
    assert "third parties left, evaluator: ada 2, bob 3, cyd 3, dan 2" in told


def test_who_is_one_model_in_a_file_is_said_by_a_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "scores.csv", rows_of("evaluator"))
    assert main(["self-bias", str(path), "--rounds", "20", "--same", "a, c", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    third = measured(found, "self_bias_third_party", "evaluator")
    assert {one["value"] for one in third.values()} == {None}
    assert "another agent of the same model" in third["a"]["reason"]
    assert found["tables"]["third_parties"] == {"evaluator": {"a": 0, "b": 0, "c": 0}}
    assert main(["self-bias", str(path), "--same", "a"]) == 2
    assert "--same takes the names" in capsys.readouterr().err
    assert main(["self-bias", str(path), "--same", "a,dora"]) == 2
    assert "no agent 'dora': there are a, b, c" in capsys.readouterr().err


def test_one_estimate_leads_on_the_terminal_in_the_report_and_in_self_bias(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    standings = json.loads((run / "standings.json").read_text(encoding="utf-8"))
    capsys.readouterr()
    assert main(["self-bias", str(run), "--rounds", "50", "--json"]) == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    assert main(["self-bias", str(run), "--rounds", "50"]) == 0
    lead = capsys.readouterr().out.split("other estimates")[0]
    terminal, rows = standings_text(standings), self_preference_rows(standings)
    for judge, row in zip(standings["judges"], rows, strict=True):
        third = judge["self_preference"]["third_party"]
        (one,) = (
            one
            for one in measures
            if (one["agent"], one["name"]) == (judge["agent"], "self_preference_third_party")
        )
        assert {key: one[key] for key in ("value", "low", "high", "p", "p_holm", "n")} == {
            key: third[key] for key in ("value", "low", "high", "p", "p_holm", "n")
        }
        assert f"{third['value']:+.3f}" in lead
        line = next(
            one
            for one in terminal.splitlines()
            if one.startswith(judge["agent"]) and "prompt" in one
        )
        assert f"{signed(100 * third['value'], 0)} " in line
        assert f"Holm p {probability(third['p_holm'])}" in line
        assert row.effects[0].p_holm == probability(third["p_holm"])
        assert row.effects[0].reading
        assert [effect.reading for effect in row.effects[1:]] == ["", ""]


def test_without_a_third_party_the_estimate_that_leads_is_named_as_another() -> None:
    none = {"value": None, "low": None, "high": None, "p": None, "p_holm": None, "n": 0}
    some = {"value": 0.2, "low": 0.1, "high": 0.3, "p": 0.01, "p_holm": 0.02, "n": 9}
    judge = {
        "agent": "ada",
        "fit": True,
        "self_preference": {"third_party": none, "win_rate": some, "rank_bias": some},
    }
    standings = {"judges": [judge], "voting": {"judges_counted": ["ada"]}}
    assert "(by peers)" in standings_text(standings)
    (row,) = self_preference_rows(standings)
    assert [one.leaning for one in row.effects] == ["none", "self", "none"]
