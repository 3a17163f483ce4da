"""Text corpora as streams: JSONL, CSV, Parquet and plain text, gzipped or not, and folders of them.

No file is ever whole in memory. What a corpus holds is data: bytes that are no UTF-8 become U+FFFD
and are searched like any other text, since corpora of the web are full of them; in JSONL and
Parquet, whose makers promise UTF-8, they are refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, RecordFileError, SetupError
from peerexam.runfolder import read_jsonl
from peerexam.runfolder.jsonl import parse_line

TEXT_FIELDS = ("text", "question", "input", "inputs", "instruction", "prompt", "content")
"""Where a corpus's text is looked for without `--column`: the first that holds any."""

_LONGEST = 1 << 20
"""A line of plain text that is longer (in bytes) is taken piece by piece."""

_ROWS_AT_ONCE = 4096
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".parquet": "parquet",
}


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of a corpus.

    Attributes:
        line: Of the file, counted from 1; in Parquet the row.
    """

    text: str
    path: Path
    line: int


def corpus_files(paths: Sequence[Path]) -> list[Path]:
    """The files of some corpora; folders are gone through, in the order of the names.

    Hidden files, and files of other kinds in folders, are passed over.

    Raises:
        SetupError: There is no such file or folder, nothing to read in one, or no way to read it.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            files = [
                one
                for one in sorted(path.rglob("*"))
                if _kind(one) and one.is_file() and not _is_hidden(one.relative_to(path))
            ]
            if not files:
                raise SetupError(
                    f"{path} holds no corpus: expected {', '.join(_KINDS)} files, or .gz of them"
                )
            found.update(dict.fromkeys(files))
        elif path.is_file():
            _refuse_unstreamed(path)
            found[path] = None
        else:
            raise SetupError(f"there is no corpus {path}; name a file or a folder")
    return list(found)


def passages(files: Iterable[Path], column: str | None = None) -> Iterator[Passage]:
    """Stream the texts of corpus files; blank ones are passed over.

    Args:
        files: As `corpus_files` gives them. A name that tells nothing is plain text, one a line.
        column: The field that holds the text, or a list of texts, each of which counts as one;
            by default the first of `TEXT_FIELDS` that holds any. Case does not count where no field
            has just that name. Plain text has no fields.

    Raises:
        RecordFileError: A line cannot be read, or lacks the field.
        MissingExtraError: A Parquet file, and pyarrow is not installed.
        SetupError: A file cannot be read, or is cut off.
    """
    for path in files:
        try:
            for line, text in _texts(path, column):
                if text and not text.isspace():
                    yield Passage(text, path, line)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SetupError(f"{path} cannot be read to its end: {reason}") from error


def _texts(path: Path, column: str | None) -> Iterator[tuple[int, str]]:
    kind = _kind(path) or "text"
    if kind == "text":
        yield from _lines(path)
        return
    rows = {"jsonl": _jsonl_rows, "csv": _csv_rows, "parquet": _parquet_rows}[kind]
    for line, row in rows(path, column):
        for text in _texts_of(row, column, path, line):
            yield line, text


def _texts_of(row: Mapping[str, Json], column: str | None, path: Path, line: int) -> Iterator[str]:
    fields = TEXT_FIELDS if column is None else (column,)
    held = [row[field] for field in fields if field in row]
    if not held:  # `Question`, as tables made by hand have it
        folded = {name.casefold(): value for name, value in row.items()}
        held = [folded[field.casefold()] for field in fields if field.casefold() in folded]
    if not held:
        wanted = f"the field {column!r}" if column is not None else f"any of {', '.join(fields)}"
        raise RecordFileError(
            f"{wanted} is missing here, of {', '.join(map(repr, list(row)[:8])) or 'nothing'}; "
            "name the text's field with --column",
            path,
            line,
        )
    value = next((one for one in held if one not in (None, "", [])), None)
    texts = value if isinstance(value, list) else [value]
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise RecordFileError(
                f"expected text, found {text!r:.60}; name the text's field with --column",
                path,
                line,
            )
        yield text or ""


# Files


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with _opened(path) as file:
        line = 1
        while piece := file.readline(_LONGEST):
            if b"\0" in piece:
                raise RecordFileError("a zero byte: this is no text file", path, line)
            yield line, piece.decode("utf-8", "replace").removeprefix("\ufeff")
            line += piece.endswith(b"\n")


def _jsonl_rows(path: Path, _: str | None) -> Iterator[tuple[int, Mapping[str, Json]]]:
    if path.suffix.lower() != ".gz":
        yield from read_jsonl(path)
        return
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, parse_line(line)
            except ValueError as error:
                raise RecordFileError(f"{error}; mend or remove the line", path, number) from error


def _csv_rows(path: Path, _: str | None) -> Iterator[tuple[int, Mapping[str, Json]]]:
    with _opened(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        reader = csv.reader(text)
        try:
            head = next(reader, [])
            line = reader.line_num + 1
            for cells in reader:
                if cells:
                    yield line, dict(zip(head, cells, strict=False))
                line = reader.line_num + 1
        except csv.Error as error:
            raise RecordFileError(
                f"CSV: {error}; mend it, or save the corpus as JSONL", path, reader.line_num or 1
            ) from None


def _parquet_rows(path: Path, column: str | None) -> Iterator[tuple[int, Mapping[str, Json]]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            "a Parquet corpus needs pyarrow: pip install 'peerexam[parquet]'"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            there = file.schema_arrow.names
            fields = TEXT_FIELDS if column is None else (column,)
            folded = [field.casefold() for field in fields]
            wanted = [name for name in there if name.casefold() in folded]
            if not wanted:
                yield 1, dict.fromkeys(there)
                return
            row = 0
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=wanted):
                for body in batch.to_pylist():
                    row += 1
                    yield row, body
    except pyarrow.ArrowException as error:
        raise SetupError(f"{path} cannot be read as Parquet: {error}") from error


def _opened(path: Path) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return io.BufferedReader(gzip.open(path, "rb"), 1 << 18)
    return path.open("rb")


def _kind(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    kind = _KINDS.get(Path(name).suffix)
    return None if kind == "parquet" and path.suffix.lower() == ".gz" else kind


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _refuse_unstreamed(path: Path) -> None:
    name = path.name.lower()
    mends = {
        ".json": "save it as JSONL, one object a line",
        ".parquet.gz": "unzip it: Parquet is packed already",
        ".zst": "unpack it, or pack it with gzip",
        ".zip": "unpack it",
        ".arrow": "save it as Parquet",
    }
    for suffix, mend in mends.items():
        if name.endswith(suffix):
            raise SetupError(f"{path}: {suffix} files are not streamed; {mend}")
