"""Self-preference: own judgement against peers', ranks (paper 004, Eq. 1) and third parties'."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Verdict, Winner
from peerexam.stats.core.tables import Comparisons, comparisons_from
from peerexam.stats.judges.self_preference import SelfPreference, self_preference
from peerexam.stats.self_bias.benchmark_table import table_from_scores
from peerexam.stats.self_bias.rank_bias import self_bias


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sampled(
    names: tuple[str, ...], planted: dict[str, float], questions: int, seed: int
) -> Comparisons:
    """Equal models; a judge adds what is planted to the chance that its own answer wins."""
    draw = rng(seed)
    size = len(names)
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    pairs = len(first)
    own = np.array([planted.get(name, 0.0) for name in names])[:, None] * (
        (first == np.arange(size)[:, None]) * 1.0 - (second == np.arange(size)[:, None])
    )
    points = (draw.random((questions, size, pairs)) < 0.5 + own).astype(float)
    shape = points.shape
    return Comparisons(
        names,
        names,
        tuple(f"q{k}" for k in range(questions)),
        np.broadcast_to(np.arange(questions)[:, None, None], shape).ravel(),
        np.broadcast_to(np.arange(size)[:, None], shape).ravel(),
        np.broadcast_to(first, shape).ravel(),
        np.broadcast_to(second, shape).ravel(),
        points.ravel(),
        np.arange(questions),
    )


def agreed(question: str, judge: str, winner: str, loser: str) -> list[Verdict]:
    return [
        Verdict(question, judge, winner, loser, "first"),
        Verdict(question, judge, loser, winner, "second"),
    ]


def ranked(question: str, judge: str, order: str) -> list[Verdict]:
    """A judge that prefers earlier letters of `order`, in both orders of every pair."""
    return [
        verdict
        for better, worse in itertools.combinations(order, 2)
        for verdict in agreed(question, judge, better, worse)
    ]


def present(found: SelfPreference | None) -> SelfPreference:
    assert found is not None
    return found


# One question in two: a puts itself first, b and c put it last; b and c agree on the rest.
BY_HAND = [
    *ranked("q1", "a", "abc"),
    *ranked("q1", "b", "bca"),
    *ranked("q1", "c", "bca"),
    *ranked("q2", "a", "abc"),
    *ranked("q2", "b", "abc"),
    *ranked("q2", "c", "bac"),
]


def test_three_models_come_out_as_worked_by_hand() -> None:
    c = comparisons_from(BY_HAND, "abc", "abc")
    a, b, judge_c = map(present, self_preference(c, rng=rng(), rounds=200))
    # a on (b, c). q1: own 1, 1; peers b and c: 0, 0 and 0, 0. q2: own 1, 1; on b peers 1 and 0,
    # on c 1 and 1. Differences 1, 1, ½, 0, mean 5/8.
    assert a.win_rate.value == pytest.approx(5 / 8)
    assert (a.win_rate.n, a.win_rate.left_out) == (4, 0)
    # Ranks of a: own 1, 1; by b 3, 1; by c 3, 2. θ: 1, 2, 2.5, so 1 − 2.25.
    assert a.rank_bias.value == pytest.approx(-1.25)
    assert (a.rank_bias.n, a.rank_bias.left_out) == (2, 0)
    # Third parties of a against b: c says 0, 0; against c: b says 0, 1. Differences 1, 1, 1, 0.
    assert a.third_party.value == pytest.approx(3 / 4)
    # b ranks itself 1, 2; a ranks it 2, 2; c 1, 1: 1.5 − (2 + 1) ÷ 2 = 0.
    assert b.rank_bias.value == pytest.approx(0)
    # c ranks itself 2, 3; a: 3, 3; b: 2, 3: 2.5 − (3 + 2.5) ÷ 2.
    assert judge_c.rank_bias.value == pytest.approx(-0.25)


def test_ties_get_average_ranks() -> None:
    tie: Winner = "tie"
    verdicts = [
        Verdict("q1", "a", x, y, tie) for x, y in itertools.permutations("abc", 2)
    ] + ranked("q1", "b", "bac")
    found = present(self_preference(comparisons_from(verdicts, "abc", "ab"), rng=rng())[0])
    assert found.rank_bias.value == pytest.approx(2 - 2)  # all three tie on rank 2; b has it second
    assert found.win_rate.value == pytest.approx(0)  # ½, ½ against 0, 1


def test_a_fair_model_is_blamed_for_its_peers_unless_only_third_parties_count() -> None:
    # Three equal models, two favour themselves by 30 points. As peers of the third they give it
    # 20 % against themselves and 50 % against the other: 35 %, so it reads +15.
    c = sampled(("a", "b", "c"), {"a": 0.3, "b": 0.3}, 3000, seed=1)
    a, b, fair = map(present, self_preference(c, rng=rng(), rounds=500))
    assert fair.win_rate.value == pytest.approx(0.15, abs=0.02)
    assert fair.win_rate.p is not None
    assert fair.win_rate.p < 0.01
    assert fair.third_party.value == pytest.approx(0, abs=0.02)
    for biased in (a, b):
        assert biased.third_party.value == pytest.approx(0.3, abs=0.02)
        assert biased.third_party.low is not None
        assert biased.third_party.low > 0.25


def test_the_rank_difference_has_the_leak_too() -> None:
    # Ranks run the other way, and two opponents make a rank two comparisons: −2 × 0.15.
    c = sampled(("a", "b", "c"), {"a": 0.3, "b": 0.3}, 3000, seed=1)
    fair = present(self_preference(c, rng=rng(), rounds=200, rule="average")[2])
    assert fair.rank_bias.value == pytest.approx(-0.3, abs=0.07)


def test_a_fair_panel_is_accused_at_the_nominal_rate() -> None:
    alarms, small_p, families = 0, 0, 0
    for seed in range(200):
        c = sampled(("a", "b", "c", "d"), {}, 24, seed)
        found = [present(f).third_party for f in self_preference(c, rng=rng(seed), rounds=400)]
        alarms += sum(not (e.low or 0) <= 0 <= (e.high or 0) for e in found)
        small_p += sum((e.p or 0) < 0.05 for e in found)
        families += any((e.p_holm or 0) < 0.05 for e in found)
    # 5 % of 800 is 40 and of 200 is 10; 1 in 1000 binomial samples lies above 60 and above 21
    assert alarms <= 60
    assert small_p <= 60
    assert families <= 21
    assert alarms >= 20


@pytest.mark.parametrize("rule", ["tie", "average", "abstain"])
def test_a_planted_preference_is_found_under_every_rule(rule: str) -> None:
    c = sampled(("a", "b", "c", "d"), {"b": 0.25}, 150, seed=4)
    found = self_preference(c, rule=rule, rng=rng(), rounds=500)  # type: ignore[arg-type]
    b = present(found[1])
    assert b.third_party.low is not None
    assert b.third_party.low > 0
    assert b.rank_bias.high is not None
    assert b.rank_bias.high < 0
    assert b.third_party.p_holm is not None
    assert b.third_party.p_holm < 0.05


def test_abstaining_leaves_pairs_with_disagreeing_orders_out() -> None:
    c = sampled(("a", "b", "c"), {}, 40, seed=2)
    tie, abstain = (
        present(self_preference(c, rule=rule, rng=rng(), rounds=10)[0]).win_rate
        for rule in ("tie", "abstain")
    )
    assert tie.left_out == 0
    assert abstain.left_out > 0
    assert abstain.n + abstain.left_out == tie.n == 80


def test_unreadable_verdicts_are_left_out_and_counted() -> None:
    verdicts = [
        replace(v, winner=None, state="unparsed") if (v.judge, v.first) == ("a", "a") else v
        for v in BY_HAND
        if v.question_id == "q1"
    ] + [v for v in BY_HAND if v.question_id == "q2"]
    found = present(self_preference(comparisons_from(verdicts, "abc", "abc"), rng=rng())[0])
    assert (found.win_rate.n, found.win_rate.left_out) == (2, 2)
    assert (found.rank_bias.n, found.rank_bias.left_out) == (1, 1)
    assert found.win_rate.value == pytest.approx(1 / 4)  # q2 alone: ½ and 0


def test_where_judges_sorted_only_direct_comparisons_count() -> None:
    # d compared b > c and c > e, as a sort may; what follows for b and e is not counted.
    verdicts = [
        v
        for k in range(3)
        for v in (
            *ranked(f"q{k}", "b", "bcde"),
            *agreed(f"q{k}", "d", "b", "c"),
            *agreed(f"q{k}", "d", "c", "e"),
            *(v for other in "bce" for v in agreed(f"q{k}", "d", "d", other)),
        )
    ]
    b, d = map(
        present, self_preference(comparisons_from(verdicts, "bcde", "bd"), rng=rng(), rounds=50)
    )
    # b on c, d: own 1, 1; d says 1, 0. On e nobody else said anything.
    assert b.win_rate.value == pytest.approx(1 / 2)
    assert (b.win_rate.n, b.win_rate.left_out) == (6, 3)
    # Ranks as 1 + opponents that won, three opponents: −3 × ½.
    assert b.rank_bias.value == pytest.approx(-3 / 2)
    # d puts itself before b, c, e (rank 1); b has it behind b and c (rank 3).
    assert d.rank_bias.value == pytest.approx(-2)
    assert "sorted" in d.rank_bias.method


@settings(max_examples=25)
@given(st.data())
def test_both_kinds_of_rank_agree_where_verdicts_have_no_circles(data: st.DataObject) -> None:
    orders = [data.draw(st.permutations("abcd")) for _ in range(8)]
    verdicts = [
        v
        for k, order in enumerate(orders)
        for v in ranked(f"q{k // 4}", "abcd"[k % 4], "".join(order))
    ]
    whole = self_preference(comparisons_from(verdicts, "abcd", "abcd"), rng=rng(), rounds=5)
    # One question more, on which a judge x passed over a pair, makes it a sort.
    sort = [*agreed("q9", "x", "a", "b"), *agreed("q9", "x", "b", "c")]
    passed = self_preference(
        comparisons_from([*verdicts, *sort], "abcd", "abcdx"), rng=rng(), rounds=5
    )
    for one, other in zip(whole, passed[:4], strict=True):
        assert present(one).rank_bias.value == pytest.approx(present(other).rank_bias.value)


def test_two_models_that_judge_each_other_have_no_third_party() -> None:
    verdicts = [v for k in range(4) for j in "ab" for v in ranked(f"q{k}", j, "ab")]
    found = present(self_preference(comparisons_from(verdicts, "ab", "ab"), rng=rng())[0])
    assert found.win_rate.value == 0
    assert found.third_party.value is None
    assert found.third_party.p is None
    assert "third party" in (found.third_party.reason or "")
    assert found.third_party.left_out == 4


def test_judges_that_do_not_answer_or_were_not_asked_have_none() -> None:
    verdicts = [*ranked("q1", "x", "abc"), *agreed("q1", "c", "a", "b"), *ranked("q1", "a", "abc")]
    found = self_preference(comparisons_from(verdicts, "abc", "xca"), rng=rng(), rounds=10)
    assert found[:2] == [None, None]
    assert found[2] is not None


def test_an_empty_table_gives_none_for_everybody() -> None:
    assert self_preference(comparisons_from([], "abc", "abc"), rng=rng()) == [None] * 3


def test_equal_seeds_give_equal_results_and_settings_are_checked() -> None:
    c = comparisons_from(BY_HAND, "abc", "abc")
    assert self_preference(c, rng=rng(7)) == self_preference(c, rng=rng(7))
    with pytest.raises(StatisticsError, match="rounds"):
        self_preference(c, rng=rng(), rounds=0)
    with pytest.raises(StatisticsError, match="confidence"):
        self_preference(c, rng=rng(), confidence=1.0)
    with pytest.raises(StatisticsError, match="no rule"):
        self_preference(c, rule="vote", rng=rng())  # type: ignore[arg-type]


@settings(max_examples=20)
@given(st.permutations("abcd"), st.integers(0, 10_000))
def test_names_and_the_order_of_rows_do_not_matter(order: list[str], seed: int) -> None:
    c = sampled(tuple("abcd"), {"a": 0.2}, 6, seed)
    place = np.array([order.index(name) for name in "abcd"])
    shuffle = rng(seed).permutation(len(c.points))
    d = replace(
        c,
        agents=tuple(order),
        judges=tuple(order),
        question=c.question[shuffle],
        judge=place[c.judge][shuffle],
        first=place[c.first][shuffle],
        second=place[c.second][shuffle],
        points=c.points[shuffle],
    )
    ours = dict(zip(c.judges, self_preference(c, rng=rng(), rounds=10), strict=True))
    theirs = dict(zip(d.judges, self_preference(d, rng=rng(), rounds=10), strict=True))
    for name in "abcd":
        one, two = present(ours[name]), present(theirs[name])
        assert one.win_rate.value == pytest.approx(two.win_rate.value)
        assert one.rank_bias.value == pytest.approx(two.rank_bias.value)
        assert one.third_party.value == pytest.approx(two.third_party.value)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from(["tie", "average"]))
def test_showing_every_pair_the_other_way_round_changes_nothing(seed: int, rule: str) -> None:
    c = sampled(tuple("abc"), {"a": 0.2}, 5, seed)
    turned = replace(c, first=c.second, second=c.first, points=1 - c.points)
    assert self_preference(c, rule=rule, rng=rng(), rounds=10) == self_preference(  # type: ignore[arg-type]
        turned,
        rule=rule,  # type: ignore[arg-type]
        rng=rng(),
        rounds=10,
    )


def repeated(orders: dict[str, str], questions: int, agents: str = "abc") -> Comparisons:
    """Judges that put all answers in the same order on every question."""
    verdicts = [
        verdict
        for k in range(questions)
        for judge, order in orders.items()
        for verdict in ranked(f"q{k}", judge, order)
    ]
    return comparisons_from(verdicts, agents, "".join(orders))


def test_where_every_question_says_the_same_the_interval_has_a_width() -> None:
    found = present(
        self_preference(repeated({"a": "abc", "b": "bca", "c": "bca"}, 8), rng=rng(), rounds=1000)[
            0
        ]
    )
    # a wins all by itself, none by b and c, is first by itself and last by them. A share of at most
    # 1 − 0.05^(1 ÷ 8) of the questions is different, as far as −1..1, or two ranks, allow.
    q = 1 - 0.05 ** (1 / 8)
    for one in (found.win_rate, found.third_party):
        assert (one.value, one.high) == (1.0, 1.0)
        assert one.low == pytest.approx(1 - 2 * q)
        assert one.method.endswith("exact bound of how many could differ")
        assert one.p == pytest.approx(2 / 2**8, abs=0.006)
    assert (found.rank_bias.value, found.rank_bias.low) == (-2.0, -2.0)
    assert found.rank_bias.high == pytest.approx(-2 + 4 * q)


def test_agreement_on_every_question_is_not_certain_to_be_without_preference() -> None:
    orders = dict.fromkeys("abc", "abc")
    found = present(self_preference(repeated(orders, 100), rng=rng(), rounds=50)[1])
    assert found.win_rate.value == 0.0
    assert found.win_rate.high == pytest.approx(1 - 0.05**0.01)
    assert found.win_rate.low == pytest.approx(-(1 - 0.05**0.01))
    assert found.win_rate.p == 1.0


def test_questions_of_unequal_weight_are_worth_fewer_where_all_are_alike() -> None:
    whole = repeated({"a": "abc", "b": "bca", "c": "bca"}, 4)
    # Of three questions, a's comparison with c is lost: 2 + 1 + 1 + 1 comparisons are worth 2.5.
    lost = (whole.judge == 0) & ((whole.first == 2) | (whole.second == 2)) & (whole.question > 0)
    made = replace(whole, points=np.where(lost, np.nan, whole.points))
    found = present(self_preference(made, rng=rng(), rounds=50)[0])
    assert found.win_rate.n == 5
    assert found.win_rate.low == pytest.approx(1 - 2 * (1 - 0.05 ** (1 / 2.5)))


def test_one_question_that_differs_is_resampled_as_ever() -> None:
    whole = repeated({"a": "abc", "b": "bca", "c": "bca"}, 8)
    other = (whole.question == 7) & (whole.judge == 0)
    made = replace(whole, points=np.where(other, 1 - whole.points, whole.points))
    found = present(self_preference(made, rng=rng(), rounds=1000)[0])
    assert "alike" not in found.win_rate.method


TWINS = {"a": "axbc", "x": "xabc", "b": "bcax", "c": "bcax"}


def test_agents_of_one_model_are_no_third_parties_of_each_other() -> None:
    made = repeated(TWINS, 3, "axbc")
    alone = self_preference(made, rng=rng(), rounds=20)
    found = self_preference(made, same=[("a", "x")], rng=rng(), rounds=20)
    # a beats all by itself. x by b and c: 1. b by c 0, by its twin 1; c by b 0, by its twin 1.
    # x beats all by itself, a by b and c: 0. b and c beat a and x by themselves, by each other, and
    # not by the rival's twin; in their own pair all four agree.
    assert [present(one).third_party.value for one in alone] == pytest.approx(
        [1 / 3, 2 / 3, 1 / 3, 1 / 3]
    )
    assert [present(one).third_party.value for one in found] == pytest.approx([2 / 3, 1, 0, 0])
    for one, other in zip(alone, found, strict=True):
        assert present(one).win_rate == present(other).win_rate
        assert present(one).rank_bias == present(other).rank_bias


def test_without_a_third_party_of_another_model_there_is_no_estimate() -> None:
    made = repeated({"a": "axb", "x": "xab", "b": "bax"}, 3, "axb")
    # b is a third party on a and x, but what twins make of each other is no self-preference.
    for one in self_preference(made, same=[("a", "x")], rng=rng(), rounds=20):
        third = present(one).third_party
        assert (third.value, third.n, third.left_out) == (None, 0, 6)
        assert "nor did another agent of its model" in (third.reason or "")


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([(), ("ab",), ("ab", "ce"), ("acd",)]))
def test_the_third_parties_are_those_of_self_bias(seed: int, same: tuple[str, ...]) -> None:
    draw = rng(seed)
    names, questions = "abcde", 4
    scores = draw.normal(size=(questions, 5, 5))
    verdicts = [
        verdict
        for q in range(questions)
        for j, judge in enumerate(names)
        for verdict in ranked(f"q{q}", judge, "".join(names[k] for k in np.argsort(-scores[q, j])))
    ]
    table = table_from_scores(
        scores.reshape(-1, 5),
        np.repeat(np.arange(questions), 5),
        np.tile(np.arange(5), questions),
        tuple(names),
        tuple(names),
        orientation="higher",
        paired=True,
    )
    expected = self_bias(table, same=same, rng=rng(), rounds=5).third_party_win_rate
    made = comparisons_from(verdicts, names, names)
    found = self_preference(made, same=same, rng=rng(), rounds=5)
    assert [present(one).third_party.value for one in found] == pytest.approx(
        [one.value for one in expected]
    )


def test_ten_thousand_rounds_take_seconds() -> None:
    c = sampled(tuple("abcde"), {"a": 0.1}, 80, seed=0)
    start = time.process_time()
    self_preference(c, rng=rng(), rounds=10_000)
    assert time.process_time() - start < 5
