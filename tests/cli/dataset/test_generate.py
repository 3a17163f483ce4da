"""`peerexam generate`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main
from peerexam.runfolder import RunFolder

EXAM = """\
name: "three / sets"
agents:
  - {name: strong, model: "sim/strong?ability=2"}
  - {name: weak, model: "sim/weak?ability=-2"}
questions: {domains: [geography, music], per_domain: 3, levels: {classifiers: [strong, weak]}}
voting: {rounds: 50}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an EXAM.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EXAM.yaml").write_text(EXAM, encoding="utf-8")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """The JSON that a command prints."""
    assert main([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_data_set_is_set_and_examined_by_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "EXAM.yaml", "--no-parquet"]) == 0
    shown = capsys.readouterr()
    out = folder / "datasets" / "three _ sets"
    assert "12 of 12 questions, sealed as " in shown.out
    assert "write questions" in shown.err  # the plan comes first, and beside the result
    files = {str(p.relative_to(out)) for p in out.rglob("*.*") if p.is_file()}
    assert files >= {"README.md", "manifest.json", "canary.txt", "exam.yaml", "ledger.sqlite",
                     "data/questions.jsonl", "data/levels.jsonl"}  # fmt: skip
    assert "strong and weak agree on" in (out / "README.md").read_text("utf-8")
    # Of two agents nobody may judge, so that there are no standings.
    run_it = ("run", "EXAM.yaml", "--quiet", "--set", f"questions.file={out}")
    body = said(capsys, *run_it, status=4)
    assert body["status"] == "complete"
    run = RunFolder(Path(body["folder"]))
    assert run.read_manifest()["questions_hash"] == RunFolder(out).read_manifest()["questions_hash"]


def test_the_plan_is_shown_and_nothing_is_set(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = said(capsys, "generate", "EXAM.yaml", "--plan")
    assert {line["task"] for line in body["lines"]} == {"questions", "levels"}
    assert body["calls"]["least"] == 2 * 2 + 2 * 12
    assert main(["generate", "EXAM.yaml", "--plan"]) == 0
    assert "12 questions" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["EXAM.yaml"]


def test_the_result_can_be_had_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine")
    body = said(capsys, *arguments)
    assert (body["folder"], body["status"], body["questions"]) == ("mine", "complete", 12)
    assert body["questions_hash"] == RunFolder(folder / "mine").read_manifest()["questions_hash"]
    assert (body["shortfalls"], body["pushed_to"]) == ([], None)


def test_one_examiner_alone_is_enough(folder: Path) -> None:
    (folder / "ONE.yaml").write_text(
        "agents:\n  - {name: a, model: sim/a, roles: [examiner]}\n"
        "questions: {domains: [geography], per_domain: 2}\n"
    )
    assert main(["validate", "ONE.yaml"]) == 2
    assert main(["generate", "ONE.yaml", "--no-parquet", "--quiet"]) == 0


def test_parquet_is_written_unless_it_is_not_wanted(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    assert main(["generate", "EXAM.yaml", "--quiet", "--out", "mine"]) == 0
    assert (folder / "mine" / "data" / "questions.parquet").exists()
    assert main(["generate", "EXAM.yaml", "--quiet", "--out", "mine", "--no-parquet"]) == 0
    assert not (folder / "mine" / "data" / "questions.parquet").exists()


def test_what_cannot_be_pushed_is_refused_before_anything_is_set(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(folder / "none"))
    for more, complaint in (
        (["--push", "me/set"], "no token for the hub"),
        (["--push", "set"], "write OWNER/NAME"),
        (["--public"], "add --push OWNER/NAME"),
    ):
        assert main(["generate", "EXAM.yaml", "--no-parquet", *more]) == 2
        assert complaint in capsys.readouterr().err
    assert not (folder / "datasets").exists()


def test_a_data_set_is_no_run_to_report_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine"]) == 0
    for command in ("report", "export"):
        assert main([command, "mine"]) == 2
        assert "questions.file=mine" in capsys.readouterr().err


def test_changed_questions_are_not_examined(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine"]) == 0
    path = folder / "mine" / "data" / "questions.jsonl"
    path.write_text(path.read_text("utf-8").replace("geography", "history"), "utf-8")
    assert main(["run", "EXAM.yaml", "--set", "questions.file=mine"]) == 2
    assert "questions that were sealed" in capsys.readouterr().err


def test_a_generated_set_is_not_exported_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine"]) == 0
    assert main(["run", "EXAM.yaml", "--quiet", "--out", "run"]) == 4
    before = (folder / "mine" / "data" / "questions.jsonl").read_bytes()
    assert main(["export", "run", "--no-parquet", "--out", "mine"]) == 2
    assert "holds a run or a generated data set" in capsys.readouterr().err
    assert (folder / "mine" / "data" / "questions.jsonl").read_bytes() == before


@pytest.mark.parametrize("own", ["README.md", "data/questions.jsonl"])
def test_a_users_own_files_are_not_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str], own: str
) -> None:
    path = folder / "mine" / own
    path.parent.mkdir(parents=True)
    path.write_text("my own")
    assert main(["generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine"]) == 2
    assert f"{own} was not written by generate" in capsys.readouterr().err
    assert path.read_text() == "my own"


def test_other_questions_in_the_same_folder_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine")
    first = said(capsys, *arguments)
    assert first["replaced"] is None
    assert said(capsys, *arguments)["replaced"] is None
    other = said(capsys, *arguments, "--seed", "9", "--set", "questions.per_domain=2", "--replace")
    assert other["replaced"] == first["questions_hash"] != other["questions_hash"]
    assert main(list(arguments)) == 2
    assert "seed: 9 → 0" in capsys.readouterr().err
    assert main([*arguments, "--replace"]) == 0
    assert f"sealed here before, as {other['questions_hash']}" in capsys.readouterr().err


def test_a_set_that_is_not_there_yet_is_told_from_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine").mkdir()
    assert main(["run", "EXAM.yaml", "--set", "questions.file=mine"]) == 2
    assert "holds no questions" in capsys.readouterr().err


TWO = """\
name: begun
agents:
  - {{name: one, model: "openai/one@{url}"}}
  - {{name: two, model: "openai/two@{url}"}}
