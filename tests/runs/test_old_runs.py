"""What commit 7b33c83 wrote, read and gone on with today: see old_runs/README.md."""

from __future__ import annotations

import importlib.util
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import peerexam
from peerexam.agents.registry import unregister
from peerexam.cli import main

OLD = Path(__file__).with_name("old_runs")
CALLS_OF_THE_EXAM, CALLS_BEFORE_THE_KILL = 414, 225
"""Counted by `select count(*) from calls` in the ledgers of `finished` and `interrupted`."""
RECORDS = ("questions", "levels", "references", "answers", "marks", "verdicts", "rankings")
ANEW = {"probes": 90, "trust": 36, "style": 8}
"""Calls that are asked again, since judges are given more tokens: their key holds the limit."""


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"old_runs_{name}", OLD / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make, player = loaded("make"), loaded("player")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    with tarfile.open(OLD / "7b33c83.tar.xz") as archive:
        # Python 3.11.3 and older know no filters, and ignore the attribute.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    player.ASKED.clear()
    peerexam.register("player")(player.create)
    yield tmp_path
    unregister("player")


def records(folder: str) -> dict[str, bytes]:
    return {kind: Path(folder, f"{kind}.jsonl").read_bytes() for kind in RECORDS}


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def ranks(folder: str) -> list[tuple[str, int, float]]:
    body = json.loads(Path(folder, "standings.json").read_text(encoding="utf-8"))
    return [(row["agent"], row["rank"], row["score"]) for row in body["standings"]]


def test_a_finished_run_is_reported_exported_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "finished"]) == 0
    assert "By the votes of ada, bob and cyd on 12 questions" in capsys.readouterr().out
    assert "q-ada-rivers-1" in Path("finished/report.html").read_text(encoding="utf-8")
    assert main(["export", "finished", "--out", "again", "--no-parquet"]) == 0
    records = [*Path("exported").rglob("*.jsonl"), Path("exported", "manifest.json")]
    assert len(records) > 5
    for path in records:  # the card's sentences may have changed
        assert Path("again", path.relative_to("exported")).read_bytes() == path.read_bytes()
    capsys.readouterr()
    assert main(["show", "finished", "q-ada-rivers-1/ada"]) == 0
    assert "It is 865536, as ada sees it." in capsys.readouterr().out


@pytest.mark.parametrize("run", ["finished", "simulated"])
def test_a_finished_run_is_run_again_from_its_ledger(run: str) -> None:
    """The checkpoint is of another program, so that all is gone over; no model is asked."""
    before, placed = {p: p.read_bytes() for p in Path(run).glob("*.jsonl")}, ranks(run)
    assert main(["run", f"{run}/exam.yaml", "--out", run, "--quiet"]) == 0
    assert player.ASKED == []
    assert {p: p.read_bytes() for p in Path(run).glob("*.jsonl")} == before
    assert ranks(run) == placed


@pytest.mark.parametrize(
    ("command", "file", "folder"),
    [
        ("run", "exam.yaml", "finished"),
        ("run", "exam.yaml", "interrupted"),
        ("run", "simulated.yaml", "simulated"),
        ("generate", "exam.yaml", "generated"),
    ],
)
def test_defaults_that_changed_since_are_named_before_anything_is_paid_again(
    command: str, file: str, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in Path(folder).rglob("*.jsonl")}
    assert main([command, file, "--out", folder, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "questions.max_tokens: 1024 → nothing" in error
    assert f"peerexam {command} {folder}/exam.yaml --out {folder}" in error
    assert player.ASKED == []
    assert {path: path.read_bytes() for path in Path(folder).rglob("*.jsonl")} == before


def test_an_interrupted_run_goes_on_and_pays_no_call_twice() -> None:
    assert main(["run", "interrupted/exam.yaml", "--out", "interrupted", "--quiet"]) == 0
    assert len(player.ASKED) == CALLS_OF_THE_EXAM - CALLS_BEFORE_THE_KILL
    assert records("interrupted") == records("finished")
    assert ranks("interrupted") == ranks("finished")


def test_other_judges_judge_an_old_run() -> None:
    arguments = ["--judges", "player/dan", "--out", "rejudged", "--quiet"]
    assert main(["rejudge", "finished", *arguments]) == 0
    assert {name for name, _ in player.ASKED} == {"dan"}
    assert Path("rejudged/answers.jsonl").read_bytes() == records("finished")["answers"]


def test_another_agent_joins_an_old_run() -> None:
    before = lines("finished/verdicts.jsonl")
    assert main(["add", "finished", "player/eve", "--quiet"]) == 0
    # Of the old ones only what has to do with the newcomer is asked.
    assert all(name == "eve" or "eve sees it" in text for name, text in player.ASKED)
    after = lines("finished/verdicts.jsonl")
    assert all(verdict in after for verdict in before)
    assert {row[0] for row in ranks("finished")} == {"ada", "bob", "cyd", "eve"}


def test_a_data_set_is_completed_examined_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("generated/data/questions.jsonl").read_bytes()
    arguments = ["generated/exam.yaml", "--out", "generated", "--no-parquet", "--quiet"]
    assert main(["generate", *arguments]) == 0
    assert player.ASKED == []
    assert Path("generated/data/questions.jsonl").read_bytes() == before
    settings = ["--set", "questions.file=generated", "--set", "questions.domains=[]"]
    assert main(["run", "exam.yaml", *settings, "--out", "of-set", "--quiet"]) == 0
    texts = [row["text"] for row in lines("generated/data/questions.jsonl")]
    assert [row["text"] for row in lines("of-set/questions.jsonl") if row["round"] == 1] == texts
    pytest.importorskip("bm25s")
    for place, count in (("generated", 12), ("exported", 24)):
        capsys.readouterr()
        assert main(["leakage", place, "--corpus", "corpus.txt", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["questions"] == count


@pytest.mark.parametrize("study", [*make.STUDIES, *make.OTHERS])
def test_a_study_is_read_and_the_same_command_goes_on_from_its_ledger(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if study == "leakage":
        pytest.importorskip("bm25s")
    kept = {path: lines(str(path)) for path in Path().glob(f"{study}/*.jsonl")}
    for path in kept:
        line = next(
            (i for i, row in enumerate(kept[path], 1) if row.get("call") or row.get("calls")), None
        )
        if line is not None:
            assert main(["show", study, f"{path.stem}:{line}"]) == 0
            assert "── reply" in capsys.readouterr().out
    assert main(make.arguments_of(study)) == 0
    assert len(player.ASKED) == ANEW.get(study, 0)
    for path, rows in kept.items():
        # The key of a call that was asked anew is another one; all else is what it was.
        free = {"call": None} if study in ANEW else {}
        assert [{**row, **free} for row in lines(str(path))] == [{**row, **free} for row in rows]


def test_old_studies_stand_beside_an_old_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "finished", *make.STUDIES, "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    (ada,) = (one for one in body["agents"] if one["agent"] == "ada")
    assert {line["study"].split()[0] for line in ada["measures"]} >= {
        "exam", "discrimination", "mistakes", "backtracking", "consistency",
    }  # fmt: skip
