"""arena-rank's and evalica's rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main
from peerexam.errors import RecordFileError, SetupError
from peerexam.printable import plain
from peerexam.protocols.run.finishing import tally_folder
from peerexam.records import Verdict
from peerexam.runfolder import RunFolder
from peerexam.tasks.importers.importing import import_run, read_source


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def battle(a: str, b: str, winner: object, **more: Any) -> dict[str, Any]:
    return {"model_a": a, "model_b": b, "winner": winner, **more}


def test_every_outcome_of_arena_rank_becomes_a_verdict(tmp_path: Path) -> None:
    said = ["model_a", "model_b", "tie", "both_bad", "tie (bothbad)", "timeout", None]
    rows = [battle("x", "y", winner) for winner in said]
    found = read_source("arena-rank", write(tmp_path / "b.jsonl", rows))
    winners = [v.winner for v in sorted(found.verdicts, key=lambda v: v.question_id)]
    assert winners == ["first", "second", "tie", "tie", "tie", None, None]
    assert [v.state for v in found.verdicts].count("unparsed") == 2
    assert found.roles == {"x": ["examinee"], "y": ["examinee"], "judge": ["judge"]}
    assert len(found.questions) == len(rows)  # each row is its own


def test_winners_that_are_none_are_named_with_the_line_where_they_first_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["model_a", "timeout", "tie", "timeout", "a\x1b[2J\u202eb", None]
    source = write(tmp_path / "b.jsonl", [battle("x", "y", winner) for winner in said])
    assert main(["import", "arena-rank", str(source), "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "left out: the winner of 4 rows, counted as unparsed: 'timeout' (2, first" in out
    assert "'timeout' (2, first b.jsonl:2), " in out
    assert "None (1, first b.jsonl:6); known are model_a, model_b, tie, " in out
    assert plain(out) == out


@pytest.mark.parametrize("labels", [("A", "B"), (1, 2), (None, None)])
def test_rows_without_any_known_winner_are_refused_at_the_first(
    labels: tuple[object, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "b.jsonl", [battle("x", "y", winner) for winner in labels])
    assert main(["import", "arena-rank", str(source), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert f"{source}:1: winner {labels[0]!r} is none that this layout knows (model_a, " in error
    assert not (tmp_path / "run").exists()


def test_rows_of_one_order_are_counted_and_said_to_be_such(tmp_path: Path) -> None:
    # x beats y in 3 of 4 rows, so that its direct win rate is ¾.
    rows = [battle("x", "y", "model_a")] * 2 + [battle("y", "x", w) for w in ("model_b", "model_a")]
    summary = import_run("arena-rank", write(tmp_path / "b.jsonl", rows), tmp_path / "run")
    assert any("position" in line or "place" in line for line in summary.left_out)
    standings = tally_folder(tmp_path / "run")
    assert standings["standings"][0]["agent"] == "x"
    assert standings["standings"][0]["win_rate"] == 0.75
    judge = standings["judges"][0]
    assert judge["swap_consistency"] is None
    assert judge["intervals"]["first_preference"]["reason"] == "saw every pair in one order only"


def test_both_orders_of_a_judge_are_kept_and_settled_by_our_rule(tmp_path: Path) -> None:
    rows = [
        battle("x", "y", "model_a", question_id=1, judge="j"),
        battle("y", "x", "model_b", question_id=1, judge="j"),
        battle("x", "y", "model_a", question_id=2, judge="j"),
        battle("y", "x", "model_a", question_id=2, judge="j"),  # the first place both times
    ]
    summary = import_run("arena-rank", write(tmp_path / "b.jsonl", rows), tmp_path / "run")
    assert "orders" not in RunFolder(tmp_path / "run").read_manifest()["agents"][0]
    assert summary.counts["verdicts"] == 4
    standings = tally_folder(tmp_path / "run")
    assert standings["standings"][0]["win_rate"] == 0.75  # one win, one tie
    assert standings["judges"][0]["swap_consistency"] == 0.5


def test_a_judge_among_the_models_shows_what_it_thinks_of_itself(tmp_path: Path) -> None:
    def both(a: str, b: str, wins: bool, judge: str, q: int) -> list[dict[str, Any]]:
        first, second = ("model_a", "model_b") if wins else ("model_b", "model_a")
        return [
            battle(a, b, first, question_id=q, judge=judge),
            battle(b, a, second, question_id=q, judge=judge),
        ]

    rows = []
    for q in range(6):
        rows += both("x", "y", True, "x", q) + both("x", "y", False, "z", q)
        rows += both("x", "z", True, "y", q) + both("y", "z", True, "x", q)
    import_run("arena-rank", write(tmp_path / "b.jsonl", rows), tmp_path / "run")
    judges = {row["agent"]: row for row in tally_folder(tmp_path / "run")["judges"]}
    # x judges itself the winner every time, and z judges it the loser every time.
    assert judges["x"]["self_preference"]["win_rate"]["value"] == 1.0
    assert judges["z"]["self_preference"] is None


def test_votes_of_many_under_no_name_are_all_kept(tmp_path: Path) -> None:
    rows = [battle("x", "y", w, question_id="q") for w in ("model_a", "model_a", "model_b")]
    found = read_source("arena-rank", write(tmp_path / "b.jsonl", rows))
    assert len(found.verdicts) == 3
    assert any("who judged" in line for line in found.left_out)


def test_the_length_of_a_talk_leaves_no_battle_out(tmp_path: Path) -> None:
    # FastChat's clean_battle_data.py writes `turn`, the number of turns before the vote.
    rows = [
        battle("x", "y", "model_a", question_id=turn, judge="j", turn=turn, language="English")
        for turn in (1, 2, 3, 30, None)
        if turn is not None
    ]
    found = read_source("arena-rank", write(tmp_path / "b.jsonl", rows))
    assert len(found.verdicts) == 4
    assert found.left_out[0] == "the columns language, turn"


def test_the_question_s_text_and_category_are_kept(tmp_path: Path) -> None:
    rows = [battle("x", "y", "tie", question="Why?", category="reasons", judge="j")] * 2
    found = read_source("arena-rank", write(tmp_path / "b.jsonl", rows))
    assert [(q.text, q.domain) for q in found.questions] == [("Why?", "reasons")]
    assert len(found.verdicts) == 1
    assert "1 records that stand there twice" in found.left_out


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ([battle("x", "x", "tie")], 1, "compared with itself"),
        ([battle("x", "", "tie")], 1, "model_b must be a name"),
        ([{"model_a": "x", "winner": "tie"}], 1, "no model_b"),
        (
            [
                battle("x", "y", "model_a", question_id=1, judge="j"),
                battle("x", "y", "model_b", question_id=1, judge="j"),
            ],
            2,
            r"stands differently in b\.jsonl:1",
        ),
    ],
)
def test_rows_that_cannot_be_are_told(
    tmp_path: Path, rows: list[dict[str, Any]], line: int, says: str
) -> None:
    with pytest.raises(RecordFileError, match=says) as caught:
        read_source("arena-rank", write(tmp_path / "b.jsonl", rows))
    assert caught.value.line == line


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    rows = [battle("../../etc/passwd", "<script>", "model_a", question_id="../q", judge="=j")]
    import_run("arena-rank", write(tmp_path / "b.jsonl", rows), tmp_path / "run")
    verdicts = list(RunFolder(tmp_path / "run").verdicts())
    assert verdicts == [Verdict("../q", "=j", "../../etc/passwd", "<script>", "first")]
    assert sorted(p.name for p in (tmp_path).iterdir()) == ["b.jsonl", "run"]


def test_evalica_s_csv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "food.csv"
    path.write_text("left,right,winner\npizza,burger,left\nburger,pizza,Tie\npizza,sushi,\n")
    found = read_source("evalica", path)
    assert [(v.first, v.second, v.winner) for v in found.verdicts] == [
        ("pizza", "burger", "first"),
        ("burger", "pizza", "tie"),
        ("pizza", "sushi", None),
    ]


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="has no rows"):
        read_source("evalica", tmp_path)
    with pytest.raises(SetupError, match="is not there"):
        read_source("evalica", tmp_path / "nowhere")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(SetupError, match="holds nothing"):
        read_source("evalica", tmp_path / "empty.jsonl")
