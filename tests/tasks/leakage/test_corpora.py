from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.leakage.corpora import corpus_files, passages


def _read(*paths: Path, column: str | None = None) -> list[tuple[str, str, int]]:
    return [
        (one.text.strip(), one.path.name, one.line) for one in passages(corpus_files(paths), column)
    ]


def _jsonl(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_jsonl_is_read_by_the_first_field_that_holds_a_text(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(_jsonl({"input": "", "instruction": "Add."}, {"text": "Up", "input": "x"}))
    assert _read(path) == [("Add.", "c.jsonl", 1), ("Up", "c.jsonl", 2)]


def test_a_column_may_hold_a_list_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(_jsonl({"turns": ["One?", "Two?"]}, {"turns": []}, {"turns": None}))
    assert _read(path, column="turns") == [("One?", "c.jsonl", 1), ("Two?", "c.jsonl", 1)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_missing_field_is_refused_with_its_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"c.{suffix}"
    if suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"body": ["a"]}), path)
    else:
        path.write_bytes(b"body\na\n" if suffix == "csv" else _jsonl({"body": "a"}))
    line = 2 if suffix == "csv" else 1
    with pytest.raises(RecordFileError, match=rf"c\.{suffix}:{line}: .*--column"):
        _read(path)
    with pytest.raises(RecordFileError, match="'txt' is missing"):
        _read(path, column="txt")
    assert _read(path, column="body") == [("a", path.name, line)]


def test_a_field_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(_jsonl({"text": "a"}, {"text": {"en": "b"}}))
    with pytest.raises(RecordFileError, match=r"c\.jsonl:2: expected text"):
        _read(path)


def test_a_heading_s_case_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text('\ufeffType,Question\nold,"Why\nso?"\nnew,How?\n', encoding="utf-8")
    assert _read(path) == [("Why\nso?", "c.csv", 2), ("How?", "c.csv", 4)]


def test_parquet_is_read_in_batches_with_rows_counted(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    texts = [f"text {at}" for at in range(10_000)]
    path = tmp_path / "c.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"text": texts}), path)
    assert _read(path) == [(text, "c.parquet", at) for at, text in enumerate(texts, start=1)]


def test_plain_text_is_a_text_a_line_whatever_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\n   \ncaf\xe9\nlast")
    assert _read(path) == [("one", "c", 1), ("caf\ufffd", "c", 4), ("last", "c", 5)]


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"ab " * 1_000_000)
    pieces = list(passages([path]))
    assert len(pieces) == 3
    assert {one.line for one in pieces} == {1}
    assert sum(len(one.text) for one in pieces) == 3_000_000


def test_gzipped_files_read_like_others(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(_jsonl({"text": "one"}, {"text": "two"})))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"three\n"))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"text\nfour\n"))
    assert [text for text, _, _ in _read(tmp_path)] == ["one", "two", "three", "four"]


def test_a_folder_gives_its_corpora_in_order_and_passes_over_the_rest(tmp_path: Path) -> None:
    for name in ("b/z.txt", "a.txt", ".cache/x.txt", ".hidden.txt", "picture.png", "b/y.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b'{"text": "x"}\n')
    names = [str(one.relative_to(tmp_path)) for one in corpus_files([tmp_path])]
    assert names == ["a.txt", "b/y.jsonl", "b/z.txt"]
    assert len(corpus_files([tmp_path, tmp_path / "a.txt"])) == 3


def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("missing.txt", "empty"):
        with pytest.raises(SetupError, match=name):
            corpus_files([tmp_path / name])
    for name in ("c.json", "c.txt.zst", "c.parquet.gz"):
        (tmp_path / name).write_bytes(b"[]")
        with pytest.raises(SetupError, match="not streamed"):
            corpus_files([tmp_path / name])
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"line\n" * 10_000)[:-20])
    (tmp_path / "not.txt.gz").write_bytes(b"plain")
    (tmp_path / "not.parquet").write_bytes(b"plain")
    for name in ("cut.txt.gz", "not.txt.gz", "not.parquet"):
        with pytest.raises(SetupError, match="cannot be read"):
            _read(tmp_path / name)
    (tmp_path / "zero.txt").write_bytes(b"a\n\0\n")
    with pytest.raises(RecordFileError, match=r"zero\.txt:2"):
        _read(tmp_path / "zero.txt")


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_a_broken_line_is_named(tmp_path: Path, suffix: str) -> None:
    data = b'{"text": "a"}\n{"text"\n{"text": "b"}\n'
    path = tmp_path / f"c.{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    with warnings.catch_warnings(), pytest.raises(RecordFileError, match=rf"c\.{suffix}:2: "):
        _read(path)
