from __future__ import annotations

import numpy as np
import pytest

from peerexam.errors import StatisticsError
from peerexam.stats.core.clustered_share import (
    chance_agreement,
    chance_share,
    clustered_difference,
    clustered_share,
)


def test_a_share_counts_trials_and_says_what_was_left_out() -> None:
    estimate = clustered_share([1, 0, 1, 1], ["a", "a", "b", "c"], left_out=2)
    assert (estimate.value, estimate.n, estimate.left_out) == (0.75, 4, 2)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low < 0.75 < estimate.high <= 1
    assert "3 clusters" in estimate.method


def test_one_cluster_has_no_interval_and_nothing_no_value() -> None:
    one = clustered_share([1, 0], ["a", "a"])
    assert (one.value, one.low) == (0.5, None)
    none = clustered_share([], [], reason="none was asked")
    assert (none.value, none.reason) == (None, "none was asked")
    with pytest.raises(StatisticsError):
        clustered_share([1], [])


def test_the_interval_holds_the_truth_at_the_nominal_rate_where_trials_hang_together() -> None:
    # Each of 40 graphs has its own rate, Beta(4, 2) with mean 2/3, and 1 to 12 prompts.
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        sizes = rng.integers(1, 13, size=40)
        cluster = np.repeat(np.arange(40), sizes)
        hits = rng.random(len(cluster)) < np.repeat(rng.beta(4, 2, size=40), sizes)
        estimate = clustered_share([float(hit) for hit in hits], cluster.tolist())
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= 2 / 3 <= estimate.high
    # 95 % of 400 with a standard deviation of 1.1 %.
    assert 0.92 <= held / 400 <= 0.98


def test_a_difference_is_tested_by_cluster() -> None:
    clusters = [place // 3 for place in range(90)]
    nothing = clustered_difference([(-1) ** (place // 3) for place in range(90)], clusters, seed=0)
    assert nothing.value == 0
    assert nothing.p is not None
    assert nothing.p > 0.5
    gain = clustered_difference([float(place % 3 > 0) for place in range(90)], clusters, seed=0)
    assert gain.value == pytest.approx(2 / 3)
    assert gain.p is not None
    assert gain.p < 0.01
    # Of four clusters none differs; with 95 % no more than 1 − 0.05^(1 ÷ 4) = 0.527 do, each by 1
    # at most.
    flat = clustered_difference([0.0] * 4, "abcd", seed=0)
    assert (flat.low, flat.high, flat.p) == pytest.approx((-0.527, 0.527, 1.0), abs=5e-4)
    shifted = clustered_difference([0.5] * 40, range(40), seed=0)
    assert shifted.low is not None
    assert 0 < shifted.low < 0.5 < (shifted.high or 0) <= 0.55
    assert clustered_difference([0.5] * 3, "aaa", seed=0).low is None


def test_who_always_says_the_same_agrees_by_chance_alone() -> None:
    graphs = ["a", "a", "b", "c"]
    assert chance_agreement([0] * 4, [0] * 4, graphs) == [1.0] * 4
    assert chance_agreement([1, 2, 3, 4], [1, 2, 3, 4], graphs) == [0.0] * 4
    # By hand: the first meets the two of b and c, of which one is a 1.
    assert chance_agreement([1, 2, 1, 4], [1, 2, 1, 4], graphs)[0] == 0.5
    assert chance_agreement([1], [1], ["a"]) == [0.0]


@pytest.mark.parametrize("shares", [(0.9, 0.05, 0.05), (0.2,) * 5, (0.5, 0.2, 0.2, 0.1)])
@pytest.mark.parametrize("alike", [True, False])
def test_the_interval_of_chance_holds_the_truth_at_the_nominal_rate(
    shares: tuple[float, ...], alike: bool
) -> None:
    # Values are drawn by their shares on both sides: two meet with Σ share². With `alike` a pair
    # says the same twice, and what it moves on one side it moves on the other too.
    rng = np.random.default_rng(4)
    truth, clusters = sum(share**2 for share in shares), np.repeat(np.arange(60), 2).tolist()
    covered, rounds = 0, 300
    for _ in range(rounds):
        ones, others = rng.choice(len(shares), p=shares, size=(2, 120)).tolist()
        found = chance_share(ones, ones if alike else others, clusters)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    # Binomial(300, .95), four standard deviations below. Where all values are as common, the
    # share is at its smallest, and its interval wider than need be.
    assert covered / rounds > 0.9


def test_the_share_of_chance_is_the_mean_of_those_by_pair() -> None:
    ones, others, graphs = [1, 2, 1, 4, 4], [1, 2, 4, 4, 1], ["a", "a", "b", "c", "d"]
    found = chance_share(ones, others, graphs, left_out=3)
    assert found.value == pytest.approx(np.mean(chance_agreement(ones, others, graphs)))
    assert (found.n, found.left_out) == (5, 3)
    assert chance_share([], [], [], reason="none was asked").reason == "none was asked"
    assert chance_share([7], [7], ["a"]).low is None
