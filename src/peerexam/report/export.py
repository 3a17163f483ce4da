"""A run as a data set that anyone can use again (LMExamQA-style: examiner paper, §3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from peerexam.errors import SetupError
from peerexam.records import Record, to_json
from peerexam.report.card import card_text
from peerexam.report.columns import Sheet, columns_of, dimensions_in
from peerexam.report.parquet import ParquetFile, pyarrow_modules
from peerexam.runfolder import RunFolder, record_line

KINDS = ("questions", "answers", "marks", "verdicts", "rankings")


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
        SetupError: The folder is not that of a run, or `out` cannot be a data set's folder.
    """
    if parquet:
        pyarrow_modules()
    run = RunFolder(folder)
    manifest = run.read_manifest()
    questions_hash = manifest.get("questions_hash") or _hash_of(run)
    canary = canary_of(questions_hash)
    data = _data_folder(out)
    sources = _sources(run)
    dimensions = dimensions_in(mark.scores for mark in run.marks())
    sheets = [
        _write(
            Sheet(kind, columns_of(kind, dimensions)),
            sources[kind],
            data,
            {"canary": canary} if parquet else None,
        )
        for kind in KINDS
    ]
    card = card_text(manifest, sheets, questions_hash, canary, parquet=parquet, language=language)
    (out / "README.md").write_bytes(card.encode("utf-8", "replace"))
    return out


def canary_of(questions_hash: str) -> str:
    """A GUID that belongs to these questions, to find them again in a training corpus.

    >>> canary_of("00") == canary_of("00") != canary_of("01")
    True
    """
    return str(uuid5(NAMESPACE_OID, f"peerexam canary {questions_hash}"))


def _sources(run: RunFolder) -> dict[str, Callable[[], Iterator[Record]]]:
    return {
        "questions": run.questions,
        "answers": run.answers,
        "marks": run.marks,
        "verdicts": run.verdicts,
        "rankings": run.rankings,
    }


def _data_folder(out: Path) -> Path:
    data = out / "data"
    try:
        data.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SetupError(f"{out} is a file: name a folder for the data set") from error
    return data


def _write(
    sheet: Sheet,
    records: Callable[[], Iterator[Record]],
    data: Path,
    note: dict[str, str] | None,
) -> Sheet:
    """Write one kind; with a note also as Parquet, else without what an earlier export left."""
    table_path = data / f"{sheet.kind}.parquet"
    table_path.unlink(missing_ok=True)
    with ExitStack() as stack:
        lines = stack.enter_context((data / f"{sheet.kind}.jsonl").open("wb"))
        table = None
        if note is not None:
            table = stack.enter_context(ParquetFile(table_path, sheet.columns, note))
        for record in records():
            line = record_line(record)
            lines.write(line)
            sheet.count(record, line)
            if table is not None:
                table.add(to_json(record))
    return sheet


def _hash_of(run: RunFolder) -> str:
    digest = hashlib.sha256()
    for question in run.questions():
        digest.update(record_line(question))
    return digest.hexdigest()
