"""DG-Diff: the printed tables of Self-[In]Correct, a hand calculation, properties, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.discrimination import (
    NO_CHOICE,
    credited,
    difference,
    majority,
    mean_score,
    task_average,
)

# Self-[In]Correct, Table 2: (printed DG-Diff, S_gen, S_disc) by model, from LLaMA-2 7B down.
TABLE_2 = {
    "gsm8k": [
        (-0.6, 9.2, 8.6), (0.0, 16.8, 16.8), (3.2, 43.0, 46.2), (-2.8, 20.4, 17.6),
        (-5.5, 28.3, 22.8), (-5.9, 42.5, 36.6), (4.3, 56.6, 60.9), (1.1, 75.3, 76.4),
        (0.7, 93.6, 94.3),
    ],
    "triviaqa": [
        (-16.9, 37.1, 20.2), (1.4, 45.2, 46.6), (3.2, 53.2, 56.4), (-0.1, 16.1, 16.0),
        (0.0, 25.5, 25.5), (-1.6, 47.8, 46.2), (-3.4, 58.8, 55.4), (2.1, 67.1, 69.2),
        (0.2, 79.9, 80.1),
    ],
    "mt-bench": [
        (-0.09, 3.34, 3.25), (-0.12, 4.15, 4.03), (-0.12, 4.87, 4.75), (-0.13, 5.45, 5.32),
        (-0.51, 5.67, 5.16), (-0.17, 6.25, 6.08), (-0.20, 7.39, 7.19), (0.17, 7.74, 7.91),
    ],
    "truthfulqa": [
        (-4.7, 30.5, 25.8), (2.1, 26.8, 28.9), (0.5, 28.9, 29.4), (1.4, 48.8, 50.2),
        (-0.1, 44.9, 44.8), (0.9, 48.6, 49.5), (-0.4, 61.1, 60.7), (0.4, 65.7, 66.1),
        (1.7, 77.4, 79.1),
    ],
}  # fmt: skip
# Table 4: Flan-T5 XXL, Flan-UL2.
TABLE_4 = {
    "gsm8k": [(1.3, 13.3, 14.4), (0.5, 21.6, 22.1)],
    "triviaqa": [(5.8, 28.7, 34.5), (4.2, 52.7, 56.9)],
    "mt-bench": [(-0.06, 2.02, 1.96), (0.16, 1.98, 2.14)],
    "truthfulqa": [(6.0, 20.1, 26.1), (4.8, 31.3, 36.1)],
}
WRONG_CELL = (1.3, 13.3, 14.4)  # is 1.1


def pairs(rows: list[tuple[float, float, float]]) -> list[tuple[float, float]]:
    return [(gen, disc) for _, gen, disc in rows]


def test_every_printed_cell_but_one_is_s_disc_minus_s_gen() -> None:
    cells = [cell for table in (TABLE_2, TABLE_4) for rows in table.values() for cell in rows]
    wrong = [one for one in cells if round(one[2] - one[1], 2) != one[0]]
    assert len(cells) == 43
    assert wrong == [WRONG_CELL]
    assert round(WRONG_CELL[2] - WRONG_CELL[1], 2) == 1.1


def test_the_averages_follow_from_the_pairs() -> None:
    # Printed −0.61, −1.67 (cut, not rounded: it is −1.678), −0.15, 0.2.
    means = {task: task_average(pairs(rows)) for task, rows in TABLE_2.items()}
    assert means == pytest.approx(
        {"gsm8k": -0.611, "triviaqa": -1.678, "mt-bench": -0.146, "truthfulqa": 0.2}, abs=5e-4
    )
    # Table 4 prints 0.9, which averages the wrong cell: by its pairs it is 0.8.
    assert task_average(pairs(TABLE_4["gsm8k"])) == pytest.approx(0.8)
    for task, printed in (("triviaqa", 5.0), ("mt-bench", 0.05), ("truthfulqa", 5.4)):
        assert task_average(pairs(TABLE_4[task])) == pytest.approx(printed)
    with pytest.raises(StatisticsError):
        task_average([])


def test_a_choice_that_cannot_be_read_gets_the_lowest_candidate_and_not_zero() -> None:
    scores = np.array([[3.0, 7.0, 5.0], [4.0, 4.0, 9.0], [2.0, 6.0, 1.0]])
    chosen = np.array([1, NO_CHOICE, NO_CHOICE])
    assert credited(scores, chosen).tolist() == [7.0, 4.0, 1.0]


def test_a_small_table_by_hand() -> None:
    # S_disc 7, 4, 1 (mean 4) against 3, 9, 2 (mean 14/3): 4 − 14/3 = −2/3.
    first, second = np.array([7.0, 4.0, 1.0]), np.array([3.0, 9.0, 2.0])
    found = difference(first, second, np.arange(3), 9.0, seed=0)
    assert found.value == pytest.approx(-2 / 3)
    assert found.n == 3
    assert found.low is not None
    assert found.high is not None
    assert found.low < -2 / 3 < found.high
    # Student's t of 4, −5, −1 is −0.25 with 2 degrees of freedom, p 0.82.
    assert found.p == pytest.approx(0.82, abs=0.05)


def test_items_of_one_cluster_are_one_draw() -> None:
    gap = np.tile([1.0, -1.0, 0.5], 4)
    alone = difference(gap, 0 * gap, np.arange(12), 2.0, seed=1)
    paired = difference(np.repeat(gap, 5), np.zeros(60), np.repeat(np.arange(12), 5), 2.0, seed=1)
    assert alone.value == paired.value
    assert alone.low == pytest.approx(paired.low)
    assert alone.p == paired.p


def test_where_all_items_differ_alike_the_interval_has_a_width() -> None:
    # Of four alike no more than 1 − 0.05^(1 ÷ 4) = 0.527 differ; a mark of 1 to 10 by 9 at most.
    found = difference(np.full(4, 7.0), np.full(4, 5.5), np.arange(4), 9.0, seed=0)
    ends = (1.5 - 0.5271 * 10.5, 1.5 + 0.5271 * 7.5)
    assert (found.low, found.high) == pytest.approx(ends, abs=5e-3)
    marks = mean_score(np.full(4, 7.0), np.arange(4), (1.0, 10.0))
    assert marks.low is not None
    assert marks.high is not None
    assert 1.0 < marks.low < 7.0 < marks.high < 10.0


def test_where_nothing_differs_the_interval_says_how_little_that_shows() -> None:
    few = difference(np.ones(3), np.ones(3), np.arange(3), 1.0, seed=0)
    many = difference(np.ones(300), np.ones(300), np.arange(300), 1.0, seed=0)
    # The exact bound for 0 of 3 is 1 − 0.05^(1 ÷ 3) = 0.6316, for 0 of 300 0.00994.
    assert (few.value, few.low, few.high) == (0.0, pytest.approx(-0.6316, abs=1e-4), -few.low)  # type: ignore[operator]
    assert many.high == pytest.approx(0.00994, abs=1e-5)
    assert few.p == many.p == 1.0


def test_nothing_to_go_by_is_no_number() -> None:
    none = np.zeros(0)
    for found in (
        difference(none, none, np.zeros(0, dtype=np.int64), 1.0, seed=0, left_out=4),
        mean_score(none, np.zeros(0, dtype=np.int64), (0, 1), left_out=4),
    ):
        assert (found.value, found.n, found.left_out) == (None, 0, 4)
        assert found.reason
    with pytest.raises(StatisticsError):
        difference(np.ones(2), np.ones(3), np.arange(2), 1.0, seed=0)


def test_the_majority_takes_the_answer_given_most_often() -> None:
    scores = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    groups = np.array([[0, 1, 1, 2], [0, 0, 1, 1], [-1, -1, 0, -1]])
    # Second row: a tie of (1, 0) and (0, 0) over four candidates: 1/4. Third: one has an answer.
    assert majority(scores, groups).tolist() == [1.0, 0.25, 0.0]


TABLES = st.integers(2, 5).flatmap(
    lambda n: st.lists(
        st.tuples(
            st.lists(st.integers(1, 10), min_size=n, max_size=n), st.integers(NO_CHOICE, n - 1)
        ),
        min_size=1,
        max_size=20,
    )
)


@given(TABLES)
def test_s_disc_lies_between_the_worst_and_the_best_candidate(
    rows: list[tuple[list[int], int]],
) -> None:
    scores = np.array([row for row, _ in rows], dtype=np.float64)
    credit = credited(scores, np.array([choice for _, choice in rows]))
    assert (credit >= scores.min(axis=1)).all()
    assert (credit <= scores.max(axis=1)).all()


@given(TABLES, st.integers(0, 3))
def test_the_mean_of_all_choices_is_the_expected_s_gen(
    rows: list[tuple[list[int], int]], seed: int
) -> None:
    scores = np.array([row for row, _ in rows], dtype=np.float64)
    n = scores.shape[1]
    credits = [credited(scores, np.full(len(scores), at)) for at in range(n)]
    assert np.mean(credits, axis=0) == pytest.approx(scores.mean(axis=1))
    found = difference(
        np.mean(credits, axis=0), scores.mean(axis=1), np.arange(len(scores)), 9.0,
        seed=seed, rounds=50,
    )  # fmt: skip
    assert found.value == pytest.approx(0.0, abs=1e-9)


@given(TABLES)
def test_the_other_way_round_is_the_negative(rows: list[tuple[list[int], int]]) -> None:
    scores = np.array([row for row, _ in rows], dtype=np.float64)
    cluster = np.arange(len(scores))
    credit = credited(scores, np.array([choice for _, choice in rows]))
    one = difference(credit, scores[:, 0], cluster, 9.0, seed=0, rounds=50)
    two = difference(scores[:, 0], credit, cluster, 9.0, seed=0, rounds=50)
    assert one.value == pytest.approx(-two.value if two.value else 0.0)
    assert one.p == two.p


@pytest.mark.parametrize("ability", [0.0, 0.6])
def test_a_planted_ability_is_recovered_at_the_nominal_rate(ability: float) -> None:
    """A chooser that knows the right candidate with a fixed chance, and else picks at random.

    With p right candidates on average, S_gen is E p and S_disc is ability · P(any right) +
    (1 − ability) · E p, so that DG-Diff is ability · (P(any right) − E p).
    """
    rounds, items, n = 300, 100, 4
    # Item difficulty is uniform on [0, 1]: E p = 1/2, P(none of 4) = ∫(1−p)⁴ = 1/5.
    truth = ability * (4 / 5 - 1 / 2)
    held = false_alarms = 0
    for seed in range(rounds):
        rng = np.random.default_rng([7, seed])
        chance = rng.random(items)
        scores = (rng.random((items, n)) < chance[:, None]).astype(np.float64)
        guess = rng.integers(0, n, items)
        chosen = np.where(rng.random(items) < ability, scores.argmax(axis=1), guess)
        generated = scores[np.arange(items), rng.integers(0, n, items)]
        found = difference(
            credited(scores, chosen), generated, np.arange(items), 1.0, seed=seed, rounds=400
        )
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        held += found.low <= truth <= found.high
        false_alarms += found.p < 0.05
    # 95 % ± three standard errors of 300 rounds.
    assert 0.912 <= held / rounds <= 0.988
    if ability == 0:
        assert false_alarms / rounds <= 0.088
