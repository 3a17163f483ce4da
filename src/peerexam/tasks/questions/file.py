"""Questions to ask: the user's own (JSONL, JSON, YAML, a plain list), or those of a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Level, Question, with_input
from peerexam.runfolder import read_jsonl
from peerexam.tasks.questions.layouts import Entries, json_list, plain_list, yaml_list
from peerexam.tasks.questions.sealed import is_record, questions_path, sealed_questions
from peerexam.tasks.rows import read_text, rows_of

_TEXT_KEYS = ("text", "question", "instruction", "prompt")
_LEVELS: tuple[Level, ...] = get_args(Level)


def load_questions(path: Path, domain: str = "own") -> list[Question]:
    """Read the questions of a file, or of a data set's or a run's folder.

    Questions that peerexam wrote keep everything (author, group, level, reference, …), their seal
    is checked, and follow-ups are left out (`tasks.sealed_questions`). Otherwise an entry is a
    text, or an object with the text under `text`, `question`, `instruction` or `prompt`, and
    optionally `id`, `domain` and `level`; what stands under `input` beside an `instruction` is part
    of the question. In a plain list blank lines do not count, and bullets or numbers are dropped
    where every line has one. An entry without an id gets one made from its text, so that it stays
    the same when others are added.

    Args:
        path: A folder, or a file: `.jsonl`, `.json`, `.yaml`, `.yml`, `.csv` or `.tsv`; any other
            name is a plain list.
        domain: Domain of the user's own questions that name none.

    Raises:
        RecordFileError: An entry is empty, stands there twice, or cannot be read.
        SetupError: There is no such file, it holds no question, or not those that were sealed.
    """
    if path.is_dir():
        path = questions_path(path)
    try:
        questions = sealed_questions(path) if _is_ours(path) else _own(path, domain)
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}; name a file of questions") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    if not questions:
        raise SetupError(f"{path} holds no question")
    return questions


def _is_ours(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        raise SetupError(f"{path} is Parquet: name the questions.jsonl beside it, or their folder")
    if suffix != ".jsonl":
        return False
    first = next(read_jsonl(path), None)
    return first is not None and is_record(first[1])


def _own(path: Path, domain: str) -> list[Question]:
    read = _READERS.get(path.suffix.lower(), plain_list)
    return list(_questions(read(path), path, domain))


def _questions(entries: Entries, path: Path, domain: str) -> Iterator[Question]:
    texts: dict[str, int] = {}
    ids: dict[str, int] = {}
    for number, entry in entries:
        try:
            question = _question(entry, domain)
        except ValueError as error:
            raise RecordFileError(str(error), path, number) from error
        plain = " ".join(question.text.split()).casefold()
        for what, seen, name in (("question", texts, plain), ("id", ids, question.id)):
            if name in seen:
                raise RecordFileError(
                    f"the same {what} stands in line {seen[name]}; remove or change one",
                    path,
                    number,
                )
            seen[name] = number
        yield question


def _question(entry: Json, domain: str) -> Question:
    body = {"text": entry} if isinstance(entry, str) else entry
    if not isinstance(body, dict):
        raise ValueError(f"expected a question, found {type(entry).__name__}")
    text = next((body[key] for key in _TEXT_KEYS if body.get(key) is not None), None)
    if text is None:
        raise ValueError(f"no question here: write it under {', '.join(_TEXT_KEYS)}")
    if not isinstance(text, str):
        raise ValueError(f"the question must be text, found {text!r:.60}; put it in quotes")
    text = text.strip()
    if not text:
        raise ValueError("the question is empty; write it or remove the entry")
    if body.get("instruction") is not None:
        text = with_input(text, body.get("input"))
    level = body.get("level")
    if level is not None and level not in _LEVELS:
        raise ValueError(f"level must be one of {', '.join(_LEVELS)}, found {level!r:.60}")
    return Question(
        id=_name(body, "id") or f"own-{hashlib.sha256(text.encode()).hexdigest()[:10]}",
        text=text,
        domain=_name(body, "domain") or domain,
        level=level,
    )


def _name(body: dict[str, Json], key: str) -> str:
    value = body.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{key} must be a name or a whole number, found {value!r:.60}")
    return str(value).strip()


def _rows(path: Path) -> Entries:
    for row in rows_of(path):
        yield row.line, dict(row.body)


def _json(path: Path) -> Entries:
    """A list, or what else a `.json` file may hold: a line an object, an object with the list."""
    held = read_text(path).lstrip()
    return _rows(path) if held.startswith("{") else json_list(path)


_READERS: dict[str, Callable[[Path], Entries]] = {
    ".jsonl": read_jsonl,
    ".json": _json,
    ".csv": _rows,
    ".tsv": _rows,
    ".yaml": yaml_list,
    ".yml": yaml_list,
}
