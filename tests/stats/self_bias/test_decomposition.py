"""Scores taken apart by role: by hand, against dummy regression, and with planted effects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.self_bias.decomposition import (
    Decomposition,
    decompose_comparisons,
    decompose_scores,
)

NAMES = ("a", "b", "c", "d")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def simulated(
    seed: int,
    questions: int,
    home: tuple[float, ...] = (0.0,) * 4,
    own: tuple[float, ...] = (0.0,) * 4,
) -> tuple[Floats, Ints]:
    """Four models in all roles: ability, strictness, question level, noise, what is planted."""
    draw = rng(seed)
    author = np.arange(questions) % 4
    scores = draw.normal(size=(questions, 4, 4)) + 0.7 * draw.normal(size=(questions, 1, 1))
    scores += 0.5 * draw.normal(size=(questions, 1, 4)) + np.array([0.0, 0.5, 1.0, -0.5])
    scores += np.array([0.2, 0.0, -0.1, 0.4])[:, None]
    for i in range(4):
        scores[author == i, :, i] += home[i]
        scores[:, i, i] += own[i]
    return scores, author


def decomposed(scores: Floats, author: Ints, rounds: int = 200, seed: int = 0) -> Decomposition:
    return decompose_scores(
        scores, author, authors=NAMES, judges=NAMES, examinees=NAMES, rounds=rounds, rng=rng(seed)
    )


def values(found: Decomposition, family: str) -> list[float]:
    return [e.estimate.value for e in found.families[family] if e.estimate.value is not None]


def test_a_balanced_two_way_layout_comes_out_as_worked_by_hand() -> None:
    # Two judges (rows) of three examinees (columns), who share no name, on two questions.
    one = np.array([[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]])
    scores = np.stack([one, one + 2.0])
    found = decompose_scores(
        scores,
        np.zeros(2, dtype=np.int64),
        authors=("",),
        judges=("x", "y"),
        examinees=("p", "q", "r"),
        rounds=50,
        rng=rng(),
    )
    # Grand mean of the first question 4; columns 2, 3, 7; rows 3, 5; nothing left for pairs.
    assert values(found, "examinee") == pytest.approx([-2, -1, 3])
    assert values(found, "judge") == pytest.approx([-1, 1])
    assert values(found, "judge × examinee") == pytest.approx([0] * 6)
    assert "home" not in found.families
    # Variances: examinees (4 + 1 + 9) ÷ 3, judges 1, questions ((−1)² + 1²) ÷ (2 − 1) = 2.
    parts = {"examinee": 14 / 3, "judge": 1.0, "question": 2.0}
    for name, part in parts.items():
        assert found.shares[name].value == pytest.approx(part / sum(parts.values()))


def test_interactions_of_a_two_way_layout_are_double_centred() -> None:
    one = np.array([[1.0, 2.0, 6.0], [3.0, 7.0, 5.0]])
    found = decompose_scores(
        np.stack([one, one]),
        np.zeros(2, dtype=np.int64),
        authors=("",),
        judges=("x", "y"),
        examinees=("p", "q", "r"),
        rounds=50,
        rng=rng(),
    )
    centred = one - one.mean(axis=0) - one.mean(axis=1, keepdims=True) + one.mean()
    by_pair = {e.of: e.estimate.value for e in found.families["judge × examinee"]}
    for j, judge in enumerate(("x", "y")):
        for e, examinee in enumerate(("p", "q", "r")):
            assert by_pair[judge, examinee] == pytest.approx(centred[j, e])


def test_on_unbalanced_scores_it_is_dummy_regression() -> None:
    scores, author = simulated(3, 24, home=(1, 0, 0, 0), own=(0, 1, 0, 0))
    scores[rng(7).random(scores.shape) < 0.25] = np.nan
    found = decomposed(scores, author)
    # The whole model in dummies, by numpy's least squares; the contrasts are what any solution
    # has in common: home_i is the home cell less what the other three say about it.
    rows = np.argwhere(~np.isnan(scores))
    q, j, e = rows.T
    a = author[q]
    columns = [q == k for k in range(24)] + [e == k for k in range(4)] + [j == k for k in range(4)]
    columns += [(a == k) & (e == m) & (k != m) for k in range(4) for m in range(4)]
    columns += [(j == k) & (e == m) & (k != m) for k in range(4) for m in range(4)]
    columns += [(a == e) & (e == k) for k in range(4)] + [(j == e) & (e == k) for k in range(4)]
    design = np.stack(columns, axis=1).astype(float)
    y = scores[tuple(rows.T)]
    size = design.shape[1]
    conditions = np.zeros((0, size))

    def condition(chosen: list[int]) -> None:
        nonlocal conditions
        row = np.zeros(size)
        row[chosen] = 1
        conditions = np.vstack([conditions, row])

    condition(list(range(24, 28)))
    condition(list(range(28, 32)))
    for start in (32, 48):
        for k in range(4):
            condition([start + 4 * k + m for m in range(4) if m != k])
            condition([start + 4 * m + k for m in range(4) if m != k])
    # Side conditions as heavy rows; what is exactly zero of the diagonals stays zero (least norm).
    whole = np.vstack([design, 1e4 * conditions])
    solution = np.linalg.lstsq(whole, np.concatenate([y, np.zeros(len(conditions))]), rcond=None)[0]
    assert values(found, "examinee") == pytest.approx(solution[24:28], abs=1e-4)
    assert values(found, "judge") == pytest.approx(solution[28:32], abs=1e-4)
    assert values(found, "home") == pytest.approx(solution[64:68], abs=1e-4)
    assert values(found, "self") == pytest.approx(solution[68:72], abs=1e-4)


@pytest.mark.parametrize(
    ("seeds", "least", "most", "most_alarms"),
    # 5 % of 48 is 2.4, of 30 (planted zero) 1.5; 1 in 1000 binomial samples is above 8, 6.
    # 5 % of 480 is 24, of 300 is 15; 1 in 1000 binomial samples is above 40, 28.
    [(6, 0, 8, 6), pytest.param(60, 10, 40, 28, marks=pytest.mark.slow)],
)
def test_planted_effects_lie_in_their_intervals_at_the_nominal_rate(
    seeds: int, least: int, most: int, most_alarms: int
) -> None:
    home, own = (0.5, 0.0, 0.3, 0.0), (0.0, 0.8, 0.0, 0.0)
    missed, alarms = 0, 0
    for seed in range(seeds):
        found = decomposed(*simulated(seed, 60, home, own), seed=seed)
        for family, planted in (("home", home), ("self", own)):
            for effect, true in zip(found.families[family], planted, strict=True):
                one = effect.estimate
                assert one.low is not None
                assert one.high is not None
                assert one.p is not None
                missed += not one.low <= true <= one.high
                alarms += true == 0 and one.p < 0.05
    assert least <= missed <= most
    assert alarms <= most_alarms


def test_rivals_own_bias_does_not_leak() -> None:
    # Everybody but d favours itself strongly; d's effect is none.
    found = decomposed(*simulated(1, 2000, home=(2, 2, 2, 0), own=(2, 2, 2, 0)))
    assert values(found, "home")[3] == pytest.approx(0, abs=0.15)
    assert values(found, "self")[3] == pytest.approx(0, abs=0.1)


def test_marks_without_own_answers_tell_of_home_and_not_of_self() -> None:
    scores, author = simulated(2, 200, home=(1, 0, 0, 0))
    scores[:, np.arange(4), np.arange(4)] = np.nan
    found = decomposed(scores, author)
    assert "self" not in found.families
    first = found.families["home"][0].estimate
    assert first.low is not None
    assert first.high is not None
    assert first.low <= 1.0 <= first.high


def test_two_models_cannot_be_told_from_their_home() -> None:
    scores, author = simulated(2, 40)
    found = decompose_scores(
        scores[:, :2, :2],
        author % 2,
        authors=("a", "b"),
        judges=("a", "b"),
        examinees=("a", "b"),
        rounds=20,
        rng=rng(),
    )
    assert found.families["home"][0].estimate.value is None
    assert "three" in (found.families["home"][0].estimate.reason or "")


@pytest.mark.parametrize(
    ("seeds", "fewest", "most"),
    # 80 % of 8 is 6.4, of 80 is 64; 1 in 1000 binomial samples lies below 2; below 52 or above 74.
    [(8, 2, 8), pytest.param(80, 52, 74, marks=pytest.mark.slow)],
)
def test_the_minimum_detectable_effect_is_found_four_times_in_five(
    seeds: int, fewest: int, most: int
) -> None:
    # Its formula, by scipy's quantiles, and its meaning, by planting just that effect.
    scores, author = simulated(0, 120)
    least = decomposed(scores, author).families["self"][0].minimum_detectable
    assert least is not None
    found = 0
    for seed in range(seeds):
        one = decomposed(*simulated(1000 + seed, 120, own=(least, 0, 0, 0)), seed=seed)
        p = one.families["self"][0].estimate.p
        found += p is not None and p < 0.05
    assert fewest <= found <= most
    error = least / (t.ppf(0.975, 119) + norm.ppf(0.8))
    low, high = (
        getattr(decomposed(scores, author, 4000).families["self"][0].estimate, end)
        for end in ("low", "high")
    )
    assert (high - low) / (2 * t.ppf(0.975, 119)) == pytest.approx(error, rel=0.06)


def test_shrinkage_estimates_lie_between_the_mean_and_the_estimate() -> None:
    found = decomposed(*simulated(5, 100, home=(1, 0, 0, 0)))
    estimates = values(found, "home")
    mean = sum(estimates) / 4
    for effect, value in zip(found.families["home"], estimates, strict=True):
        assert effect.shrinkage is not None
        assert min(mean, value) - 1e-9 <= effect.shrinkage <= max(mean, value) + 1e-9


def test_shares_sum_to_one_and_are_what_was_planted() -> None:
    found = decomposed(*simulated(8, 3000))
    shares = {name: one.value or 0.0 for name, one in found.shares.items()}
    assert sum(shares.values()) == pytest.approx(1)
    # Variances: abilities .3125, strictness .0342 (over the four), questions .49, rest 1 + .25 of
    # which the questions keep a quarter of .25: the four answers' own luck, averaged.
    whole = 0.3125 + 0.036875 + 0.49 + 1.25
    assert shares["examinee"] == pytest.approx(0.3125 / whole, abs=0.03)
    assert shares["question"] == pytest.approx((0.49 + 0.25 / 4 - 0.25 / 16) / whole, abs=0.04)
    assert shares["rest"] == pytest.approx(1.2 / whole, abs=0.05)


def test_comparisons_give_back_what_was_planted_in_win_points() -> None:
    draw = rng(4)
    questions, author = 800, np.arange(800) % 4
    chance = np.full((questions, 4, 4, 4), 0.5)
    for i in range(4):
        chance[:, i, i, :] += 0.2 * (i == 1)  # b judges for itself
        chance[:, i, :, i] -= 0.2 * (i == 1)
        chance[author == i, :, i, :] += 0.15 * (i == 2)  # c is better at home
        chance[author == i, :, :, i] -= 0.15 * (i == 2)
    won = draw.random(chance.shape) < chance
    points = np.triu(np.ones((4, 4)), 1) * won
    points = points + np.tril(1 - points.transpose(0, 1, 3, 2), -1)
    points[:, :, np.arange(4), np.arange(4)] = np.nan
    found = decompose_comparisons(
        points, author, authors=NAMES, judges=NAMES, examinees=NAMES, rounds=200, rng=rng()
    )
    assert values(found, "self") == pytest.approx([0, 0.2, 0, 0], abs=0.04)
    assert values(found, "home") == pytest.approx([0, 0, 0.15, 0], abs=0.05)
    assert "judge" not in found.shares


def test_nothing_to_decompose_is_said() -> None:
    with pytest.raises(StatisticsError, match="nothing to decompose"):
        decomposed(np.full((3, 4, 4), np.nan), np.zeros(3, dtype=np.int64))


def test_questions_that_all_say_the_same_leave_no_interval_rather_than_none_wide() -> None:
    # Every question has the same scores by the same judges: nothing that was resampled differs.
    scores = np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [2.0, 1.0, 3.0]])
    found = decompose_scores(
        np.repeat(scores[None], 12, axis=0),
        np.zeros(12, dtype=np.int64),
        authors=("",),
        judges=tuple("abc"),
        examinees=tuple("abc"),
        rounds=50,
        rng=np.random.default_rng(0),
    )
    assert found.mean_self is not None
    for effect in (*found.families["self"], found.mean_self):
        one = effect.estimate
        assert one.value is not None
        assert (one.low, one.high, one.p) == (None, None, None)
        assert "every question says the same" in one.method
        assert effect.minimum_detectable is None
    assert {(one.low, one.high) for one in found.shares.values()} == {(None, None)}
