"""Ranks, their intervals, and tiers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.stats.ranks import Place, competition_ranks, places, told_apart
from peerexam.stats.resampling import bootstrap
from peerexam.stats.tables import Floats


def replicates_of(sample: Floats, rounds: int = 400, seed: int = 0) -> Floats:
    """Bootstrap replicates of column means (sample: questions × agents)."""
    return bootstrap(
        [sample], lambda s: s[0] / len(sample), rounds=rounds, rng=np.random.default_rng(seed)
    )


def all_questions(agents: int, questions: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.full((agents, agents), questions, dtype=np.int64)


def placed(sample: Floats) -> list[Place | None]:
    scores = sample.mean(axis=0)
    shared = all_questions(sample.shape[1], len(sample))
    return places(scores, told_apart(scores, replicates_of(sample), 0.95, shared))


def test_ranks_are_competition_ranks() -> None:
    assert competition_ranks(np.array([0.5, 0.9, 0.5, 0.1])) == [2, 1, 2, 4]


def test_scores_that_differ_by_the_order_of_summation_tie() -> None:
    assert competition_ranks(np.array([0.1 + 0.2, 0.3])) == [1, 1]


def test_an_agent_without_a_score_has_no_rank_and_takes_none_from_others() -> None:
    assert competition_ranks(np.array([np.nan, 0.4, 0.6])) == [None, 2, 1]


def test_agents_that_differ_clearly_stand_in_tiers_of_their_own() -> None:
    rng = np.random.default_rng(1)
    sample = rng.normal([0.0, 1.0, 2.0], 0.5, (100, 3))
    assert placed(sample) == [Place(3, 3, 3, 3), Place(2, 2, 2, 2), Place(1, 1, 1, 1)]


def test_agents_that_are_alike_share_a_tier_and_all_its_ranks() -> None:
    sample = np.random.default_rng(2).normal(0, 1, (40, 4))
    for place in placed(sample):
        assert place is not None
        assert (place.low, place.high, place.tier) == (1, 4, 1)


def test_a_chain_of_agents_not_told_apart_is_one_tier_with_narrower_ranks() -> None:
    # By hand: a is told apart from c only. a cannot be last, c not first, all share the tier.
    apart = np.zeros((3, 3), dtype=np.bool_)
    apart[0, 2] = True
    assert places(np.array([3.0, 2.0, 1.0]), apart) == [
        Place(1, 1, 2, 1),
        Place(2, 1, 3, 1),
        Place(3, 2, 3, 1),
    ]


def test_two_questions_that_agree_prove_nothing() -> None:
    # A sign test on n questions that all agree needs 2·½ⁿ ≤ 0.05, so n ≥ 6.
    for questions, tiers in ((2, 1), (5, 1), (6, 2)):
        sample = np.tile([1.0, 0.0], (questions, 1))
        last = placed(sample)[1]
        assert last is not None
        assert last.tier == tiers


def test_equal_scores_are_never_told_apart() -> None:
    sample = np.full((30, 3), 0.5)
    assert {place.tier for place in placed(sample) if place is not None} == {1}


def test_alike_agents_are_told_apart_no_more_often_than_the_confidence_allows() -> None:
    # 300 pools of five alike agents: any pair told apart is an error of the whole family, nominal
    # rate 5 %; three binomial standard errors (0.038) are allowed on top.
    rng = np.random.default_rng(3)
    wrong = 0
    for seed in range(300):
        sample = rng.normal(0, 1, (50, 5))
        scores = sample.mean(axis=0)
        apart = told_apart(scores, replicates_of(sample, 300, seed), 0.95, all_questions(5, 50))
        wrong += bool(apart.any())
    assert wrong / 300 <= 0.05 + 0.038


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_the_order_of_the_agents_changes_no_place(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    sample = np.round(rng.normal([0, 0, 0.4, 0.8], 1, (20, 4)), 1)
    before, after = placed(sample), placed(sample[:, order])
    assert after == [before[source] for source in order]


def test_replicates_that_lost_an_agent_are_passed_over() -> None:
    sample = np.random.default_rng(4).normal([0.0, 3.0], 0.5, (50, 2))
    replicates = replicates_of(sample)
    replicates[::7, 0] = np.nan
    apart = told_apart(sample.mean(axis=0), replicates, 0.95, all_questions(2, 50))
    assert apart.tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_and_one_alone_are_placed_without_comparison(size: int) -> None:
    scores = np.full(size, 0.5)
    apart = told_apart(scores, np.zeros((10, size)), 0.95, all_questions(size, 10))
    assert places(scores, apart) == [Place(1, 1, 1, 1)] * size
