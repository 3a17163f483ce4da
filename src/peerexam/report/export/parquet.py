"""Records to one Parquet file, in batches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from peerexam.calls import Json
from peerexam.errors import MissingExtraError
from peerexam.report.export.columns import Column

BATCH = 10_000
"""Rows that are gathered before they are written."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def pyarrow_modules() -> tuple[ModuleType, ModuleType]:
    """`pyarrow` and `pyarrow.parquet`.

    Raises:
        MissingExtraError: The extra `parquet` is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs the package pyarrow: pip install 'peerexam[parquet]', "
            "or export JSONL alone (parquet=False, --no-parquet)"
        ) from error
    return pyarrow, pyarrow.parquet


class ParquetFile:
    """A Parquet file being written; a context manager.

    Args:
        path: The file.
        columns: Its columns; a row's missing keys become nulls.
        note: Key-value pairs for the file's own metadata.
    """

    def __init__(self, path: Path, columns: Sequence[Column], note: Mapping[str, str]) -> None:
        self._arrow, parquet = pyarrow_modules()
        self._columns = columns
        self._schema = self._arrow.schema(
            [(column.name, self._type(column)) for column in columns], metadata=dict(note)
        )
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[dict[str, Json]] = []

    def add(self, row: Mapping[str, Json]) -> None:
        """Add one row."""
        self._rows.append({column.name: sound(row.get(column.name)) for column in self._columns})
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows.clear()

    def _type(self, column: Column) -> Any:
        text = self._arrow.string()
        return {
            "string": text,
            "int32": self._arrow.int32(),
            "float64": self._arrow.float64(),
            "bool": self._arrow.bool_(),
            "names": self._arrow.list_(text),
            "groups": self._arrow.list_(self._arrow.list_(text)),
        }[column.type]

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()


def sound(value: Json) -> Json:
    r"""The value with every lone surrogate replaced by U+FFFD: Parquet's text is UTF-8.

    >>> sound(["a\ud800", 1, None]) == ["a\ufffd", 1, None]
    True
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    return [sound(item) for item in value] if isinstance(value, list) else value
