"""Self-bias by Eq. 1 of paper 004 and by third parties, on hand-worked and planted tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from peerexam.errors import StatisticsError
from peerexam.stats.core.all_alike import most_moved
from peerexam.stats.core.counted_values import resampled_means
from peerexam.stats.core.tables import Comparisons
from peerexam.stats.judges.self_preference import self_preference
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable, table_from_scores
from peerexam.stats.self_bias.rank_bias import self_bias
from peerexam.stats.self_bias.role_tables import author_table, both_table, evaluator_table


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(scores: Any, *, paired: bool, orientation: Any = "higher") -> BenchmarkTable:
    """Scores of the shape segments × benchmarks × targets; nested ones have own segments."""
    held = np.asarray(scores, dtype=np.float64)
    segments, size, targets = held.shape
    rows = segments * size
    segment = np.repeat(np.arange(segments), size) if paired else np.arange(rows)
    names = tuple("abcdefgh"[: max(size, targets)])
    return table_from_scores(
        held.reshape(rows, targets),
        segment,
        np.tile(np.arange(size), segments),
        names[:targets],
        names[:size],
        orientation=orientation,
        paired=paired,
    )


def planted(
    seed: int,
    segments: int,
    *,
    bonus: tuple[float, ...],
    ability: tuple[float, ...] | None = None,
    paired: bool,
) -> BenchmarkTable:
    """Scores with a bonus for a model's own output under its own benchmark."""
    size = len(bonus)
    scores = rng(seed).normal(size=(segments, size, size)) + np.array(ability or (0.0,) * size)
    scores[:, np.arange(size), np.arange(size)] += bonus
    return table(scores, paired=paired)


# Two segments under three benchmarks. MetricX: the lower the better.
LOWER = [
    [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [3.0, 2.0, 2.0]],
    [[1.0, 3.0, 3.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0]],
]


@pytest.mark.parametrize("paired", [True, False])
def test_equation_1_comes_out_as_worked_by_hand(paired: bool) -> None:
    found = self_bias(table(LOWER, paired=paired, orientation="lower"), rng=rng(), rounds=50)
    # Ranks by a: 1 2 3 and 1 2½ 2½; by b: 2 1 3 and 1 2 3; by c: 3 1½ 1½ and 2 3 1.
    assert found.theta == pytest.approx(
        np.array([[1, 1.5, 2.5], [2.25, 1.5, 2.25], [2.75, 3, 1.25]])
    )
    values = [one.value for one in found.equation_1]
    assert values == pytest.approx(
        [1 - (1.5 + 2.5) / 2, 1.5 - (2.25 + 2.25) / 2, 1.25 - (2.75 + 3) / 2]
    )
    # Third parties of a. Behind b: by itself 0, 0; by c 1, 0. Behind c: by itself 0, 0; by b 0, 0.
    assert found.third_party[0].value == pytest.approx((0 - 0.5) + (0 - 0))
    assert found.third_party_win_rate[0].value == pytest.approx(0.5 / 2)
    assert found.equation_1[0].n == (2 if paired else 6)


def test_higher_scores_are_lower_ones_with_their_sign_turned() -> None:
    turned = (-np.array(LOWER)).tolist()
    one = self_bias(table(turned, paired=True), rng=rng(), rounds=20)
    other = self_bias(table(LOWER, paired=True, orientation="lower"), rng=rng(), rounds=20)
    assert one.equation_1 == other.equation_1
    wrong = self_bias(table(LOWER, paired=True), rng=rng(), rounds=20)
    assert wrong.equation_1 != other.equation_1


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_ties_get_average_ranks_as_scipy_has_them(rows: list[list[int]]) -> None:
    made = (
        table([rows], paired=True)
        if len(rows) <= 4
        else table([[row] for row in rows], paired=True)
    )
    assert made.rank is not None
    assert made.rank == pytest.approx(rankdata(-np.array(rows, dtype=float), axis=1))


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25)
def test_a_model_that_ranks_as_its_peers_do_has_no_bias(seed: int, paired: bool) -> None:
    one = rng(seed).integers(0, 4, size=(5, 1, 4)).astype(float)
    found = self_bias(table(np.repeat(one, 4, axis=1), paired=paired), rng=rng(), rounds=20)
    for family in (found.equation_1, found.third_party, found.win_rate):
        assert [e.value for e in family] == pytest.approx([0.0] * 4, abs=1e-9)


