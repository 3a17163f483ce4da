"""The gain from examples, held against the paper's printed figures and hand counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.records import Mark
from peerexam.stats.benchmarks.few_shot import Gains, few_shot_gains, relative_gain
from peerexam.stats.core.tables import Marks, marks_from

# Examiner paper, Table 3: 0-shot and 5-shot of BLOOMZ, Flan-T5, Flan-UL2, GLM-130B, LLaMA-13B and
# LLaMA-65B.
ZERO = {
    "memorization": (63.5, 49.8, 51.3, 45.9, 72.3, 78.2),
    "comprehension": (13.7, 11.2, 9.2, 9.1, 23.7, 34.0),
    "analysis": (3.8, 4.6, 2.2, 3.7, 11.2, 20.4),
}
FIVE = {
    "memorization": (58.5, 62.7, 64.4, 60.7, 83.9, 88.2),
    "comprehension": (23.2, 21.4, 20.1, 31.9, 53.2, 62.7),
    "analysis": (8.6, 9.7, 7.0, 18.7, 38.1, 48.1),
}


@pytest.mark.parametrize(
    # The paper prints 17, 123 and 206; two decimals from shared data/README.md, section 7.
    ("level", "gain"),
    [("memorization", 17.44), ("comprehension", 123.05), ("analysis", 206.12)],
)
def test_the_papers_mean_gains_come_from_its_table_3(level: str, gain: float) -> None:
    gains = relative_gain(np.array(ZERO[level]), np.array(FIVE[level]))
    assert round(float(gains.mean()), 2) == gain


def answered(zero: int, five: int, questions: int = 20) -> Marks:
    """Two variants with so many full marks each on the same questions."""
    records = [
        Mark(f"q{n:02}", who, "j", {}, 5 if n < best else 3)
        for n in range(questions)
        for who, best in (("zero", zero), ("five", five))
    ]
    return marks_from(records, ["zero", "five"], ["j"])


def gains_of(marks: Marks, seed: int = 0) -> Gains:
    group = np.zeros(len(marks.questions), dtype=np.int64)
    rng = np.random.default_rng(seed)
    return few_shot_gains(marks, group, 1, [(0, 1)], rounds=200, rng=rng)


def test_a_pairs_gain_has_an_interval_and_the_questions_it_rests_on() -> None:
    marks = answered(8, 12)
    group = np.zeros(len(marks.questions), dtype=np.int64)
    found = few_shot_gains(marks, group, 1, [(0, 1)], rounds=400, rng=np.random.default_rng(1))
    ((gain,),), (mean,) = found.pairs, found.mean
    # From 40 to 60 per cent is half as much again.
    assert gain.value == pytest.approx(50.0)
    assert gain.n == 20
    assert gain.low is not None
    assert gain.high is not None
    # 8 of the 20 stay full, 4 become so: the share of those 4 among full ones moves the gain.
    assert 0 <= gain.low < 50 < gain.high
    assert (mean.value, mean.n, mean.low, mean.high) == (gain.value, 1, gain.low, gain.high)
    assert gains_of(marks) == gains_of(marks)


def test_nothing_is_gained_on_nothing() -> None:
    marks = answered(0, 12)
    group = np.zeros(len(marks.questions), dtype=np.int64)
    found = few_shot_gains(marks, group, 1, [(0, 1)], rounds=20, rng=np.random.default_rng(0))
    ((gain,),), (mean,) = found.pairs, found.mean
    assert (gain.value, mean.value, mean.n) == (None, None, 0)
    assert gain.reason == "no full mark without examples"


def test_without_pairs_or_marks_there_is_no_gain() -> None:
    rng = np.random.default_rng(0)
    marks = answered(1, 2)
    group = np.zeros(len(marks.questions), dtype=np.int64)
    none = few_shot_gains(marks, group, 1, [], rounds=20, rng=rng)
    assert none.pairs == [[]]
    assert none.mean[0].value is None
    empty = marks_from([], ["zero", "five"], ["j"])
    found = few_shot_gains(empty, group[:0], 2, [(0, 1)], rounds=20, rng=rng)
    assert [[cell.value for cell in row] for row in found.pairs] == [[None], [None]]


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=6), st.floats(0.1, 5))
def test_a_gain_is_the_same_whatever_the_unit(before: list[float], factor: float) -> None:
    zero = np.array(before)
    assert relative_gain(zero, factor * zero) == pytest.approx(100 * (factor - 1), abs=1e-6)
    assert relative_gain(zero / 100, factor * zero / 100) == pytest.approx(
        relative_gain(zero, factor * zero), abs=1e-6
    )
