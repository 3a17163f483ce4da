"""Results of a folder are replaced only by who says so; half-done files are finished first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import peerexam
from peerexam.cli import main
from peerexam.errors import SetupError

EXAM: dict[str, Any] = {
    "name": "held",
    "agents": [
        {"name": "a", "model": "sim/a?ability=1"},
        {"name": "b", "model": "sim/b?ability=0"},
        {"name": "c", "model": "sim/c?ability=-1"},
    ],
    "questions": {"domains": ["tides"], "per_domain": 2},
    "voting": {"rounds": 50},
}


def write(folder: Path, body: dict[str, Any]) -> str:
    path = folder / "EXAM.yaml"
    path.write_text(yaml.safe_dump(body))
    return str(path)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of records and results; the report and the ledger are no part of it."""
    kept = (".jsonl", ".json", ".yaml")
    files = [p for p in sorted(folder.iterdir()) if p.suffix in kept and p.name[0] != "."]
    return {path.name: path.read_bytes() for path in files}


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A finished run in `run`, made from EXAM.yaml beside it."""
    assert main(["run", write(tmp_path, EXAM), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    return tmp_path / "run"


def with_seed(body: dict[str, Any]) -> None:
    body["seed"] = 7


def with_more_questions(body: dict[str, Any]) -> None:
    body["questions"]["per_domain"] = 3


def with_other_domains(body: dict[str, Any]) -> None:
    body["questions"]["domains"] = ["bread"]


def without_an_agent(body: dict[str, Any]) -> None:
    del body["agents"][2]["model"], body["agents"][2]
    body["judging"] = {"ranking": "none"}


def with_another_agent(body: dict[str, Any]) -> None:
    body["agents"].append({"name": "d", "model": "sim/d?ability=2"})


def with_another_model(body: dict[str, Any]) -> None:
    body["agents"][1]["model"] = "sim/b?ability=3"


CHANGES: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (with_seed, "seed: 0 → 7"),
    (with_more_questions, "questions.per_domain: 2 → 3"),
    (with_other_domains, "questions.domains: ['tides'] → ['bread']"),
    (without_an_agent, "agent 'c' is not in this config"),
    (with_another_agent, "agent 'd' is new"),
    (with_another_model, "agents.b.model: sim/b?ability=0 → sim/b?ability=3"),
]


@pytest.mark.parametrize(
    ("change", "said"), CHANGES, ids=lambda value: getattr(value, "__name__", "")
)
def test_another_set_up_in_the_same_folder_is_refused_with_the_choices(
    change: Callable[[dict[str, Any]], None],
    said: str,
    held: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = yaml.safe_load(yaml.safe_dump(EXAM))
    change(body)
    before = snapshot(held)
    assert main(["run", write(held.parent, body), "--out", str(held), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "--replace" in error
    assert "--out" in error
    assert snapshot(held) == before


TEMPLATES = Path(peerexam.__file__).parent / "examiners" / "templates"
RUBRIC = """\
dimensions:
  accuracy: {low: 1, high: 3, description: wrong or right}