@pytest.mark.parametrize("paired", [True, False])
def test_a_fair_model_among_two_biased_ones_is_blamed_by_eq_1_alone(paired: bool) -> None:
    # The check: equal models, two favour themselves by 30 points of win rate. Each of
    # them gives the third 20 % against itself and 50 % against the other: 35 %, against 50 % of
    # its own, so about +14 or +15 points leak into the third one's reading.
    size, segments = 3, 3000
    wins = np.full((size, size, size), 0.5)  # chance, under j, that i beats r
    for j in (0, 1):
        wins[j, j, :], wins[j, :, j] = 0.8, 0.2
    upper = np.triu(np.ones((size, size), dtype=bool), 1)
    drawn = rng(1).random((segments, size, size, size)) < wins
    behind = np.where(upper, ~drawn, drawn.transpose(0, 1, 3, 2)).astype(float)
    behind[..., np.arange(size), np.arange(size)] = np.nan
    rows = segments * size
    segment = np.repeat(np.arange(segments), size) if paired else np.arange(rows)
    made = BenchmarkTable(
        ("a", "b", "fair"),
        ("a", "b", "fair"),
        segment,
        np.tile(np.arange(size), segments),
        behind.reshape(rows, size, size),
        None,
        paired,
    )
    found = self_bias(made, rng=rng(), rounds=1000)
    leaky, third = found.win_rate[2], found.third_party_win_rate[2]
    assert leaky.value == pytest.approx(0.145, abs=0.02)
    assert leaky.p_holm is not None
    assert leaky.p_holm < 0.01
    assert third.value == pytest.approx(0.0, abs=0.025)
    assert third.p is not None
    assert third.p > 0.05
    assert found.equation_1[2].value == pytest.approx(-0.29, abs=0.04)
    for biased in found.third_party_win_rate[:2]:
        assert biased.value == pytest.approx(0.3, abs=0.025)
        assert biased.low is not None
        assert biased.low > 0.25


