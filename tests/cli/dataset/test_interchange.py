"""`import` through `main`: the kinds, what is said, and what it takes to go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from peerexam.cli import main
from peerexam.tasks.importers.kinds import KINDS


def test_the_kinds_are_listed_in_three_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "kinds"]) == 0
    listed = capsys.readouterr().out
    assert main(["import", "--help"]) == 0
    helped = capsys.readouterr().out
    assert main(["import", "arena-rnk", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    refused = capsys.readouterr().err
    for kind, (_, about) in KINDS.items():
        for text in (listed, helped, refused):
            assert f"  {kind} " in text
            assert about in text
    assert "did you mean 'arena-rank'?" in refused
    assert main(["import", "kinds", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(KINDS)


def test_import_needs_a_folder_to_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "evalica", str(tmp_path)]) == 2
    assert "--out DIR" in capsys.readouterr().err


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_empty_folder_and_a_missing_one_are_refused_by_every_kind(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for source in ("empty", "nowhere"):
        out = tmp_path / "out"
        assert main(["import", kind, str(tmp_path / source), "--out", str(out)]) == 2
        captured = capsys.readouterr().err
        assert captured.startswith("peerexam: ")
        assert "fault of peerexam" not in captured
        assert not out.exists()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"questions", "prd"}))
@pytest.mark.parametrize("text", ["", "\n\n", '{"a": 1}\n', "[1, 2]\n", '{"a": NaN}\n', "\x00\n"])
def test_files_of_something_else_are_refused_by_every_kind(
    tmp_path: Path, kind: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "question.jsonl"
    path.write_text(text)
    assert main(["import", kind, str(path), "--out", str(tmp_path / "out")]) == 2
    assert "fault of peerexam" not in capsys.readouterr().err


def test_what_comes_next_depends_on_what_was_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = [{"instruction": "Why?", "output": "So.", "generator": name} for name in "gh"]
    (tmp_path / "o.json").write_text(json.dumps(outputs))
    battle = {"left": "g", "right": "h", "winner": "left"}
    (tmp_path / "b.jsonl").write_text(json.dumps(battle) + "\n")

    def said(kind: str, name: str) -> str:
        out = tmp_path / kind
        assert main(["import", kind, str(tmp_path / name), "--out", str(out)]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    assert said("alpaca-eval", "o.json").endswith("in an EXAM.yaml")
    assert said("alpaca-outputs", "o.json").startswith("next: peerexam rejudge")
    assert said("evalica", "b.jsonl").startswith("next: peerexam report")
    assert main(["report", str(tmp_path / "alpaca-eval")]) == 2
    assert "questions and no answers" in capsys.readouterr().err
    judged = ["--judges", "sim/judge", "--out", str(tmp_path / "judged"), "--quiet"]
    assert main(["rejudge", str(tmp_path / "alpaca-outputs"), *judged]) == 0


def test_importing_other_data_over_an_import_leaves_no_old_standings(tmp_path: Path) -> None:
    path, out = tmp_path / "b.jsonl", str(tmp_path / "out")
    for winner in ("left", "right"):
        path.write_text(json.dumps({"left": "g", "right": "h", "winner": winner}) + "\n")
        assert main(["import", "evalica", str(path), "--out", out]) == 0
        assert main(["report", out]) == 0
        standings = json.loads((tmp_path / "out" / "standings.json").read_bytes())
        assert standings["standings"][0]["agent"] == {"left": "g", "right": "h"}[winner]


def test_help_loads_no_importer() -> None:
    program = (
        "import sys, peerexam.cli\n"
        "try: peerexam.cli.main(['import', '--help'])\n"
        "finally: print([m for m in sys.modules if '.layouts.' in m or m == 'numpy'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip().endswith("[]"), done.stderr


BOTH_ORDERS = [("model_a", "model_b"), ("model_a", "model_a"), ("model_a", "tie")]
"""Winners with x first and with y first: x twice, the first place twice, x and a tie."""

WIN_RATE = {"tie": (1 + 0.5 + 0.5) / 3, "average": (1 + 0.5 + 0.75) / 3, "abstain": 1.0}
"""Of x, by hand."""


def _in_both_orders(path: Path) -> Path:
    rows = []
    for number, (one, other) in enumerate(BOTH_ORDERS):
        shared = {"question_id": number, "judge": "j"}
        rows.append({**shared, "model_a": "x", "model_b": "y", "winner": one})
        rows.append({**shared, "model_a": "y", "model_b": "x", "winner": other})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _x(capsys: pytest.CaptureFixture[str]) -> tuple[str, object]:
    standings = json.loads(capsys.readouterr().out)["standings"]
    rates = {row["agent"]: row["win_rate"] for row in standings["standings"]}
    return standings["voting"]["disagreement"], rates["x"]


@pytest.mark.parametrize("rule", list(WIN_RATE))
def test_an_import_and_its_report_may_say_what_orders_that_disagree_are_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    rows, run = _in_both_orders(tmp_path / "rows.jsonl"), tmp_path / "run"
    command = ["import", "arena-rank", str(rows), "--out", str(run)]
    assert main([*command, "--disagreement", rule, "--json"]) == 0
    capsys.readouterr()
    main(["report", str(run), "--json"])
    assert _x(capsys) == (rule, pytest.approx(WIN_RATE[rule], abs=1e-6))
    for other in WIN_RATE:  # counted again, whatever was counted before
        main(["report", str(run), "--json", "--disagreement", other])
        assert _x(capsys) == (other, pytest.approx(WIN_RATE[other], abs=1e-6))
        main(["report", str(run), "--json"])  # which the folder remembers
        assert _x(capsys)[0] == other
    main(command)
    capsys.readouterr()
    main(["report", str(run), "--json"])
    assert _x(capsys)[0] == "tie"


def test_an_exam_s_rule_stands_in_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "exam.yaml").write_text("{}")
    (tmp_path / "manifest.json").write_text("{}")
    assert main(["report", str(tmp_path), "--disagreement", "average"]) == 2
    assert "judging.disagreement" in capsys.readouterr().err