overall: [1, 5]
"""


def question_lines(*texts: str) -> str:
    return "".join(json.dumps({"text": text, "domain": "tides"}) + "\n" for text in texts)


@pytest.mark.parametrize(
    ("name", "settings", "old", "new", "said"),
    [
        (
            "questions.jsonl",
            {"questions": {"file": "questions.jsonl"}},
            question_lines("What moves the tides?", "How high are they?"),
            question_lines("What moves the tides?", "How high is a spring tide?"),
            "questions.file",
        ),
        (
            "questions.jsonl",
            {"questions": {"file": "questions.jsonl"}},
            question_lines("What moves the tides?", "How high are they?"),
            question_lines("What moves the tides?"),
            "questions.file",
        ),
        (
            "rubric.yaml",
            {"judging": {"rubric": "rubric.yaml"}},
            RUBRIC,
            RUBRIC.replace("wrong", "untrue"),
            "judging.rubric",
        ),
        (
            "mark.j2",
            {"prompts": {"mark": "mark.j2"}},
            (TEMPLATES / "mark.j2").read_text(),
            (TEMPLATES / "mark.j2").read_text() + "Be strict.",
            "prompts.mark",
        ),
    ],
)
def test_another_content_of_a_file_that_the_config_names_is_refused(
    name: str,
    settings: dict[str, Any],
    old: str,
    new: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_text(old)
    run = ["run", write(tmp_path, {**EXAM, **settings}), "--out", str(tmp_path / "run"), "--quiet"]
    assert main(run) == 0
    before = snapshot(tmp_path / "run")
    assert main(run) == 0, "the same goes on"
    # The same content under another name is the same.
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / name).write_text(old)
    moved = yaml.safe_load(yaml.safe_dump({**EXAM, **settings}).replace(name, f"moved/{name}"))
    assert main(["run", write(tmp_path, moved), *run[2:]]) == 0
    write(tmp_path, {**EXAM, **settings})
    assert main(run) == 0
    assert snapshot(tmp_path / "run") == before
    (tmp_path / name).write_text(new)
    capsys.readouterr()
    assert main(run) == 2
    assert f"{said}: its content has changed" in capsys.readouterr().err
    assert snapshot(tmp_path / "run") == before
    assert main([*run, "--replace"]) == 0


def test_questions_of_a_file_do_not_replace_those_that_were_set(
    held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (held.parent / "mine.jsonl").write_text(question_lines("What moves the tides?"))
    body = {**EXAM, "questions": {**EXAM["questions"], "file": "mine.jsonl"}}
    assert main(["run", write(held.parent, body), "--out", str(held), "--quiet"]) == 2
    assert "questions.file" in capsys.readouterr().err


def test_who_asks_for_it_replaces_them(held: Path) -> None:
    body = yaml.safe_load(yaml.safe_dump(EXAM))
    with_more_questions(body)
    path = write(held.parent, body)
    assert main(["run", path, "--out", str(held), "--quiet", "--replace"]) == 0
    assert len((held / "questions.jsonl").read_text().splitlines()) == 9  # 3 agents × 3
    # From then on it is that set-up's folder.
    assert main(["run", path, "--out", str(held), "--quiet"]) == 0


def test_what_replaces_no_record_may_change(held: Path) -> None:
    body = yaml.safe_load(yaml.safe_dump(EXAM))
    body |= {"limits": {"concurrency": 3, "budget": {"usd": 1}}, "voting": {"method": "copeland"}}
    before = (held / "verdicts.jsonl").read_bytes()
    assert main(["run", write(held.parent, body), "--out", str(held), "--quiet"]) == 0
    assert (held / "verdicts.jsonl").read_bytes() == before


def test_a_run_after_an_add_keeps_the_agent_that_joined(
    held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["add", str(held), "sim/d?ability=2", "--name", "d", "--quiet"]) == 0
    before = snapshot(held)
    assert main(["run", write(held.parent, EXAM), "--out", str(held), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "agent 'd' is not in this config, and joined by peerexam add" in error
    assert f"peerexam run {held / 'exam.yaml'} --out {held}" in error
    assert snapshot(held) == before
    # The command that it names goes on, and changes nothing.
    assert main(["run", str(held / "exam.yaml"), "--out", str(held), "--quiet"]) == 0
    assert snapshot(held) == before


def test_python_callers_are_refused_and_may_insist(held: Path) -> None:
    body = yaml.safe_load(yaml.safe_dump(EXAM))
    with_seed(body)
    path = write(held.parent, body)
    with pytest.raises(SetupError, match="seed: 0 → 7"):
        peerexam.run(path, held)
    assert peerexam.run(path, held, replace=True).status == "complete"


def test_other_judges_in_the_same_folder_are_refused(
    held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(held.parent / "again")
    first = ["rejudge", str(held), "--judges", "sim/j?ability=1", "--out", out, "--quiet"]
    other = ["rejudge", str(held), "--judges", "sim/k?ability=1", "--out", out, "--quiet"]
    assert main(first) == 0
    before = snapshot(Path(out))
    assert main(other) == 2
    assert "--replace" in capsys.readouterr().err
    assert snapshot(Path(out)) == before
    assert main([*other, "--replace"]) == 0


def test_an_exam_that_was_stopped_before_any_answer_may_change(tmp_path: Path) -> None:
    body = yaml.safe_load(yaml.safe_dump(EXAM))
    out = tmp_path / "run"
    out.mkdir()
    (out / "exam.yaml").write_text("")  # not yet written by a run
    (out / "exam.yaml").unlink()
    with_seed(body)
    assert main(["run", write(tmp_path, body), "--out", str(out), "--quiet"]) == 0


# --- a hand-over that was killed -----------------------------------------------------------------

KILLED = """
import os, sys
from peerexam.cli import main
left = int(sys.argv[1])
def replace(source, target, _real=os.replace):
    global left
    if ".adding" in str(source) and ".part" not in str(source):
        if left == 0:
            os._exit(137)
        left -= 1
    _real(source, target)
os.replace = replace
sys.exit(main(sys.argv[2:]))
"""
ADD = ("sim/d?ability=2", "--name", "d", "--quiet")


@pytest.fixture
def joined(held: Path) -> dict[str, bytes]:
    """What the same `add`, not killed, comes to."""
    whole = held.parent / "whole"
    shutil.copytree(held, whole)
    assert main(["add", str(whole), *ADD]) == 0
    return snapshot(whole)


@pytest.mark.parametrize("moves", [0, 3])
@pytest.mark.parametrize("command", ["report", "export", "add", "self-bias", "run"])
def test_whoever_comes_after_a_killed_add_finishes_its_hand_over(
    command: str, moves: int, held: Path, joined: dict[str, bytes], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(moves), "add", str(held), *ADD], check=False
    )
    assert done.returncode == 137
    assert (held / ".adding").is_dir()
    arguments = {
        "report": ["report", str(held)],
        "export": ["export", str(held), "--out", str(tmp_path / "data"), "--no-parquet"],
        "add": ["add", str(held), *ADD],
        "self-bias": ["self-bias", str(held), "--rounds", "50"],
        "run": ["run", str(held / "exam.yaml"), "--out", str(held), "--quiet"],
    }[command]
    if command == "run":  # it is refused no more once the newcomer stands in exam.yaml
        assert main(["report", str(held)]) == 0
    assert main(arguments) == 0
    assert not (held / ".adding").exists()
    assert snapshot(held) == joined
    if command == "export":
        verdicts = (tmp_path / "data" / "data" / "verdicts.jsonl").read_bytes()
        assert verdicts.count(b"\n") == joined["verdicts.jsonl"].count(b"\n")


# --- results that a killed process had begun to replace -----------------------------------------

KILLED_WRITING = """
import os, sys
from peerexam.cli import main
from peerexam.runfolder import RecordWriter, RunFolder
left = int(sys.argv[1])
def emit(self, record, _real=RecordWriter.emit):
    global left
    _real(self, record)
    left -= self.path.name == "verdicts.jsonl"
    if left == 0:
        self.flush()
        os._exit(137)