@pytest.mark.parametrize("paired", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_fair_models_of_unequal_ability_are_accused_at_the_nominal_rate(paired: bool) -> None:
    missed = {"equation_1": 0, "third_party": 0}
    small = dict(missed)
    families = 0
    for seed in range(70):
        made = planted(seed, 24, bonus=(0, 0, 0, 0), ability=(0.0, 1.0, 0.5, -0.5), paired=paired)
        found = self_bias(made, rng=rng(seed), rounds=200)
        for name in missed:
            family = getattr(found, name)
            missed[name] += sum(not e.low <= 0 <= e.high for e in family)
            small[name] += sum(e.p < 0.05 for e in family)
        families += any((e.p_holm or 0) < 0.05 for e in found.third_party)
    # 5 % of 280 is 14, of 70 is 3.5; 1 in 1000 binomial samples lies above 27, above 10, below 4.
    for name in missed:
        assert 4 <= missed[name] <= 27
        assert 4 <= small[name] <= 27
    assert families <= 10


# 5 % of 32 is 1.6, of 240 is 12; 1 in 1000 binomial samples lies above 6 and above 23.
@pytest.mark.parametrize(("seeds", "most"), [(8, 6), pytest.param(60, 23, marks=pytest.mark.slow)])
def test_authors_of_two_questions_each_are_accused_at_no_more_than_the_nominal_rate(
    seeds: int, most: int
) -> None:
    # Four alike models write two questions each. A bootstrap of two leaves 0 out in 8 to 18 of 100.
    alarms = 0
    for seed in range(seeds):
        scores = np.round(rng(seed).normal(size=(2, 4, 4)))
        found = self_bias(table(scores, paired=False), rng=rng(seed), rounds=300).third_party
        for one in found:
            assert one.low is not None
            assert one.high is not None
            alarms += not one.low <= 0 <= one.high
    assert alarms <= most


@pytest.mark.parametrize("paired", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_planted_bias_lies_in_its_interval_at_the_nominal_rate(paired: bool) -> None:
    bonus = (0.8, 0.0, 0.4)
    truth = self_bias(planted(99, 40_000, bonus=bonus, paired=paired), rng=rng(), rounds=2)
    inside = 0
    for seed in range(60):
        found = self_bias(planted(seed, 40, bonus=bonus, paired=paired), rng=rng(seed), rounds=200)
        for one, true in zip(found.third_party, truth.third_party, strict=True):
            assert one.low is not None
            assert one.high is not None
            assert true.value is not None
            inside += one.low <= true.value <= one.high
    # 95 % of 180 is 171; 1 in 1000 binomial samples lies below 161
    assert inside >= 161


def test_segments_with_a_gap_are_left_out_and_counted() -> None:
    scores = np.array(LOWER)
    scores[1, 2, 0] = np.nan  # benchmark c has no score of a on the second segment
    shared = self_bias(table(scores, paired=True, orientation="lower"), rng=rng(), rounds=20)
    only = self_bias(table(scores[:1], paired=True, orientation="lower"), rng=rng(), rounds=20)
    assert [e.value for e in shared.equation_1] == [e.value for e in only.equation_1]
    assert (shared.equation_1[0].n, shared.equation_1[0].left_out) == (1, 1)
    own = self_bias(table(scores, paired=False, orientation="lower"), rng=rng(), rounds=20)
    assert (own.equation_1[0].n, own.equation_1[0].left_out) == (5, 1)
    assert own.equation_1[0].value == pytest.approx(1 - (1.5 + 3) / 2)


def test_two_models_have_no_third_party_and_a_neutral_benchmark_is_one() -> None:
    pair = planted(0, 30, bonus=(0.5, 0.0), paired=True)
    found = self_bias(pair, rng=rng(), rounds=20)
    assert found.third_party[0].value is None
    assert "third party" in (found.third_party[0].reason or "")
    assert found.equation_1[0].value is not None
    scores = rng(1).normal(size=(4000, 3, 2))
    scores[:, 0, 0] += 1.5  # a favours itself, b and the neutral c do not
    neutral = self_bias(table(scores, paired=True), rng=rng(), rounds=100)
    assert neutral.agents == ("a", "b")
    assert neutral.third_party[0].value is not None
    assert neutral.third_party[0].value < -0.2
    assert neutral.third_party[1].value == pytest.approx(0.0, abs=0.04)


def test_on_complete_verdicts_it_is_what_self_preference_finds() -> None:
    size, questions = 4, 30
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    shape = (questions, size, len(first))
    c = Comparisons(
        tuple("abcd"),
        tuple("abcd"),
        tuple(f"q{k}" for k in range(questions)),
        np.broadcast_to(np.arange(questions)[:, None, None], shape).ravel(),
        np.broadcast_to(np.arange(size)[:, None], shape).ravel(),
        np.broadcast_to(first, shape).ravel(),
        np.broadcast_to(second, shape).ravel(),
        rng(5).choice([0.0, 0.5, 1.0], size=shape).ravel(),
        np.arange(questions),
    )
    found = self_bias(evaluator_table(c), rng=rng(), rounds=50)
    for at, one in enumerate(self_preference(c, rng=rng(), rounds=50)):
        assert one is not None
        assert found.equation_1[at].value == pytest.approx(one.rank_bias.value)
        assert found.win_rate[at].value == pytest.approx(one.win_rate.value)
        assert found.third_party_win_rate[at].value == pytest.approx(one.third_party.value)


def test_the_same_seed_gives_the_same_numbers() -> None:
    made = planted(0, 50, bonus=(0.4, 0.0, 0.0), paired=False)
    assert (
        self_bias(made, rng=rng(3), rounds=100).third_party
        == self_bias(made, rng=rng(3), rounds=100).third_party
    )


def test_counted_draws_have_the_moments_of_single_draws() -> None:
    values = rng(2).choice([1.0, 1.5, 2.0, 3.0], size=400)
    means = resampled_means(values, 20_000, rng())
    assert means.mean() == pytest.approx(values.mean(), abs=0.002)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.03)  # σ ÷ √n


def test_bad_settings_are_refused() -> None:
    with pytest.raises(StatisticsError, match="rounds"):
        self_bias(planted(0, 5, bonus=(0.0, 0.0), paired=True), rng=rng(), rounds=0)
    with pytest.raises(StatisticsError, match="sideways"):
        table(LOWER, paired=True, orientation="sideways")


# All segments alike: a bootstrap would claim to be sure


def favourite(segments: int, *, paired: bool) -> BenchmarkTable:
    """Every benchmark puts itself first, and the others in the same order, on every segment."""
    order = np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [2.0, 1.0, 3.0]])
    return table(np.repeat(order[None], segments, axis=0), paired=paired)


