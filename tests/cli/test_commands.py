"""The commands, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.registry import register, unregister
from peerexam.cli import main
from peerexam.cli.commands import COMMANDS, GROUPS
from peerexam.printable import plain

EXAM = """\
name: three
agents:
  - {name: strong, model: "sim/strong?ability=2"}
  - {name: middle, model: "sim/middle?ability=0"}
  - {name: weak, model: "sim/weak?ability=-2"}
questions: {domains: [geography], per_domain: 3}
voting: {rounds: 50}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an EXAM.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EXAM.yaml").write_text(EXAM, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A finished run."""
    assert main(["run", "EXAM.yaml", "--out", "done", "--quiet"]) == 0
    capsys.readouterr()
    return folder / "done"


def said(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], status: int = 0) -> Any:
    """The JSON that a command prints."""
    assert main([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_init_writes_an_exam_that_is_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert main(["validate", "EXAM.yaml"]) == 0
    body = said(capsys_after(capsys), ["plan", "EXAM.yaml"])
    assert body["calls"]["least"] > 0
    assert body["cost_usd"]["unknown_for"] == []  # local models send no bill


def capsys_after(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """The same, what was printed so far dropped."""
    capsys.readouterr()
    return capsys


def test_init_overwrites_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 2
    assert (folder / "EXAM.yaml").read_text(encoding="utf-8") == EXAM
    assert "not overwritten" in capsys.readouterr().err
    assert main(["init", "sub/other.yaml"]) == 0
    assert "peerexam run other.yaml" in (folder / "sub/other.yaml").read_text(encoding="utf-8")
    assert said(capsys_after(capsys), ["init", "sub"]) == {"config": "sub/EXAM.yaml"}


def test_run_leaves_standings_and_says_where(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = said(capsys, ["run", "EXAM.yaml", "--quiet"])
    assert (body["status"], body["reason"]) == ("complete", None)
    assert Path(body["folder"]) == Path("runs/three")
    assert [row["agent"] for row in body["standings"]["standings"]] == ["strong", "middle", "weak"]
    assert Path(body["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")
    before = (folder / "runs/three/standings.json").read_bytes()
    assert said(capsys, ["run", "EXAM.yaml", "--quiet"]) == body
    assert (folder / "runs/three/standings.json").read_bytes() == before


def test_flags_reach_the_exam(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEEREXAM_SEED", "7")
    monkeypatch.setenv("PEEREXAM_OUTPUT", "by-variable")
    body = said(capsys, ["run", "EXAM.yaml", "--quiet", "--set", "questions.per_domain=1"])
    assert (body["folder"], body["standings"]["seed"]) == (str(folder / "by-variable"), 7)
    assert body["standings"]["counts"]["questions"]["planned"] == 3
    flags = ["--seed", "9", "--out", "by-flag", "--quiet"]
    body = said(capsys, ["run", "EXAM.yaml", *flags])
    assert (body["folder"], body["standings"]["seed"]) == ("by-flag", 9)


def test_a_reached_budget_ends_in_status_3(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "questions.txt").write_text("".join(f"Question {n}?\n" for n in range(9)))
    (folder / "EXAM.yaml").write_text(
        "agents:\n"
        "  - {name: hosted, model: scripted/x, roles: [examinee], budget: {calls: 4}}\n"
        "  - {name: player, model: sim/player}\n"
        "  - {name: other, model: sim/other}\n"
        "questions: {file: questions.txt}\n"
        "voting: {rounds: 20}\n"
    )
    register("scripted", lambda spec: ScriptedAgent(lambda _: "An answer.", spec.name))
    try:
        assert main(["run", "EXAM.yaml", "--out", "out", "--quiet"]) == 3
    finally:
        unregister("scripted")
    captured = capsys.readouterr()
    assert "partial: " in captured.err
    manifest = json.loads((folder / "out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "partial"
    kept = (folder / "out/answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(kept) == 4 * 3  # whole questions, by three examinees


def test_a_wrong_config_is_said_in_one_line_and_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "EXAM.yaml").write_text(EXAM + "sed: 1\n")
    assert main(["run", "EXAM.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "peerexam: EXAM.yaml:8: unknown key 'sed'; did you mean 'seed'?\n"
    assert main(["--debug", "validate", "EXAM.yaml"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_the_overview_says_and_can_print_json(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert "--json" in said
    about = COMMANDS[command][1]
    assert about[1:] in " ".join(said.split())


def test_the_overview_groups_every_command_in_lines_of_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {f"{group}:" for group in GROUPS} <= set(lines)
    for name, (_, about) in COMMANDS.items():
        assert f"  {name:13} {about}" in lines
    assert max(map(len, lines)) <= 80


def test_a_command_that_is_misspelt_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rejuge", "run"]) == 2
    assert "there is no command 'rejuge'; did you mean 'rejudge'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["rum"], [], ["run"], ["plan", "EXAM.yaml", "--seed", "x"]])
def test_bad_usage_is_status_2(folder: Path, arguments: list[str]) -> None:
    assert main(arguments) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "nowhere"],
        ["export", "nowhere"],
        ["import", "nothing", "EXAM.yaml", "--out", "x"],
        ["rejudge", "nowhere", "--judges", "sim/x", "--out", "x"],
        ["add", "nowhere", "sim/x"],
        ["weights", "nothing"],
        ["agents", "--check", "nothing/x"],
    ],
)
def test_what_is_not_there_is_an_error_without_traceback(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) in (1, 2)
    captured = capsys.readouterr()
    assert captured.err + captured.out
    assert "Traceback" not in captured.err


def test_report_prints_and_writes_again(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_folder / "report.html").unlink()
    assert main(["report", str(run_folder)]) == 0
    assert "strong" in capsys.readouterr().out
    assert (run_folder / "report.html").exists()


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_run_that_was_stopped_is_said_to_be_one(
    run_folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (run_folder / "manifest.json").unlink()
    assert main([command, str(run_folder)]) == 2
    assert "resumes it" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "validate"])
@pytest.mark.parametrize(
    ("extra", "pairs"),
    [
        ("", ["'strong' with 'middle'"]),  # each is the other's only judge but itself
        ('  - {name: third, model: "sim/third", roles: [judge]}\n', []),
        ("judging: {panel: author}\n", ["'strong' with 'middle'"]),
    ],
)
def test_a_pair_that_nobody_may_judge_is_warned_of(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    extra: str,
    pairs: list[str],
) -> None:
    agents = EXAM.replace('ability=-2"}', 'ability=-2", roles: [examinee]}')
    assert agents != EXAM
    head, tail = agents.split("questions:")
    text = f"{head}{extra if extra.startswith('  ') else ''}questions:{tail}"
    text += "" if extra.startswith("  ") else extra
    (folder / "EXAM.yaml").write_text(text, encoding="utf-8")
    assert main([command, "EXAM.yaml"]) == 0
    said = capsys.readouterr().err
    assert ("nobody may compare" in said) == bool(pairs)
    assert all(pair in said for pair in pairs)


@pytest.mark.parametrize("example", ["embedded.yaml", "embedded-smollm2.yaml"])
def test_every_pair_of_the_demonstrations_has_a_judge_that_wrote_neither(
    capsys: pytest.CaptureFixture[str], example: str
) -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / example
    assert main(["validate", str(path)]) == 0
    assert "nobody may compare" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "validate"])
def test_two_that_judge_only_each_other_are_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([command, "EXAM.yaml"]) == 0
    assert "no standings" not in capsys.readouterr().err
    text = "\n".join(line for line in EXAM.splitlines() if "weak" not in line)
    (folder / "two.yaml").write_text(text, encoding="utf-8")
    assert main([command, "two.yaml"]) == 0
    assert "no standings" in capsys.readouterr().err


def test_export_lists_its_files(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = said(capsys, ["export", str(run_folder), "--out", "set", "--no-parquet"])
    assert "README.md" in body["files"]
    assert not any(name.endswith(".parquet") for name in body["files"])


def test_rejudge_takes_models_and_files(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_folder.parent / "judges.yaml").write_text("- {name: second, model: sim/second}\n")
    judges = ["--judges", "sim/first", "judges.yaml"]
    body = said(capsys, ["rejudge", str(run_folder), *judges, "--out", "again", "--quiet"])
    assert [judge["agent"] for judge in body["standings"]["judges"]] == ["first", "second"]
    assert body["standings"]["standings"][0]["agent"] == "strong"


def test_a_name_that_no_agent_can_have_is_bad_usage(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["add", str(run_folder), "sim/x", "--name", "s\x1b[2J\u202e", "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is blank or has a control character" in line
    assert plain(line) == line


def test_add_joins_one_agent(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["add", str(run_folder), "sim/x?ability=4", "--name", "star", "--quiet"]
    body = said(capsys, arguments)
    assert {row["agent"] for row in body["standings"]["standings"]} == {
        "strong",
        "middle",
        "weak",
        "star",
    }


def test_agents_says_what_is_set_without_saying_what_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-never-shown")
    body = said(capsys, ["agents"])
    openai = next(row for row in body["providers"] if row["provider"] == "openai")
    assert (openai["key_variable"], openai["key_set"]) == ("OPENAI_API_KEY", True)
    assert main(["agents"]) == 0
    shown = capsys.readouterr().out
    assert "OPENAI_API_KEY is set" in shown
    assert "never-shown" not in shown


def test_a_live_check_asks_every_agent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = said(capsys, ["agents", "--live", "EXAM.yaml"])
    assert [result["ok"] for result in results] == [True, True, True]
    (failed,) = said(capsys, ["agents", "--check", "nothing/x"], status=1)
    assert (failed["agent"], failed["ok"]) == ("x", False)
    assert "no provider 'nothing'" in failed["said"]


def test_weights_show_the_licence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "gemma3-270m"]) == 0
    assert "Gemma Terms of Use" in capsys.readouterr().out
    assert said(capsys, ["weights", "smollm2"])["smollm2"]["licence"] == "Apache-2.0"


def test_the_schema_is_that_of_config_and_records(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert "agents" in body["config"]["properties"]
    assert "winner" in body["records"]["Verdict"]["properties"]
    assert said(capsys, ["schema"]) == body


def test_keys_come_from_dotenv_and_never_beat_the_environment(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Set and taken back, so that what the command adds is taken back after the test, too.
    for name in ("PEEREXAM_TEST_SEED", "PEEREXAM_SEED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    (folder / ".env").write_text('export PEEREXAM_SEED="5" # mine\n')
    arguments = ["run", "EXAM.yaml", "--quiet", "--out"]
    assert said(capsys, [*arguments, "a"])["standings"]["seed"] == 5
    monkeypatch.setenv("PEEREXAM_SEED", "6")
    assert said(capsys, [*arguments, "b"])["standings"]["seed"] == 6
