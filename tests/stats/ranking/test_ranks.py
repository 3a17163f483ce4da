"""Ranks, their intervals, and tiers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peerexam.stats.core.resampling import bootstrap
from peerexam.stats.core.tables import Floats
from peerexam.stats.ranking.ranks import (
    Place,
    competition_ranks,
    places,
    resampled_apart,
    scored_above,
)


def replicates_of(sample: Floats, rounds: int = 400, seed: int = 0) -> Floats:
    """Bootstrap replicates of column means (sample: questions × agents)."""
    return bootstrap(
        [sample], lambda s: s[0] / len(sample), rounds=rounds, rng=np.random.default_rng(seed)
    )


def test_ranks_are_competition_ranks() -> None:
    assert competition_ranks(np.array([0.5, 0.9, 0.5, 0.1])) == [2, 1, 2, 4]


def test_scores_that_differ_by_the_order_of_summation_tie() -> None:
    assert competition_ranks(np.array([0.1 + 0.2, 0.3])) == [1, 1]
    assert not scored_above(np.array([0.1 + 0.2, 0.3])).any()


def test_an_agent_without_a_score_has_no_rank_and_takes_none_from_others() -> None:
    assert competition_ranks(np.array([np.nan, 0.4, 0.6])) == [None, 2, 1]
    assert places(np.array([np.nan, 0.4]), np.zeros((2, 2), dtype=np.bool_))[0] is None


def test_a_chain_of_agents_separated_at_its_ends_only_is_one_tier_with_narrower_ranks() -> None:
    # By hand: a is separated from c only. a cannot be last, c not first, all share the tier.
    apart = np.zeros((3, 3), dtype=np.bool_)
    apart[0, 2] = True
    assert places(np.array([3.0, 2.0, 1.0]), apart) == [
        Place(1, 1, 2, 1),
        Place(2, 1, 3, 1),
        Place(3, 2, 3, 1),
    ]


def test_every_group_is_ranked_by_itself() -> None:
    # By hand: a beats b, and c and d are level; the second group starts at rank 1, tier 1 again.
    apart = np.zeros((4, 4), dtype=np.bool_)
    apart[0, 1] = True
    groups = np.array([0, 0, 1, 1])
    assert places(np.array([0.9, 0.1, 0.6, 0.4]), apart, groups) == [
        Place(1, 1, 1, 1, 1),
        Place(2, 2, 2, 2, 1),
        Place(1, 1, 2, 1, 2),
        Place(2, 1, 2, 1, 2),
    ]


@given(st.integers(0, 10_000))
def test_rank_intervals_hold_the_rank_and_tiers_never_contradict_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(6), 1)
    apart = scored_above(scores) & (rng.random((6, 6)) < 0.6)
    found = [place for place in places(scores, apart) if place is not None]
    assert len(found) == 6
    for one in found:
        assert one.low <= one.rank <= one.high
        assert all(one.high < other.low for other in found if one.tier < other.tier)


def test_resampled_replicates_that_lost_an_agent_are_passed_over() -> None:
    sample = np.random.default_rng(4).normal([0.0, 3.0], 0.5, (50, 2))
    replicates = replicates_of(sample)
    replicates[::7, 0] = np.nan
    apart = resampled_apart(sample.mean(axis=0), replicates, 0.95)
    assert apart.tolist() == [[False, False], [True, False]]
