"""Rows of other tools' files: what is read, and what is said of what cannot be."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import RecordFileError, SetupError
from peerexam.report.inert import csv_cell
from peerexam.tasks.rows import Row, csv_table, rows_of

BODIES = [{"a": "x", "b": 1}, {"a": "y\u2028z", "b": None}]


def read(path: Path) -> list[tuple[int, dict[str, Any]]]:
    return [(row.line, dict(row.body)) for row in rows_of(path)]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_jsonl_is_read_with_bom_blank_lines_and_crlf(tmp_path: Path, start: str, end: str) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(BODIES[0]), "", json.dumps(BODIES[1]), "  "]
    path.write_bytes((start + end.join(lines)).encode())
    assert read(path) == [(1, BODIES[0]), (3, BODIES[1])]


def test_a_json_list_is_read_with_the_lines_of_its_objects(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("\ufeff" + json.dumps(BODIES, indent=1), encoding="utf-8")
    assert read(path) == [(2, BODIES[0]), (6, BODIES[1])]
    path.write_text(" [] ")
    assert read(path) == []


def test_csv_is_read_with_quotes_and_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\xef\xbb\xbfa,b\r\n"x,\n""y""",\r\n\r\n\'=1+1,-5\r\n')
    assert read(path) == [(3, {"a": 'x,\n"y"', "b": None}), (5, {"a": "=1+1", "b": "-5"})]


def test_a_table_is_read_by_the_names_of_its_columns_whatever_program_wrote_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(" Trace;Place;;\nt;1;;\n\nu\n", encoding="utf-16")
    rows = [(line, row["trace"], row["place"]) for line, row in csv_table(path, "trace", "place")]
    assert rows == [(2, "t", "1"), (4, "u", "")]
    with pytest.raises(SetupError, match=r"table.csv has no column who: it needs place, who"):
        list(csv_table(path, "place", "who"))
    with pytest.raises(SetupError, match="there is no file"):
        list(csv_table(tmp_path / "none.csv"))


def test_parquet_is_read_by_row(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(BODIES), path)
    assert read(path) == [(1, BODIES[0]), (2, BODIES[1])]
    path.write_bytes(b"no parquet")
    with pytest.raises(SetupError, match="no Parquet file"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": NaN}\n{"a": 2}\n', 2),
        ("a.jsonl", '{"a": 1}\n{"a": \n{"a": 2}\n', 2),
        ("a.jsonl", '{"a": 1}\n[1]\n', 2),
        ("a.json", '[{"a": 1},\n {"a": NaN}]', 2),
        ("a.json", '[{"a": 1}\n {"a": 2}]', 2),
        ("a.json", '[{"a": 1},\n 5]', 2),
        ("a.json", '[{"a": 1}]\n\nmore', 3),
        ("a.json", '[{"a": 1},', 1),
        ("a.json", "5", 1),
        ("a.json", "[" * 100_000, 1),
        ("a.csv", "a,b\n1,2\n1,2,3\n", 3),
        ("a.csv", "a,a\n1,2\n", 1),
        ("a.csv", 'a,b\n"1,2\n', 2),
    ],
)
def test_damage_is_told_with_file_and_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordFileError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize("name", ["a.json", "a.csv"])
def test_another_encoding_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes('[{"a": "é"}]'.encode("latin-1"))
    with pytest.raises(SetupError, match="not UTF-8"):
        read(path)


@pytest.mark.parametrize(
    ("value", "name"), [("gpt-4", "gpt-4"), (81, "81"), (81.0, "81"), ("../../x", "../../x")]
)
def test_names_and_ids_are_text_or_whole_numbers(value: Any, name: str) -> None:
    assert Row({"id": value}, Path("f"), 3).name("id") == name


@pytest.mark.parametrize("value", ["", "  ", True, 1.5, float("nan"), ["a"], {}, None, "x" * 101])
def test_what_is_no_name_is_told_with_its_place(value: Any) -> None:
    with pytest.raises(RecordFileError, match=r"^f:3: "):
        Row({"id": value}, Path("f"), 3).name("id")


@pytest.mark.parametrize("value", [1, 1.0, "1", " 1 "])
def test_whole_numbers_are_read_as_csv_and_pandas_leave_them(value: Any) -> None:
    assert Row({"turn": value}, Path("f"), 1).whole("turn", 7) == 1
    assert Row({"turn": None}, Path("f"), 1).whole("turn", 7) == 7


@pytest.mark.parametrize("value", [1.5, "one", True, [], float("inf")])
def test_what_is_no_whole_number_is_told(value: Any) -> None:
    with pytest.raises(RecordFileError, match="whole number"):
        Row({"turn": value}, Path("f"), 1).whole("turn", 7)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.text()), min_size=1))
def test_every_json_list_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.json"
    path.write_text(json.dumps(bodies, indent=1), encoding="utf-8")
    assert [dict(row.body) for row in rows_of(path)] == bodies


@given(st.text(st.characters(exclude_characters="'", exclude_categories=["Cs"]), min_size=1))
def test_what_our_csv_makes_inert_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["a", "b"], [csv_cell(text), "x"]])
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_bytes(buffer.getvalue().encode())
    assert [row.body["a"] for row in rows_of(path)] == [text]


def test_a_long_json_list_is_gone_through_once(tmp_path: Path) -> None:
    # Counting lines from the start at every row would go through 10 MB a hundred thousand times.
    path, rows = tmp_path / "rows.json", 100_000
    path.write_text("[\n" + ",\n".join([json.dumps({"a": "x" * 90})] * rows) + "\n]")
    last = 0
    for row in rows_of(path):
        last = row.line
    assert last == rows + 1
