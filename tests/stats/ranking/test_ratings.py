"""Bradley–Terry strengths against reference libraries and by hand."""

from __future__ import annotations

from math import log

import choix
import evalica
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from peerexam.errors import StatisticsError
from peerexam.stats.core.resampling import resample_results
from peerexam.stats.core.tables import Floats
from peerexam.stats.ranking.ratings import (
    Convergence,
    Ratings,
    expected_win_rate,
    fit_many,
    rate,
    standard_errors,
)


def strengths(ratings: Ratings) -> Floats:
    assert None not in ratings.strength
    return np.array(ratings.strength, dtype=np.float64)


def results(seed: int, agents: int = 6, rows: int = 3000) -> Floats:
    """Points drawn from known strengths, every pair met, no ties."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, agents)
    a = rng.integers(0, agents, rows)
    b = (a + rng.integers(1, agents, rows)) % agents
    won = rng.random(rows) < 1 / (1 + np.exp(truth[b] - truth[a]))
    points = np.zeros((agents, agents))
    np.add.at(points, (np.where(won, a, b), np.where(won, b, a)), 1)
    return points


def test_strengths_equal_those_of_choix() -> None:
    points = results(1)
    reference = choix.ilsr_pairwise_dense(points, alpha=0.0)
    assert strengths(rate(points)) == pytest.approx(reference - reference.mean(), abs=1e-7)


def test_strengths_with_ties_as_half_wins_equal_those_of_evalica() -> None:
    points = results(2, agents=4, rows=300)
    rows = [(i, j) for i in range(4) for j in range(4) for _ in range(int(points[i, j]))]
    winners = [evalica.Winner.X] * len(rows)
    ties = [(0, 1), (1, 2), (3, 0)]
    reference = evalica.bradley_terry(
        [i for i, _ in rows + ties],
        [j for _, j in rows + ties],
        winners + [evalica.Winner.Draw] * 3,
        tolerance=1e-12,
        limit=100_000,
    ).scores
    for i, j in ties:
        points[i, j] += 0.5
        points[j, i] += 0.5
    expected = np.log(reference.reindex(range(4)).to_numpy())
    assert strengths(rate(points)) == pytest.approx(expected - expected.mean(), abs=1e-6)


def test_an_agent_without_wins_has_no_finite_rating_and_spoils_no_other() -> None:
    # pub-21: A beats B 3:1, both beat C twice. By hand A − B = ln(3 / 1), 190.8 Elo points.
    points = np.array([[0, 3, 2], [1, 0, 2], [0, 0, 0]], dtype=np.float64)
    ratings = rate(points)
    a, b, c = ratings.strength
    assert a is not None
    assert b is not None
    assert c is None
    assert a - b == pytest.approx(log(3))
    assert (a - b) * 400 / log(10) == pytest.approx(190.8, abs=0.05)
    assert ratings.reason == (None, None, "no wins, rating not finite")
    assert np.argsort(-ratings.expected).tolist() == [0, 1, 2]
    assert ratings.prior == 0


def test_regularised_ratings_are_finite_in_the_same_order_with_their_strength_stated() -> None:
    points = np.array([[0, 3, 2], [1, 0, 2], [0, 0, 0]], dtype=np.float64)
    ratings = rate(points, prior=0.5)
    assert np.argsort(-strengths(ratings)).tolist() == [0, 1, 2]
    assert ratings.prior == 0.5
    assert ratings.reason == (None, None, None)


def test_groups_that_never_met_are_rated_apart_and_said_to_be() -> None:
    points = np.zeros((5, 5))
    points[0, 1], points[1, 0] = 3, 1
    points[2, 3], points[3, 2] = 2, 1
    ratings = rate(points)
    # By hand: ±ln(3)/2 in the first group, ±ln(2)/2 in the second.
    assert ratings.strength[:4] == pytest.approx([log(3) / 2, -log(3) / 2, log(2) / 2, -log(2) / 2])
    assert ratings.strength[4] is None
    assert ratings.reason[4] == "never compared"
    assert ratings.reason[0] is None
    assert ratings.reason[2] is not None
    assert "own group only" in ratings.reason[2]


def test_an_agent_that_never_lost_stands_above_all_without_a_number() -> None:
    ratings = rate(np.array([[0, 2, 2], [0, 0, 1], [0, 1, 0]], dtype=np.float64))
    assert ratings.strength[0] is None
    assert ratings.reason[0] == "no losses, rating not finite"
    assert ratings.expected.tolist() == [1.0, 0.25, 0.25]


def test_stopping_before_convergence_is_an_error() -> None:
    with pytest.raises(StatisticsError, match="did not converge"):
        rate(results(3), convergence=Convergence(tolerance=1e-12, limit=2))


def test_replicates_without_a_finite_fit_are_refused() -> None:
    points = np.zeros((1, 2, 2))
    points[0, 0, 1] = 5
    with pytest.raises(StatisticsError, match="did not converge"):
        fit_many(points, prior=0.0)


@pytest.mark.parametrize("points", [np.ones((2, 3)), -np.ones((2, 2)), np.full((2, 2), np.nan)])
def test_what_is_no_matrix_of_wins_is_refused(points: Floats) -> None:
    with pytest.raises(StatisticsError, match="wins"):
        rate(points)


@given(
    arrays.arrays(np.int64, (4, 4, 4), elements=st.integers(0, 6)),
    st.sampled_from([0.1, 0.5, 2.0]),
)
def test_replicates_fitted_together_equal_those_fitted_alone(wins: Floats, prior: float) -> None:
    points = np.where(np.eye(4), 0.0, wins)
    together = fit_many(points, prior=prior, convergence=Convergence(tolerance=1e-9))
    for replicate, fitted in zip(points, together, strict=True):
        assert fitted == pytest.approx(strengths(rate(replicate, prior=prior)), abs=1e-6)


@given(arrays.arrays(np.int64, (4, 4), elements=st.integers(0, 6)), st.permutations(range(4)))
def test_renaming_moves_ratings_without_changing_them(wins: Floats, order: list[int]) -> None:
    points = np.where(np.eye(4), 0.0, wins)
    ratings, moved = rate(points), rate(points[np.ix_(order, order)])
    for place, source in enumerate(order):
        before, after = ratings.strength[source], moved.strength[place]
        assert (before is None) == (after is None)
        if before is not None:
            assert after == pytest.approx(before, abs=1e-6)
    assert moved.expected == pytest.approx(ratings.expected[order], abs=1e-6)


def test_expected_win_rates_average_one_half() -> None:
    assert expected_win_rate(np.array([2.0, 0.0, -3.0])).mean() == pytest.approx(0.5)


def test_sandwich_errors_of_single_results_match_their_bootstrap() -> None:
    points = results(4)
    fitted = strengths(rate(points))
    replicates = fit_many(
        resample_results(
            points.astype(np.int64), np.zeros((6, 6), np.int64), 2000, np.random.default_rng(0)
        ),
        prior=0.0,
    )
    assert standard_errors(points, fitted) == pytest.approx(replicates.std(axis=0), rel=0.1)


def test_clustered_errors_grow_where_results_hang_together() -> None:
    # Every result copied four times within its cluster: by hand, the same number of independent
    # clusters, so the clustered error stays, while the naive one halves.
    rng = np.random.default_rng(5)
    clusters = np.zeros((200, 2, 2))
    won = rng.random(200) < 0.6
    clusters[won, 0, 1] = 1
    clusters[~won, 1, 0] = 1
    fitted = strengths(rate(clusters.sum(axis=0)))
    once = standard_errors(clusters, fitted)
    assert standard_errors(4 * clusters, fitted) == pytest.approx(once)
    assert standard_errors(4 * clusters.sum(axis=0), fitted) == pytest.approx(once / 2)
