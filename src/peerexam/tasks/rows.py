"""Rows of another tool's file with their places: JSONL, JSON, CSV, Parquet.

What another program or person wrote is data: a row is checked field by field, and what is wrong is
said with file and line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, RecordFileError, SetupError
from peerexam.runfolder import read_jsonl
from peerexam.runfolder.jsonl import parse_line

LONGEST_NAME = 100
"""Characters that the name of an agent or the id of a question may have."""

_GZIP = b"\x1f\x8b"
_HOLDERS = (
    "data",
    "Data",
    "rows",
    "examples",
    "results",
    "battles",
    "annotations",
    "items",
    "questions",
)
"""Keys under which programs put all rows of a file."""

_FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file.

    Attributes:
        body: Its fields.
        path: The file.
        line: Where it stands, counted from 1; in Parquet the number of the row.
    """

    body: Mapping[str, Json]
    path: Path
    line: int

    def wrong(self, message: str) -> RecordFileError:
        """An error about this row, to be raised."""
        return RecordFileError(message, self.path, self.line)

    def has(self, *keys: str) -> bool:
        """Whether all these fields are there and hold something."""
        return all(self.body.get(key) is not None for key in keys)

    def name(self, *keys: str) -> str:
        """The first of these fields that is there, as a name or id; whole numbers are ids too.

        Raises:
            RecordFileError: None of them is there, or it is no name.
        """
        key = next((key for key in keys if self.has(key)), None)
        if key is None:
            raise self.wrong(f"no {' or '.join(keys)} here")
        value = self.body[key]
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            value = int(value)  # as pandas leaves ids beside a missing one
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.wrong(f"{key} must be a name or a whole number, found {value!r:.60}")
        if len(str(value)) > LONGEST_NAME:
            raise self.wrong(f"{key} is longer than {LONGEST_NAME} characters: {value!r:.60}…")
        return str(value)

    def text(self, key: str) -> str:
        """A field that must be text, kept as it is.

        Raises:
            RecordFileError: It is missing or something else.
        """
        value = self.body.get(key)
        if not isinstance(value, str):
            raise self.wrong(f"{key} must be text, found {value!r:.60}")
        return value

    def whole(self, key: str, default: int) -> int:
        """A field that must be a whole number where it is there.

        Raises:
            RecordFileError: It is something else.
        """
        value = self.body.get(key)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().isdecimal():  # as in CSV
            return int(value)
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(f"{key} must be a whole number, found {value!r:.60}")
        return value


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file, by its suffix (`.json`, `.csv`, `.tsv`, `.parquet`; else it is JSONL).

    A `.gz` behind the suffix and UTF-16 are read through; a `.json` file may hold a list, JSON
    lines, or an object with the list under one of its keys; CSV may be parted by commas,
    semicolons or tabs.

    Raises:
        RecordFileError: A row is damaged.
        MissingExtraError: Parquet is to be read and pyarrow is not installed.
        SetupError: The file cannot be read, is no text in UTF-8, or no Parquet file.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    read = _READERS.get(suffixes[-1] if suffixes else "", _jsonl_rows)
    with _readable(path):
        for line, body in read(path):
            yield Row(body, path, line)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say what is wrong with a file that cannot be read at all."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SetupError(f"{path} is no sound gzip file: {error}") from error
    except FileNotFoundError as error:
        raise SetupError(f"there is no file {path}") from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error


def files_of(source: Path, *patterns: str) -> list[Path]:
    """The source itself where it is a file, else the files of a folder, sorted by name.

    Args:
        source: A file or a folder.
        patterns: Globs below the folder; those of the first that finds any are taken.
    """
    if source.is_file():
        return [source]
    for pattern in patterns:
        if found := sorted(path for path in source.glob(pattern) if path.is_file()):
            return found
    return []


def read_text(path: Path) -> str:
    """A file's text, whatever its program wrote: UTF-8 or UTF-16, a BOM or none, gzip or not.

    Raises:
        UnicodeDecodeError: It is neither.
        OSError: It cannot be read.
    """
    data = path.read_bytes()
    if data.startswith(_GZIP):
        data = gzip.decompress(data)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    if data[:4].count(0) == 2:  # UTF-16 without a BOM: two signs of ASCII stand first
        return data.decode("utf-16-be" if data[0] == 0 else "utf-16-le")
    return data.decode("utf-8-sig")


