"""GSM8K: extraction by the harness's rules, the public files, and their four real solutions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import RecordFileError, SetupError
from peerexam.stats.discrimination import credited
from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.benchmarks.gsm8k import (
    GSM8K,
    extract,
    number_of,
    score,
    without_calculator,
)
from peerexam.tasks.discrimination.candidate_file import EVERY_AGENT, read_candidates

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
DATA = SHARED / "data" / "gsm8k"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="the public data are not there")


def item(gold: str) -> Item:
    return Item("1", "?", (gold,))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("6 * 3 = 18\n#### 18", "18"),
        ("#### 1,234", "1234"),
        ("#### -3", "-3"),
        ("#### $45.50.", "45.5"),
        ("First #### 4, no: #### 5", "5"),
        ("so 2 and 3\nA: 26", "26"),
        ("so the bill comes to $46.00.", "46"),
        ("It is 7.", "7"),
        ("<<3*4=12>>12 eggs", "12"),
        ("3*4=<<3*4=12>>", "4"),  # what the mark says is not part of the text
        ("nothing at all, ...", None),
        ("", None),
    ],
)
def test_the_answer_is_the_stated_number_else_the_last(text: str, found: str | None) -> None:
    assert extract(text) == found


def test_the_stated_number_goes_before_later_ones() -> None:
    assert extract("#### 18 eggs, in 2 boxes") == "18"


@needs_shared
@pytest.mark.shared
def test_the_published_cases_of_scoring_come_out_as_they_should() -> None:
    rows = map(json.loads, (SHARED / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    cases = [row for row in rows if row["area"] == "gsm8k-scoring"]
    assert cases
    for case in cases:
        for one, expected in zip(case["input"], case["expected"], strict=True):
            gold = number_of(one["gold"])
            assert gold is not None
            right = score(one["reply"], item(gold)) == 1.0
            assert right == (expected == "correct"), one


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12,
                   places=3))  # fmt: skip
def test_a_number_has_one_spelling(value: object) -> None:
    text = f"{value:,}"
    found = number_of(text)
    assert found is not None
    assert found == number_of(f"${text}") == number_of(found)
    assert float(found) == pytest.approx(float(text.replace(",", "")))
    assert "." not in found or not found.endswith("0")


@given(st.text(max_size=200))
def test_no_text_breaks_the_extraction(text: str) -> None:
    found = extract(text)
    assert found is None or number_of(found) == found
    assert "<<" not in without_calculator("2=<<1+1=2>>2")


@needs_shared
@pytest.mark.shared
def test_all_gold_answers_are_right() -> None:
    items = GSM8K.read(DATA)
    assert len(items) == 1319
    assert len({one.id for one in items}) == 1319
    with (DATA / "test.jsonl").open(encoding="utf-8") as file:
        answers = [json.loads(line)["answer"] for line in file]
    assert all(score(answer, one) == 1.0 for answer, one in zip(answers, items, strict=True))


@needs_shared
@pytest.mark.shared
def test_the_four_real_solutions_of_each_question_give_the_figures_of_the_data() -> None:
    # The data's README: accuracies, S_gen's expectation, oracle, worst chooser, counts.
    path = DATA / "example_model_solutions.jsonl"
    items = GSM8K.read(DATA)
    given = read_candidates(path, items)[EVERY_AGENT]
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    labels = [[v["is_correct"] for v in row.values() if isinstance(v, dict)] for row in rows]
    scores = np.array([[score(text, one) for text in given[one.id]] for one in items])
    assert scores.shape == (1319, 4)
    assert (scores != np.array(labels)).sum() == 0
    assert (100 * scores.mean(axis=0)).round(2).tolist() == [21.68, 39.04, 34.72, 56.25]
    assert 100 * scores.mean() == pytest.approx(37.926, abs=5e-4)
    assert 100 * scores.max(axis=1).mean() == pytest.approx(67.248, abs=5e-4)
    assert 100 * credited(scores, np.full(1319, -1)).mean() == pytest.approx(11.827, abs=5e-4)
    assert np.bincount(scores.sum(axis=1).astype(int)).tolist() == [432, 290, 236, 205, 156]


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text('{"question": "How many?", "answer": "many"}\n', encoding="utf-8")
    with pytest.raises(RecordFileError, match=r"test\.jsonl:1: the answer has no number"):
        GSM8K.read(tmp_path)
    path.write_text('{"problem": "How many?"}\n', encoding="utf-8")
    with pytest.raises(RecordFileError, match="'ground_truth'"):
        GSM8K.read(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(SetupError, match="no question of GSM8K"):
        GSM8K.read(path)
    with pytest.raises(SetupError, match="there is no file"):
        GSM8K.read(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("reply", "gold", "right"),
    [
        ("#### −12", "12", False),
        ("#### - 12", "12", False),
        ("#### −12", "-12", True),
        ("#### –12", "-12", True),
        ("It takes 3–5 days", "5", True),
        ("pages 10 – 15", "15", True),
        ("#### 3x10^4", "30000", True),
        ("#### - 12", "-12", True),
        ("#### -$12", "-12", True),
        ("The result is - 12.", "12", False),
        (r"\boxed{3{,}500}", "500", False),
        (r"\boxed{3{,}500}", "3500", True),
        (r"\boxed{\$3{,}500}", "3500", True),
        (r"\boxed{-\frac{1}{4}}", "-0.25", True),
        ("#### 1/4", "1", False),
        ("#### 1/4", "0.25", True),
        ("#### 3 1/2", "3", False),
        ("#### 3 1/2", "3.5", True),
        ("#### 2.5e3", "2500", True),
        ("#### 2.5e3", "2.5", False),
        (r"#### 2.5 \times 10^{3}", "2500", True),
        ("#### 1\u202f000", "1000", True),
        ("#### 1\u00a0000", "1", False),
        ("#### 1 000", "1", False),
        ("#### 1'000", "1000", True),
        ("#### 1’000’000", "1000000", True),
        ("#### 12,34,567", "1234567", True),
        ("#### 1.234,56", "1234.56", True),
        ("#### 3,5", "35", False),
        ("#### 3,5", "3.5", True),
        ("#### ４２", "42", True),
        ("#### 1/0", "1", False),
    ],
)
def test_signs_fractions_groups_and_exponents_are_part_of_the_number(
    reply: str, gold: str, right: bool
) -> None:
    assert (score(reply, item(gold)) == 1.0) is right


@given(st.integers(-(10**9), 10**9), st.sampled_from([",", "{,}", "\u202f", "\u00a0", "'", "’"]))
def test_a_whole_number_is_read_back_in_any_grouping_and_sign(value: int, gap: str) -> None:
    text = f"{value:,}".replace(",", gap)
    for written in (text, text.replace("-", "−"), text.replace("-", "- ")):
        assert extract(f"#### {written}") == str(value)
        assert extract(rf"\boxed{{{written}}}") == str(value)
