"""Win rates, ballots and voting rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from peerexam.errors import StatisticsError
from peerexam.records import Mark, Ranking, Verdict
from peerexam.stats.core.tables import Floats, comparisons_from, marks_from, positions_from
from peerexam.stats.pairs.orders import Mask, combine_orders
from peerexam.stats.pairs.wins import implied_by_scores, mean_win_rate, win_rates
from peerexam.stats.ranking.ballots import (
    Ballots,
    ballots_from,
    positions_by_marks,
    without_own_answers,
)
from peerexam.stats.ranking.ranks import competition_ranks
from peerexam.stats.ranking.votes import METHODS, Method

NAMES = "abcdefgh"


Orders = list[tuple[tuple[str, ...], ...]]


def count(
    rankings: list[Ranking], verdicts: list[Verdict], agents: str, judges: tuple[str, ...] = ("j",)
) -> tuple[Ballots, Mask]:
    """Ballots of rankings and verdicts on the same questions."""
    # A failed verdict on each ranked question makes both tables list the same questions.
    failed = [Verdict(r.question_id, r.judge, agents[0], agents[1], None) for r in rankings]
    table = comparisons_from([*failed, *verdicts], list(agents), judges)
    positions = positions_from(rankings, list(agents), judges)
    places = np.array([table.questions.index(name) for name in positions.questions], np.int64)
    on_list = replace(
        positions,
        questions=table.questions,
        cluster=table.cluster,
        question=places[positions.question] if len(places) else positions.question,
    )
    return ballots_from(without_own_answers(on_list), combine_orders(table))


def ballots_of(orders: Orders, agents: str) -> Ballots:
    """One judge's ballots, added up."""
    rankings = [Ranking(f"q{i}", "j", order) for i, order in enumerate(orders)]
    return count(rankings, [], agents)[0].over_judges([0]).over_clusters()


def both_orders(question: str, judge: str, better: str, worse: str) -> list[Verdict]:
    return [
        Verdict(question, judge, better, worse, "first"),
        Verdict(question, judge, worse, better, "second"),
    ]


def test_equal_scores_are_half_a_win_for_each() -> None:
    # pub-20, its figures: A = B = 0.75, C = 0, ranks 1, 1, 3.
    scores = {"A": 0.8, "B": 0.8, "C": 0.5}
    for names in permutations(scores):
        values = np.array([scores[name] for name in names])
        rates = dict(zip(names, mean_win_rate(implied_by_scores(values)), strict=True))
        ranks = dict(zip(names, competition_ranks(values), strict=True))
        assert rates == {"A": 0.75, "B": 0.75, "C": 0.0}
        assert ranks == {"A": 1, "B": 1, "C": 3}


def test_agents_that_never_met_have_no_win_rate() -> None:
    points = np.zeros((3, 3))
    points[0, 1] = 2
    rates = win_rates(points)
    assert rates[0, 1] == 1
    assert rates[1, 0] == 0
    assert np.isnan(rates[0, 2])
    assert np.isnan(rates[0, 0])
    assert np.isnan(mean_win_rate(points)[2])


def test_borda_scores_the_share_of_others_beaten() -> None:
    # By hand: a > {b, c} > d gives 1, (1 + ½)/3, (1 + ½)/3, 0; d > c > b > a gives 0, ⅓, ⅔, 1.
    ballots = ballots_of([(("a",), ("b", "c"), ("d",)), (("d",), ("c",), ("b",), ("a",))], "abcd")
    expected = [1 / 2, (0.5 + 1 / 3) / 2, (0.5 + 2 / 3) / 2, 1 / 2]
    assert METHODS["borda"](ballots) == pytest.approx(expected)


def test_schulze_finds_the_order_of_its_authors_example() -> None:
    # Schulze (2011), A new monotonic … voting method, example 1: 45 ballots, order E A C B D.
    votes = {
        "ACBED": 5,
        "ADECB": 5,
        "BEDAC": 8,
        "CABED": 3,
        "CAEBD": 7,
        "CBADE": 2,
        "DCEBA": 7,
        "EBADC": 8,
    }
    orders: Orders = [tuple((x,) for x in order) for order, n in votes.items() for _ in range(n)]
    scores = METHODS["schulze"](ballots_of(orders, "ABCDE"))
    assert "".join("ABCDE"[i] for i in np.argsort(-scores)) == "EACBD"
    assert scores == pytest.approx([0.75, 0.25, 0.5, 0.0, 1.0])


def test_copeland_counts_majorities_and_halves_drawn_ones() -> None:
    # By hand over two ballots: a beats b 2:0 and draws with c 1:1; b draws with c 1:1.
    orders: Orders = [(("a",), ("b",), ("c",)), (("c",), ("a",), ("b",))]
    scores = METHODS["copeland"](ballots_of(orders, "abc"))
    assert scores == pytest.approx([0.75, 0.25, 0.5])


