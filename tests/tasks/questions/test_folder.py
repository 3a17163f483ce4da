from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Question
from peerexam.runfolder import RunFolder
from peerexam.tasks.questions.folder import questions_of

QUESTIONS = [
    Question("q1", "Why is the sky blue?", "Physics", ("Science", "Physics"), "ada"),
    Question("q2", "And at dusk?", "Physics", ("Science", "Physics"), "ada", round=2),
]


def _left_in(folder: Path) -> None:
    with RunFolder(folder).writer("questions") as writer:
        for question in QUESTIONS:
            writer.emit(question)


def test_a_runs_questions_are_read_with_their_follow_ups(tmp_path: Path) -> None:
    _left_in(tmp_path)
    assert questions_of(tmp_path) == QUESTIONS


def test_a_data_sets_questions_are_read_from_its_data_folder(tmp_path: Path) -> None:
    _left_in(tmp_path / "data")
    assert questions_of(tmp_path) == QUESTIONS


def test_a_file_of_own_questions_will_do_as_well(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("Why is the sky blue?\n", encoding="utf-8")
    assert [q.text for q in questions_of(tmp_path / "own.txt")] == ["Why is the sky blue?"]


def test_a_folder_without_questions_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"data/questions\.jsonl"):
        questions_of(tmp_path)
    with pytest.raises(SetupError, match="is no folder"):
        questions_of(tmp_path / "missing")
    (tmp_path / "questions.jsonl").touch()
    with pytest.raises(SetupError, match="holds no question"):
        questions_of(tmp_path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"id": "q1"}\n{}\n', encoding="utf-8")
    with pytest.raises(RecordFileError, match=r"questions\.jsonl:1"):
        questions_of(tmp_path)


def test_a_broken_seal_is_refused_here_too(tmp_path: Path) -> None:
    path = tmp_path / "data" / "questions.jsonl"
    with RunFolder(path.parent).writer("questions") as writer:
        writer.emit(Question("a", "Why?", "tides"))
    (tmp_path / "manifest.json").write_text('{"kind": "dataset", "questions_hash": "00"}')
    with pytest.raises(SetupError, match="questions that were sealed"):
        questions_of(tmp_path)
