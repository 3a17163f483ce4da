"""Data sets that anyone can use again (LMExamQA-style: examiner paper, §3).

A run becomes one by `export_dataset`. Questions that nobody has answered yet lie in their data
set's folder already, as `peerexam generate` leaves them, and `finish_dataset` puts the rest there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Record, to_json
from peerexam.report.export.card import card_text
from peerexam.report.export.columns import Sheet, columns_of, dimensions_in
from peerexam.report.export.parquet import ParquetFile, pyarrow_modules
from peerexam.report.export.place import check_export_place
from peerexam.report.export.question_figures import question_figures
from peerexam.runfolder import RunFolder, record_line
from peerexam.runfolder.sealing import canary_of, seal_of

KINDS = ("questions", "levels", "references", "answers", "marks", "verdicts", "rankings")

_ASKED_FOR = ("levels", "references")
"""Kinds that only some exams ask for: without a row there is no file."""

_OF_QUESTIONS = ("questions", "levels", "references")
"""The kinds of a data set that nobody has answered yet."""

_Records = Callable[[], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where one kind is written, and how.

    Attributes:
        data: The folder of the records.
        note: For the metadata of the Parquet files; None writes none.
        is_source: The JSONL files are there already.
    """

    data: Path
    note: Mapping[str, str] | None
    is_source: bool


def export_dataset(folder: Path, out: Path, *, parquet: bool = True, language: str = "en") -> Path:
    """Write a run as a data set with a card.

    JSONL keeps the models' text byte for byte. Parquet, whose text is UTF-8, has U+FFFD in place
    of lone surrogates. Records are streamed, so that a run need not fit into memory.

    Args:
        folder: The run's folder.
        out: The data set's folder; files of an earlier export there are replaced.
        parquet: Write Parquet beside JSONL.
        language: Of the questions, as the card declares it.

    Returns:
        The data set's folder.

    Raises:
        MissingExtraError: Parquet is asked for and pyarrow is not installed; nothing was written.
        SetupError: The folder is not that of a run, or `out` cannot be a data set's folder, or
            holds something else.
    """
    check_export_place(out)
    if parquet:
        pyarrow_modules()
    run = RunFolder(folder)
    manifest = run.read_manifest()
    _data_folder(out)
    _finish(run, manifest, KINDS, out, parquet=parquet, language=language)
    return out


def finish_dataset(out: Path, *, parquet: bool = True, language: str = "en") -> Path:
    """Give generated questions what a data set has beside them: Parquet, card, canary.

    Args:
        out: The data set's folder, with its manifest and `data/questions.jsonl`.
        parquet: Write Parquet beside JSONL.
        language: Of the questions, as the card declares it.

    Returns:
        The data set's folder.

    Raises:
        MissingExtraError: Parquet is asked for and pyarrow is not installed; nothing was written.
        SetupError: The folder is not that of a data set.
    """
    if parquet:
        pyarrow_modules()
    manifest = RunFolder(out).read_manifest()
    data = RunFolder(out / "data")
    _finish(data, manifest, _OF_QUESTIONS, out, parquet=parquet, language=language)
    return out


def _finish(
    source: RunFolder,
    manifest: Mapping[str, Json],
    kinds: Sequence[str],
    out: Path,
    *,
    parquet: bool,
    language: str,
) -> None:
    questions_hash = manifest.get("questions_hash") or seal_of(map(to_json, source.questions()))
    canary = canary_of(questions_hash)
    data = out / "data"
    target = _Target(data, {"canary": canary} if parquet else None, source.path == data)
    dimensions = dimensions_in(mark.scores for mark in source.marks()) if "marks" in kinds else ()
    sources = _sources(source)
    sheets = [
        _write(Sheet(kind, columns_of(kind, dimensions)), sources[kind], target) for kind in kinds
    ]
    card = card_text(
        manifest,
        [sheet for sheet in sheets if sheet.rows or sheet.kind not in _ASKED_FOR],
        questions_hash,
        canary,
        parquet=parquet,
        language=language,
        figures=question_figures(source.questions(), source.levels(), manifest),
    )
    (out / "README.md").write_bytes(card.encode("utf-8", "replace"))
    (out / "canary.txt").write_text(
        "Please keep this data out of training corpora. If it got in, this line tells:\n"
        f"peerexam canary GUID {canary}\n",
        encoding="utf-8",
    )
    if source.path not in (out, data):
        body = {**manifest, "kind": "dataset", "canary": canary}
        RunFolder(out).write_manifest(body)


def _sources(run: RunFolder) -> dict[str, _Records]:
    return {
        "questions": lambda: iter(run.questions()),
        "levels": lambda: iter(run.levels()),
        "references": lambda: iter(run.references()),
        "answers": lambda: iter(run.answers()),
        "marks": lambda: iter(run.marks()),
        "verdicts": lambda: iter(run.verdicts()),
        "rankings": lambda: iter(run.rankings()),
    }


def _data_folder(out: Path) -> None:
    try:
        (out / "data").mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SetupError(f"{out} is a file: name a folder for the data set") from error


def _write(sheet: Sheet, records: _Records, target: _Target) -> Sheet:
    """Write one kind; with a note also as Parquet, else without what an earlier export left."""
    table_path = target.data / f"{sheet.kind}.parquet"
    lines_path = target.data / f"{sheet.kind}.jsonl"
    table_path.unlink(missing_ok=True)
    with ExitStack() as stack:
        lines = None
        if not target.is_source:
            lines = stack.enter_context(lines_path.open("wb"))
        table = None
        if target.note is not None:
            table = stack.enter_context(ParquetFile(table_path, sheet.columns, target.note))
        for record in records():
            line = record_line(record)
            sheet.count(record, line)
            if lines is not None:
                lines.write(line)
            if table is not None:
                table.add(to_json(record))
    if sheet.kind in _ASKED_FOR and not sheet.rows:
        table_path.unlink(missing_ok=True)
        lines_path.unlink(missing_ok=True)
    return sheet