def _jsonl_rows(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(_GZIP) or 0 in start or start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _json_lines(read_text(path), path)
    return read_jsonl(path)


def _json_lines(text: str, path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.strip():
            try:
                yield number, parse_line(line.encode("utf-8", "surrogatepass"))
            except ValueError as error:
                raise RecordFileError(str(error), path, number) from error


def _json_file(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """A list of objects, an object that holds one, or a line an object."""
    text = read_text(path)
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        return json_rows(path, text)
    body, end = decode_at(text, start, path)
    if _skip(text, end) < len(text):
        return _json_lines(text, path)
    lists = [key for key, value in body.items() if _is_rows(value)]
    if len(lists) == 1 and (lists[0].lower() in _HOLDERS or len(body) == 1):
        return ((1, row) for row in body[lists[0]])
    return iter([(1, body)])


def _is_rows(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def json_rows(path: Path, text: str | None = None) -> Iterator[tuple[int, dict[str, Json]]]:
    """The objects of a JSON list, decoded one by one, because only so each one's line is known.

    Args:
        path: The file.
        text: What it holds, where that was read before.

    Raises:
        RecordFileError: It is no JSON list of objects.
    """
    text = read_text(path) if text is None else text
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise RecordFileError("expected a JSON list of objects", path, 1)
    line, counted, place = 1, 0, _skip(text, place + 1)
    while text[place : place + 1] != "]":
        line += text.count("\n", counted, place)  # and never from the start again
        counted = place
        body, place = decode_at(text, place, path)
        if not isinstance(body, dict):
            raise RecordFileError(f"expected an object, found {body!r:.60}", path, line)
        yield line, body
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != "]":
            line = text.count("\n", 0, place) + 1
            raise RecordFileError("not JSON: expected a comma or the list's end", path, line)
    rest = _skip(text, place + 1)
    if rest < len(text):
        line = text.count("\n", 0, rest) + 1
        raise RecordFileError("not JSON: the list ended before this", path, line)


def decode_at(text: str, place: int, path: Path) -> tuple[Json, int]:
    """One JSON value that starts at a place of a text, and where it ends.

    Raises:
        RecordFileError: It is no JSON, or holds NaN or an infinity.
    """
    try:
        body, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise RecordFileError(f"not JSON: {error.msg}", path, error.lineno) from error
    except (ValueError, RecursionError) as error:
        line = text.count("\n", 0, place) + 1
        raise RecordFileError(f"not JSON: {error}", path, line) from error
    return body, end


def _skip(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t", "\n", "\r"):
        place += 1
    return place


def csv_table(path: Path, *needed: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows of a CSV file by the names of its columns, in lower case.

    Other columns may stand beside the needed ones; cells that a row lacks are empty.

    Raises:
        SetupError: The file cannot be read, or has none of a needed name.
        RecordFileError: It is no CSV from some line on.
    """
    lines = csv_lines(path)
    head = [name.strip().lower() for name in next(lines, (0, []))[1]]
    if missing := [name for name in needed if name.lower() not in head]:
        raise SetupError(
            f"{path} has no column {missing[0]}: it needs {', '.join(needed)} in its first line"
        )
    for line, cells in lines:
        yield line, dict(zip(head, [*cells, *[""] * (len(head) - len(cells))], strict=False))


def csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of a CSV file, its head first, without empty lines.

    An apostrophe that stands before a formula sign only keeps spreadsheets from running it
    (`report.inert`), and is taken off.

    Raises:
        SetupError: The file cannot be read.
        RecordFileError: It is no CSV from some line on.
    """
    with _readable(path):
        text = read_text(path)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # as old spreadsheets end their lines
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [_cell(cell) for cell in cells]
    except csv.Error as error:
        raise RecordFileError(f"not CSV: {error}", path, reader.line_num) from error


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """A CSV file with a head; an empty cell is a missing value."""
    lines = csv_lines(path)
    first, names = next(lines, (0, []))
    head = [name.strip() for name in names]
    if len(set(head)) < len(head):
        raise RecordFileError("two columns have one name", path, first)
    for line, cells in lines:
        if len(cells) != len(head):
            raise RecordFileError(f"{len(cells)} cells under {len(head)} columns", path, line)
        yield line, {key: cell or None for key, cell in zip(head, cells, strict=True)}


def _delimiter(text: str) -> str:
    """What parts the columns' names: the commonest of comma, semicolon and tab outside quotes."""
    head = next((line for line in text.split("\n") if line.strip()), "")
    bare = "".join(head.split('"')[::2])
    return max(",;\t", key=bare.count)


def _cell(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA_SIGNS) else text


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs the package pyarrow: pip install 'peerexam[parquet]', or give JSONL"
        ) from error
    try:
        number = 0
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for body in batch.to_pylist():
                    number += 1
                    yield number, body
    except pyarrow.ArrowException as error:
        raise SetupError(f"{path} is no Parquet file: {error}") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)

_READERS: dict[str, Callable[[Path], Iterator[tuple[int, dict[str, Json]]]]] = {
    ".json": _json_file,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".parquet": _parquet_rows,
}
