"""The commands in a terminal of 80 columns: no line is longer, and no word is broken."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from peerexam.cli import main
from peerexam.report.grid import grid, wrap

WIDTH = 80
EXAM = """\
name: narrow
agents:
  - {name: a-model-with-a-long-name-1, model: "sim/strong?ability=2"}
  - {name: a-model-with-a-long-name-2, model: "sim/middle?first_preference=0.9"}
  - {name: weak, model: "sim/weak?ability=-2&error_rate=0.3"}
questions: {domains: [geography], per_domain: 3}
judging: {fitness: {min_swap_consistency: 0.6, max_invalid_rate: 0.1}}
voting: {rounds: 50}
"""
COMMANDS = (
    ["plan", "EXAM.yaml"],
    ["run", "EXAM.yaml", "--out", "again"],
    ["report", "done"],
    ["show", "done"],
    ["show", "done", "weak:geography:1"],
    ["show", "done", "nothing-of-that-name-is-in-this-folder-at-all"],
    ["agents"],
    ["self-bias", "done", "--rounds", "100"],
    ["validate", "EXAM.yaml"],
    ["import", "kinds"],
)


def on_terminal(arguments: list[str], width: int = WIDTH) -> list[str]:
    """The lines that a command leaves on a terminal; of a line drawn again, every state."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    command = [sys.executable, "-m", "peerexam", *arguments]
    environ = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env={**environ, "TERM": "xterm"}
    )
    os.close(slave)
    printed = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # Linux's way to say that the other side has closed
            break
        if not piece:
            break
        printed += piece
    process.wait(60)
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())
    return re.split(r"\r\n|\r|\n", text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EXAM.yaml").write_text(EXAM, encoding="utf-8")
    assert main(["run", "EXAM.yaml", "--out", "done", "--quiet"]) == 0
    return tmp_path


def test_nothing_is_wider_than_the_terminal_and_every_word_is_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    for arguments in COMMANDS:
        lines = on_terminal(list(arguments))
        # A single word, such as an id, is to be copied whole.
        wide = [line for line in lines if len(line) > WIDTH and " " in line.strip()]
        assert wide == [], arguments
        if "again" in arguments:
            continue  # its progress is no part of what it says elsewhere
        main(list(arguments))
        said = capsys.readouterr()
        whole = set((said.out + said.err).split())
        cut = {word for line in lines for word in line.split()} - whole
        assert {word for word in cut if set(word) - set("-─")} == set(), arguments


def test_profiles_and_trust_fit_a_terminal_of_40_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = Path(__file__).parents[2] / "examples" / "annotations.csv"
    for arguments in (
        ["profile", "done"],
        ["trust", "annotations", str(people), "--metrics", "none"],
    ):
        lines = on_terminal(arguments, width=40)
        assert [line for line in lines if len(line) > 40 and " " in line.strip()] == [], arguments
        capsys.readouterr()
        main(arguments)
        said = capsys.readouterr()
        words = {word for line in lines for word in line.split() if set(word) - set("-")}
        assert words == {w for w in (said.out + said.err).split() if set(w) - set("-")}, arguments


def test_prose_is_one_line_where_there_is_no_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["report", "done"]) == 0
    out = capsys.readouterr().out
    assert any(len(line) > 100 and " " in line.strip() for line in out.splitlines())


def test_the_progress_of_a_run_names_no_phase_that_is_not_configured(folder: Path) -> None:
    printed = "\n".join(on_terminal(["run", "EXAM.yaml", "--out", "again"]))
    assert "levels" not in printed
    assert "probing" not in printed


ROWS = [
    (f"agent-{n}", "ok", "–", f"{n}.000", "[0.123, 0.456]", "it did this and that") for n in (1, 2)
]
HEADS = ("agent", "state", "never", "the head", "interval", "why it is so")


def test_a_table_that_fits_is_left_alone() -> None:
    assert grid(HEADS, ROWS, {3}, width=80) == grid(HEADS, ROWS, {3})


def test_a_table_leaves_out_what_is_empty_before_it_is_divided() -> None:
    assert grid(HEADS, ROWS, {3}, width=64).splitlines() == [
        "agent    state    the  interval        why it is so",
        "                 head",
        "-------  -----  -----  --------------  --------------------",
        "agent-1  ok     1.000  [0.123, 0.456]  it did this and that",
        "agent-2  ok     2.000  [0.123, 0.456]  it did this and that",
    ]


def test_a_table_goes_on_below_with_its_key() -> None:
    assert grid(HEADS, ROWS, {3}, width=40).splitlines() == [
        "agent    state    the  interval",
        "                 head",
        "-------  -----  -----  --------------",
        "agent-1  ok     1.000  [0.123, 0.456]",
        "agent-2  ok     2.000  [0.123, 0.456]",
        "",
        "agent    why it is so",
        "-------  --------------------",
        "agent-1  it did this and that",
        "agent-2  it did this and that",
    ]


def test_a_cell_of_prose_is_broken_between_its_words() -> None:
    table = grid(("judge", "why"), [("j", "one two three four five six")], width=20)
    assert table.splitlines() == [
        "judge  why",
        "-----  -------------",
        "j      one two three",
        "       four five six",
    ]


def test_keys_that_are_narrowed_twice_keep_all_their_words() -> None:
    row = ("exam", "says the same in both orders", "1")
    table = grid(("from", "measure", "value"), [row], width=30, keys=(0, 1))
    assert set(" ".join(row).split()) <= set(table.split())


def test_wide_letters_count_as_two() -> None:
    table = grid(("名前", "値"), [("日本語", "1")], {1})
    assert table.splitlines() == ["名前    値", "------  --", "日本語   1"]
    assert wrap("日本 日本 日本", 9) == ["日本 日本", "日本"]


def test_a_word_longer_than_the_line_stands_alone_and_whole() -> None:
    assert wrap("see /a/very/long/path here", 10, "  ") == ["see", "  /a/very/long/path", "  here"]
