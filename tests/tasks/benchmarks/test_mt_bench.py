"""MT-bench: two turns a question, references where the categories have them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from peerexam.errors import RecordFileError
from peerexam.tasks.benchmarks.mt_bench import MT_BENCH

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "mt_bench"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="the public data are not there")

QUESTION = {"question_id": 7, "category": "math", "turns": ["What is 2 + 2?", "And twice that?"]}


def write(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_later_turn_has_the_first_before_it(tmp_path: Path) -> None:
    write(tmp_path / "question.jsonl", QUESTION)
    choices = [{"index": 0, "turns": ["4", "8"]}]
    write(tmp_path / "reference_answer" / "gpt-4.jsonl", {"question_id": 7, "choices": choices})
    first, second = MT_BENCH.read(tmp_path)
    assert (first.id, first.earlier, first.gold) == ("7-1", (), ("4",))
    assert (second.id, second.earlier) == ("7-2", ("What is 2 + 2?",))
    assert (second.gold, second.earlier_gold) == (("8",), ("4",))
    assert first.cluster == second.cluster


def test_the_layout_of_the_hub_has_its_references_with_it(tmp_path: Path) -> None:
    row = {"prompt_id": 3, "category": "coding", "prompt": ["a", "b"], "reference": ["x", "y"]}
    write(tmp_path / "rows.jsonl", row, {**row, "prompt_id": 4, "reference": []})
    items = MT_BENCH.read(tmp_path / "rows.jsonl")
    assert [one.gold for one in items] == [("x",), ("y",), (), ()]


def test_a_row_without_turns_is_named(tmp_path: Path) -> None:
    write(tmp_path / "question.jsonl", {"question_id": 1, "turns": []})
    with pytest.raises(RecordFileError, match="turns"):
        MT_BENCH.read(tmp_path)
    write(tmp_path / "question.jsonl", QUESTION)
    write(tmp_path / "reference_answer_gpt-4.jsonl", {"question_id": 7, "choices": []})
    with pytest.raises(RecordFileError, match="choices"):
        MT_BENCH.read(tmp_path)


@needs_shared
@pytest.mark.shared
def test_the_public_file_has_160_items_of_which_60_have_a_reference() -> None:
    items = MT_BENCH.read(DATA)
    # README: 8 categories × 10 questions × 2 turns; GPT-4's references for 30 questions.
    assert len(items) == 160
    assert set(Counter(one.category for one in items).values()) == {20}
    with_reference = [one for one in items if one.gold]
    assert len(with_reference) == 60
    assert {one.category for one in with_reference} == {"math", "reasoning", "coding"}
