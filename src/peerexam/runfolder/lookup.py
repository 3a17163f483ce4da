"""Finding the lines of a folder by what a user pastes: a name, a place in a file, or a call.

Every question, answer, mark and verdict has a name made of what it is about, and every line of a
JSONL file has its place, such as `verdicts:12`. Any folder whose lines carry `call` will do: that
of a run, of a study, or of another tool's import.
"""

from __future__ import annotations

import difflib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from peerexam.calls import Json, calls_of
from peerexam.runfolder.columns import lines_about
from peerexam.runfolder.jsonl import TornTailWarning, read_blocks

CALL = re.compile(r"[0-9a-f]{6,64}")
"""A call's key, or the first digits of one."""

_PLACE = re.compile(r"(?P<file>.+?)(?:\.jsonl)?:(?P<number>[1-9][0-9]{0,17})")
_NAMED_BY: Mapping[str, tuple[str, ...]] = {
    "questions": ("id",),
    "answers": ("question_id", "examinee"),
    "marks": ("question_id", "examinee", "judge"),
    "verdicts": ("question_id", "first", "second", "judge"),
    "rankings": ("question_id", "=ranking", "judge"),
    "levels": ("question_id", "=level", "classifier"),
    "references": ("question_id", "=reference", "draw"),
    "probes": ("canary", "style", "place", "judge"),
}
"""File to the keys whose values, joined by `/`, name a line; `=word` is the word itself."""

_SUBJECTS = ("question_id", "item", "trace", "id", "canary")
"""Keys that say what a line is about, in any file."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a JSONL file in a folder.

    Attributes:
        file: The file's name without its suffix.
        number: Counted from 1.
        body: Its object.
    """

    file: str
    number: int
    body: Mapping[str, Json]

    @property
    def place(self) -> str:
        """Where it stands, as a user writes it."""
        return f"{self.file}:{self.number}"

    @property
    def subject(self) -> str | None:
        """What it is about: a question's id, or what a study calls its items."""
        found = (self.body.get(key) for key in _SUBJECTS)
        return next((value for value in found if isinstance(value, str)), None)

    @property
    def name(self) -> str:
        """What it is called: for a line of no known kind its place.

        >>> Line("marks", 3, {"question_id": "q1", "examinee": "a", "judge": "b"}).name
        'q1/a/b'
        """
        keys = _NAMED_BY.get(self.file.removeprefix("data/"), ("?",))
        parts = [key[1:] if key.startswith("=") else self.body.get(key, "") for key in keys]
        # A probe without a place was marked, alone.
        words = ["mark" if part is None else part for part in parts]
        is_named = all(isinstance(word, str | int) and word != "" for word in words)
        return "/".join(map(str, words)) if is_named else self.place

    @property
    def calls(self) -> tuple[str, ...]:
        """Ledger keys of the calls behind it, wherever in it they stand, each once."""
        return tuple(dict.fromkeys(_calls_in(self.body)))


def files_of(folder: Path) -> dict[str, Path]:
    """The JSONL files of a folder by name, in the order of a run and then of the alphabet."""
    found = [*folder.glob("*.jsonl"), *folder.glob("data/*.jsonl")]
    names = {str(path.relative_to(folder).with_suffix("").as_posix()): path for path in found}
    first = [name for name in _NAMED_BY if name in names]
    return {name: names[name] for name in (*first, *sorted(set(names) - set(first)))}


def lines_named(folder: Path, name: str) -> list[Line]:
    """The lines that are called so: one as a rule, several where a file names one thing twice.

    Args:
        folder: Of a run or a study.
        name: `QUESTION`, `QUESTION/EXAMINEE`, `QUESTION/EXAMINEE/JUDGE`,
            `QUESTION/FIRST/SECOND/JUDGE`, or `FILE:LINE`.

    Raises:
        RecordFileError: A line is damaged.
    """
    held = _at_place(folder, name)
    if held:
        return held
    return [line for line in _lines(folder, lines_about(_stems(name))) if line.name == name]


def lines_about_subject(folder: Path, subject: str) -> Iterator[Line]:
    """Everything that is said of one question or item, in the order of the files.

    Raises:
        RecordFileError: A line is damaged.
    """
    is_about = lines_about({subject})
    mark = json.dumps(subject, ensure_ascii=False).encode("utf-8", "surrogatepass")
    # A follow-up names its question further on in its line.
    for line in _lines(folder, lambda text: is_about(text) or mark in text):
        if subject in (line.subject, line.body.get("parent_id")):
            yield line


def lines_of_call(folder: Path, prefix: str) -> list[Line]:
    """The lines behind which a call stands whose key begins so.

    Raises:
        RecordFileError: A line is damaged.
    """
    mark = prefix.encode()
    found = _lines(folder, lambda line: mark in line)
    return [line for line in found if any(key.startswith(prefix) for key in line.calls)]


def names_near(folder: Path, name: str, most: int = 5) -> list[str]:
    """What is called almost so, the nearest first.

    Raises:
        RecordFileError: A line is damaged.
    """
    stems = _stems(name)
    known = {line.name for line in _lines(folder, lines_about(stems)) if line.subject in stems}
    if not known:
        known = {line.subject for line in _subjects(folder) if line.subject}
    held = sorted(known)
    starting = [one for one in held if one.startswith(name)]
    close = difflib.get_close_matches(name, held, most, 0.4)
    return list(dict.fromkeys([*starting, *close]))[:most]


def _subjects(folder: Path) -> Iterator[Line]:
    """Lines of the questions where there are some, else of everything."""
    files = files_of(folder)
    only = {"questions": files["questions"]} if "questions" in files else files
    for file, path in only.items():
        yield from read_lines(file, path)


def _stems(name: str) -> set[str]:
    """What a name may be about: itself, or what stands before one of its slashes."""
    return {name, *(name[:at] for at, char in enumerate(name) if char == "/")}


def _at_place(folder: Path, name: str) -> list[Line]:
    found = _PLACE.fullmatch(name)
    path = files_of(folder).get(found["file"]) if found else None
    if found is None or path is None:
        return []
    lines = (
        line for line in read_lines(found["file"], path) if line.number == int(found["number"])
    )
    return list(islice(lines, 1))


def _lines(folder: Path, keep: Callable[[bytes], bool] | None = None) -> Iterator[Line]:
    for file, path in files_of(folder).items():
        yield from read_lines(file, path, keep)


def read_lines(
    file: str, path: Path, keep: Callable[[bytes], bool] | None = None
) -> Iterator[Line]:
    """The lines of one file; one that is half written, as in a run that goes on, is left out.

    Args:
        file: What it is called, as in `files_of`.
        path: The file.
        keep: Which lines are read, by their bytes; None reads all.

    Raises:
        RecordFileError: A line is damaged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornTailWarning)
        for numbers, bodies in read_blocks(path, keep):
            for number, body in zip(numbers, bodies, strict=True):
                yield Line(file, number, body)


def _calls_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for entry in value:
            yield from _calls_in(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key == "call" and isinstance(entry, str):
                yield from calls_of(entry)
            elif key == "calls" and isinstance(entry, list):
                yield from (one for one in entry if isinstance(one, str) and one)
            else:
                yield from _calls_in(entry)
