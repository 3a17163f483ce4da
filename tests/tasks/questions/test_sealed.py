from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Question, to_json
from peerexam.runfolder import RunFolder
from peerexam.runfolder.sealing import seal_of
from peerexam.tasks.questions.file import load_questions

FIRST = Question("q-a-x-1", "Why is chalk white?", "x", ("w", "x"), "a", "concise",
                 level="analysis", reference="It scatters light.", reference_agreement=0.5,
                 prompt="p" * 64, call="c" * 64)  # fmt: skip
SECOND = Question("q-b-x-1", "Which acid dissolves chalk\ud800?", "x", ("w", "x"), "b", "complex")
DEEPER = Question("q-a-x-1-f2", "And then?", "x", author="a", round=2, parent_id="q-a-x-1",
                  examinee="b")  # fmt: skip


def folder_of(path: Path, *questions: Question, **manifest: Any) -> Path:
    with RunFolder(path).writer("questions") as writer:
        for question in questions:
            writer.emit(question)
    sealed = {"questions_hash": seal_of(map(to_json, questions)), **manifest}
    home = path.parent if path.name == "data" else path
    RunFolder(home).write_manifest(sealed)
    return path


def test_a_run_and_a_data_set_give_their_first_round_whole(tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run", FIRST, SECOND, DEEPER)
    data = folder_of(tmp_path / "set" / "data", FIRST, SECOND)
    for place in (run, run / "questions.jsonl", tmp_path / "set", data / "questions.jsonl"):
        assert load_questions(place) == [FIRST, SECOND]


def test_changed_questions_are_refused_with_both_hashes_and_the_mend(tmp_path: Path) -> None:
    folder_of(tmp_path / "set" / "data", FIRST, SECOND)
    path = tmp_path / "set" / "data" / "questions.jsonl"
    sealed = seal_of(map(to_json, (FIRST, SECOND)))
    path.write_bytes(path.read_bytes().replace(b"white", b"black"))
    with pytest.raises(SetupError) as refused:
        load_questions(tmp_path / "set")
    text = str(refused.value)
    changed = {**to_json(FIRST), "text": "Why is chalk black?"}
    assert sealed in text
    assert seal_of([changed, to_json(SECOND)]) in text
    assert "copy it to a place without manifest.json" in text
    copy = tmp_path / "mine.jsonl"
    copy.write_bytes(path.read_bytes())
    assert [question.author for question in load_questions(copy)] == ["a", "b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:1],
        lambda lines: lines[::-1],
        lambda lines: [*lines, lines[0].replace("q-a-x-1", "q-a-x-9")],
    ],
)
def test_a_question_less_or_more_or_another_order_breaks_the_seal(
    tmp_path: Path, change: Any
) -> None:
    path = folder_of(tmp_path / "run", FIRST, SECOND) / "questions.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("".join(line + "\n" for line in change(lines)), "utf-8")
    with pytest.raises(SetupError, match="that were sealed"):
        load_questions(path)


def test_a_file_of_an_older_version_keeps_its_seal(tmp_path: Path) -> None:
    old = {k: v for k, v in to_json(FIRST).items() if not k.startswith("reference")}
    path = tmp_path / "run" / "questions.jsonl"
    folder_of(tmp_path / "run", questions_hash=seal_of([old]))
    path.write_bytes(json.dumps(old).encode() + b"\n")
    (question,) = load_questions(path)
    assert (question.author, question.reference) == ("a", None)


def test_an_imported_run_has_no_seal_to_check(tmp_path: Path) -> None:
    folder_of(tmp_path / "run", FIRST, protocol="import", questions_hash="00")
    assert load_questions(tmp_path / "run") == [FIRST]


def test_a_damaged_record_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    folder_of(tmp_path / "run", FIRST, SECOND)
    lines = (tmp_path / "run" / "questions.jsonl").read_text("utf-8")
    path.write_text(lines.replace('"complex"', '"tricky"'), "utf-8")
    with pytest.raises(RecordFileError, match=r"mine\.jsonl:2: 'group' must be one of"):
        load_questions(path)
    path.write_text(lines + lines, "utf-8")
    with pytest.raises(RecordFileError, match=r"mine\.jsonl:3: the same id stands in line 1"):
        load_questions(path)


def test_a_folder_without_questions_and_a_parquet_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"neither data/questions\.jsonl"):
        load_questions(tmp_path)
    table = tmp_path / "questions.parquet"
    table.write_bytes(b"PAR1")
    with pytest.raises(SetupError, match=r"questions\.jsonl beside it"):
        load_questions(table)


def test_an_empty_set_holds_no_question(tmp_path: Path) -> None:
    folder_of(tmp_path / "run")
    with pytest.raises(SetupError, match="holds no question"):
        load_questions(tmp_path / "run")


@pytest.mark.parametrize("seal", ["", ', "questions_hash": null', ', "questions_hash": 5'])
def test_a_data_set_without_a_readable_seal_is_refused(tmp_path: Path, seal: str) -> None:
    folder_of(tmp_path / "data", FIRST)
    (tmp_path / "manifest.json").write_text(f'{{"kind": "dataset"{seal}}}')
    with pytest.raises(SetupError, match="has no questions_hash"):
        load_questions(tmp_path)
