"""LMExamQA-style data sets: questions by domain (examiner paper, §3.1).

The authors' own files are no longer offered where the paper says, so what is read is what the paper
says that they hold, in the shapes in which such sets are passed on:

- a folder that `peerexam generate` or `peerexam export` left (`data/questions.jsonl`);
- rows in JSONL, JSON, CSV or Parquet with `question` (or `text`), and where there are any `domain`,
  `level` (or `category`: memorization, comprehension, analysis), `group` (or `type`: concise,
  complex, compound), `round`, `parent_id`, `id`, `author`, `reference` (or `answer`);
- one JSON object from domain to a list of questions, each a text or such a row.

A domain may be a path, `Arts & Entertainment/Humor` or a list; its last part is then its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar, get_args

from peerexam.calls import Json
from peerexam.errors import RecordFileError
from peerexam.records import Group, Level, Question
from peerexam.tasks.importers.collecting import UNKNOWN_DOMAIN, Collected
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.question_ids import QuestionIds
from peerexam.tasks.questions.folder import questions_of
from peerexam.tasks.rows import Row, decode_at, rows_of

Choice = TypeVar("Choice", bound=str)

_GROUPS: tuple[Group, ...] = get_args(Group)
_LEVELS: tuple[Level, ...] = get_args(Level)


def read_lmexamqa(source: Path) -> Imported:
    """Read a data set of questions.

    Raises:
        SetupError: It is not there, or holds no question.
        RecordFileError: A row cannot be read, or has the id of another.
    """
    if source.is_dir():
        return Imported(roles={}, questions=questions_of(source))
    collected, ids = Collected(), QuestionIds("q")
    for row in _rows(source):
        text = row.text("question" if row.has("question") else "text").strip()
        if not text:
            raise row.wrong("the question is empty; write it or remove the row")
        path = _domain_path(row)
        round_ = row.whole("round", 1)
        collected.question(
            Question(
                id=row.name("id", "question_id")
                if row.has("id") or row.has("question_id")
                else ids.next(text, path[-1]),
                text=text,
                domain=path[-1],
                domain_path=path if len(path) > 1 else (),
                author=row.name("author") if row.has("author") else None,
                group=_one_of(row, _GROUPS, "group", "type") or "own",
                round=round_,
                parent_id=row.name("parent_id") if row.has("parent_id") else None,
                level=_one_of(row, _LEVELS, "level", "category"),
                reference=_reference(row),
            ),
            row,
        )
    return collected.imported()


def _rows(source: Path) -> Iterator[Row]:
    if source.suffix.lower() == ".json":
        text = source.read_text(encoding="utf-8-sig")
        start = len(text) - len(text.lstrip())
        if text[start : start + 1] == "{":
            return _by_domain(source, text, start)
    return rows_of(source)


def _by_domain(source: Path, text: str, start: int) -> Iterator[Row]:
    """Rows of an object from domain to questions; each stands at the line of the whole object."""
    body, end = decode_at(text, start, source)
    line = text.count("\n", 0, start) + 1
    if text[end:].strip():
        raise RecordFileError("not JSON: the object ended before this", source, line)
    for domain, entries in body.items():
        if not isinstance(entries, list):
            raise RecordFileError(f"under '{domain:.60}' there is no list", source, line)
        for entry in entries:
            row: Mapping[str, Json] = entry if isinstance(entry, dict) else {"question": entry}
            yield Row({"domain": domain, **row}, source, line)


def _domain_path(row: Row) -> tuple[str, ...]:
    value = row.body.get("domain_path") or row.body.get("domain")
    parts = value if isinstance(value, list) else str(value or UNKNOWN_DOMAIN).split("/")
    path = tuple(str(part).strip() for part in parts if str(part).strip())
    return path or (UNKNOWN_DOMAIN,)


def _one_of(row: Row, choices: tuple[Choice, ...], *keys: str) -> Choice | None:
    """A field's value where it is one of the choices; other values say nothing to us."""
    for key in keys:
        value = str(row.body.get(key) or "").strip().lower()
        for choice in choices:
            if value in (choice, choice.replace("z", "s")):
                return choice
    return None


def _reference(row: Row) -> str | None:
    key = next((key for key in ("reference", "answer") if row.has(key)), None)
    return None if key is None else row.text(key)
