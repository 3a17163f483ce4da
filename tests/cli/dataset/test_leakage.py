"""`peerexam leakage`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main
from peerexam.records import Question
from peerexam.runfolder import RunFolder

pytest.importorskip("bm25s")

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"

QUESTIONS = [
    Question("q1", "How do tides come about?", "Oceans", author="ada"),
    Question("q2", "Why do cats purr at night?", "Cats", author="bob"),
    Question("q3", "Why do big cats purr at night?", "Cats", author="ada"),
    Question("q4", "And what of lions?", "Cats", author="ada", round=2, parent_id="q3"),
    Question("q5", '=HYPERLINK("x") means what?', "Sheets", author="bob"),
]
CORPUS = [
    "A question for you: how do tides come about? Nobody knows.",
    "What is the meaning of it all",
    "Lions are big",
    "=1+1 means what?",
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A data set, and a corpus beside it."""
    with RunFolder(tmp_path / "set" / "data").writer("questions") as writer:
        for question in QUESTIONS:
            writer.emit(question)
    (tmp_path / "corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
    return tmp_path


def _found(source: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    command = ["leakage", str(source / "set"), "--corpus", str(source / "corpus.txt"), "--json"]
    assert main([*command, *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_nearest_pairs_come_first_and_copies_before_all(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _found(source, capsys)
    first = found["nearest_pairs"][0]
    assert (first["question_id"], first["contained_in"]) == ("q1", 1)
    assert first["contained_at"].endswith("corpus.txt:1")
    # By hand: 5 words of 5 and of 11 in common: 2·1·(5/11) / (1 + 5/11).
    assert first["rouge_l_nearest"] == pytest.approx(10 / 16)
    assert (found["questions"], found["documents"]) == (5, 4)
    assert found["contained"]["value"] == pytest.approx(1 / 5)
    assert "lower bound" in found["note"]


def test_authors_are_held_against_each_other(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _found(source, capsys)
    pairs = {(one["author"], one["other"]): one for one in found["authors"]}
    assert set(pairs) == {("ada", "bob"), ("bob", "ada")}
    nearest = pairs["bob", "ada"]["nearest"]
    assert nearest["question"] == "Why do cats purr at night?"
    assert nearest["other_question"] == "Why do big cats purr at night?"
    assert nearest["rouge_l"] == pytest.approx(12 / 13)  # 6 words of 6 and of 7
    assert pairs["ada", "bob"]["rouge_l"]["mean"]["n"] == 3


def test_the_same_search_gives_the_same_bytes(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        _found(source, capsys, "--out", str(source / name), "--seed", "4")
    for file in ("leakage.json", "leakage.csv"):
        assert (source / "one" / file).read_bytes() == (source / "two" / file).read_bytes()


def test_the_table_holds_every_question_in_inert_cells(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = _found(source, capsys, "--out", str(source / "out"))
    assert json.loads((source / "out" / "leakage.json").read_bytes()) == body
    with (source / "out" / "leakage.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["question_id"] for row in rows} == {"q1", "q2", "q3", "q4", "q5"}
    sheet = next(row for row in rows if row["question_id"] == "q5")
    assert sheet["question"].startswith("'=")
    assert sheet["nearest_hit"].startswith("'=")


def test_what_is_printed_says_that_it_is_a_lower_bound(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / "corpus.txt").write_text("\x1b[2J How do tides come about?\u202e", encoding="utf-8")
    assert main(["leakage", str(source / "set"), "--corpus", str(source / "corpus.txt")]) == 0
    shown = capsys.readouterr().out
    assert "lower bound" in shown
    assert "word for word in a document: 20.0%" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--corpus", "missing.txt"], "no corpus missing.txt"),
        (["--hits", "0"], "1 hit or more"),
        (["--corpus", "EMPTY"], "no text at all"),
        (["--out", "FILE"], "cannot be a folder"),
    ],
)
def test_what_cannot_be_searched_is_bad_usage(
    source: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    (source / "empty.txt").write_text("\n \n", encoding="utf-8")
    places = {"EMPTY": str(source / "empty.txt"), "FILE": str(source / "corpus.txt")}
    given = [places.get(one, one) for one in more]
    corpus = [] if "--corpus" in given else ["--corpus", str(source / "corpus.txt")]
    assert main(["leakage", str(source / "set"), *corpus, *given]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")
def test_vicuna_s_questions_are_found_again_in_prd_s_copy_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # PRD took its 80 questions from Vicuna's list: each is there word for word.
    source = SHARED / "vicuna_bench" / "question.jsonl"
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    own = tmp_path / "own.jsonl"
    own.write_text(
        "".join(
            json.dumps({"id": str(r["question_id"]), "text": r["turns"][0]}) + "\n" for r in rows
        ),
        encoding="utf-8",
    )
    (corpus,) = (SHARED / "prd_vicuna80" / "prompts").glob("*questions.jsonl")
    assert main(["leakage", str(own), "--corpus", str(corpus), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == found["documents"] == 80
    assert found["contained"]["value"] == 1
    assert found["rouge_l_first"]["mean"]["value"] == pytest.approx(1)