def test_segments_that_all_agree_leave_room_for_those_not_seen() -> None:
    found = self_bias(favourite(12, paired=True), rng=rng(), rounds=50)
    one = found.equation_1[0]
    # a ranks itself 1, its peers rank it 2: −1. With 12 alike, a share of up to 1 − 0.05^(1 ÷ 12)
    # could differ, down to −2 and up to +2.
    differing = 1 - 0.05 ** (1 / 12)
    assert one.value == -1.0
    assert one.low == pytest.approx(-1 - differing * 1)
    assert one.high == pytest.approx(-1 + differing * 3)
    assert "all segments alike" in one.method
    won = found.win_rate[0]
    assert won.value == pytest.approx(0.5)
    assert (won.low, won.high) == pytest.approx((0.5 - differing * 1.5, 0.5 + differing * 0.5))
    third = found.third_party[0]
    assert third.low is not None
    assert third.high is not None
    assert third.low < third.value < third.high  # type: ignore[operator]
    assert found.third_party_win_rate[0].low == pytest.approx(-third.high / 2)


def test_authors_whose_segments_all_agree_leave_the_same_room() -> None:
    found = self_bias(favourite(12, paired=False), rng=rng(), rounds=50)
    one = found.equation_1[0]
    # Room upwards: a's own rank from 1 to 3, and by halves those of both peers from 2 to 1. By
    # hand, with μ = 1 − q: the largest 2 q + ½ r + ½ s with 12 (log μ_q + log μ_r + log μ_s) no
    # less than log 0.05. Were all spent on q it would be 2 (1 − 0.05^(1 ÷ 12)), and an r or s
    # above 0 gains less than it costs, as ½ < 2 μ_q.
    differing = 1 - 0.05 ** (1 / 12)
    assert one.value == -1.0
    assert one.high == pytest.approx(-1 + 2 * differing)
    # Downwards: it is first already, and each peer may rank it 3 rather than 2, with ½ each.
    # Symmetric, so each takes half of the exponent.
    assert one.low == pytest.approx(-1 - 2 * 0.5 * (1 - 0.05 ** (1 / 24)))
    assert "alike" in one.method


def test_an_author_that_always_agrees_is_not_certain_among_others_that_vary() -> None:
    scores = rng(3).normal(size=(20, 3, 3))
    scores[:, 0] = [3.0, 2.0, 1.0]
    varied = scores.copy()
    varied[0, 0] = [1.0, 2.0, 3.0]
    held = self_bias(table(scores, paired=False), rng=rng(), rounds=2000).equation_1[0]
    other = self_bias(table(varied, paired=False), rng=rng(), rounds=2000).equation_1[0]
    assert held.low is not None
    assert held.high is not None
    assert other.low is not None
    assert other.high is not None
    # 20 alike say no more than 20 of which one differs: the interval is of the same size.
    assert 0.6 < (held.high - held.low) / (other.high - other.low) < 1.4
    assert held.high - held.value > 2 * (1 - 0.05 ** (1 / 20)) - 1e-9  # type: ignore[operator]


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    "rare", [0.02, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.08, 0.2))]
)
def test_a_bias_of_segments_that_mostly_agree_lies_in_its_interval(
    paired: bool, rare: float
) -> None:
    # Ten segments a benchmark. On a share `rare` of them a puts itself last instead of first.
    segments, inside, alike = 10, 0, 0
    truth = -1.0 + 2 * rare
    draw = rng(8)
    for _ in range(150):
        scores = np.repeat(
            np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [2.0, 1.0, 3.0]])[None], segments, axis=0
        )
        scores[draw.random(segments) < rare, 0, 0] = 0.0
        one = self_bias(table(scores, paired=paired), rng=draw, rounds=200).equation_1[0]
        assert one.low is not None
        assert one.high is not None
        alike += one.high - one.low < 1e-9
        inside += one.low - 1e-9 <= truth <= one.high + 1e-9
    assert alike == 0
    # 95 % of 150 is 142.5; 1 in 1000 binomial samples lies below 133. Before, every sample without
    # a rare segment missed: 82 %, 43 % and 11 % of them.
    assert inside >= 133


