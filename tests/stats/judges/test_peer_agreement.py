"""Agreement of each judge with the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Verdict, Winner
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import comparisons_from
from peerexam.stats.judges.peer_agreement import ALONE, PeerAgreement, peer_agreement
from peerexam.stats.pairs.orders import Disagreement, Pairs, combine_orders

AGENTS = ("a", "b", "c")
JUDGES = ("x", "y", "z")
Result = tuple[int, int, int, float]
"""Question, judge, place of the pair among `ab`, `ac`, `bc`, points of its first agent."""


def table(results: Sequence[Result], judges: Sequence[str] = JUDGES, questions: int = 4) -> Pairs:
    pairs = list(combinations(range(len(AGENTS)), 2))
    return Pairs(
        AGENTS,
        tuple(judges),
        tuple(f"q{number}" for number in range(questions)),
        np.array([one[0] for one in results], dtype=np.int64),
        np.array([one[1] for one in results], dtype=np.int64),
        np.array([pairs[one[2]][0] for one in results], dtype=np.int64),
        np.array([pairs[one[2]][1] for one in results], dtype=np.int64),
        np.array([one[3] for one in results], dtype=np.float64),
        np.arange(questions),
        0,
        0,
        0,
    )


def agreement(pairs: Pairs, rounds: int = 20, seed: int = 0) -> list[PeerAgreement]:
    return peer_agreement(pairs, rounds=rounds, rng=np.random.default_rng(seed))


def covers(estimate: Estimate, truth: float | None) -> bool:
    assert truth is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


def test_a_small_example_comes_out_as_by_hand() -> None:
    # q0 ab: x a, y a, z tie; q0 ac: x a, y c; q1 ab: x tie, y tie, z b; q1 bc: x alone.
    found = agreement(
        table(
            [
                *((0, 0, 0, 1.0), (0, 1, 0, 1.0), (0, 2, 0, 0.5), (0, 0, 1, 1.0), (0, 1, 1, 0.0)),
                *((1, 0, 0, 0.5), (1, 1, 0, 0.5), (1, 2, 0, 0.0), (1, 0, 2, 1.0)),
            ]
        )
    )
    x, y, z = found
    # x: 1 of 2, 0 of 1 and 1 of 2 verdicts of others say the same; nobody else judged q1 bc.
    assert (x.verdicts.value, x.verdicts.n, x.verdicts.left_out, x.compared) == (0.4, 3, 1, 5)
    assert (y.verdicts.value, y.verdicts.n, y.verdicts.left_out, y.compared) == (0.4, 3, 0, 5)
    assert (z.verdicts.value, z.verdicts.n, z.verdicts.left_out, z.compared) == (0.0, 2, 0, 4)
    # Without ties only x and y meet: the same on q0 ab, not on q0 ac.
    assert (x.decided.value, x.decided.n, x.decided.left_out) == (0.5, 2, 2)
    assert (z.decided.value, z.decided.n, z.decided.left_out) == (None, 0, 2)
    # Of the 5 pairs of verdicts that x is compared in, its own is a tie in 2, and the other's in 2.
    assert x.chance == pytest.approx(0.4 * 0.4 + 0.6 * 0.6 / 2)


def test_two_tied_orders_and_two_that_disagree_are_the_same_verdict() -> None:
    # MT-bench's first set-up counts an inconsistent verdict as a tie.
    def both(judge: str, winners: tuple[Winner, Winner]) -> list[Verdict]:
        orders = (("a", "b"), ("b", "a"))
        return [Verdict("q", judge, *two, won) for two, won in zip(orders, winners, strict=True)]

    given = both("x", ("tie", "tie")) + both("y", ("first", "first"))
    c = comparisons_from(given, AGENTS, ("x", "y"))
    assert [one.verdicts.value for one in agreement(combine_orders(c, "tie"))] == [1.0, 1.0]
    rule: Disagreement = "abstain"
    x, y = agreement(combine_orders(c, rule))
    assert (x.verdicts.value, x.verdicts.left_out) == (None, 1)
    assert y.verdicts.reason == "it has no result on any two answers of others"


def test_a_judge_alone_has_no_agreement_and_says_so() -> None:
    (only,) = agreement(table([(0, 0, 0, 1.0), (1, 0, 1, 0.0)], ["x"]))
    assert (only.verdicts.value, only.verdicts.reason, only.chance) == (None, ALONE, None)
    assert (only.verdicts.n, only.verdicts.left_out, only.decided.reason) == (0, 2, ALONE)


def test_judges_of_different_pairs_have_no_agreement_and_say_so() -> None:
    found = agreement(table([(0, 0, 0, 1.0), (0, 1, 1, 1.0)]))
    assert [one.verdicts.value for one in found] == [None] * 3
    assert found[0].verdicts.reason == "no other judge has a result on the same two answers"
    assert found[2].verdicts.reason == "it has no result on any two answers of others"
    assert agreement(table([]))[0].verdicts.value is None
    assert agreement(table([], [])) == []


def test_full_agreement_is_not_certain() -> None:
    same = [(q, j, p, 1.0) for q in range(8) for j in range(3) for p in range(3)]
    for one in agreement(table(same, questions=8)):
        assert (one.verdicts.value, one.verdicts.high, one.chance) == (1.0, 1.0, 0.5)
        assert one.verdicts.low is not None
        assert 0.5 < one.verdicts.low < 0.9


def test_one_question_has_no_interval() -> None:
    one = agreement(table([(0, 0, 0, 1.0), (0, 1, 0, 1.0), (0, 1, 1, 0.0), (0, 0, 1, 1.0)]))[0]
    assert (one.verdicts.value, one.verdicts.low, one.verdicts.n) == (0.5, None, 2)


@pytest.mark.parametrize(("rounds", "confidence"), [(0, 0.95), (10, 1.0)])
def test_settings_that_give_no_interval_are_refused(rounds: int, confidence: float) -> None:
    with pytest.raises(StatisticsError):
        peer_agreement(
            table([]), rounds=rounds, rng=np.random.default_rng(0), confidence=confidence
        )


results = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    st.sampled_from((0.0, 0.25, 0.5, 0.75, 1.0)),
    max_size=36,
).map(lambda found: [(*key, points) for key, points in found.items()])


@given(results)
def test_it_is_the_share_of_agreeing_pairs_of_verdicts(found: list[Result]) -> None:
    said = {(q, j, p): np.sign(points - 0.5) for q, j, p, points in found}
    for judge, one in enumerate(agreement(table(found))):
        met = [
            (verdict, said[q, other, p])
            for (q, j, p), verdict in said.items()
            for other in range(3)
            if j == judge != other and (q, other, p) in said
        ]
        decided = [(v, w) for v, w in met if v and w]
        for estimate, pairs in ((one.verdicts, met), (one.decided, decided)):
            share = sum(v == w for v, w in pairs) / len(pairs) if pairs else None
            assert estimate.value == (None if share is None else pytest.approx(share))
            ends = [end for end in (estimate.low, estimate.value, estimate.high) if end is not None]
            assert all(0 <= end <= 1 for end in ends)
            assert bool(estimate.reason) == (share is None)
        assert one.compared == len(met)


@given(results, st.randoms())
def test_the_order_of_records_changes_nothing(found: list[Result], random: Random) -> None:
    mixed = list(found)
    random.shuffle(mixed)
    assert agreement(table(mixed)) == agreement(table(found))


@given(results)
def test_two_judges_agree_with_each_other_equally(found: list[Result]) -> None:
    x, y = agreement(table([one for one in found if one[1] < 2], JUDGES[:2]))
    assert x.verdicts.value == y.verdicts.value
    assert x.decided.value == y.decided.value
    assert (x.chance is None) == (y.chance is None)
    assert x.chance is None or x.chance == pytest.approx(y.chance)
    assert (x.verdicts.n, x.compared) == (y.verdicts.n, y.compared)


def test_judges_that_toss_coins_agree_by_chance() -> None:
    rng = np.random.default_rng(5)
    # x never ties, y in three tenths of its verdicts, z in eight tenths.
    share = np.array([0.0, 0.3, 0.8])
    cells = [(q, j, p) for q in range(400) for j in range(3) for p in range(3)]
    tossed = [
        (*cell, 0.5 if rng.random() < share[cell[1]] else float(rng.integers(2))) for cell in cells
    ]
    for one in agreement(table(tossed, questions=400), rounds=200):
        assert covers(one.verdicts, one.chance)
        assert covers(one.decided, 0.5)


def test_the_interval_covers_at_its_rate() -> None:
    """Questions differ in how clear they are; verdicts are right by Beta(2.4, 0.6) of each."""
    rng = np.random.default_rng(11)
    a, b, questions, trials = 2.4, 0.6, 30, 300
    second_moment = a * (a + 1) / ((a + b) * (a + b + 1))
    truth = second_moment + (1 - 2 * a / (a + b) + second_moment)
    cells = [(q, j, p, 0.0) for q in range(questions) for j in range(3) for p in range(3)]
    empty = table(cells, questions=questions)
    covered = 0
    for _ in range(trials):
        clear = rng.beta(a, b, size=questions)[empty.question]
        right = (rng.random(len(cells)) < clear).astype(np.float64)
        found = peer_agreement(replace(empty, points=right), rounds=200, rng=rng)[0].verdicts
        covered += covers(found, truth)
    # Four standard errors of 300 trials about 95 %.
    assert covered / trials == pytest.approx(0.95, abs=0.05)
