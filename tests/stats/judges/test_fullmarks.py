"""Full marks and Table 4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from peerexam.records import Mark
from peerexam.stats.core.tables import Floats, marks_from
from peerexam.stats.judges.fullmarks import (
    avg,
    avg_weight,
    full_marks,
    scaled_columns,
)

NA = np.nan

# Examiner paper, Table 4: rows examinees, columns judges; Claude, ChatGPT, Bard, Vicuna.
TABLE_4 = np.array(
    [[NA, 98, 100, 96], [41, NA, 100, 95], [41, 99, NA, 92], [42, 98, 99, NA]], dtype=np.float64
)


def mark(question: str, examinee: str, judge: str, overall: int | None) -> Mark:
    state = "ok" if overall is not None else "unparsed"
    return Mark(question, examinee, judge, {}, overall, state)  # type: ignore[arg-type]


def test_table_4s_columns_of_means_follow_from_its_percentages() -> None:
    # AVG_weight to the printed digit. AVG is 98.0, 78.67, 77.33, 79.67: the printed 98.0 and 77.3
    # are rounded, while the printed 78.6 and 79.6 do not follow by rounding; they are cut off.
    assert avg_weight(TABLE_4).round(1).tolist() == [99.7, 98.9, 97.8, 99.3]
    assert avg(TABLE_4).round(2).tolist() == [98.0, 78.67, 77.33, 79.67]
    assert avg(TABLE_4).round(1).tolist() == [98.0, 78.7, 77.3, 79.7]
    assert (np.floor(avg(TABLE_4) * 10) / 10).tolist() == [98.0, 78.6, 77.3, 79.6]


def test_marks_that_make_table_4s_percentages_give_them_back() -> None:
    names = ["Claude", "ChatGPT", "Bard", "Vicuna"]
    records = [
        mark(f"q{number}", examinee, judge, 5 if number < TABLE_4[i, j] else 4)
        for i, examinee in enumerate(names)
        for j, judge in enumerate(names)
        if i != j
        for number in range(100)
    ]
    own = [mark("q1", name, name, 5) for name in names]
    table = full_marks(marks_from([*records, *own], names, names))
    assert np.array_equal(table.percent, TABLE_4, equal_nan=True)
    assert table.counts.tolist() == [[0 if i == j else 100 for j in range(4)] for i in range(4)]


@given(arrays.arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, 12.5, 40.0, 99.0, NA])))
def test_the_best_of_every_scaled_column_is_100(percent: Floats) -> None:
    scaled = scaled_columns(percent)
    for before, after in zip(percent.T, scaled.T, strict=True):
        if np.nan_to_num(before).max() > 0:
            assert np.nanmax(after) == pytest.approx(100)
        else:
            assert np.isnan(after).all()
    means = avg_weight(percent)
    assert not (means > 100 + 1e-9).any()


def test_a_failed_mark_is_neither_zero_nor_left_unsaid() -> None:
    # pub-22: X has 5 and 1, Y has 5 and a failed judgement.
    records = [
        mark("q1", "X", "j", 5),
        mark("q2", "X", "j", 1),
        mark("q1", "Y", "j", 5),
        mark("q2", "Y", "j", None),
    ]
    table = marks_from(records, ["X", "Y"], ["j"])
    marked = full_marks(table)
    assert marked.counts.tolist() == [[2], [1]]
    assert marked.planned.tolist() == [[2], [2]]


def test_an_answer_that_only_its_author_marked_has_no_share() -> None:
    # pub-23, last sentence.
    table = marks_from([mark("q", "alpha", "alpha", 5)], ["alpha", "beta"], ["alpha"])
    assert np.isnan(full_marks(table).percent).all()
