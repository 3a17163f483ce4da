"""An exported data set kind by kind: its columns and its counts, as Parquet and card need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from peerexam.calls import Json
from peerexam.records import DIMENSIONS, Record

ColumnType = Literal["string", "int32", "float64", "bool", "names", "groups"]
"""`names` is a list of strings, `groups` a list of such lists."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    type: ColumnType = "string"

    @property
    def feature(self) -> dict[str, Json]:
        """The column as a data-set card declares it."""
        if self.type == "names":
            return {"name": self.name, "sequence": "string"}
        if self.type == "groups":
            return {"name": self.name, "sequence": {"sequence": "string"}}
        return {"name": self.name, "dtype": self.type}


_PROVENANCE = ("prompt", "call")


@dataclass(slots=True)
class Sheet:
    """One kind of record as it was exported.

    Attributes:
        columns: Of its Parquet file.
        rows: How many there are.
        size: Bytes of the JSONL file.
        states: How many rows in each state; a kind without states counts as `ok`.
        prompts: Hashes of the prompts behind the rows, with their counts.
    """

    kind: str
    columns: tuple[Column, ...]
    rows: int = 0
    size: int = 0
    states: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, int] = field(default_factory=dict)

    def count(self, record: Record, line: bytes) -> None:
        """Count one row."""
        self.rows += 1
        self.size += len(line)
        state = getattr(record, "state", "ok")
        self.states[state] = self.states.get(state, 0) + 1
        prompt = getattr(record, "prompt", None)
        if prompt is not None:
            self.prompts[prompt] = self.prompts.get(prompt, 0) + 1


def columns_of(kind: str, dimensions: Sequence[str] = DIMENSIONS) -> tuple[Column, ...]:
    """The columns of one kind of record, in the order of the record's fields.

    Args:
        kind: A kind of record, as in `questions`.
        dimensions: Of the rubric, for marks.
    """
    return {
        "questions": (
            *_texts("id", "text", "domain"),
            Column("domain_path", "names"),
            *_texts("author", "group"),
            Column("round", "int32"),
            *_texts("parent_id", "level", "examinee", "reference"),
            Column("reference_agreement", "float64"),
            *_texts(*_PROVENANCE),
        ),
        "levels": _texts(
            "question_id", "classifier", "level", "state", "reason", "reply", *_PROVENANCE
        ),
        "references": (
            *_texts("question_id", "author"),
            Column("draw", "int32"),
            *_texts("text"),
            Column("agrees", "bool"),
            *_texts("state", "reason", *_PROVENANCE),
        ),
        "answers": _texts("question_id", "examinee", "text", "state", "reason", *_PROVENANCE),
        "marks": (
            *_texts("question_id", "examinee", "judge"),
            *(Column(name, "int32") for name in dimensions),
            Column("overall", "int32"),
            *_texts("state", "reason", "reply", *_PROVENANCE),
        ),
        "verdicts": _texts(
            "question_id", "judge", "first", "second", "winner", "state", "reason", "reply",
            *_PROVENANCE,
        ),
        "rankings": (
            *_texts("question_id", "judge"),
            Column("order", "groups"),
            Column("unranked", "names"),
        ),
    }[kind]  # fmt: skip


def dimensions_in(scores: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The rubric's dimensions as the marks have them, in order of appearance.

    >>> dimensions_in([["tone"], ["tone", "depth"]])
    ('tone', 'depth')
    """
    found = dict.fromkeys(name for names in scores for name in names)
    return tuple(found) or DIMENSIONS


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)
