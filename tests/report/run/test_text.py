from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.report.inert import csv_cell, csv_text, markdown_text, printable, width_of
from peerexam.report.run.text import (
    COLUMNS,
    leaderboard_csv,
    leaderboard_markdown,
    standings_text,
    to_json,
    write_leaderboard,
)
from peerexam.runfolder import RunFolder

SHARED = Path(__file__).resolve().parents[3].parent / "shared"


@pytest.fixture
def standings(make_run: Callable[..., Path]) -> dict[str, Any]:
    return RunFolder(make_run()).read_standings()


def test_the_terminal_shows_rank_interval_tier_score_and_rates(standings: dict[str, Any]) -> None:
    line = next(
        line for line in standings_text(standings).splitlines() if line.startswith("2 (2–4)")
    )
    assert line.split() == [
        "2", "(2–4)", "birch", "2", "0.490", "[0.420,", "0.550]", "29.4", "47.0", "12",
    ]  # fmt: skip


def test_the_terminal_shows_unfit_judges_with_the_reason(standings: dict[str, Any]) -> None:
    lines = standings_text(standings).splitlines()
    unfit = [line for line in lines if "UNFIT" in line]
    assert len(unfit) == 1
    assert unfit[0].startswith("cedar")
    assert unfit[0].endswith("swap consistency 0.19 is under 0.5")
    # Third-party where there is one: +22 of alder; cedar has only the first estimate.
    assert any("+22 [+12, +32]" in line for line in lines if line.startswith("alder"))
    assert "−5 [−15, +5]" in unfit[0]


def test_the_columns_of_the_terminal_stand_under_each_other(standings: dict[str, Any]) -> None:
    standings["standings"][0]["agent"] = "模型"
    lines = standings_text(standings).splitlines()
    rows = [line for line in lines if "[0." in line and "(" in line]
    ends = {width_of(line[: line.index("[")]) for line in rows}
    assert len(ends) == 1


def test_a_partial_run_says_so_first(standings: dict[str, Any]) -> None:
    standings.update(status="partial", status_reason="an agent was lost")
    assert standings_text(standings).startswith("PARTIAL: an agent was lost")
    assert "**Partial:** an agent was lost" in leaderboard_markdown(standings)


def test_names_cannot_steer_the_terminal(standings: dict[str, Any]) -> None:
    standings["standings"][0]["agent"] = "a\x1b[2J\x07\u202eb\nc"
    text = standings_text(standings)
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "a\ufffd[2J\ufffd\ufffdb\ufffdc" in text


def test_no_standings_are_still_a_text() -> None:
    assert "nothing may be concluded" in standings_text({})


def test_markdown_keeps_a_hostile_name_in_its_cell(standings: dict[str, Any]) -> None:
    standings["standings"][0]["agent"] = "a|b\n<script>*x*"
    text = leaderboard_markdown(standings)
    assert "<script>" not in text
    row = next(line for line in text.splitlines() if line.startswith("| 1 (1)"))
    assert "a\\|b\ufffd&lt;script&gt;\\*x\\*" in row
    assert row.replace("\\|", "").count("|") == 8


def test_csv_has_the_numbers_unrounded(standings: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(leaderboard_csv(standings))))
    assert tuple(rows[0]) == COLUMNS
    for row, there in zip(rows, standings["standings"], strict=True):
        assert row["agent"] == there["agent"]
        assert float(row["score_low"]) == there["score_low"]
    assert [row["variant_of"] for row in rows] == ["", "", "birch", ""]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_cells_that_spreadsheets_would_run_get_an_apostrophe(sign: str) -> None:
    assert csv_cell(f"{sign}1+1") == f"'{sign}1+1"


@given(st.integers() | st.floats(allow_nan=False) | st.none())
def test_numbers_stay_numbers(value: float | None) -> None:
    assert csv_cell(value) is value


@given(st.text())
def test_text_comes_back_from_csv_but_for_the_apostrophe(text: str) -> None:
    source = io.StringIO(csv_text(["text"], [[text]]), newline="")
    assert list(csv.reader(source))[1:] == [[str(csv_cell(text))]]
    assert str(csv_cell(text)).endswith(text)


@given(st.text(st.characters()))
def test_markdown_and_terminal_texts_stay_on_one_line(text: str) -> None:
    assert len(printable(text).splitlines()) <= 1
    assert len(markdown_text(text).splitlines()) <= 1


@pytest.mark.shared
def test_the_published_formula_case_is_inert_and_its_numbers_are_numbers() -> None:
    path = SHARED / "cases.jsonl"
    if not path.exists():
        pytest.skip("the folder of public data is absent")
    cases = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    rows = next(case for case in cases if case["id"] == "pub-28")["input"]["rows"]
    text = csv_text(["answer", "score"], [[row["answer"], row["score"]] for row in rows])
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["answer"] for row in read] == ["'" + row["answer"] for row in rows]
    assert [float(row["score"]) for row in read] == [row["score"] for row in rows]


def test_leaderboards_are_written_beside_the_run(make_run: Callable[..., Path]) -> None:
    def change(_: dict[str, Any], standings: dict[str, Any]) -> None:
        standings["standings"][0]["agent"] = "=cmd()\ud800"

    folder = make_run(change=change)
    markdown, table = write_leaderboard(folder)
    assert markdown.parent == table.parent == folder
    assert "'=cmd()?" in table.read_text("utf-8")


def test_json_is_the_file_as_it_is(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    assert to_json(folder) == (folder / "standings.json").read_text("utf-8")
