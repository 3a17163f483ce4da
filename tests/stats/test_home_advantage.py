"""Whether authors do better on their own questions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Verdict
from peerexam.stats.home_advantage import home_advantage
from peerexam.stats.tables import Comparisons, comparisons_from


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ranked(question: str, judge: str, order: str) -> list[Verdict]:
    return [
        verdict
        for better, worse in itertools.combinations(order, 2)
        for verdict in (
            Verdict(question, judge, better, worse, "first"),
            Verdict(question, judge, worse, better, "second"),
        )
    ]


def test_three_questions_come_out_as_worked_by_hand() -> None:
    # a wrote q1. Third parties on a against b: c; against c: b.
    verdicts = [
        *(ranked("q1", "a", "cba")),
        *(ranked("q1", "b", "abc")),  # a beats c
        *(ranked("q1", "c", "abc")),  # a beats b
        *(ranked("q2", "b", "cab")),  # c beats a
        *(ranked("q2", "c", "abc")),  # a beats b
        *(ranked("q3", "b", "cab")),
        *(ranked("q3", "c", "bac")),
    ]
    c = comparisons_from(verdicts, "abc", "abc")
    found = home_advantage(c, {"q1": "a", "q2": "b", "q3": "x"}, rng=rng(), rounds=50)
    # at home 2 of 2, away 1 of 4
    assert found[0].value == pytest.approx(1 - 1 / 4)
    assert (found[0].n, found[0].left_out) == (3, 0)
    assert (found[0].low, found[0].high) == (None, None)  # a single question at home
    assert found[2].value is None
    assert "its own questions" in (found[2].reason or "")


def test_questions_without_an_author_are_left_out() -> None:
    verdicts = [v for q in ("q1", "q2", "q3") for v in ranked(q, "x", "ab")]
    c = comparisons_from(verdicts, "ab", "x")
    found = home_advantage(c, {"q1": "a", "q2": None}, rng=rng(), rounds=10)
    assert [(e.value, e.n, e.left_out) for e in found] == [(None, 1, 2), (None, 1, 2)]


def sampled(
    planted: dict[str, float], questions: int, seed: int
) -> tuple[Comparisons, dict[str, str]]:
    draw = rng(seed)
    names = "abcd"
    authors = {f"q{k}": names[k % 4] for k in range(questions)}
    verdicts = []
    for question, author in authors.items():
        at_home = {name: planted.get(name, 0.0) * (name == author) for name in names}
        for judge in names:
            for a, b in itertools.permutations(names, 2):
                chance = 0.5 + at_home[a] - at_home[b] + 0.4 * ((judge == a) - (judge == b))
                winner = "first" if draw.random() < chance else "second"
                verdicts.append(Verdict(question, judge, a, b, winner))  # type: ignore[arg-type]
    return comparisons_from(verdicts, names, names), authors


def test_a_planted_advantage_is_found_whatever_judges_think_of_themselves() -> None:
    c, authors = sampled({"b": 0.25}, 160, seed=3)
    found = home_advantage(c, authors, rng=rng(), rounds=1000)
    assert found[1].low is not None
    assert found[1].high is not None
    assert found[1].low > 0
    assert found[1].low < 0.25 < found[1].high
    assert found[1].p_holm is not None
    assert found[1].p_holm < 0.01


def test_authors_without_an_advantage_are_accused_at_the_nominal_rate() -> None:
    alarms, small_p = 0, 0
    for seed in range(60):
        c, authors = sampled({}, 40, seed)
        found = home_advantage(c, authors, rng=rng(seed), rounds=300)
        alarms += sum(not (e.low or 0) <= 0 <= (e.high or 0) for e in found)
        small_p += sum((e.p or 0) < 0.05 for e in found)
    # 5 % of 240 is 12; 1 in 1000 binomial samples lies above 23
    assert alarms <= 23
    assert small_p <= 23


@settings(max_examples=10, deadline=None)
@given(st.permutations("abcd"), st.integers(0, 1000))
def test_the_order_of_names_does_not_matter(order: list[str], seed: int) -> None:
    c, authors = sampled({"a": 0.2}, 8, seed)
    letters = "abcd"
    verdicts = [
        Verdict(
            c.questions[c.question[k]],
            letters[c.judge[k]],
            letters[c.first[k]],
            letters[c.second[k]],
            "first" if c.points[k] else "second",
        )
        for k in range(len(c.points))
    ]
    d = comparisons_from(verdicts, order, order)
    ours = dict(zip(c.agents, home_advantage(c, authors, rng=rng(), rounds=5), strict=True))
    theirs = dict(zip(d.agents, home_advantage(d, authors, rng=rng(), rounds=5), strict=True))
    for name in letters:
        assert ours[name].value == pytest.approx(theirs[name].value)


def test_settings_are_checked() -> None:
    c, authors = sampled({}, 4, 0)
    with pytest.raises(StatisticsError, match="rounds"):
        home_advantage(c, authors, rng=rng(), rounds=0)


@pytest.mark.parametrize("at_a_time", [1, 7, 1000])
def test_how_much_is_held_at_a_time_changes_nothing(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    c, authors = sampled({"a": 0.2}, 40, seed=3)
    whole = home_advantage(c, authors, rng=rng(), rounds=300)

    def in_blocks(rows: int, cells: int) -> list[slice]:
        return [slice(k, min(k + at_a_time, rows)) for k in range(0, rows, at_a_time)]

    monkeypatch.setattr("peerexam.stats.home_advantage.row_blocks", in_blocks)
    monkeypatch.setattr("peerexam.stats.home_advantage._CELLS", 40 * at_a_time)
    assert home_advantage(c, authors, rng=rng(), rounds=300) == whole
