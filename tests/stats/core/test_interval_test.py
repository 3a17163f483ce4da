"""An interval and the p-value beside it say the same, whatever is estimated."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from peerexam.stats.core.cluster_ratio import expanded_tail
from peerexam.stats.core.clustered_share import clustered_difference
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.interval_test import finest_level, interval_with_p, percentile_with_p
from peerexam.stats.core.tables import Comparisons
from peerexam.stats.discrimination import difference
from peerexam.stats.judges.home_advantage import home_advantage
from peerexam.stats.judges.self_preference import self_preference
from peerexam.stats.self_bias.benchmark_table import table_from_scores
from peerexam.stats.self_bias.decomposition import decompose_comparisons, decompose_scores
from peerexam.stats.self_bias.rank_bias import self_bias

worlds = st.tuples(
    st.integers(0, 10_000),  # seed
    st.sampled_from([2, 3, 5, 8, 13, 24]),  # questions of an author
    st.sampled_from([0.0, 0.4, 1.0, 3.0]),  # bias
    st.sampled_from([0.0, 0.3, 1.0]),  # noise; without any, questions are alike
    st.sampled_from([0.5, 0.9, 0.95]),
)
World = tuple[int, int, float, float, float]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def agree(found: Iterable[Estimate], confidence: float = 0.95) -> int:
    """Hold every interval to its p-value; how many have both."""
    both = 0
    for one in found:
        assert (one.low is None) == (one.p is None)
        if one.low is None or one.high is None or one.p is None:
            continue
        both += 1
        assert 0 < one.p <= 1
        assert (one.low > 0 or one.high < 0) == (one.p < 1 - confidence), one
    return both


def verdicts(world: World) -> Comparisons:
    """Three agents that judge all their answers in both orders, scores with a bonus for own."""
    seed, each, bias, noise, _ = world
    size, questions = 3, 3 * each
    quality = noise * rng(seed).normal(size=(questions, 1, size)) + np.array([0.5, 0.0, 0.0])
    seen = quality + noise * rng(seed + 1).normal(size=(questions, size, size))
    seen[:, np.arange(size), np.arange(size)] += bias
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    gap = (seen[:, :, first] - seen[:, :, second]).round(1)
    shape = gap.shape
    return Comparisons(
        tuple("abc"),
        tuple("abc"),
        tuple(f"q{k}" for k in range(questions)),
        np.broadcast_to(np.arange(questions)[:, None, None], shape).ravel(),
        np.broadcast_to(np.arange(size)[:, None], shape).ravel(),
        np.broadcast_to(first, shape).ravel(),
        np.broadcast_to(second, shape).ravel(),
        (0.5 + 0.5 * np.sign(gap)).ravel(),
        np.arange(questions),
    )


@given(worlds)
def test_self_preference_leaves_0_out_where_its_p_is_small(world: World) -> None:
    found = self_preference(verdicts(world), rounds=400, rng=rng(1), confidence=world[-1])
    whole = [one for one in found if one is not None]
    for family in ("win_rate", "rank_bias", "third_party"):
        assert agree((getattr(one, family) for one in whole), world[-1]) == 3


@given(worlds)
def test_home_advantage_leaves_0_out_where_its_p_is_small(world: World) -> None:
    c = verdicts(world)
    authors = {name: "abc"[at % 3] for at, name in enumerate(c.questions)}
    found = home_advantage(c, authors, rounds=400, rng=rng(1), confidence=world[-1])
    assert agree(found, world[-1]) == 3


@given(worlds, st.booleans())
def test_self_bias_leaves_0_out_where_its_p_is_small(world: World, paired: bool) -> None:
    seed, each, bias, noise, confidence = world
    scores = noise * rng(seed).normal(size=(each * 3, 3)) + np.array([0.5, 0.0, 0.0])
    author = np.tile(np.arange(3), each)
    scores[np.arange(len(scores)), author] += bias
    made = table_from_scores(
        scores.round(1),
        np.repeat(np.arange(each), 3) if paired else np.arange(len(scores)),
        author,
        tuple("abc"),
        tuple("abc"),
        orientation="higher",
        paired=paired,
    )
    found = self_bias(made, rounds=400, rng=rng(1), confidence=confidence)
    for family in ("equation_1", "third_party", "win_rate", "third_party_win_rate"):
        assert agree(getattr(found, family), confidence) == 3


@given(worlds)
def test_a_decomposition_leaves_0_out_where_its_p_is_small(world: World) -> None:
    seed, each, bias, noise, confidence = world
    questions = 3 * each
    author = np.tile(np.arange(3), each)
    scores = noise * rng(seed).normal(size=(questions, 3, 3))
    scores[np.arange(questions), :, author] += bias
    gap = scores[:, :, :, None] - scores[:, :, None, :]
    names = {"authors": "abc", "judges": "abc", "examinees": "abc"}
    for found in (
        decompose_scores(scores, author, rounds=300, rng=rng(1), confidence=confidence, **names),
        decompose_comparisons(
            0.5 + 0.5 * np.sign(gap),
            author,
            rounds=300,
            rng=rng(1),
            confidence=confidence,
            **names,
        ),
    ):
        for family in found.families.values():
            agree((effect.estimate for effect in family), confidence)
        for mean in (found.mean_home, found.mean_self):
            if mean is not None:
                agree([mean.estimate], confidence)


@given(worlds)
def test_paired_differences_leave_0_out_where_their_p_is_small(world: World) -> None:
    seed, each, bias, noise, confidence = world
    gap = np.clip(noise * rng(seed).normal(size=each) + bias / 3, -1, 1).round(1)
    clusters = np.arange(each) // 2 if each > 3 else np.arange(each)
    found = clustered_difference(
        gap.tolist(), clusters.tolist(), seed=seed, rounds=400, confidence=confidence
    )
    assert agree([found], confidence) == 1
    other = difference(gap, np.zeros(each), clusters, 1.0, seed=seed, rounds=400)
    assert agree([other]) == 1


def test_p_is_that_of_student_where_the_interval_is_his() -> None:
    values = np.array([0.9, 0.2, 0.4, -0.1, 0.5, 0.3, -0.2, 0.6])

    def ends(confidence: float) -> tuple[float, float]:
        low, high = stats.t.interval(confidence, 7, values.mean(), stats.sem(values))
        return float(low), float(high)

    low, high, p = interval_with_p(ends, 0.95)
    assert (low, high) == ends(0.95)
    assert p == pytest.approx(float(stats.ttest_1samp(values, 0).pvalue), rel=1e-6)


def test_p_of_draws_is_near_that_of_student() -> None:
    values = rng(7).normal(0.4, 1, size=40)
    draws = values[rng(8).integers(0, 40, size=(10_000, 40))].mean(axis=1)
    _, _, p = percentile_with_p(draws, 40, 0.95)
    assert p == pytest.approx(float(stats.ttest_1samp(values, 0).pvalue), rel=0.3)


def test_questions_that_all_agree_have_the_p_of_the_exact_bound() -> None:
    # Of 10 differences of 1 on a scale from −1 to 1, 0 is reached where half of all could be −1,
    # and ten in a row come out alike then with a chance of 2^−10.
    found = difference(np.ones(10), np.zeros(10), np.arange(10), 1.0, seed=0)
    assert found.p == pytest.approx(2.0**-10, rel=1e-6)
    assert found.low == pytest.approx(1 - 2 * (1 - 0.05**0.1))


@given(st.integers(2, 60), st.integers(50, 20_000))
def test_no_p_is_finer_than_one_draw_in_each_tail(clusters: int, rounds: int) -> None:
    level = finest_level(rounds, clusters)
    assert expanded_tail(clusters, 1 - level) >= 1 / (1 + rounds)
    assert level == 1.0 or math.isclose(
        expanded_tail(clusters, 1 - level), 1 / (1 + rounds), rel_tol=1e-4
    )
