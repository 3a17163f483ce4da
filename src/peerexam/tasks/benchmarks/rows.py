"""Rows of a benchmark: from a local file of its public layout, or from the hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, RecordFileError, SetupError
from peerexam.tasks.rows import rows_of

Row = tuple[int, Mapping[str, Json]]
"""Where it stands, counted from 1 (a line of JSONL, else a row), and what it holds."""

_HUB = "data sets from the hub need the package datasets: pip install 'peerexam[hub]'"


def file_rows(path: Path) -> Iterator[Row]:
    """The rows of a file: JSONL, JSON (a list, or an object with one under `Data`), CSV, Parquet.

    Raises:
        RecordFileError: A row is no object.
        SetupError: The file cannot be read, or is of another kind.
    """
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".json", ".csv", ".parquet"):
        raise SetupError(f"{path}: expected a .jsonl, .json, .csv or .parquet file")
    for number, row in enumerate(rows_of(path), 1):
        yield row.line if suffix == ".jsonl" else number, row.body


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
