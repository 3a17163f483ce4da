"""Bootstrap on sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from peerexam.errors import StatisticsError
from peerexam.stats.core.resampling import (
    bootstrap,
    cluster_weights,
    percentile_interval,
    resample_results,
)
from peerexam.stats.core.tables import Floats


def mean(sums: Sequence[Floats]) -> Floats:
    return np.asarray(sums[0] / sums[1])


def test_every_replicate_draws_as_many_clusters_as_there_are() -> None:
    weights = cluster_weights(7, 500, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 7).all()
    # A multinomial cell has variance n·p·(1 − p) = 6/7.
    assert weights.var(axis=0) == pytest.approx(np.full(7, 6 / 7), rel=0.2)


def test_replicates_equal_those_of_resampling_rows() -> None:
    rng = np.random.default_rng(1)
    rows, cluster = rng.normal(size=60), np.repeat(np.arange(12), 5)
    sums = np.bincount(cluster, weights=rows)[:, None].astype(np.float64)
    replicates = bootstrap(
        [sums, np.full((12, 1), 5.0)], mean, rounds=40, rng=np.random.default_rng(2)
    )
    weights = cluster_weights(12, 40, np.random.default_rng(2))
    for replicate, weight in zip(replicates[:, 0], weights, strict=True):
        drawn = np.concatenate(
            [rows[cluster == c] for c in range(12) for _ in range(int(weight[c]))]
        )
        assert replicate == pytest.approx(drawn.mean())


def test_the_same_seed_gives_the_same_replicates() -> None:
    sums = [np.arange(10.0)[:, None], np.ones((10, 1))]
    one, two = (bootstrap(sums, mean, rounds=9, rng=np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)


def test_drawing_judges_too_widens_the_interval_where_judges_differ() -> None:
    # Judges differ by 2, questions by nothing: without the judges' axis there is no spread.
    sums = [np.tile([[0.0], [1.0], [2.0]], (20, 1, 1)), np.ones((20, 3, 1))]
    pooled = [part.sum(axis=1) for part in sums]
    narrow = bootstrap(pooled, mean, rounds=200, rng=np.random.default_rng(4))
    wide = bootstrap(sums, mean, rounds=2000, rng=np.random.default_rng(4), judges=True)
    assert narrow.std() == pytest.approx(0)
    # By hand: the mean of three draws from {0, 1, 2} has variance (2/3)/3.
    assert wide.var() == pytest.approx(2 / 9, rel=0.1)


def test_percentile_intervals_cover_a_planted_mean_at_about_their_rate() -> None:
    # 400 samples of 60 clusters with cluster effects; 95 % must hold within three standard errors
    # of a binomial share (0.033), less a little for the percentile interval's known shortfall.
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        sums = 4 * rng.normal(0.3, 1, (60, 1)) + 2 * rng.normal(0, 1, (60, 1))
        replicates = bootstrap([sums, np.full((60, 1), 4.0)], mean, rounds=300, rng=rng)
        low, high = percentile_interval(replicates, 0.95)
        covered += bool(low[0] <= 0.3 <= high[0])
    assert 0.90 <= covered / 400 <= 0.985


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(StatisticsError, match="nothing to resample"):
        bootstrap([np.zeros((0, 1))], lambda s: s[0], rounds=1, rng=np.random.default_rng(0))
    zero = np.zeros((2, 2), np.int64)
    with pytest.raises(StatisticsError, match="nothing to resample"):
        resample_results(zero, zero, 1, np.random.default_rng(0))


def test_single_results_are_drawn_with_ties_as_half_points() -> None:
    wins = np.array([[0, 30], [10, 0]])
    ties = np.array([[0, 20], [0, 0]])
    points = resample_results(wins, ties, 500, np.random.default_rng(6))
    assert (points.sum(axis=(1, 2)) == 60).all()
    assert points[:, 0, 1].mean() == pytest.approx(40, abs=1)
    # By hand: points per draw are 1, ½, 0 with chances 3/6, 2/6, 1/6: variance 5/36 a draw.
    assert points[:, 0, 1].var() == pytest.approx(60 * 5 / 36, rel=0.2)


def test_replicates_without_a_value_are_passed_over() -> None:
    replicates = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    low, high = percentile_interval(replicates, 0.5)
    assert (low[0], high[0]) == (1.5, 2.5)
    assert np.isnan(low[1])
