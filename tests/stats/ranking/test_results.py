"""Results taken apart for other tools, and the ratings that come of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Ranking, Verdict, Winner
from peerexam.stats.core.tables import comparisons_from, positions_from
from peerexam.stats.pairs.orders import Disagreement, combine_orders
from peerexam.stats.ranking.ballots import ballots_from
from peerexam.stats.ranking.results import Results, rate_results, results_from

AGENTS, JUDGES, QUESTIONS = ("a", "b", "c"), ("j", "k"), ("1", "2", "3")

_WINNERS: list[Winner | None] = ["first", "second", "tie", None]
WINNERS = st.sampled_from(_WINNERS)


@st.composite
def verdicts(draw: st.DrawFn) -> list[Verdict]:
    keys = [
        (question, judge, first, second)
        for question in QUESTIONS
        for judge in JUDGES
        for first in AGENTS
        for second in AGENTS
        if first != second
    ]
    chosen = draw(st.lists(st.sampled_from(keys), unique=True, max_size=30))
    return [Verdict(*key, draw(WINNERS)) for key in chosen]


@st.composite
def rankings(draw: st.DrawFn) -> list[Ranking]:
    keys = draw(
        st.lists(st.tuples(st.sampled_from(QUESTIONS), st.sampled_from(JUDGES)), unique=True)
    )
    orders = st.permutations(AGENTS).map(lambda names: ((names[0],), tuple(names[1:])))
    return [Ranking(*key, draw(orders)) for key in keys]


def results(
    said: list[Verdict], ranked: list[Ranking], rule: Disagreement = "tie"
) -> tuple[Results, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Results, and the points that the ballots of the standings have of the same."""
    padding = [Verdict(question, "j", "a", "b", None) for question in QUESTIONS]
    empty = [Ranking(question, "j", ()) for question in QUESTIONS]
    pairs = combine_orders(comparisons_from([*padding, *said], AGENTS, JUDGES), rule)
    positions = positions_from([*empty, *ranked], AGENTS, JUDGES)
    return results_from(positions, pairs), ballots_from(positions, pairs)[0].wins


@given(verdicts(), rankings(), st.sampled_from(["tie", "average", "abstain"]))
def test_results_have_the_points_of_the_ballots(
    said: list[Verdict], ranked: list[Ranking], rule: Disagreement
) -> None:
    found, ballots = results(said, ranked, rule)
    expected = ballots.sum(axis=1)
    assert np.allclose(found.wins(), expected)
    for place, name in enumerate(JUDGES):
        assert np.allclose(found.of_judges([name]).wins(), ballots[:, place])


@given(verdicts(), st.sampled_from(["tie", "average", "abstain"]))
def test_rows_have_the_points_of_the_results_times_the_copies(
    said: list[Verdict], rule: Disagreement
) -> None:
    found, _ = results(said, [], rule)
    copies = found.copies()
    assert copies == (2 if np.any(found.points % 0.5) else 1)
    points = np.zeros(len(found.points))
    for row, one in found.rows(copies):
        assert one in (0.0, 0.5, 1.0)
        points[row] += one
    assert np.allclose(points, copies * found.points)


def test_means_of_many_verdicts_are_no_rows() -> None:
    said = [Verdict("1", "j", "a", "b", "second") for _ in range(12)]
    said.append(Verdict("1", "j", "a", "b", "first"))
    said.append(Verdict("1", "j", "b", "a", "tie"))
    with pytest.raises(StatisticsError, match="export the verdicts alone"):
        results(said, [], "average")[0].copies()


def test_two_agents_are_rated_by_their_odds() -> None:
    # By hand: a wins 3 of 4, so the strengths differ by ln 3 and are centred.
    said = []
    for question, winner in (("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")):
        said.append(Verdict(question, "j", "a", "b", "first" if winner == "a" else "second"))
        said.append(Verdict(question, "j", "b", "a", "second" if winner == "a" else "first"))
    table = comparisons_from(said, ("a", "b"), ("j",))
    pairs = combine_orders(table)
    found = results_from(positions_from([], ("a", "b"), ("j",)), pairs)
    first, second = rate_results(found)
    assert (first.agent, first.results, first.win_rate) == ("a", 4, 0.75)
    assert first.strength == pytest.approx(np.log(3) / 2, abs=1e-9)
    assert first.rating == pytest.approx(1000 + 200 * np.log10(3), abs=1e-6)
    assert second.rating == pytest.approx(1000 - 200 * np.log10(3), abs=1e-6)
    # Sandwich by hand: the sum of squared scores is 3·(1/4)² + (3/4)² = 3/4, the information of
    # the difference 4·(3/16) = 3/4, so the variance of the difference is 4/3 and a's a quarter.
    assert first.standard_error == pytest.approx(np.sqrt(1 / 3), abs=1e-9)
    assert first.low is not None
    assert first.high is not None
    assert first.high - first.low == pytest.approx(2 * 1.959964 * 400 / np.log(10) / 3**0.5, 1e-6)


def test_an_agent_that_never_lost_has_a_reason_in_place_of_a_rating() -> None:
    said = [Verdict("1", "j", "a", "b", "first"), Verdict("1", "j", "b", "a", "second")]
    pairs = combine_orders(comparisons_from(said, ("a", "b"), ("j",)))
    found = rate_results(results_from(positions_from([], ("a", "b"), ("j",)), pairs))
    assert [(r.agent, r.rating, r.reason) for r in found] == [
        ("a", None, "no losses, rating not finite"),
        ("b", None, "no wins, rating not finite"),
    ]


def test_no_results_are_no_ratings() -> None:
    pairs = combine_orders(comparisons_from([], AGENTS, JUDGES))
    found = results_from(positions_from([], AGENTS, JUDGES), pairs)
    assert found.copies() == 1
    assert [r.reason for r in rate_results(found)] == ["never compared"] * 3
