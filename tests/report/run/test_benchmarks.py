"""The benchmark on the page and in its files: what stands where, and that texts stay texts."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.report.figures.radar import MOST_SERIES, radar
from peerexam.report.run.benchmarks import (
    DOMAINS_SHOWN,
    aspect_table,
    domain_table,
    domains_hidden,
    gain_table,
    selection,
    table_3,
)
from peerexam.report.run.benchmarks_text import table_3_csv, table_3_text, write_tables
from peerexam.report.run.depth_curve import LEAST_AT_RISK, depth_curve
from peerexam.report.run.html import write_report
from peerexam.report.run.question_profile import profile_bars

HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"


def texts(table: Any) -> dict[tuple[str, ...], list[str]]:
    return {row.names: [cell.text for cell in row.cells] for row in table.rows}


def test_variants_share_a_line_of_table_3(make_benchmark: Callable[..., dict[str, Any]]) -> None:
    standings = make_benchmark()
    table = table_3(standings)
    assert table is not None
    assert table.columns == ("All", "Memorization", "Analysis", "Multi")
    # In the order of the standings; birch without examples, birch-warm with five.
    assert texts(table) == {
        ("alder",): ["75.0", "80.0", "70.0", "62.5"],
        ("birch", "birch-warm"): ["20.7 / 25.5", "63.5 / 58.5", "3.8 / 8.6", "– / 17.5"],
        ("cedar",): ["–", "–", "–", "–"],
    }
    pair = table.rows[1].cells[0]
    assert pair.notes == ("[18.7, 22.7], n = 40 of 48", "[23.5, 27.5], n = 48")
    assert table.paired


def test_columns_without_a_value_are_left_out(
    make_benchmark: Callable[..., dict[str, Any]],
) -> None:
    standings = make_benchmark()
    standings["benchmark"]["single"]["levels"] = []
    table = table_3(standings)
    assert table is not None
    assert table.columns == ("All", "Multi")
    assert table_3_text(standings) == "", "without levels there is no Table 3 to print"


def test_standings_without_a_benchmark_have_no_tables(make_run: Callable[..., Path]) -> None:
    page = write_report(make_run()).read_text("utf-8")
    assert 'id="benchmark"' not in page
    assert 'href="#benchmark"' not in page
    for show in (table_3, aspect_table, domain_table, gain_table):
        assert show({}) is None
    assert (selection({}), profile_bars({}), domains_hidden({})) == ("", [], 0)


def test_gains_stand_with_their_mean(make_benchmark: Callable[..., dict[str, Any]]) -> None:
    standings = make_benchmark()
    table = gain_table(standings)
    assert table is not None
    assert texts(table) == {("birch", "birch-warm"): ["+23", "−8", "–", "+126"]}
    assert table.rows[0].cells[2].notes == ("no full mark without examples",)
    few_shot = standings["benchmark"]["few_shot"]
    few_shot["pairs"] *= 2
    table = gain_table(standings)
    assert table is not None
    assert [row.names for row in table.rows][-1] == ()


def test_domains_beyond_the_largest_are_counted(
    make_benchmark: Callable[..., dict[str, Any]],
) -> None:
    standings = make_benchmark()
    single = standings["benchmark"]["single"]
    table = domain_table(standings)
    assert table is not None
    assert table.columns == ("alder", "birch", "birch-warm", "cedar")
    assert [cell.shade for cell in table.rows[0].cells] == [8, 2, 3, None]
    assert domains_hidden(standings) == 2
    single["domains"] *= DOMAINS_SHOWN + 1
    table = domain_table(standings)
    assert table is not None
    assert len(table.rows) == DOMAINS_SHOWN
    assert domains_hidden(standings) == len(single["domains"]) - DOMAINS_SHOWN + 2


@pytest.mark.parametrize(
    ("follow_ups", "text"),
    [
        ({"rounds": 1, "sample": None, "share": 0.1},
         "Follow-ups were asked after a sample of 10 % of full-mark answers. "
         "Round 2 has 9 answers after 13 correct ones."),
        ({"rounds": 1, "sample": 3, "share": 1.0},
         "Follow-ups were asked after full-mark answers, at most 3 a question. "
         "Round 2 has 9 answers after 13 correct ones."),
        ({"rounds": 0, "sample": None, "share": 1.0}, ""),
        ({"rounds": None, "sample": None, "share": 1.0}, ""),
    ],
)  # fmt: skip
def test_the_selection_is_stated(
    make_benchmark: Callable[..., dict[str, Any]], follow_ups: dict[str, Any], text: str
) -> None:
    standings = make_benchmark()
    standings["benchmark"]["follow_ups"] = follow_ups
    assert selection(standings) == text


def test_bars_are_as_long_as_their_counts(make_benchmark: Callable[..., dict[str, Any]]) -> None:
    levels, words, domains = profile_bars(make_benchmark())
    assert [(bar.name, bar.count, bar.share) for bar in levels.bars] == [
        ("Memorization", "6", "50.0"),
        ("Comprehension", "0", "0.0"),
        ("Analysis", "4", "33.3"),
        ("not classified", "2", "16.7"),
    ]
    assert [bar.width for bar in words.bars] == [220.0, 73.3]
    assert domains.first == "Domain"


def test_a_curve_ends_where_few_are_left(make_benchmark: Callable[..., dict[str, Any]]) -> None:
    standings = make_benchmark()
    chart = depth_curve(standings, ["alder", "birch"])
    assert chart is not None
    assert [(curve.name, len(curve.dots)) for curve in chart.curves] == [("alder", 2), ("birch", 1)]
    (_, first), (_, second) = chart.curves[0].dots
    assert first < second, "75 per cent stand above 33"
    for row in standings["depth"]:
        if row["round"] == 2:
            row["asked"] = LEAST_AT_RISK - 1
    assert depth_curve(standings, ["alder", "birch"]) is None


@given(
    st.integers(3, 8),
    st.lists(st.lists(st.floats(0, 100), min_size=8, max_size=8), min_size=1, max_size=12),
)
def test_every_value_of_a_radar_lies_between_middle_and_rim(
    aspects: int, values: list[list[float]]
) -> None:
    series = [(str(n), row[:aspects]) for n, row in enumerate(values)]
    found = radar([f"aspect {n}" for n in range(aspects)], series)
    assert found is not None
    assert len(found.shapes) == min(len(series), MOST_SERIES)
    assert found.left_out == len(series) - len(found.shapes)
    rim = math.dist(found.middle, (found.spokes[0].x, found.spokes[0].y))
    for (_, row), shape in zip(series, found.shapes, strict=False):
        for value, dot in zip(row, shape.dots, strict=True):
            share = (value - found.centre) / (100 - found.centre)
            assert math.dist(found.middle, dot) == pytest.approx(share * rim, abs=0.2)
            assert 0 <= share <= 1


def test_a_radar_needs_three_aspects_and_somebody_with_all_of_them() -> None:
    assert radar(["a", "b"], [("x", [90.0, 80.0])]) is None
    assert radar(["a", "b", "c"], [("x", [90.0, None, 80.0])]) is None
    found = radar(["a", "b", "c"], [("x", [90.0, None, 80.0]), ("y", [81.0, 85.0, 99.0])])
    assert found is not None
    assert ([shape.name for shape in found.shapes], found.left_out) == (["y"], 1)
    # Least 81: the middle is the round value below the next lower ten.
    assert found.centre == 70


def test_table_3_is_written_for_spreadsheets_with_inert_cells(
    make_benchmark: Callable[..., dict[str, Any]],
) -> None:
    standings = make_benchmark(("=alder", "birch", "cedar", "@warm"))
    rows = list(csv.DictReader(io.StringIO(table_3_csv(standings))))
    assert [row["examinee"] for row in rows] == ["'=alder", "birch", "'@warm", "cedar"]
    assert [row["zero_shot"] for row in rows] == ["", "", "birch", ""]
    birch = rows[1]
    assert (birch["all"], birch["all_low"], birch["all_answers"]) == ("20.7", "18.7", "40")
    assert (birch["round_2"], birch["round_2_answers"]) == ("", "0")


def test_the_tables_are_files_beside_the_run(
    make_run: Callable[..., Path], benchmarked: Any
) -> None:
    folder = make_run(change=benchmarked())
    written = write_tables(folder)
    assert [path.relative_to(folder).as_posix() for path in written] == [
        "tables/leaderboard.md",
        "tables/leaderboard.csv",
        "tables/table3.csv",
    ]
    assert all(path.stat().st_size for path in written)
    plain = make_run(name="plain")
    assert [path.name for path in write_tables(plain)] == ["leaderboard.md", "leaderboard.csv"]


def test_table_3_for_a_terminal_is_one_grid(make_benchmark: Callable[..., dict[str, Any]]) -> None:
    lines = table_3_text(make_benchmark(("al\x1b[31mder", "birch", "cedar", "warm"))).splitlines()
    assert lines[0] == "Full-mark answers in per cent, without examples / with five"
    assert lines[2].split() == ["examinee", "all", "memorization", "analysis", "multi"]
    assert lines[4].split() == ["al\ufffd[31mder", "75.0", "80.0", "70.0", "62.5"]
    assert lines[5].startswith("birch / warm ")
    assert len({len(line) for line in lines[3:5]}) == 1


def test_names_of_aspects_and_domains_are_shown_and_do_not_run(
    make_run: Callable[..., Path], benchmarked: Any
) -> None:
    page = write_report(make_run(change=benchmarked(text=HOSTILE))).read_text("utf-8")
    assert HOSTILE not in page
    assert page.count("&lt;img src=x") >= 3
