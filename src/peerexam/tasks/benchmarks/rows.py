"""Rows of a benchmark: from a local file of its public layout, or from the hub."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, RecordFileError, SetupError
from peerexam.runfolder import read_jsonl

Row = tuple[int, Mapping[str, Json]]
"""Where it stands, counted from 1 (a line of JSONL, else a row), and what it holds."""

_HUB = "data sets from the hub need the package datasets: pip install 'peerexam[hub]'"


def file_rows(path: Path) -> Iterator[Row]:
    """The rows of a file: JSONL, JSON (a list, or an object with one under `Data`), CSV, Parquet.

    Raises:
        RecordFileError: A row is no object.
        SetupError: The file cannot be read, or is of another kind.
    """
    reader = {
        ".jsonl": read_jsonl,
        ".json": _json_rows,
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
    }.get(path.suffix.lower())
    if reader is None:
        raise SetupError(f"{path}: expected a .jsonl, .json, .csv or .parquet file")
    try:
        yield from reader(path)
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 text: save it as UTF-8") from error


def located(path: Path | None, names: Sequence[str]) -> Path | None:
    """The file to read: of a folder the first that it has of these names, else the path itself."""
    if path is None or not path.is_dir():
        return path
    return next((path / name for name in names if (path / name).is_file()), path)


def benchmark_rows(place: Path | None, name: str, config: str | None, split: str) -> Iterator[Row]:
    """The rows of a file; of a folder, as `datasets` reads it; or of the hub.

    Args:
        place: As `located` has it; None is the hub.
        name: Of the data set on the hub.
        config: Its configuration.
        split: Its split.
    """
    if place is None:
        return hub_rows(name, config, split)
    return hub_rows(str(place), None, split) if place.is_dir() else file_rows(place)


def hub_rows(name: str, config: str | None, split: str) -> Iterator[Row]:
    """The rows of a data set on the hub, or in a folder that `datasets` can read.

    Raises:
        MissingExtraError: datasets is not installed.
        SetupError: The data set cannot be had.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError(_HUB) from error
    try:
        loaded = datasets.load_dataset(name, config, split=split)
    except Exception as error:  # datasets raises whatever its transports raise
        words = str(error).strip().splitlines()[:1]
        raise SetupError(
            f"the data set {name} could not be loaded ({type(error).__name__}: "
            f"{words[0] if words else 'no reason given'}); name its file on this machine instead"
        ) from error
    yield from enumerate(loaded, 1)


def text_of(row: Mapping[str, Json], key: str, path: Path | None, line: int) -> str:
    """A text that a row must have.

    Raises:
        RecordFileError: It has none.
    """
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        where = ", ".join(map(repr, list(row)[:8])) or "nothing"
        raise RecordFileError(
            f"expected a text under {key!r}, found {where}", path or Path("hub"), line
        )
    return value


def texts_of(row: Mapping[str, Json], key: str, path: Path | None, line: int) -> tuple[str, ...]:
    """A list of texts that a row must have.

    Raises:
        RecordFileError: It has none.
    """
    value = row.get(key)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise RecordFileError(f"expected a list of texts under {key!r}", path or Path("hub"), line)
    return tuple(value)


def _json_rows(path: Path) -> Iterator[Row]:
    try:
        body = json.loads(path.read_bytes().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise RecordFileError(str(error), path, error.lineno) from error
    rows = body.get("Data") if isinstance(body, dict) else body
    if not isinstance(rows, list):
        raise RecordFileError("expected a list, or an object with a list under 'Data'", path, 1)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise RecordFileError(f"entry {number} is no object", path, 1)
        yield number, row


def _csv_rows(path: Path) -> Iterator[Row]:
    text = path.read_bytes().decode("utf-8-sig")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        yield from enumerate(reader, 1)
    except csv.Error as error:
        raise RecordFileError(f"CSV: {error}", path, reader.line_num or 1) from None


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingExtraError(
            "a Parquet file needs pyarrow: pip install 'peerexam[parquet]'"
        ) from error
    try:
        yield from enumerate(parquet.read_table(path).to_pylist(), 1)
    except ArrowException as error:
        raise SetupError(f"{path} cannot be read as Parquet: {error}") from error