@given(
    st.lists(
        st.tuples(st.floats(0, 3), st.integers(1, 40)),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 1000),
)
def test_no_shares_within_the_bound_move_a_sum_further(
    means: list[tuple[float, int]], seed: int
) -> None:
    room, n = np.array([m[0] for m in means]), np.array([m[1] for m in means])
    most = most_moved(room, n, 0.95)
    # How the exponent log 0.05 may be dealt out among the means, at random.
    dealt_out = rng(seed).dirichlet(np.ones(len(means)), size=300) * np.log(0.05)
    moved = (1 - np.exp(dealt_out / n)) @ room
    assert float(moved.max()) <= most + 1e-9
    single = room * (1 - 0.05 ** (1 / n))
    assert float(single.max()) - 1e-9 <= most <= float(single.sum()) + 1e-9


# Agents that are one model


def twins(*judges: str, paired: bool, targets: str = "axbc") -> BenchmarkTable:
    """Judges that put targets in an order, by name: a and x are one model."""
    orders = {"a": "axbc", "x": "xabc", "b": "bcax", "c": "bcax"}
    scores = [[[-orders[j].index(t) for t in targets] for j in judges]] * 6
    held = np.asarray(scores, dtype=np.float64)
    rows = 6 * len(judges)
    return table_from_scores(
        held.reshape(rows, len(targets)),
        np.repeat(np.arange(6), len(judges)) if paired else np.arange(rows),
        np.tile(np.arange(len(judges)), 6),
        tuple(targets),
        judges,
        orientation="higher",
        paired=paired,
    )


@pytest.mark.parametrize("paired", [True, False])
def test_agents_of_one_model_are_no_third_parties_of_each_other(paired: bool) -> None:
    made = twins("a", "x", "b", "c", paired=paired)
    alone = self_bias(made, rng=rng(), rounds=20)
    found = self_bias(made, same=[("a", "x")], rng=rng(), rounds=20)
    # a is behind nobody by itself. Behind x: by b and c 0. Behind b: by c 1, by its twin 0; behind
    # c: by b 1, by its twin 0. x likewise, and behind a by b and c 1. b and c are behind a or x: by
    # each other 0, by the twin of the rival 1; in their own pair all four judges agree.
    assert [one.value for one in alone.third_party] == pytest.approx([-1, -2, -1, -1])
    assert [one.value for one in found.third_party] == pytest.approx([-2, -3, 0, 0])
    assert alone.third_parties == (3, 3, 3, 3)
    assert found.third_parties == (2, 2, 3, 3)
    assert [one.value for one in found.third_party_win_rate] == pytest.approx([2 / 3, 1, 0, 0])
    # Eq. 1 stays as printed.
    assert [one.value for one in found.equation_1] == [one.value for one in alone.equation_1]
    # Of segments that say nothing on a rival no one is counted, and none is missing.
    assert found.third_party[0].left_out == 0
    assert found.third_party[0].n == (6 if paired else 18)


@pytest.mark.parametrize("paired", [True, False])
def test_without_a_third_party_of_another_model_there_is_no_estimate(paired: bool) -> None:
    made = twins("a", "x", "b", paired=paired, targets="axb")
    found = self_bias(made, same=[("a", "x")], rng=rng(), rounds=20)
    for one in found.third_party:
        assert one.value is None
        assert "another agent of the same model" in (one.reason or "")
    assert found.third_parties == (0, 0, 0)
    assert all(one.value is not None for one in found.equation_1)


