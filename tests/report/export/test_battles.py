"""Rows for arena-rank and evalica: the ratings that those give are the ones that we print."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import subprocess
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main
from peerexam.runfolder import RunFolder

PRD = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "prd_vicuna80"
ARENA_RANK = os.environ.get("PEEREXAM_ARENA_RANK_PYTHON")
"""Interpreter of an environment with arena-rank, whose pins do not go with ours."""

EXAM = """\
name: four
agents:
  - {name: strong, model: "sim/strong?ability=1.5"}
  - {name: "=cmd|' /c calc'!A1", model: "sim/x?ability=0.7"}
  - {name: middle, model: "sim/middle?ability=0"}
  - {name: weak, model: "sim/weak?ability=-0.7"}
questions: {domains: [geography, chess], per_domain: 4}
voting: {rounds: 20}
"""

ARENA_RANK_PROGRAM = """\
import json, sys
import pandas
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
rows = PairDataset.from_pandas(pandas.read_json(sys.argv[1], lines=True))
found = BradleyTerry(n_competitors=rows.n_competitors).compute_ratings_and_cis(rows)
print(json.dumps(dict(zip(found["competitors"], map(float, found["ratings"])))))
"""


def exported(folder: Path, tool: str, *flags: str) -> Path:
    assert main(["export", str(folder), "--to", tool, *flags]) == 0
    return folder / tool


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def exams(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """An exam by what its ballots are made of, and by its rule for orders that disagree."""
    root = tmp_path_factory.mktemp("exams")
    (root / "EXAM.yaml").write_text(EXAM, encoding="utf-8")
    settings = {
        "rankings": ["judging.ranking=merge_sort"],
        "marks": ["judging.ranking=none"],
        "average": ["judging.ranking=round_robin", "judging.disagreement=average"],
    }
    for name, changes in settings.items():
        flags = [flag for change in changes for flag in ("--set", change)]
        arguments = ["run", str(root / "EXAM.yaml"), "--quiet", "--out", str(root / name)]
        assert main([*arguments, *flags]) == 0
    _judge_directly(root / "average")
    assert main(["export", str(root / "average"), "--to", "arena-rank"]) == 0
    source = str(root / "average" / "arena-rank" / "verdicts.jsonl")
    assert main(["import", "arena-rank", source, "--out", str(root / "verdicts")]) == 0
    return {name: root / name for name in ("rankings", "marks", "average", "verdicts")}


def _judge_directly(folder: Path) -> None:
    """Leave verdicts as ballots, and some of them ties, which simulated judges never give."""
    (folder / "rankings.jsonl").write_text("")
    (folder / "standings.json").unlink()
    said = rows(folder / "verdicts.jsonl")
    for row in said[::5]:
        row["winner"] = "tie"
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))


@pytest.fixture(scope="module")
def prd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PRD.is_dir():
        pytest.skip("the public data are not there")
    out = tmp_path_factory.mktemp("prd") / "run"
    assert main(["import", "prd", str(PRD), "--out", str(out)]) == 0
    return out


def evalica_rates(path: Path, prior: float = 0.0) -> tuple[dict[str, float], dict[str, float]]:
    """evalica's natural-log strengths, centred, and its average win rates.

    Args:
        prior: Drawn rows that are added to every pair.
    """
    evalica = pytest.importorskip("evalica")
    battles = rows(path)
    words = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    left, right = [row["left"] for row in battles], [row["right"] for row in battles]
    won = [words[row["winner"]] for row in battles]
    weights = [1.0] * len(won)
    for one, other in combinations(sorted({*left, *right}), 2) if prior else ():
        left.append(one)
        right.append(other)
        won.append(words["tie"])
        weights.append(prior)
    fit = evalica.bradley_terry(left, right, won, weights=weights, tolerance=1e-12, limit=10_000)
    logs = {name: math.log(score) for name, score in fit.scores.items()}
    mean = sum(logs.values()) / len(logs)
    rates = evalica.average_win_rate(left, right, won, weights=weights)
    return {name: value - mean for name, value in logs.items()}, dict(rates.scores)


def check_with_evalica(folder: Path) -> None:
    path = exported(folder, "evalica") / "battles.jsonl"
    strengths, rates = evalica_rates(path)
    body = json.loads((folder / "evalica" / "ratings.json").read_text(encoding="utf-8"))
    ours = {row["agent"]: row for row in body["ratings"]}
    assert set(ours) == set(strengths)
    for name, row in ours.items():
        assert row["strength"] == pytest.approx(strengths[name], abs=1e-6)
        expected = 1000 + 400 / math.log(10) * strengths[name]
        assert row["rating"] == pytest.approx(expected, abs=1e-4)
        assert row["low"] < row["rating"] < row["high"]
        assert row["win_rate"] == pytest.approx(rates[name], abs=1e-9)
    check_the_standings(folder, path)


def check_the_standings(folder: Path, path: Path) -> None:
    """With the prior as rows, evalica gives what `standings.json` prints to six decimals."""
    standings = RunFolder(folder).read_standings()
    prior = standings["voting"]["bradley_terry_prior"]
    body = json.loads((path.parent / "ratings.json").read_text(encoding="utf-8"))
    strengths, _ = evalica_rates(path, prior * body["rows_a_result"])
    printed = standings["voting"]["by_method"]["bradley_terry"]
    for row in printed:
        mine = strengths[row["agent"]]
        others = [value for name, value in strengths.items() if name != row["agent"]]
        chance = [1 / (1 + math.exp(other - mine)) for other in others]
        assert row["score"] == pytest.approx(sum(chance) / len(chance), abs=2e-6)
    _, rates = evalica_rates(path)
    for row in standings["standings"]:
        assert row["win_rate"] == pytest.approx(rates[row["agent"]], abs=1e-6)


@pytest.mark.parametrize("name", ["rankings", "marks", "average", "verdicts"])
def test_evalica_gives_the_ratings_that_we_print(exams: Mapping[str, Path], name: str) -> None:
    check_with_evalica(exams[name])
    body = json.loads((exams[name] / "evalica" / "ratings.json").read_text(encoding="utf-8"))
    assert body["made_of"] == ("verdicts" if name == "average" else name)


@pytest.mark.shared
def test_evalica_gives_the_ratings_that_we_print_of_public_verdicts(prd: Path) -> None:
    check_with_evalica(prd)


def check_with_arena_rank(folder: Path, tmp_path: Path) -> None:
    path = exported(folder, "arena-rank", "--out", str(tmp_path / "out")) and tmp_path / "out"
    assert ARENA_RANK is not None
    (tmp_path / "rate.py").write_text(ARENA_RANK_PROGRAM)
    command = [ARENA_RANK, str(tmp_path / "rate.py"), str(path / "battles.jsonl")]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    body = json.loads((path / "ratings.json").read_text(encoding="utf-8"))
    ours = {row["agent"]: row["rating"] for row in body["ratings"]}
    # arena-rank's optimiser stops at a gradient of 1e-9 a row, which leaves up to 1e-4 of a point
    # where agents are far apart; ratings are printed to a tenth.
    assert theirs == pytest.approx(ours, abs=1e-2, rel=0)


@pytest.mark.skipif(ARENA_RANK is None, reason="PEEREXAM_ARENA_RANK_PYTHON names no interpreter")
@pytest.mark.parametrize("name", ["rankings", "marks", "average", "verdicts"])
def test_arena_rank_gives_the_ratings_that_we_print(
    exams: Mapping[str, Path], name: str, tmp_path: Path
) -> None:
    check_with_arena_rank(exams[name], tmp_path)


@pytest.mark.shared
@pytest.mark.skipif(ARENA_RANK is None, reason="PEEREXAM_ARENA_RANK_PYTHON names no interpreter")
def test_arena_rank_gives_the_ratings_that_we_print_of_public_verdicts(
    prd: Path, tmp_path: Path
) -> None:
    check_with_arena_rank(prd, tmp_path)


def test_results_under_the_rule_average_take_two_rows(exams: Mapping[str, Path]) -> None:
    body = json.loads((exported(exams["average"], "evalica") / "ratings.json").read_bytes())
    assert (body["disagreement"], body["rows_a_result"]) == ("average", 2)


def test_csv_is_inert_and_jsonl_and_parquet_keep_names(exams: Mapping[str, Path]) -> None:
    folder = exported(exams["rankings"], "arena-rank")
    name = "=cmd|' /c calc'!A1"
    with (folder / "battles.csv").open(encoding="utf-8", newline="") as file:
        cells = [value for row in csv.reader(file) for value in row]
    assert f"'{name}" in cells
    assert not [cell for cell in cells if cell.startswith("=")]
    kept = rows(folder / "battles.jsonl")
    assert name in {row["model_a"] for row in kept} | {row["model_b"] for row in kept}
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(folder / "battles.parquet").to_pylist() == kept


def test_own_answers_are_left_out_of_both_tables(exams: Mapping[str, Path]) -> None:
    folder = exported(exams["rankings"], "arena-rank")
    for name in ("battles", "verdicts"):
        found = rows(folder / f"{name}.jsonl")
        assert found
        assert all(row["judge"] not in (row["model_a"], row["model_b"]) for row in found)
    peers = [
        v for v in RunFolder(exams["rankings"]).verdicts() if not v.is_self_judgement and v.winner
    ]
    assert len(rows(folder / "verdicts.jsonl")) == len(peers)


def test_exporting_again_leaves_the_same_bytes(exams: Mapping[str, Path]) -> None:
    folder = exported(exams["marks"], "evalica")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    exported(exams["marks"], "evalica")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    exported(exams["marks"], "evalica", "--no-parquet")
    assert not list(folder.glob("*.parquet"))


def test_the_command_prints_the_ratings(
    exams: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(exams["rankings"]), "--to", "arena-rank"]) == 0
    assert "strong" in capsys.readouterr().out
    assert main(["export", str(exams["rankings"]), "--to", "arena-rank", "--json"]) == 0
    body: Any = json.loads(capsys.readouterr().out)
    assert body["ratings"][0]["agent"] == "strong"
    assert body["battles"] == 32 * 4 * 3  # questions × judges × pairs without the judge's own
    assert main(["export", str(exams["rankings"]), "--to", "elo"]) == 2
    assert "dataset, arena-rank, evalica or fastchat" in capsys.readouterr().err


def test_standings_of_an_older_peerexam_are_to_be_counted_again(
    exams: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    shutil.copytree(exams["marks"], old)
    standings = json.loads((old / "standings.json").read_text())
    del standings["voting"]["bradley_terry_prior"]
    (old / "standings.json").write_text(json.dumps(standings))
    assert main(["export", str(old), "--to", "evalica"]) == 2
    assert "left by an older peerexam: remove it" in capsys.readouterr().err
