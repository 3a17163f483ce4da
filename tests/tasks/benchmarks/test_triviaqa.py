"""TriviaQA: the official normalisation, exact match over aliases, every public layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import RecordFileError
from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.benchmarks.triviaqa import TRIVIAQA, extract, normalised, score

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
DATA = SHARED / "data" / "triviaqa"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="the public data are not there")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # triviaqa_evaluation.py: lower, "_" to space, punctuation to spaces, articles, spaces.
        ("The_Beatles!", "beatles"),
        ("A  Tale of   Two Cities", "tale of two cities"),
        ("O’Neill’s `bar´", "o neill s bar"),
        ("an apple a day", "apple day"),
        ("Thea", "thea"),
        ("🙏", "🙏"),
        ("The The", "the the"),  # nothing would be left
    ],
)
def test_normalisation_is_the_official_one(text: str, found: str) -> None:
    assert normalised(text) == found


@needs_shared
@pytest.mark.shared
def test_the_published_cases_of_scoring_come_out_as_they_should() -> None:
    rows = map(json.loads, (SHARED / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    cases = [r for r in rows if r["area"] == "qa-scoring" and r["input"]["dataset"] == "TriviaQA"]
    assert cases
    for case in cases:
        item = Item("1", "?", tuple(case["input"]["aliases"]))
        found = [score(reply, item) == 1.0 for reply in case["input"]["replies"]]
        assert found == [one == "correct" for one in case["expected"]]


def test_only_the_first_line_counts_and_a_part_is_not_enough() -> None:
    item = Item("1", "?", ("Ada Lovelace",))
    assert score("Answer: Ada Lovelace\nQuestion: Who else?", item) == 1.0
    assert score("It was Ada Lovelace", item) == 0.0
    assert score("", item) == 0.0


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)
    assert extract(text) != ""


@needs_shared
@pytest.mark.shared
@pytest.mark.parametrize("name", ["triviaqa_150.json", "official_format_sample.json"])
def test_every_gold_answer_and_alias_is_right(name: str) -> None:
    items = TRIVIAQA.read(DATA / name)
    assert len(items) == (150 if name == "triviaqa_150.json" else 1)
    # The README: gold always in aliases.
    assert all(score(answer, one) == 1.0 for one in items for answer in one.gold)


def official(*ids: str) -> dict[str, object]:
    answer = {"Value": "Oslo", "Aliases": ["Oslo", "Kristiania"], "NormalizedValue": "oslo"}
    return {
        "Data": [{"Question": f"Where? {i}", "QuestionId": i, "Answer": answer} for i in ids],
        "Version": 1.0,
    }


def test_the_two_official_files_of_a_folder_are_one_split(tmp_path: Path) -> None:
    # The validation split is web-dev and wikipedia-dev; a question may be in both.
    (tmp_path / "qa").mkdir()
    for name, ids in (("web-dev", ("tc_1", "tc_2")), ("wikipedia-dev", ("tc_2",))):
        path = tmp_path / "qa" / f"{name}.json"
        path.write_text(json.dumps(official(*ids)), encoding="utf-8")
    items = TRIVIAQA.read(tmp_path)
    assert [one.id for one in items] == ["tc_1", "tc_2", "tc_2~2"]
    assert items[1].cluster == items[2].cluster
    assert score("kristiania", items[0]) == 1.0


def test_rows_of_the_hub_are_read_from_a_file_too(tmp_path: Path) -> None:
    row = {
        "question": "Where?",
        "question_id": "tc_9",
        "answer": {"value": "Oslo", "aliases": ["Christiania"], "normalized_aliases": ["oslo"]},
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (item,) = TRIVIAQA.read(path)
    assert (item.id, item.gold) == ("tc_9", ("Oslo", "Christiania"))


def test_a_test_set_without_answers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "web-test.json"
    path.write_text(json.dumps({"Data": [{"Question": "?", "QuestionId": "1"}]}), encoding="utf-8")
    with pytest.raises(RecordFileError, match="gold_answer"):
        TRIVIAQA.read(path)