questions: {{domains: [rivers, bread], per_domain: 1}}
judging: {{ranking: none}}
pilot: false
limits: {{concurrency: 1}}
"""


def killed(command: str, url: str, served: list[Any], folder: Path, out: str) -> None:
    """SIGKILL a command after its first call was answered, and so is on disk."""
    (folder / "EXAM.yaml").write_text(TWO.format(url=url), encoding="utf-8")
    line = [sys.executable, "-m", "peerexam", command, "EXAM.yaml", "--out", out, "--quiet"]
    process = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for _ in range(1200):
            if len(served) >= 2 or process.poll() is not None:
                break
            time.sleep(0.05)
        assert process.poll() is None, process.stdout and process.stdout.read().decode()
    finally:
        process.kill()
        process.communicate()
    assert len(served) == 2


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        ("generate", "run", "holds a data set that is not finished, not a run"),
        ("run", "generate", "holds a run that is not finished, not a data set"),
    ],
)
def test_what_was_killed_early_is_not_taken_over_by_the_other_command(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    chat_server: Any,
    first: str,
    other: str,
    words: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    asked = 0

    def reply(served: Any) -> Any:
        nonlocal asked
        asked += 1
        return (
            chat_server.reply(hang=True)
            if asked == 2
            else f"1. What is {asked} of the rivers of bread?"
        )

    server = chat_server(reply)
    killed(first, server.url, server.requests, folder, "mine")
    before = {path.name: path.read_bytes() for path in (folder / "mine").glob("[em]*")}
    assert main([other, "EXAM.yaml", "--out", "mine", "--quiet"]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert f"`peerexam {first}` with the same config and folder resumes it" in told
    assert "--out" in told
    assert main(["report", "mine"]) == 2
    assert f"`peerexam {first}` with the same config and folder" in capsys.readouterr().err
    assert len(server.requests) == 2
    assert {path.name: path.read_bytes() for path in (folder / "mine").glob("[em]*")} == before
    # Its own command goes on: one call of the four is in the ledger.
    more = ["--no-parquet"] if first == "generate" else []
    assert main([first, "EXAM.yaml", "--out", "mine", "--quiet", *more]) == (0 if more else 4)
    assert json.loads((folder / "mine" / "manifest.json").read_text())["status"] == "complete"


def test_a_data_set_that_was_only_begun_may_be_another_exams(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "manifest.json").write_text(
        json.dumps({"schema": 1, "kind": "dataset", "exam": "another", "status": "partial"})
    )
    assert main(["generate", "EXAM.yaml", "--no-parquet", "--quiet", "--out", "mine"]) == 0
    manifest = json.loads((folder / "mine" / "manifest.json").read_text())
    assert (manifest["exam"], manifest["status"]) == ("three / sets", "complete")
