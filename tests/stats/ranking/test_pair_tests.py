"""All pairs of agents tested at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from peerexam.stats.core.tables import Floats
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.wins import implied_by_scores
from peerexam.stats.ranking.pair_tests import met_groups, separated


def apart(wins: Floats, seed: int = 0, rounds: int = 399) -> Mask:
    groups = met_groups(wins.sum(axis=0))
    rng = np.random.default_rng(seed)
    return separated(wins, groups, confidence=0.95, rounds=rounds, rng=rng)


def battles(rows: Sequence[tuple[int, int]], agents: int) -> Floats:
    """One question a row: who won, who lost."""
    wins = np.zeros((len(rows), agents, agents))
    for question, (winner, loser) in enumerate(rows):
        wins[question, winner, loser] = 1
    return wins


def most_by_chance(exams: int, rate: float) -> int:
    """So many of the exams or fewer, with a chance of 999 in 1,000 (binomial)."""
    chances = np.cumsum(
        [comb(exams, k) * rate**k * (1 - rate) ** (exams - k) for k in range(exams + 1)]
    )
    return int(np.searchsorted(chances, 0.999))


def shared_difficulty(questions: int, agents: int, rng: np.random.Generator) -> Floats:
    """Good or bad answers, as many good ones as the question is easy, seen by three judges."""
    good = rng.random((questions, agents)) < rng.beta(0.5, 0.5, (questions, 1))
    seen = good[:, None, :] + rng.integers(-1, 2, (questions, 3, agents)) * 0.5
    return np.asarray(implied_by_scores(seen).sum(axis=1))


def strict(questions: int, agents: int, rng: np.random.Generator) -> Floats:
    return implied_by_scores(rng.normal(size=(questions, agents)))


@pytest.mark.parametrize("exam", [strict, shared_difficulty])
@pytest.mark.parametrize(
    ("questions", "agents"),
    [(8, 4), *(pytest.param(*size, marks=pytest.mark.slow) for size in ((12, 8), (24, 4)))],
)
def test_alike_agents_are_separated_no_more_often_than_nominal(
    exam: Callable[[int, int, np.random.Generator], Floats], questions: int, agents: int
) -> None:
    # benchmarks/separation_rates.py has 5,000 exams a cell. A bootstrap separates some pair in 19 %
    # of exams of 8 questions and 4 agents: 76 of 400, where chance at 5 % leaves at most 35.
    rng = np.random.default_rng([questions, agents])
    wrong = sum(bool(apart(exam(questions, agents, rng), seed, 199).any()) for seed in range(400))
    assert wrong <= most_by_chance(400, 0.05)


@pytest.mark.slow  # the rate is that of alike agents, above
def test_agents_alike_below_a_better_one_are_separated_no_more_often_than_nominal() -> None:
    # Of 5 agents one is far ahead; an error is any pair among the four that are alike.
    rng = np.random.default_rng(5)
    wrong = 0
    for seed in range(400):
        quality = rng.normal(size=(12, 5)) + np.array([5, 0, 0, 0, 0])
        wrong += bool(apart(implied_by_scores(quality), seed, 199)[1:, 1:].any())
    assert wrong <= most_by_chance(400, 0.05)


def test_two_agents_are_separated_where_a_sign_test_separates_them() -> None:
    # Two-sided sign test where all agree, 2 · ½ⁿ: 0.0625 of 5 questions, 0.031 of 6.
    for questions, expected in ((1, False), (2, False), (5, False), (7, True), (20, True)):
        assert bool(apart(battles([(0, 1)] * questions, 2)).any()) is expected


def test_ties_alone_separate_nobody() -> None:
    assert not apart(implied_by_scores(np.zeros((40, 3)))).any()


def test_agents_in_clear_order_are_all_separated() -> None:
    quality = np.random.default_rng(1).normal([0.0, 2.0, 4.0], 1.0, (40, 3))
    found = apart(implied_by_scores(quality))
    assert found.tolist() == [[False, False, False], [True, False, False], [True, True, False]]


def test_agents_that_met_only_others_are_separated_through_them() -> None:
    # A beats B in 160 of 200 battles, B beats C in 160 of 200; A and C never met.
    rows = [(0, 1)] * 160 + [(1, 0)] * 40 + [(1, 2)] * 160 + [(2, 1)] * 40
    assert apart(battles(rows, 3)).tolist() == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]


def test_equals_that_met_unequal_rivals_are_not_separated() -> None:
    # A and B are equally strong; A met the weak C, B the strong D, and each pair has 150 battles
    # with chances of a Bradley–Terry model. By share of wins alone A would be far above B.
    strength = {0: 0.0, 1: 0.0, 2: -1.5, 3: 1.5}
    rng = np.random.default_rng(2)
    rows = []
    for i, j in ((0, 2), (1, 3), (0, 1), (2, 3)):
        chance = 1 / (1 + np.exp(strength[j] - strength[i]))
        rows += [(i, j) if won else (j, i) for won in rng.random(150) < chance]
    found = apart(battles(rows, 4))
    assert not found[0, 1]
    assert not found[1, 0]
    assert found[3, 2]


def arena(truth: Floats, number: int, rng: np.random.Generator) -> Floats:
    rows = []
    for _ in range(number):
        i, j = rng.choice(len(truth), 2, replace=False)
        rows.append((i, j) if rng.random() < 1 / (1 + np.exp(truth[j] - truth[i])) else (j, i))
    return battles(rows, len(truth))


def test_models_of_an_arena_are_separated_without_shared_questions() -> None:
    # Equal steps of 0.2: neighbours are close, and 3,000 battles of 20 models are 300 each. By the
    # information of so many battles a difference of 1.6 has a standard error of about 0.18.
    truth = np.asarray(0.2 * np.arange(20), dtype=np.float64)
    found = apart(arena(truth, 3000, np.random.default_rng(3)))
    better = truth[:, None] - truth[None, :]
    assert found[better > 1.55].all()
    assert not found[better < 0].any()


def test_alike_models_of_an_arena_are_separated_no_more_often_than_nominal() -> None:
    rng = np.random.default_rng(4)
    wrong = sum(bool(apart(arena(np.zeros(6), 60, rng), seed, 199).any()) for seed in range(200))
    assert wrong <= most_by_chance(200, 0.05)


def test_a_newcomer_with_one_battle_is_separated_from_nobody() -> None:
    rows = [(0, 1)] * 45 + [(1, 0)] * 15 + [(2, 1)]
    found = apart(battles(rows, 3))
    assert found[0, 1]
    assert not found[2].any()
    assert not found[:, 2].any()


def test_groups_that_never_met_are_named_and_nothing_is_said_across() -> None:
    rows = [(0, 1)] * 50 + [(2, 3)] * 40
    wins = battles(rows, 5)
    assert met_groups(wins.sum(axis=0)).tolist() == [0, 0, 1, 1, -1]
    found = apart(wins)
    assert found[0, 1]
    assert found[2, 3]
    assert found.sum() == 2


@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_the_order_of_the_agents_changes_nothing(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    sample = np.round(rng.normal([0, 0, 0.4, 0.8], 1, (20, 4)), 1)
    before, after = (apart(implied_by_scores(part)) for part in (sample, sample[:, order]))
    assert np.array_equal(after, before[np.ix_(order, order)])


def test_many_questions_and_few_give_the_same_answer() -> None:
    # 600 questions × 8 agents draw signs in place of exchanging; the order planted is found.
    quality = np.random.default_rng(6).normal(np.arange(8) * 0.4, 1.0, (600, 8))
    found = apart(implied_by_scores(quality))
    assert found[np.tril_indices(8, -1)].all()


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_and_one_alone_are_separated_from_nobody(size: int) -> None:
    assert not apart(np.zeros((3, size, size))).any()


@pytest.mark.slow  # as the one with one better agent
def test_alike_agents_far_above_others_are_separated_no_more_often_than_nominal() -> None:
    # Two groups of four alike, 8 questions. Were margins exchanged among all eight to the end, a
    # pair of one group would be separated in 8 of 100 such exams.
    rng = np.random.default_rng(44)
    same = np.kron(np.eye(2), np.ones((4, 4))) > 0
    wrong = 0
    for seed in range(400):
        quality = rng.normal(size=(8, 8)) + np.repeat([6.0, 0.0], 4)
        found = apart(implied_by_scores(quality), seed, 199)
        wrong += bool((found & same).any())
    assert wrong <= most_by_chance(400, 0.05)


def test_equals_far_from_all_others_are_separated_no_more_often_than_nominal() -> None:
    # Three pairs of equals, 6 questions. Each pair agrees on all six in 1 of 32 exams, one of the
    # three in 9 of 100: a test that never exchanges these two alone separates them there.
    rng = np.random.default_rng(6)
    equals = np.kron(np.eye(3), np.ones((2, 2))) > 0
    wrong = 0
    for seed in range(400):
        quality = rng.normal(size=(6, 6)) + np.repeat([12.0, 6.0, 0.0], 2)
        found = apart(implied_by_scores(quality), seed, 199)
        wrong += bool((found & equals).any())
    assert wrong <= most_by_chance(400, 0.05)


@pytest.mark.parametrize(("questions", "some"), [(5, False), (8, True)])
def test_fewer_than_six_questions_separate_nobody(questions: int, some: bool) -> None:
    # Two-sided sign test of a pair where all agree: 0.0625 of 5 questions.
    quality = np.tile(np.arange(6.0), (questions, 1))
    assert bool(apart(implied_by_scores(quality)).any()) is some


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize(("questions", "agents"), [(8, 4), (8, 6)])
def test_as_many_pairs_are_separated_as_by_t_tests_with_holm(questions: int, agents: int) -> None:
    # scipy's paired t, though it separates alike agents too often here (docs/ranking.md).
    rng = np.random.default_rng([questions, agents])
    one, other = np.triu_indices(agents, 1)
    allowed = 0.05 / np.arange(len(one), 0, -1)
    ours = by_t = 0
    for seed in range(150):
        steps = 1.7 / questions**0.5 * np.arange(agents)
        wins = implied_by_scores(rng.normal(size=(questions, agents)) + steps)
        ours += int(apart(wins, seed, 199).sum())
        won = wins.sum(axis=2)
        p = np.sort(ttest_rel(won[:, one], won[:, other]).pvalue)
        by_t += int(np.logical_and.accumulate(p <= allowed).sum())
    assert ours >= by_t > 0


def test_a_group_is_ranked_as_if_it_were_the_only_one() -> None:
    # Tiers of one group are no tiers of the other: both have two, found one after the other.
    rng = np.random.default_rng(6)
    quality = rng.normal(size=(40, 8)) + np.array([4.0, 4.0, 0.0, 0.0, 1.2, 1.2, 0.0, 0.0])
    wins = implied_by_scores(quality)
    wins[:, :4, 4:] = wins[:, 4:, :4] = 0
    found = apart(wins)
    assert not found[:4, 4:].any()
    assert not found[4:, :4].any()
    assert found[:2, 2:4].all()
    assert found[4:6, 6:].all()
    assert not found[0, 1]
    assert not found[1, 0]
