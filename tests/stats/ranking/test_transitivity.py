"""Circular triads, and rankings against direct verdicts."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Ranking, Verdict, Winner
from peerexam.stats.core.tables import comparisons_from, positions_from
from peerexam.stats.ranking.transitivity import (
    Contradictions,
    Triads,
    circular_triads,
    order_contradictions,
    preference_cycles,
)


def agreed(question: str, winner: str, loser: str, judge: str = "j") -> list[Verdict]:
    return [
        Verdict(question, judge, winner, loser, "first"),
        Verdict(question, judge, loser, winner, "second"),
    ]


CIRCLE = [v for a, b in ("ab", "bc", "ca") for v in agreed("q1", a, b)]


def test_one_circle_is_one_circular_triad() -> None:
    c = comparisons_from(CIRCLE, "abc", "jk")
    assert circular_triads(c) == [Triads(1, 1), Triads(0, 0)]


def test_circles_over_different_questions_are_none() -> None:
    verdicts = [*agreed("q1", "a", "b"), *agreed("q1", "b", "c"), *agreed("q2", "c", "a")]
    assert circular_triads(comparisons_from(verdicts, "abc", "j")) == [Triads(0, 0)]


def test_a_triple_with_a_tie_is_comparable_but_not_circular() -> None:
    tie: Winner = "first"
    verdicts = [
        *agreed("q1", "a", "b"),
        *agreed("q1", "b", "c"),
        Verdict("q1", "j", "c", "a", tie),
        Verdict("q1", "j", "a", "c", tie),
    ]
    c = comparisons_from(verdicts, "abc", "j")
    assert circular_triads(c) == [Triads(0, 1)]
    assert circular_triads(c, rule="abstain") == [Triads(0, 0)]


def test_the_most_circular_tournament_of_five_has_five_circles() -> None:
    # Kendall and Babington Smith: at most (n³ − n) ÷ 24 = 5 for n = 5, met by the rotation.
    verdicts = [
        v
        for i in range(5)
        for step in (1, 2)
        for v in agreed("q1", "abcde"[i], "abcde"[(i + step) % 5])
    ]
    assert circular_triads(comparisons_from(verdicts, "abcde", "j")) == [Triads(5, 10)]


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_counts_equal_those_of_networkx(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = "abcdefg"[:size]
    graph: nx.DiGraph[str] = nx.DiGraph()
    verdicts: list[Verdict] = []
    for pair in itertools.combinations(names, 2):
        if rng.random() < 0.2:
            continue  # not compared
        winner, loser = pair if rng.random() < 0.5 else pair[::-1]
        graph.add_edge(winner, loser)
        verdicts += agreed("q1", winner, loser)
    circles = [c for c in nx.simple_cycles(graph, length_bound=3) if len(c) == 3]
    whole = sum(len(clique) == 3 for clique in nx.enumerate_all_cliques(graph.to_undirected()))
    found = circular_triads(comparisons_from(verdicts, names, "j"))
    assert found == [Triads(len(circles), whole)]


def test_a_ranking_contradicts_the_verdict_it_turns_round() -> None:
    c = comparisons_from(CIRCLE, "abc", "j")
    ranking = positions_from([Ranking("q1", "j", (("a",), ("b",), ("c",)))], "abc", "j")
    assert order_contradictions(c, ranking) == [Contradictions(1, 3)]  # c > a


def test_ties_and_unranked_answers_contradict_nothing() -> None:
    c = comparisons_from(CIRCLE, "abc", "j")
    tied = positions_from([Ranking("q1", "j", (("a", "c"), ("b",)))], "abc", "j")
    assert order_contradictions(c, tied) == [Contradictions(1, 3)]  # b > c
    short = positions_from([Ranking("q1", "j", (("a",), ("b",)), ("c",))], "abc", "j")
    assert order_contradictions(c, short) == [Contradictions(0, 1)]


def test_rankings_are_matched_by_question_and_judge() -> None:
    c = comparisons_from([*CIRCLE, *agreed("q2", "a", "b", "k")], "abc", "jk")
    rankings = [
        Ranking("q7", "j", (("c",), ("b",), ("a",))),
        Ranking("q2", "k", (("b",), ("a",))),
        Ranking("q2", "j", (("b",), ("a",))),
    ]
    found = order_contradictions(c, positions_from(rankings, "abc", "jk"))
    assert found == [Contradictions(0, 0), Contradictions(1, 1)]


def test_tables_about_other_agents_are_refused() -> None:
    c = comparisons_from(CIRCLE, "abc", "j")
    with pytest.raises(StatisticsError, match="same agents and judges"):
        order_contradictions(c, positions_from([], "ab", "j"))


def test_a_majority_that_goes_in_circles_names_its_members() -> None:
    # a > b > c > a on two questions, d beneath all of them: one circle of three.
    pairs = ("ab", "bc", "ca", "ad", "bd", "cd")
    verdicts = [v for q in ("q1", "q2") for pair in pairs for v in agreed(q, pair[0], pair[1])]
    assert preference_cycles(comparisons_from(verdicts, "abcd", "j")) == [[("a", "b", "c")]]
    # Won twice and lost twice is no majority: without that edge there is no circle.
    turned = [*agreed("q3", "a", "c"), *agreed("q4", "a", "c")]
    assert preference_cycles(comparisons_from([*verdicts, *turned], "abcd", "j")) == [[]]
