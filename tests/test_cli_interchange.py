"""`import` through `main`: the kinds, what is said, and what it takes to go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from peerexam.cli import main
from peerexam.tasks.import_kinds import KINDS


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
        "finally: print([m for m in sys.modules if 'layouts_' in m or m == 'numpy'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip().endswith("[]"), done.stderr