RecordWriter.emit = emit
RunFolder.write_manifest = lambda self, body: os._exit(137)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("verdicts", [1, 7, -1])  # -1: all, and standings, but no manifest
@pytest.mark.parametrize("command", ["run", "rejudge"])
def test_results_half_replaced_are_not_exported_as_those_that_were_there(
    command: str, verdicts: int, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "run":  # the same questions, judged otherwise
        body = {**EXAM, "judging": {"ranking": "round_robin"}, "seed": 3}
        target = held
        replaced = ["run", write(held.parent, body), "--out", str(held)]
    else:
        target = held.parent / "again"
        rejudge = ["rejudge", str(held), "--out", str(target), "--quiet", "--judges"]
        assert main([*rejudge, "sim/j?ability=1"]) == 0
        replaced = [*rejudge, "sim/k?ability=1&first_preference=0.4"]
    whole = held.parent / "whole"
    shutil.copytree(target, whole)
    arguments = [*replaced, "--replace", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WRITING, str(verdicts), *arguments], check=False
    )
    assert done.returncode == 137
    for layout in ("dataset", "arena-rank", "fastchat"):
        assert main(["export", str(target), "--to", layout]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert "unfinished" in line
    assert main([*replaced, "--quiet"]) == 0  # what was killed goes on
    as_whole = [str(whole) if text == str(target) else text for text in arguments]
    assert main(as_whole) == 0
    assert snapshot(target) == snapshot(whole)


def test_a_run_over_what_stands_keeps_its_manifest_until_it_has_another(held: Path) -> None:
    before = snapshot(held)
    arguments = ["run", write(held.parent, EXAM), "--out", str(held), "--quiet"]
    subprocess.run([sys.executable, "-c", KILLED_WRITING, "-1", *arguments], check=False)
    assert snapshot(held) == before


# --- damaged and left-over files ----------------------------------------------------------------


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b"\x00" * 64, b'{"schema": "x"}', b'{"schema": true}']
)
def test_a_damaged_manifest_names_a_command_that_makes_it_again(
    damage: bytes, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(held)
    (held / "manifest.json").write_bytes(damage)
    named = f"peerexam run {held / 'exam.yaml'} --out {held}"
    for command in (["report", str(held)], ["export", str(held)]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert "manifest.json is damaged" in error
        assert named in error
        assert len(error.strip().splitlines()) == 1
    assert main([*named.split()[1:], "--quiet"]) == 0
    assert snapshot(held) == before


def test_a_newer_manifest_is_left_alone(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = json.loads((held / "manifest.json").read_text())
    (held / "manifest.json").write_text(json.dumps({**body, "schema": 999}))
    before = snapshot(held)
    for command in (["report", str(held)], ["run", str(held / "exam.yaml"), "--out", str(held)]):
        assert main(command) == 2
        assert "update peerexam" in capsys.readouterr().err
    assert snapshot(held) == before


def test_damaged_standings_are_counted_again(held: Path) -> None:
    before = snapshot(held)
    (held / "standings.json").write_bytes(b'{"standings": [')
    assert main(["report", str(held)]) == 0
    assert snapshot(held)["standings.json"] == before["standings.json"]


@pytest.mark.parametrize("layout", ["dataset", "arena-rank", "fastchat"])
def test_changed_questions_are_not_exported(
    layout: str, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = held / "questions.jsonl"
    questions.write_text(questions.read_text().replace("tides", "bread"))
    assert main(["export", str(held), "--to", layout]) == 2
    error = capsys.readouterr().err
    assert "was changed after the run" in error
    # The command that it names makes them again.
    assert main(["run", str(held / "exam.yaml"), "--out", str(held), "--quiet"]) == 0
    assert main(["export", str(held), "--to", layout]) == 0


def test_drafts_of_killed_processes_are_removed_and_those_of_living_ones_stay(held: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = [held / f".report.html.{gone.pid}.part", held / ".checkpoint.json.part"]
    living = held / f".report.html.{os.getppid()}.part"
    for path in (*left, living):
        path.write_text("half")
    assert main(["run", write(held.parent, EXAM), "--out", str(held), "--quiet"]) == 0
    assert [path.exists() for path in (*left, living)] == [False, False, True]
