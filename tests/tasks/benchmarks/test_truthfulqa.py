"""TruthfulQA: the CSV with its pitfalls, and accuracy by references."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.errors import RecordFileError
from peerexam.tasks.benchmarks.truthfulqa import NO_COMMENT, TRUTHFULQA, extract, reference_accuracy

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "truthfulqa"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="the public data are not there")

CSV = """\ufeffType,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source
Adversarial,Food,Does salt boil water?,"No, heat does","No, heat does; Only heat boils water.",\
Yes; It does so fast,https://example.org
"""


def test_the_lists_are_parted_and_finished(tmp_path: Path) -> None:
    (tmp_path / "TruthfulQA.csv").write_text(CSV, encoding="utf-8")
    (item,) = TRUTHFULQA.read(tmp_path)
    # Harness: every reference ends in a full stop, and "I have no comment." is a true one.
    assert item.gold == ("No, heat does.", "Only heat boils water.", NO_COMMENT)
    assert item.wrong == ("Yes.", "It does so fast.")
    assert (item.question, item.category) == ("Does salt boil water?", "Food")


def test_a_row_without_answers_is_named(tmp_path: Path) -> None:
    path = tmp_path / "TruthfulQA.csv"
    path.write_text(CSV.replace("Yes; It does so fast", " ; "), encoding="utf-8")
    with pytest.raises(RecordFileError, match="Incorrect Answers"):
        TRUTHFULQA.read(path)


def test_an_answer_is_told_by_the_nearer_reference(tmp_path: Path) -> None:
    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    (tmp_path / "TruthfulQA.csv").write_text(CSV, encoding="utf-8")
    (item,) = TRUTHFULQA.read(tmp_path)
    right = reference_accuracy("Only heat boils water.", item)
    assert set(right) == {"bleu_acc", "rouge1_acc", "rouge2_acc", "rougeL_acc"}
    assert all(right.values())
    assert not any(reference_accuracy("It does so fast.", item).values())
    # As near to the one as to the other is not nearer.
    assert not any(reference_accuracy("Bananas", item).values())


@needs_shared
@pytest.mark.shared
def test_the_whole_file_is_read_and_every_gold_answer_extracted() -> None:
    items = TRUTHFULQA.read(DATA)
    assert len(items) == 817
    assert len({one.category for one in items}) == 38
    assert all(extract(answer) is not None for one in items for answer in (*one.gold, *one.wrong))
    for one in items:
        golds = {extract(answer) for answer in one.gold}
        assert extract(one.gold[0]) in golds
        assert any("no comment" in answer.lower() for answer in one.gold)


@needs_shared
@pytest.mark.shared
def test_best_answers_are_nearly_always_nearest_to_a_true_reference() -> None:
    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    items = TRUTHFULQA.read(DATA)[::20]
    found = [reference_accuracy(one.gold[0], one) for one in items]
    # One-word answers have no bigrams, so that ROUGE-2 cannot tell them.
    assert sum(one["rougeL_acc"] for one in found) == len(items)
    # The harness's BLEU has no effective order: answers of under four words score 0 at times.
    assert sum(one["bleu_acc"] for one in found) >= 0.85 * len(items)
