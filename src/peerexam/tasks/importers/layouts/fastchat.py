"""FastChat's `llm_judge` folders: questions and answers (MT-bench, Vicuna bench, your own).

::

    question.jsonl            question_id, category, turns [first, second, …], reference?
    model_answer/MODEL.jsonl  question_id, answer_id, model_id, choices [{index, turns}]

The first turn is the question, and the first choice's first turn its answer. Second turns go on
from each model's own first answer, as our follow-ups do, but are the same for all models and were
not set by an examiner; they are left out. FastChat knows a model by its file's name, and so do we.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Answer, Question
from peerexam.tasks.importers.collecting import Collected
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.rows import Row, files_of, rows_of

FAILED = "$ERROR$"
"""What FastChat writes where a model gave no answer."""

_ANSWERS = ("model_answer/*.jsonl", "*.jsonl")


def read_fastchat_questions(source: Path) -> Imported:
    """Read `question.jsonl`, or the folder that holds it.

    Raises:
        SetupError: There is none.
        RecordFileError: A line cannot be read, or two questions have one id.
    """
    path = source / "question.jsonl" if source.is_dir() else source
    if not path.is_file():
        raise SetupError(f"{source} has no question.jsonl: name a FastChat question file")
    collected = Collected()
    add_questions(path, collected)
    return collected.imported()


def read_fastchat_answers(source: Path) -> Imported:
    """Read `model_answer/*.jsonl` of a folder, with its `question.jsonl`, or one such file.

    Raises:
        SetupError: There is none.
        RecordFileError: A line cannot be read, or two answers differ.
    """
    files = answer_files(source)
    if not files:
        raise SetupError(f"{source} has no model_answer/*.jsonl: name a FastChat folder")
    collected = Collected()
    if (questions := question_file(source)) is not None:
        add_questions(questions, collected)
    for path in files:
        add_answers(path, collected)
    _tell_of_later_turns(collected, files)
    return collected.imported()


def question_file(source: Path) -> Path | None:
    """The `question.jsonl` that belongs to a file or folder of answers or judgments."""
    above = [source, *source.resolve().parents[:3]]
    return next((p / "question.jsonl" for p in above if (p / "question.jsonl").is_file()), None)


def answer_files(source: Path) -> list[Path]:
    """The files of answers of a folder, `question.jsonl` not among them."""
    return [path for path in files_of(source, *_ANSWERS) if path.name != "question.jsonl"]


def add_questions(path: Path, collected: Collected) -> None:
    """Add what a `question.jsonl` asks in the first turn."""
    later = 0
    for row in rows_of(path):
        turns = row.body.get("turns", [row.body.get("prompt")])
        if not isinstance(turns, list) or not turns or not isinstance(turn_text(turns[0]), str):
            raise row.wrong("turns must be a list of texts, the question first")
        later += len(turns) > 1
        collected.question(
            Question(
                id=row.name("question_id", "uid"),
                text=str(turn_text(turns[0])),
                domain=row.name("category") if row.has("category") else "general",
                reference=_reference(row.body.get("reference")),
            ),
            row,
        )
    if later:
        collected.left_out.append(
            f"the later turns of {later} questions, which go on from each model's own answer"
        )


def add_answers(path: Path, collected: Collected) -> None:
    """Add one model's answers to the first turns."""
    for row in rows_of(path):
        model = model_name(path, row.body.get("model_id") or row.body.get("model"))
        text = answer_text(row)
        collected.answer(
            Answer(
                row.name("question_id", "uid"),
                model,
                "" if text == FAILED else text,
                "error" if text == FAILED else "ok" if text.strip() else "empty",
                reason="no answer in the source" if text == FAILED else None,
            ),
            row,
        )


def model_name(path: Path, said: Json) -> str:
    """Who answers in a file: its name, or what it says where the name is only its quoted form."""
    stem = path.name.removesuffix(".jsonl")
    return said if isinstance(said, str) and said and unquote(stem) == said else stem


def turn_text(turn: Json) -> Json:
    """A turn's text: FastChat has it bare, arena-hard in an object's `content`."""
    return turn.get("content") if isinstance(turn, dict) else turn


def _choices(row: Row) -> list[Json]:
    choices = row.body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise row.wrong("choices must be a list of objects with turns")
    return choices


def answer_text(row: Row) -> str:
    """The answer to the first turn; arena-hard's v2.0 keeps it as the last of the messages.

    Raises:
        RecordFileError: There is none.
    """
    messages = row.body.get("messages")
    turns = messages[-1:] if isinstance(messages, list) else _choices(row)[0].get("turns")
    text = turn_text(turns[0]) if isinstance(turns, list) and turns else None
    if isinstance(text, dict):
        text = text.get("answer")
    if not isinstance(text, str):
        raise row.wrong("the first choice must have turns, a list of texts, or messages a text")
    return text


def _reference(value: Json) -> str | None:
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) and first.strip() else None


def _tell_of_later_turns(collected: Collected, files: list[Path]) -> None:
    turns, choices = 0, 0
    for row in _all_rows(files):
        if row.has("messages"):
            continue
        found = _choices(row)
        choices += len(found) > 1
        turns += len(found[0].get("turns") or ()) > 1
    if turns:
        collected.left_out.append(f"the later turns of {turns} answers")
    if choices:
        collected.left_out.append(f"all but the first choice of {choices} answers")


def _all_rows(files: list[Path]) -> Iterator[Row]:
    for path in files:
        yield from rows_of(path)
