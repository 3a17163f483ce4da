"""Accuracy of locations, held to the tables that BIG-Bench Mistake prints, and to scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.mistakes.location import (
    NO_MISTAKE,
    UNREADABLE,
    Located,
    answer_f1,
    confusion,
    floors,
    location_accuracy,
    overall,
    recombined,
    unreadable_share,
    weighted_f1,
)

# Table 4: accuracy by task (word sorting, tracking, logical deduction, arithmetic, Dyck), overall.
TABLE_4 = {
    ("GPT-4-Turbo", "trace"): ([36.33, 39.33, 21.33, 38.33, 15.33], 30.13),
    ("GPT-4-Turbo", "step"): ([33.00, 61.67, 75.00, 43.33, 28.67], 48.33),
    ("GPT-4", "trace"): ([35.00, 62.29, 40.67, 44.00, 17.06], 39.80),
    ("GPT-4", "step"): ([44.33, 65.33, 67.67, 42.67, 44.33], 52.87),
    ("GPT-4", "cot"): ([34.00, 90.67, 10.33, 41.00, 41.00], 43.40),
    ("GPT-3.5-Turbo", "trace"): ([11.33, 10.10, 2.00, 20.00, 8.78], 10.44),
    ("GPT-3.5-Turbo", "step"): ([15.00, 1.67, 25.33, 26.00, 5.91], 14.78),
    ("GPT-3.5-Turbo", "cot"): ([15.67, 19.00, 9.67, 25.33, 1.86], 14.31),
    ("Gemini Pro", "trace"): ([10.67, 37.67, 8.67, 21.67, 2.00], 16.14),
    ("PaLM 2 Unicorn", "step"): ([16.33, 28.00, 38.00, 21.67, 14.36], 23.67),
    ("PaLM 2 Unicorn", "cot"): ([14.00, 55.67, 12.00, 23.67, 17.91], 24.65),
}
PALM_2_TRACE = [11.67, 18.00, 6.67, 22.00, 10.98]

# Table 9 (GPT-4: trace, step, cot) and the traces of each kind (Table 3): no mistake, mistake.
TABLE_9: dict[str, tuple[int, int, list[tuple[float, float]], list[float]]] = {
    "word": (34, 266, [(88.24, 28.20), (82.35, 39.47), (58.82, 30.83)], [35.00, 44.33, 34.00]),
    "tracking": (40, 260, [(82.50, 59.14), (82.50, 62.69), (80.00, 92.31)], [62.29, 65.33, 90.67]),
    "logical": (6, 294, [(100, 39.46), (100, 67.01), (0, 10.54)], [40.67, 67.67, 10.33]),
    "arithmetic": (62, 238, [(53.23, 41.60), (46.77, 41.60), (27.42, 44.54)], [44, 42.67, 41]),
}


def located(found: list[int], gold: list[int], right: list[bool], left_out: int = 0) -> Located:
    return Located(
        np.array(found, dtype=np.int64),
        np.array(gold, dtype=np.int64),
        np.array(right, dtype=np.bool_),
        left_out,
    )


def shares(values: list[float]) -> list[Estimate]:
    return [Estimate(value / 100, n=300) for value in values]


@pytest.mark.parametrize("cell", sorted(TABLE_4))
def test_the_overall_column_of_table_4_is_the_mean_over_tasks(cell: tuple[str, str]) -> None:
    tasks, printed = TABLE_4[cell]
    value = overall(shares(tasks)).value
    assert value is not None
    # Printed to two decimals, from tasks that are rounded as well.
    assert 100 * value == pytest.approx(printed, abs=0.0101)


def test_one_cell_of_table_4_does_not_follow_from_its_row() -> None:
    # PaLM 2 Unicorn, direct (trace): the row's mean is 13.86, printed is 17.09.
    value = overall(shares(PALM_2_TRACE)).value
    assert value is not None
    assert round(100 * value, 2) == 13.86


@pytest.mark.parametrize("task", sorted(TABLE_9))
def test_accuracies_by_kind_of_trace_recombine_to_those_over_all(task: str) -> None:
    without, mistaken, pairs, printed = TABLE_9[task]
    for (a, b), whole in zip(pairs, printed, strict=True):
        value = recombined([(a, without), (b, mistaken)])
        if (task, whole) == ("tracking", 62.29):
            # One of the five cells of tracking that do not follow: 62.26 from its parts.
            assert round(value, 2) == 62.25 or round(value, 2) == 62.26
        else:
            assert value == pytest.approx(whole, abs=0.011)


@pytest.mark.parametrize(("right", "wrong", "printed"), [(45, 255, 78.11), (88, 504, 78.30)])
def test_foretelling_a_wrong_answer_every_time_gives_the_paper_s_baseline(
    right: int, wrong: int, printed: float
) -> None:
    # Table 5: "Baseline is 78 if we only select the incorrect_ans label".
    found = weighted_f1(np.array([[0.0, right, 0.0], [0.0, wrong, 0.0]]))
    assert round(100 * float(found), 2) == printed


@pytest.mark.parametrize(
    ("cross", "printed"),
    [
        # Right answer without and with a mistake, wrong answer without and with one.
        ((30, 15, 4, 251), 93.29),
        ((33, 12, 7, 248), 93.51),
        ((6, 39, 0, 255), 82.49),
        ((44, 1, 18, 237), 94.06),
        ((335, 147, 1, 503), 84.60),
    ],
)
def test_true_mistakes_foretell_answers_as_well_as_the_cross_table_says(
    cross: tuple[int, int, int, int], printed: float
) -> None:
    a, b, c, d = cross
    found = weighted_f1(np.array([[a, b, 0.0], [c, d, 0.0]]))
    assert round(100 * float(found), 2) == printed


LOCATIONS = st.sampled_from([UNREADABLE, NO_MISTAKE, 0, 1, 2])
ROWS = st.lists(
    st.tuples(LOCATIONS, st.sampled_from([NO_MISTAKE, 0, 1, 2]), st.booleans()), min_size=1
)


@given(ROWS)
def test_weighted_f1_is_scikit_learn_s(rows: list[tuple[int, int, bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    table = located(*(list(column) for column in zip(*rows, strict=True)))  # type: ignore[arg-type]
    truth = [0 if right else 1 for _, _, right in rows]
    foretold = [2 if f == UNREADABLE else 0 if f == NO_MISTAKE else 1 for f, _, _ in rows]
    expected = metrics.f1_score(truth, foretold, average="weighted", zero_division=0)
    assert float(weighted_f1(confusion(table))) == pytest.approx(expected)


@given(ROWS)
def test_accuracies_of_the_two_kinds_recombine_to_the_whole(
    rows: list[tuple[int, int, bool]],
) -> None:
    table = located(*(list(column) for column in zip(*rows, strict=True)))  # type: ignore[arg-type]
    found = location_accuracy(table)
    for pair in (("mistake", "no_mistake"), ("correct_answer", "incorrect_answer")):
        parts = [(found[name].value or 0.0, found[name].n) for name in pair]
        assert recombined(parts) == pytest.approx(found["all"].value)
        assert sum(n for _, n in parts) == found["all"].n == len(rows)


def test_only_the_very_label_is_right_and_an_unreadable_reply_is_wrong() -> None:
    # By hand: right, off by one, missed, unreadable, right in saying that there is none.
    table = located(
        [3, 2, NO_MISTAKE, UNREADABLE, NO_MISTAKE],
        [3, 3, 3, NO_MISTAKE, NO_MISTAKE],
        [False, False, False, True, True],
        left_out=2,
    )
    found = location_accuracy(table)
    assert (found["all"].value, found["all"].n, found["all"].left_out) == (0.4, 5, 2)
    assert found["mistake"].value == pytest.approx(1 / 3)
    assert found["no_mistake"].value == 0.5
    assert found["correct_answer"].value == 0.5
    assert unreadable_share(table).value == 0.2


def test_a_kind_without_traces_has_no_accuracy_and_says_why() -> None:
    found = location_accuracy(located([1], [1], [False]))
    assert found["no_mistake"].value is None
    assert found["no_mistake"].reason == "no trace of this kind"
    assert overall([found["all"], found["no_mistake"]]).value is None
    assert overall([]).reason == "a task has no value of its own"
    assert answer_f1(located([], [], [])).value is None


def test_the_overall_interval_of_one_task_is_that_of_the_task() -> None:
    one = location_accuracy(located([1, 1, 0], [1, 1, 1], [False] * 3))["all"]
    joined = overall([one])
    assert joined.value == pytest.approx(one.value)
    assert joined.low == pytest.approx(one.low)
    assert joined.high == pytest.approx(one.high)


def test_intervals_cover_what_was_planted_at_the_nominal_rate() -> None:
    # Five tasks of 60 traces: the overall accuracy and the F1 of a finder of known quality.
    rng = np.random.default_rng(5)
    skill = np.array([0.05, 0.3, 0.5, 0.75, 0.98])
    covered = 0
    rounds = 400
    for _ in range(rounds):
        hits = rng.binomial(60, skill)
        parts = []
        for count in hits:
            found = [1] * int(count) + [0] * int(60 - count)
            parts.append(location_accuracy(located(found, [1] * 60, [False] * 60))["all"])
        joined = overall(parts)
        assert joined.low is not None
        assert joined.high is not None
        covered += joined.low <= skill.mean() <= joined.high
    # Binomial(400, .95): four standard deviations below are 0.906.
    assert covered / rounds > 0.906


@pytest.mark.parametrize(
    ("traces", "cells"),
    [
        (200, [[0.10, 0.05, 0.01], [0.20, 0.60, 0.04]]),
        # F1 of 0.90 and of 0.98: what is missed is rare, and often not among the traces at all.
        (30, [[0.131, 0.011, 0.008], [0.064, 0.743, 0.043]]),
        (30, [[0.147, 0.003, 0.0], [0.017, 0.833, 0.0]]),
    ],
)
def test_the_f1_interval_covers_the_f1_of_the_population(
    traces: int, cells: list[list[float]]
) -> None:
    rng = np.random.default_rng(6)
    truth = float(weighted_f1(np.array(cells)))
    covered, rounds = 0, 1000
    for _ in range(rounds):
        drawn = rng.choice(6, size=traces, p=np.array(cells).ravel())
        found = np.array([NO_MISTAKE, 0, UNREADABLE])[drawn % 3]
        one = answer_f1(Located(found, np.zeros(traces, dtype=np.int64), drawn < 3))
        assert one.low is not None
        assert one.high is not None
        covered += one.low <= truth <= one.high
    # Binomial(1000, .95), four standard deviations below; at a score near 1 it may be wider.
    assert covered / rounds > 0.922


def test_a_perfect_f1_of_few_traces_is_not_sure() -> None:
    found = answer_f1(located([NO_MISTAKE, 0, 0, 0], [0] * 4, [True, False, False, False]))
    assert (found.value, found.n) == (1.0, 4)
    assert found.high == pytest.approx(1.0)
    assert found.low is not None
    # Student's quantile of three degrees of freedom, 3.18: 1 / (1 + 3.18²/4) = 0.283.
    assert found.low == pytest.approx(0.283, abs=0.01)
    alone = answer_f1(located([0], [0], [False]))
    assert (alone.value, alone.low) == (1.0, None)


def test_floors_by_hand() -> None:
    # Traces of 1 and 3 steps: a label drawn evenly is right with 1/2 and 1/4.
    found = floors(
        np.array([NO_MISTAKE, 2], dtype=np.int64),
        np.array([1, 3], dtype=np.int64),
        np.array([True, False]),
    )
    assert (found.never, found.uniform, found.gold_f1) == (0.5, 0.375, 1.0)
    # Always "wrong": F1 of the wrong answers 2/3, of the right ones 0, each with weight 1/2.
    assert found.always_wrong_f1 == pytest.approx(1 / 3)


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StatisticsError, match="the same traces"):
        located([1, 2], [1], [True])
    with pytest.raises(StatisticsError, match="no part"):
        recombined([])
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(StatisticsError, match="no trace"):
        floors(none, none, none.astype(np.bool_))