def test_direct_verdicts_are_the_ballot_where_there_is_no_ranking() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    records = [v for better, worse in pairs for v in both_orders("q1", "j", better, worse)]
    ballots, stands = count([], records, "abc")
    assert METHODS["borda"](ballots.over_judges([0]).over_clusters()).tolist() == [1, 0.5, 0]
    assert stands.all()


def test_a_ranking_goes_before_direct_verdicts_on_the_same_question() -> None:
    rankings = [Ranking("q1", "j", (("b",), ("a",)))]
    ballots, _ = count(rankings, both_orders("q1", "j", "a", "b"), "ab")
    assert ballots.wins[0, 0].tolist() == [[0, 0], [1, 0]]


def test_a_judges_own_answer_is_taken_off_its_ballot() -> None:
    rankings = [Ranking("q1", "a", (("a",), ("b",), ("c",)))]
    ballots, stands = count(rankings, [], "abc", ("a",))
    assert ballots.share[0, 0].tolist() == [0, 1, 0]
    assert stands[0, 0].tolist() == [False, True, True]


def test_marks_make_ballots_where_nobody_compared() -> None:
    records = [
        Mark("q", name, "j", {}, overall) for name, overall in zip("abc", (5, 3, 3), strict=True)
    ]
    positions = positions_by_marks(marks_from([*records, Mark("q", "j", "j", {}, 5)], "abcj", "j"))
    assert positions.rank[0, :3].tolist() == [1, 2.5, 2.5]
    assert np.isnan(positions.rank[0, 3])


def test_ballots_refuse_tables_that_are_coded_differently() -> None:
    table = combine_orders(comparisons_from(both_orders("q", "j", "a", "b"), "ab", "j"))
    with pytest.raises(StatisticsError, match="share"):
        ballots_from(positions_from([], "ab", "j"), table)


@st.composite
def rankings_with_ties(draw: st.DrawFn, agents: int = 5) -> Orders:
    """One to eight weak orders of all agents."""
    levels = draw(
        st.lists(
            st.lists(st.integers(0, agents - 1), min_size=agents, max_size=agents),
            min_size=1,
            max_size=8,
        )
    )
    return [
        tuple(
            tuple(NAMES[i] for i, level in enumerate(row) if level == value)
            for value in sorted(set(row))
        )
        for row in levels
    ]


@given(rankings_with_ties(), st.permutations(list(NAMES[:5])), st.sampled_from(sorted(METHODS)))
def test_renaming_the_agents_renames_the_scores(
    orders: Orders, renamed: list[str], method: Method
) -> None:
    new = dict(zip(NAMES[:5], renamed, strict=True))
    moved: Orders = [tuple(tuple(new[x] for x in group) for group in order) for order in orders]
    scores = METHODS[method](ballots_of(orders, NAMES[:5]))
    others = METHODS[method](ballots_of(moved[::-1], NAMES[:5]))
    assert [others[NAMES.index(new[x])] for x in NAMES[:5]] == pytest.approx(scores)
    assert [competition_ranks(others)[NAMES.index(new[x])] for x in NAMES[:5]] == competition_ranks(
        scores
    )


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_pool_where_all_tie_scores_one_half_each(method: Method) -> None:
    scores = METHODS[method](ballots_of([(tuple("abcd"),)] * 3, "abcd"))
    assert scores == pytest.approx([0.5] * 4)
    assert competition_ranks(scores) == [1, 1, 1, 1]


@given(rankings_with_ties())
def test_copeland_and_schulze_elect_a_condorcet_winner(orders: Orders) -> None:
    ballots = ballots_of(orders, NAMES[:5])
    winners = np.flatnonzero((win_rates(ballots.wins) > 0.5).sum(axis=1) == 4)
    for method in ("copeland", "schulze"):
        scores = METHODS[method](ballots)
        for winner in winners:
            assert competition_ranks(scores)[winner] == 1
            assert competition_ranks(scores).count(1) == 1


@given(rankings_with_ties())
def test_all_rules_score_within_0_and_1_and_average_one_half(orders: Orders) -> None:
    ballots = ballots_of(orders, NAMES[:5])
    for rule in METHODS.values():
        scores = rule(ballots)
        assert scores.min() >= 0
        assert scores.max() <= 1
        assert scores.mean() == pytest.approx(0.5)


@given(
    arrays.arrays(
        np.int64, st.tuples(st.integers(1, 4), st.just(5)), elements=st.integers(0, 4)
    ).map(lambda rows: rows.astype(np.float64))
)
def test_implied_wins_agree_with_a_count_by_loops(scores: Floats) -> None:
    expected = np.zeros((5, 5))
    for row in scores:
        for i in range(5):
            for j in range(5):
                if i != j:
                    expected[i, j] += 1.0 if row[i] > row[j] else 0.5 if row[i] == row[j] else 0.0
    assert np.array_equal(implied_by_scores(scores).sum(axis=0), expected)


def test_an_agent_on_no_ballot_has_no_score() -> None:
    ballots = ballots_of([(("a",), ("b",))], "abc")
    for rule in METHODS.values():
        assert np.isnan(rule(ballots)[2])