def test_authors_that_are_targets_too_are_third_parties_where_they_can_be() -> None:
    # Only a and b write. On a's rival c, b is a third party, on b itself nobody is: what is known
    # of c stands for both, whether segments are shared or not.
    scores = rng(2).normal(size=(60, 2, 3))
    paired = self_bias(table(scores, paired=True), rng=rng(), rounds=20)
    nested = self_bias(table(scores, paired=False), rng=rng(), rounds=20)
    for one, other in zip(paired.third_party, nested.third_party, strict=True):
        assert one.value is not None
        assert one.value == pytest.approx(other.value)


def orders(*per_segment: str) -> np.ndarray:
    """Win points of rankings such as "b>ca": b first, c and a level (segments × 3 × 3)."""
    behind = np.full((len(per_segment), 3, 3), np.nan)
    for at, text in enumerate(per_segment):
        place = {name: tier for tier, names in enumerate(text.split(">")) for name in names}
        for i, j in zip(*np.nonzero(~np.eye(3, dtype=bool)), strict=True):
            gap = place["abc"[i]] - place["abc"[j]]
            behind[at, i, j] = float(gap > 0) + 0.5 * (gap == 0)
    return behind


def test_pooled_evaluators_rank_within_the_segment_as_worked_by_hand() -> None:
    # Two evaluators that are no targets; a wrote the first two of three segments, b the third.
    # 1: a>b>c, b>c>a: pooled points a 1, b 1.5, c 0.5, so ranks a 2, b 1, c 3.
    # 2: a>c>b, a>b>c: points a 2, b 0.5, c 0.5, so ranks a 1, b and c 2.5.
    # 3: b>a>c, a>c>b: points a 1.5, b 1, c 0.5, so ranks a 1, b 2, c 3.
    # Eq. 1: a (2 + 1) / 2 − 1 = 0.5; b 2 − (1 + 2.5) / 2 = 0.25. (In losses both would be 0.)
    losses = [orders("a>b>c", "a>c>b", "b>a>c"), orders("b>c>a", "a>b>c", "a>c>b")]
    made = author_table(losses, tuple("abc"), ["a", "a", "b"])
    assert made.rank is not None
    assert made.rank.tolist() == [[2, 1, 3], [1, 2.5, 2.5], [1, 2, 3]]
    found = self_bias(made, rng=rng(), rounds=20)
    assert [one.value for one in found.equation_1] == [0.5, 0.25]


def test_judges_rank_within_the_segment_as_worked_by_hand() -> None:
    # Verdicts that no order fits (a ties b, b ties c, a beats c): points 1.5, 1, 0.5, so ranks
    # 1, 2, 3.
    # Judge a: that, then b>a>c, then b and c level before a. Judge b: a>b>c, a>b>c, c>a>b.
    # Ranks of a: 1, 2, 3 by a; 1, 1, 2 by b. Ranks of b: 2, 1, 1.5 by a; 2, 2, 3 by b.
    # Evaluator, Eq. 1: a 2 − 4/3 = 2/3; b 7/3 − 3/2 = 5/6.
    # Both, segments 1 and 2 written by a, 3 by b: a 3/2 − 2 = −1/2; b 3 − 3/2 = 3/2.
    first, second = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 2, 0, 2, 0, 1])
    odd = orders("ab>c")[0]
    odd[1, 2] = odd[2, 1] = 0.5
    by_a = np.concatenate([[odd], orders("b>a>c", "bc>a")])
    by_b = orders("a>b>c", "a>b>c", "c>a>b")
    points = np.stack([1 - by_a[:, first, second], 1 - by_b[:, first, second]], axis=1)
    shape = points.shape
    c = Comparisons(
        tuple("abc"),
        tuple("ab"),
        ("q1", "q2", "q3"),
        np.broadcast_to(np.arange(3)[:, None, None], shape).ravel(),
        np.broadcast_to(np.arange(2)[:, None], shape).ravel(),
        np.broadcast_to(first, shape).ravel(),
        np.broadcast_to(second, shape).ravel(),
        points.ravel(),
        np.arange(3),
    )
    judged = evaluator_table(c)
    found = self_bias(judged, rng=rng(), rounds=20)
    assert [one.value for one in found.equation_1] == pytest.approx([2 / 3, 5 / 6])
    both = self_bias(both_table(judged, ["a", "a", "b"]), rng=rng(), rounds=20)
    assert [one.value for one in both.equation_1] == pytest.approx([-0.5, 1.5])
