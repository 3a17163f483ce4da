"""Percentages of full-mark answers, held against the paper's Table 3 and hand counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Mark
from peerexam.stats.benchmarks.scores import NO_GROUP, NO_MARK, dimension_percent, full_mark_percent
from peerexam.stats.core.tables import Ints, Marks, marks_from
from peerexam.stats.judges.fullmarks import avg, full_marks

# Examiner paper, Table 3, 5-shot (fine-tuned models: 0-shot): all, memorization, comprehension,
# analysis.
TABLE_3 = {
    "BLOOMZ": (25.5, 58.5, 23.2, 8.6),
    "Flan-T5": (26.0, 62.7, 21.4, 9.7),
    "Flan-UL2": (24.8, 64.4, 20.1, 7.0),
    "GLM-130B": (33.3, 60.7, 31.9, 18.7),
    "LLaMA-13B": (54.3, 83.9, 53.2, 38.1),
    "LLaMA-65B": (62.9, 88.2, 62.7, 48.1),
    "Vicuna-13B": (96.5, 89.9, 98.27, 98.3),
    "ChatGPT": (99.3, 97.7, 99.71, 99.8),
}
SHARES = (0.22, 0.43, 0.35)
"""Of the levels in LMExamQA (Table 1)."""


def labels(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def everything(marks: Marks) -> Ints:
    return np.zeros(len(marks.questions), dtype=np.int64)


def test_the_levels_of_table_3_come_to_its_first_column() -> None:
    # 1,000 questions in the shares of Table 1, and as many full marks a level as Table 3 prints.
    sizes = [round(1000 * share) for share in SHARES]
    questions = [(f"{level}-{n}", level) for level in range(3) for n in range(sizes[level])]
    records = []
    for model, (_, *by_level) in TABLE_3.items():
        for name, level in questions:
            best = int(name.split("-")[1]) < round(by_level[level] / 100 * sizes[level])
            records.append(Mark(name, model, "GPT-4", {}, 5 if best else 4))
    marks = marks_from(records, list(TABLE_3), ["GPT-4"])
    at = dict(questions)
    levels = full_mark_percent(marks, labels([at[name] for name in marks.questions]), 3)
    (whole,) = full_mark_percent(marks, everything(marks), 1)
    for place, (printed, *by_level) in enumerate(TABLE_3.values()):
        for level in range(3):
            assert levels[level][place].value == pytest.approx(by_level[level], abs=0.25)
        # The shares are rounded; data/README.md section 7 says within 0.6 points.
        assert whole[place].value == pytest.approx(printed, abs=0.6)
        assert whole[place].n == 1000


def test_a_judge_never_counts_on_its_own_answers_and_every_judge_counts_alike() -> None:
    # a is marked by b (1 of 2 full) and by c (1 of 1 full): (50 + 100) / 2.
    records = [
        Mark("q1", "a", "a", {}, 1),
        Mark("q1", "a", "b", {}, 5),
        Mark("q2", "a", "b", {}, 4),
        Mark("q1", "a", "c", {}, 5),
        Mark("q2", "a", "c", {}, None, "unparsed"),
    ]
    marks = marks_from(records, ["a"], ["a", "b", "c"])
    ((cell,),) = full_mark_percent(marks, everything(marks), 1)
    assert (cell.value, cell.n, cell.left_out) == (75.0, 2, 0)
    ((only_c,),) = full_mark_percent(marks, everything(marks), 1, counted=[2])
    # What c was to mark and did not is no answer with a mark.
    assert (only_c.value, only_c.n, only_c.left_out) == (100.0, 1, 1)
    ((nobody,),) = full_mark_percent(marks, everything(marks), 1, counted=[0])
    assert (nobody.value, nobody.reason) == (None, "no answer in this group")


def test_failed_marks_alone_are_no_value_and_say_so() -> None:
    marks = marks_from([Mark("q", "a", "b", {}, None, "error")], ["a"], ["b"])
    ((cell,),) = full_mark_percent(marks, everything(marks), 1)
    assert (cell.value, cell.n, cell.left_out, cell.reason) == (None, 0, 1, NO_MARK)


def test_a_group_holds_its_own_questions_only() -> None:
    records = [Mark(f"q{n}", "a", "b", {}, 5 if n < 3 else 1) for n in range(6)]
    marks = marks_from(records, ["a"], ["b"])
    groups = labels([0, 0, 1, 1, 1, NO_GROUP])
    (first,), (second,), (third,) = full_mark_percent(marks, groups, 3)
    assert (first.value, first.n) == (100.0, 2)
    assert second.value == pytest.approx(100 / 3)
    assert (third.value, third.n) == (None, 0)


def test_a_follow_up_belongs_to_its_root_question() -> None:
    # Ten answers on two root questions: two clusters, so the interval is as wide as two can be.
    records = [Mark(f"q{n}", "a", "b", {}, 5 if n < 5 else 1) for n in range(10)]
    roots = {f"q{n}": "one" if n < 5 else "two" for n in range(10)}
    alone = marks_from(records, ["a"], ["b"])
    together = marks_from(records, ["a"], ["b"], roots)
    ((free,),) = full_mark_percent(alone, everything(alone), 1)
    ((bound,),) = full_mark_percent(together, everything(together), 1)
    assert free.value == bound.value == 50.0
    assert bound.low is not None
    assert bound.high is not None
    assert free.low is not None
    assert free.high is not None
    assert bound.high - bound.low > 1.4 * (free.high - free.low)


def test_scores_are_in_per_cent_of_the_best_one() -> None:
    # 3, 2 and 1 of 3: 100, 66.7 and 33.3.
    records = [Mark(f"q{n}", "a", "b", {"wit": 3 - n}, 5) for n in range(3)]
    marks = marks_from(records, ["a"], ["b"], dimensions=["wit"])
    (wit,) = dimension_percent(marks, "wit", (1, 3), everything(marks))
    assert wit.value == pytest.approx(200 / 3)
    assert wit.low is not None
    assert wit.high is not None
    assert 100 / 3 <= wit.low < 200 / 3 < wit.high <= 100
    (overall,) = dimension_percent(marks, "overall", (1, 5), everything(marks))
    assert (overall.value, overall.high) == (100.0, 100.0)


def test_what_does_not_fit_is_refused() -> None:
    marks = marks_from([Mark("q", "a", "b", {}, 5)], ["a"], ["b"])
    with pytest.raises(StatisticsError, match="every question"):
        full_mark_percent(marks, labels([]), 1)
    with pytest.raises(StatisticsError, match="group 1"):
        full_mark_percent(marks, labels([1]), 1)
    with pytest.raises(StatisticsError, match="scale of wit"):
        dimension_percent(marks, "wit", (3, 3), everything(marks))


@pytest.mark.parametrize("score", [3.1, 4, 0.9, 0, -1])
def test_a_mark_outside_its_scale_is_refused_and_not_clipped(score: float) -> None:
    marks = marks_from([Mark("q", "a", "b", {"wit": 3}, 5)], ["a"], ["b"], dimensions=["wit"])
    marks = replace(marks, scores=np.array([[score]]))
    with pytest.raises(StatisticsError, match=rf"wit is {score:g}, and its scale runs from 1 to 3"):
        dimension_percent(marks, "wit", (1, 3), everything(marks))


MARKS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from("abc"),
        st.sampled_from("bcj"),
        st.none() | st.integers(1, 5),
    ),
    max_size=40,
    unique_by=lambda entry: entry[:3],
)


@given(MARKS, st.lists(st.integers(-1, 2), min_size=6, max_size=6))
def test_all_questions_come_to_the_mean_over_the_judges(
    entries: list[tuple[int, str, str, int | None]], of: list[int]
) -> None:
    marks = marks_from([Mark(f"q{q}", e, j, {}, o) for q, e, j, o in entries], "abc", "bcj")
    (whole,) = full_mark_percent(marks, everything(marks), 1)
    # AVG of Table 4, computed elsewhere from counts a judge.
    expected = avg(full_marks(marks).percent)
    for cell, mean in zip(whole, expected, strict=True):
        assert cell.value == pytest.approx(mean) if cell.value is not None else np.isnan(mean)
        for end in (cell.low, cell.high):
            assert end is None or -1e-9 <= end <= 100 + 1e-9
    groups = labels([of[int(name[1:])] for name in marks.questions])
    parts = full_mark_percent(marks, groups, 3)
    inside = {name for name, group in zip(marks.questions, groups, strict=True) if group >= 0}
    for place, agent in enumerate("abc"):
        wanted = {f"q{q}" for q, e, j, o in entries if e == agent != j and o is not None} & inside
        assert sum(row[place].n for row in parts) == len(wanted)
