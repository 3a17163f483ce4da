"""The user's own questions: JSONL, JSON, YAML, or a plain list, one question a line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import get_args

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Level, Question
from peerexam.runfolder import read_jsonl

Entries = Iterator[tuple[int, Json]]
"""Line numbers, counted from 1, and what stands there: a text, or an object with one."""

_TEXT_KEYS = ("text", "question", "instruction", "prompt")
_LEVELS: tuple[Level, ...] = get_args(Level)
_MARKER = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
_BLANK = re.compile(r"[\s,]*")


def load_questions(path: Path, domain: str = "own") -> list[Question]:
    """Read a file of questions.

    An entry is a text, or an object with the text under `text`, `question`, `instruction` or
    `prompt`, and optionally `id`, `domain` and `level`. In a plain list blank lines do not count,
    and bullets or numbers are dropped where every line has one. An entry without an id gets one
    made from its text, so that it stays the same when others are added.

    Args:
        path: `.jsonl`, `.json`, `.yaml` or `.yml`; any other name is a plain list.
        domain: Domain of questions that name none.

    Raises:
        RecordFileError: An entry is empty, stands there twice, or cannot be read.
        SetupError: There is no such file, or it holds no question.
    """
    read = _READERS.get(path.suffix.lower(), _plain_list)
    try:
        questions = list(_questions(read(path), path, domain))
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}; name a file of questions") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    if not questions:
        raise SetupError(f"{path} holds no question")
    return questions


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


def _json_list(path: Path) -> Entries:
    """Decode a JSON list entry by entry, because only so each one's line is known."""
    text = path.read_text(encoding="utf-8-sig")
    start = re.match(r"\s*\[", text)
    if start is None:
        raise RecordFileError("expected a JSON list of questions", path, 1)
    place = _skip(text, start.end())
    while text[place : place + 1] != "]":
        number = text.count("\n", 0, place) + 1
        try:
            entry, end = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            line = error.lineno if isinstance(error, json.JSONDecodeError) else number
            raise RecordFileError(f"not JSON: {reason}", path, line) from error
        yield number, entry
        place = _skip(text, end)
    rest = _skip(text, place + 1)
    if rest < len(text):
        line = text.count("\n", 0, rest) + 1
        raise RecordFileError("not JSON: the list ended before this", path, line)


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return place if found is None else found.end()


def _yaml_list(path: Path) -> Entries:
    import yaml

    loader = yaml.SafeLoader(path.read_text(encoding="utf-8-sig"))
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.SequenceNode):
            raise RecordFileError("expected a YAML list of questions", path, 1)
        for node in root.value:
            yield node.start_mark.line + 1, loader.construct_object(node, deep=True)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise RecordFileError(str(problem), path, 1 if mark is None else mark.line + 1) from error
    finally:
        loader.dispose()


def _plain_list(path: Path) -> Entries:
    text = path.read_text(encoding="utf-8-sig")
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    marked = _all_marked(line for _, line in lines)
    for number, line in lines:
        yield number, _MARKER.sub("", line, count=1) if marked else line


def _all_marked(lines: Iterable[str]) -> bool:
    return all(_MARKER.match(line) for line in lines)


_READERS: dict[str, Callable[[Path], Entries]] = {
    ".jsonl": read_jsonl,
    ".json": _json_list,
    ".yaml": _yaml_list,
    ".yml": _yaml_list,
}
