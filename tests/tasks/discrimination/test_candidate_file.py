"""Candidates of a file: three layouts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.discrimination.candidate_file import EVERY_AGENT, read_candidates

ITEMS = (Item("a", "What is 2 + 2?", ("4",)), Item("b", "What is 3 + 3?", ("6",)))


def written(path: Path, *rows: object) -> Path:
    path = path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_lists_single_rows_and_solutions_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"question": "what is  2 + 2?", "candidates": ["4", "5"]},
        {"item": "b", "text": "6"},
        {"id": "b", "text": "7"},
        {"question": "What is 2 + 2?", "agent": "m", "text": "1"},
        {"question": "What is 2 + 2?", "agent": "m", "text": "2"},
    )
    found = read_candidates(path, ITEMS)
    assert found[EVERY_AGENT] == {"a": ("4", "5"), "b": ("6", "7")}
    assert found["m"] == {"a": ("1", "2")}
    solutions = {"one": {"solution": "A: 4"}, "two": {"solution": "A: 5", "is_correct": False}}
    path = written(tmp_path, {"question": "What is 2 + 2?", "ground_truth": "A: 4", **solutions})
    assert read_candidates(path, ITEMS) == {EVERY_AGENT: {"a": ("A: 4", "A: 5")}}


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (
            [{"question": "What is 9 + 9?", "text": "18"}],
            RecordFileError,
            "no question of the task",
        ),
        ([{"item": "a"}], RecordFileError, "expected 'candidates'"),
        ([{"item": "a", "candidates": ["1"]}], SetupError, "nothing to choose from one"),
        (
            [{"item": "a", "candidates": ["1", "2"]}, {"item": "b", "candidates": ["1", "2", "3"]}],
            SetupError,
            "2 to 3 candidates",
        ),
        ([], SetupError, "holds no candidate"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    tmp_path: Path, rows: list[object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        read_candidates(written(tmp_path, *rows), ITEMS)
