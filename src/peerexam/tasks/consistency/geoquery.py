"""GeoQuery: questions about the United States with their programs in FunQL.

The folder holds line by line `geoquery.en` (questions), `geoquery.funql` (programs), and, where the
questions are split, `split880.train.ids` and `split880.test.ids` with line numbers from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.consistency.funql import FunqlError, Term, parse_funql, same_program

QUESTIONS, PROGRAMS = "geoquery.en", "geoquery.funql"
SPLITS = "split880.{split}.ids"

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class GeoQuestion:
    """A question and its program.

    Attributes:
        row: Its line, from 0.
        text: In English, lower case, without a question mark.
        program: The gold program.
        split: Which split it is in; None where there are none.
    """

    row: int
    text: str
    program: Term
    split: Split | None = None

    @property
    def id(self) -> str:
        """What it is called in records."""
        return f"geo{self.row:03d}"


def load_geoquery(folder: Path) -> list[GeoQuestion]:
    """Read the whole folder.

    Raises:
        SetupError: A file is missing or cannot be read, or questions and programs differ in number.
        RecordFileError: A program cannot be parsed, or a split names no line.
    """
    texts, programs = _lines(folder / QUESTIONS), _lines(folder / PROGRAMS)
    if len(texts) != len(programs):
        raise SetupError(
            f"{folder}: {QUESTIONS} has {len(texts)} lines and {PROGRAMS} {len(programs)}: "
            "line n of one belongs to line n of the other"
        )
    splits = _splits(folder, len(texts))
    return [
        GeoQuestion(row, " ".join(text.split()), _parsed(folder, row, program), splits.get(row))
        for row, (text, program) in enumerate(zip(texts, programs, strict=True))
    ]


def _parsed(folder: Path, row: int, program: str) -> Term:
    try:
        return parse_funql(program)
    except FunqlError as error:
        raise RecordFileError(str(error), folder / PROGRAMS, row + 1) from error


def _splits(folder: Path, count: int) -> dict[int, Split]:
    found: dict[int, Split] = {}
    names: tuple[Split, ...] = ("train", "test")
    paths = {name: folder / SPLITS.format(split=name) for name in names}
    if not any(path.exists() for path in paths.values()):
        return found
    for name, path in paths.items():
        for number, line in enumerate(_lines(path), 1):
            named = line.strip().lstrip("0") or line.strip()[-1:]
            # So long a number is never made an `int`: Python refuses those of thousands of digits.
            if not named.isdecimal() or len(named) > 9 or int(named) >= count:
                raise RecordFileError(
                    f"{line.strip()[:20]!r} is no line of {QUESTIONS}, counted from 0", path, number
                )
            found[int(named)] = name
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            f"{path} cannot be read: {error}; name the folder with {QUESTIONS} and {PROGRAMS}"
        ) from error


def distinct(questions: Sequence[GeoQuestion]) -> list[GeoQuestion]:
    """Questions without those that repeat an earlier one with the same program."""
    seen: dict[str, list[Term]] = {}
    kept = []
    for question in questions:
        before = seen.setdefault(question.text.lower(), [])
        if not any(same_program(question.program, program) for program in before):
            kept.append(question)
        before.append(question.program)
    return kept
