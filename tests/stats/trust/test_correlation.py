"""Rank correlations against scipy, and their intervals by question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from peerexam.errors import StatisticsError
from peerexam.stats.trust.correlation import pearson, rank_correlations, spearman

SCORES = st.lists(
    st.tuples(st.integers(1, 5), st.integers(-3, 3), st.integers(0, 6)), min_size=2, max_size=25
)


@given(SCORES)
def test_values_are_those_of_scipy(rows: list[tuple[int, int, int]]) -> None:
    human, judge, cluster = (np.array(part) for part in zip(*rows, strict=True))
    human, judge = human.astype(float), judge.astype(float)
    rho, tau = rank_correlations(human, judge, cluster, rounds=20, rng=np.random.default_rng(0))
    if len(set(human)) < 2 or len(set(judge)) < 2:
        assert rho.value is None
        assert tau.value is None
        assert rho.reason
        assert rho.low is None
        assert spearman(human, judge) is None
        assert pearson(human, judge) is None
        return
    assert rho.value == pytest.approx(stats.spearmanr(human, judge).statistic)
    assert tau.value == pytest.approx(stats.kendalltau(human, judge).statistic)
    assert pearson(human, judge) == pytest.approx(stats.pearsonr(human, judge).statistic)
    assert (rho.n, rho.left_out) == (len(rows), 0)


def test_a_replicate_is_the_coefficient_of_the_answers_drawn() -> None:
    """The weighted coefficients are those of the repeated answers, by scipy."""
    from peerexam.stats.trust.correlation import _weighted_rho, _weighted_tau

    rng = np.random.default_rng(5)
    x, y = rng.integers(1, 6, 30).astype(float), rng.normal(size=30).round(1)
    weights = rng.integers(0, 4, (8, 30)).astype(float)
    rho, tau = _weighted_rho(x, y)(weights), _weighted_tau(x, y)(weights)
    for row in range(len(weights)):
        again = np.repeat(np.arange(30), weights[row].astype(int))
        assert rho[row] == pytest.approx(stats.spearmanr(x[again], y[again]).statistic)
        assert tau[row] == pytest.approx(stats.kendalltau(x[again], y[again]).statistic)


def test_intervals_are_wider_where_the_answers_to_a_question_agree() -> None:
    rng = np.random.default_rng(1)
    quality = rng.normal(size=60)
    human, judge = quality, quality + rng.normal(size=60)
    alone = np.arange(60)
    alike = np.repeat(np.arange(20), 3)
    copies = np.repeat(quality[:20], 3), np.repeat(judge[:20], 3)
    free, _ = rank_correlations(human, judge, alone, rng=np.random.default_rng(2))
    tied, _ = rank_correlations(*copies, alike, rng=np.random.default_rng(2))
    assert free.low is not None
    assert free.high is not None
    assert tied.low is not None
    assert tied.high is not None
    assert tied.high - tied.low > free.high - free.low
    assert free.value is not None
    assert free.low < free.value < free.high


def test_missing_scores_are_left_out_and_counted() -> None:
    human = np.array([1.0, 2.0, 3.0, np.nan])
    judge = np.array([2.0, np.nan, 4.0, 5.0])
    rho, tau = rank_correlations(human, judge, np.arange(4), rng=np.random.default_rng(0))
    assert rho.value == pytest.approx(1.0)
    assert tau.value == pytest.approx(1.0)
    assert (rho.n, rho.left_out) == (2, 1)


def test_one_question_has_no_interval() -> None:
    scores = np.array([1.0, 2.0, 3.0])
    rho, _ = rank_correlations(scores, scores, np.zeros(3, int), rng=np.random.default_rng(0))
    assert rho.value == pytest.approx(1.0)
    assert rho.low is None


def test_scores_of_different_answers_are_refused() -> None:
    with pytest.raises(StatisticsError, match="same answers"):
        rank_correlations(np.ones(2), np.ones(3), np.arange(3), rng=np.random.default_rng(0))
