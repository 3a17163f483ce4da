"""AlpacaEval's and Alpaca's files: lists of {instruction, input?, output, generator?, dataset?}.

An instruction with its input is a question, and its `dataset` the domain. AlpacaEval gives no ids,
so they are made from dataset and instruction; one that a generator is asked again is another
question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Question, with_input
from peerexam.tasks.importers.collecting import Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.question_ids import QuestionIds
from peerexam.tasks.rows import Row, files_of, rows_of

_FILES = ("*.json", "*/model_outputs.json", "*.jsonl", "*.csv", "*.parquet")


def read_alpaca_eval(source: Path) -> Imported:
    """Read the instructions of a file, or of the files of a folder, as questions.

    Raises:
        SetupError: There is no such file.
        RecordFileError: A row has no instruction.
    """
    collected, outputs, pairs = Collected(), 0, 0
    for path in _files(source):
        for row, id_ in _instructions(path):
            outputs += row.has("output")
            pairs += row.has("output_1") or row.has("response1")
            if id_ not in collected.questions:
                collected.question(_question(row, id_), row)
    if outputs:
        collected.left_out.append(f"{outputs} outputs (kind alpaca-outputs reads them)")
    if pairs:
        collected.left_out.append(
            f"{pairs} pairs of outputs with their judgements (kind alpaca-annotations reads "
            "AlpacaEval's, pandalm PandaLM's)"
        )
    return collected.imported()


def read_alpaca_outputs(source: Path) -> Imported:
    """Read the outputs of one file, or of the files of a folder, as answers of their generators.

    Raises:
        SetupError: There is no such file.
        RecordFileError: A row has no instruction, output or generator, or a generator has two
            different outputs for one instruction.
    """
    collected = Collected()
    for path in _files(source):
        for row, id_ in _instructions(path):
            if id_ not in collected.questions:
                collected.question(_question(row, id_), row)
            collected.answer(answer_from(id_, row.name("generator"), row.text("output")), row)
    return collected.imported()


def _files(source: Path) -> list[Path]:
    files = files_of(source, *_FILES)
    if not files:
        raise SetupError(f"{source} has no *.json: name a file of AlpacaEval outputs")
    return files


def _instructions(path: Path) -> Iterator[tuple[Row, str]]:
    """Rows with the ids of their questions: the n-th time that a generator is asked something."""
    ids: dict[str, QuestionIds] = {}
    for row in rows_of(path):
        instruction = _text(row)
        generator = row.name("generator") if row.has("generator") else ""
        yield (
            row,
            ids.setdefault(generator, QuestionIds("alpaca")).next(_dataset(row), instruction),
        )


def _question(row: Row, id_: str) -> Question:
    return Question(id=id_, text=_text(row), domain=_dataset(row))


def _text(row: Row) -> str:
    instruction = row.text("instruction")
    if not instruction.strip():
        raise row.wrong("the instruction is empty")
    return with_input(instruction, row.body.get("input"))


def _dataset(row: Row) -> str:
    return row.name("dataset") if row.has("dataset") else "alpaca_eval"
