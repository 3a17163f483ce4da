"""Word-by-word alignments of GeoQuery questions with their programs (`EN_anon_cleaned.csv`).

Its questions have `state_name` and the like in place of names, and neither its order nor all its
programs are those of `geoquery.en`, so a row is looked up by question and program. Two of its
programs have unbalanced brackets and are left out, and some of its aligned words are damaged
(`losmallest_one`), so words are told by their places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.tasks.consistency.funql import FunqlError, Term, parse_funql
from peerexam.tasks.rows import csv_table

ALIGNMENTS = "EN_anon_cleaned.csv"

_COLUMNS = ("NL", "MR", "MONOTONIC", "ALIGNMENT")
_NOTHING = "ε"
# What Python's parser may say of a cell: nested too deeply is a `MemoryError`, or a recursion.
_DAMAGED = (
    FunqlError,
    ValueError,
    SyntaxError,
    TypeError,
    AttributeError,
    RecursionError,
    MemoryError,
)
_PLACEHOLDER = re.compile(r"\b(?:state|city|river|place)_(?:name|abbr)\b")
_NAMED = frozenset({"stateid", "cityid", "riverid", "placeid"})


@dataclass(frozen=True, slots=True)
class Alignment:
    """One row.

    Attributes:
        pattern: Matches the questions it goes with, a group a word.
        labels: Per word of the anonymous question, the operator's name; None for no operator.
        is_monotonic: Whether words and operators stand in the same order.
    """

    pattern: re.Pattern[str]
    labels: tuple[str | None, ...]
    is_monotonic: bool

    def of(self, question: str) -> list[str | None] | None:
        """Per word of a question, the operator's name; None where the row does not go with it."""
        found = self.pattern.fullmatch(question)
        if found is None:
            return None
        return [
            label
            for label, words in zip(self.labels, found.groups(), strict=True)
            for _ in words.split()
        ]


Alignments = Mapping[str, Sequence[Alignment]]
"""By the program with its names left out, see `skeleton`."""


def load_alignments(path: Path) -> Alignments:
    """Read the file.

    Raises:
        SetupError: It cannot be read, or has other columns.
    """
    found: dict[str, list[Alignment]] = {}
    for _, row in csv_table(path, *_COLUMNS):
        _add(row, found)
    return found


def _add(row: Mapping[str, str], found: dict[str, list[Alignment]]) -> None:
    words = row["nl"].split()
    try:
        program = parse_funql(row["mr"])
        # A literal and nothing else: the file's text is never run.
        pairs = ast.literal_eval(f"[{row['alignment']}]")
        labels = tuple(_label(label) for _, label in pairs)
    except _DAMAGED:
        return
    if len(labels) != len(words):
        return
    pattern = re.compile(" ".join(_group(word) for word in words))
    found.setdefault(skeleton(program), []).append(
        Alignment(pattern, labels, row["monotonic"] == "1")
    )


def _label(label: str) -> str | None:
    return None if label == _NOTHING else label.partition("(")[0]


def _group(word: str) -> str:
    return r"(\S+(?: \S+){0,3}?)" if _PLACEHOLDER.fullmatch(word) else f"({re.escape(word)})"


def skeleton(program: Term) -> str:
    """A program's text with every name of a state, city, river or place left out."""
    if program.arguments is None:
        return program.name
    inside = [
        "*"
        if program.name in _NAMED and not each.is_operator and each.name != "_"
        else skeleton(each)
        for each in program.arguments
    ]
    return f"{program.name}({','.join(inside)})"


def aligned(
    alignments: Alignments, question: str, program: Term
) -> tuple[list[str | None], bool] | None:
    """The operator's name of every word, and whether the order is monotonic; None without a row."""
    for row in alignments.get(skeleton(program), ()):
        labels = row.of(question)
        if labels is not None:
            return labels, row.is_monotonic
    return None
