"""Swap consistency, first-place and length preference, invalid rate."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Mark, Verdict, Winner
from peerexam.stats.core.tables import Comparisons, comparisons_from, marks_from
from peerexam.stats.judges.bias import (
    first_preference,
    invalid_rate,
    longer_preference,
    swap_consistency,
)

AGENTS = ("a", "b", "c")
SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "prd_vicuna80"


def both_orders(
    question: str, a: str, b: str, ab: Winner | None, ba: Winner | None
) -> list[Verdict]:
    return [Verdict(question, "j", a, b, ab), Verdict(question, "j", b, a, ba)]


def table(*verdicts: list[Verdict]) -> Comparisons:
    return comparisons_from([v for part in verdicts for v in part], AGENTS, ("j",))


FOUR_PAIRS = table(
    both_orders("q1", "a", "b", "first", "second"),  # a twice: consistent
    both_orders("q1", "a", "c", "first", "first"),  # the first place twice
    both_orders("q2", "a", "b", "tie", "tie"),  # consistent
    both_orders("q3", "a", "b", "tie", "first"),  # a tie once: not
    both_orders("q3", "b", "c", "first", None),  # not readable in both orders
)


def test_swap_consistency_is_the_share_of_pairs_with_one_outcome() -> None:
    (found,) = swap_consistency(FOUR_PAIRS)
    assert found.value == 2 / 4  # counted above by hand
    assert (found.n, found.left_out) == (4, 1)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < 0.5 < found.high <= 1


def test_first_preference_counts_ties_half_for_each_side() -> None:
    (found,) = first_preference(FOUR_PAIRS)
    # first 1+1+1+1+1 = 5 wins, second 1, ties 3, of 9 verdicts: (5 − 1) ÷ 9
    assert found.value == pytest.approx(4 / 9)
    assert (found.n, found.left_out) == (9, 1)


def test_longer_preference_leaves_out_equal_and_unknown_lengths() -> None:
    lengths = np.array([[10.0, 5, 20], [7, 7, 1], [np.nan, 3, 4]])
    (found,) = longer_preference(FOUR_PAIRS, lengths)
    # q1 ab: the longer a wins twice. q1 ac: c is longer, loses once and wins once. q2: equal.
    # q3 ab: unknown. q3 bc: c is longer and loses. So 3 wins and 2 losses of 5.
    assert found.value == pytest.approx(1 / 5)
    assert (found.n, found.left_out) == (5, 5)


def test_lengths_of_another_shape_are_refused() -> None:
    with pytest.raises(StatisticsError, match="questions × agents"):
        longer_preference(FOUR_PAIRS, np.zeros((3, 2)))


def test_invalid_rate_counts_verdicts_and_marks_together() -> None:
    marks = marks_from(
        [
            Mark("q1", "a", "j", overall=4),
            Mark("q9", "a", "j", state="unparsed"),
            Mark("q9", "b", "j", state="refused"),
        ],
        AGENTS,
        ("j",),
    )
    (found,) = invalid_rate(FOUR_PAIRS, marks)
    assert found.value == pytest.approx(3 / 13)  # 1 of 10 verdicts and 2 of 3 marks
    assert (found.n, found.left_out) == (13, 0)
    assert invalid_rate(FOUR_PAIRS)[0].value == pytest.approx(1 / 10)


def test_marks_by_other_judges_are_refused() -> None:
    with pytest.raises(StatisticsError, match="same judges"):
        invalid_rate(FOUR_PAIRS, marks_from([], AGENTS, ("k",)))


def test_a_judge_that_was_asked_nothing_has_no_values_but_reasons() -> None:
    nobody = comparisons_from([], AGENTS, ("j",))
    for found in (
        swap_consistency(nobody)[0],
        first_preference(nobody)[0],
        longer_preference(nobody, np.zeros((0, 3)))[0],
        invalid_rate(nobody)[0],
    ):
        assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
        assert found.reason


def test_one_question_gives_a_value_without_an_interval() -> None:
    (found,) = swap_consistency(table(both_orders("q1", "a", "b", "first", "second")))
    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_perfect_consistency_on_few_questions_is_not_sold_as_certain() -> None:
    perfect = [both_orders(f"q{k}", "a", "b", "first", "second") for k in range(10)]
    (found,) = swap_consistency(table(*perfect))
    # Wilson for 10 of 10 with t = 2.262 (9 degrees): 10 ÷ (10 + t²) = 0.6615
    assert found.value == 1
    assert found.low == pytest.approx(0.6615, abs=1e-3)
    assert found.high == 1


def test_follow_ups_widen_the_interval_as_part_of_their_root_question() -> None:
    verdicts = [
        verdict
        for root in range(12)
        for part in range(4)
        for verdict in both_orders(
            f"q{root}.{part}", "a", "b", "first", "second" if root % 2 else "first"
        )
    ]
    roots = {f"q{root}.{part}": f"q{root}" for root in range(12) for part in range(4)}
    apart = swap_consistency(comparisons_from(verdicts, AGENTS, ("j",)))[0]
    joined = swap_consistency(comparisons_from(verdicts, AGENTS, ("j",), roots))[0]
    assert apart.value == joined.value == 0.5
    width = [e.high - e.low for e in (apart, joined) if e.high is not None and e.low is not None]
    # 12 independent units in place of 48: about √4 times as wide
    assert 1.6 < width[1] / width[0] < 2.2


def random_table(rng: np.random.Generator, questions: int, chance: float) -> Comparisons:
    verdicts = []
    for k in range(questions):
        # whole questions lean to the first place more or less, so verdicts hang together
        lean = np.clip(chance + rng.normal(0, 0.15), 0, 1)
        for a, b in (("a", "b"), ("a", "c"), ("b", "c")):
            winners: list[Winner] = ["first" if rng.random() < lean else "second" for _ in "12"]
            verdicts += both_orders(f"q{k}", a, b, winners[0], winners[1])
    return comparisons_from(verdicts, AGENTS, ("j",))


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(300):
        (found,) = first_preference(random_table(rng, 25, 0.6))
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 0.2 <= found.high  # 2 × 0.6 − 1, the lean being symmetric
    # 5 % of 300 is 15; 1 in 1000 binomial samples lies above 28 or below 5
    assert 5 <= missed <= 28


@given(st.data())
def test_showing_every_pair_the_other_way_round_turns_the_first_preference(
    data: st.DataObject,
) -> None:
    outcomes: tuple[Winner | None, ...] = ("first", "second", "tie", None)
    kinds = st.sampled_from(outcomes)
    verdicts = [
        v
        for k in range(data.draw(st.integers(1, 5)))
        for v in both_orders(f"q{k}", "a", "b", data.draw(kinds), data.draw(kinds))
    ]
    turn: dict[Winner | None, Winner | None] = {
        "first": "second",
        "second": "first",
        "tie": "tie",
        None: None,
    }
    turned = [Verdict(v.question_id, "j", v.second, v.first, turn[v.winner]) for v in verdicts]
    c, d = table(verdicts), table(turned)
    assert swap_consistency(c)[0].value == swap_consistency(d)[0].value
    assert invalid_rate(c)[0].value == invalid_rate(d)[0].value
    ours, theirs = first_preference(c)[0].value, first_preference(d)[0].value
    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert ours == pytest.approx(-theirs)


@settings(max_examples=25)
@given(st.permutations(AGENTS), st.integers(0, 1000))
def test_names_and_the_order_of_rows_do_not_matter(names: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = random_table(rng, 4, 0.5)
    rename = dict(zip(AGENTS, names, strict=True))
    verdicts = [
        Verdict(
            c.questions[c.question[k]],
            "j",
            rename[AGENTS[c.first[k]]],
            rename[AGENTS[c.second[k]]],
            "first" if c.points[k] else "second",
        )
        for k in rng.permutation(len(c.points))
    ]
    d = comparisons_from(verdicts, AGENTS, ("j",))
    for measure in (swap_consistency, first_preference):
        ours, theirs = measure(c)[0], measure(d)[0]
        assert ours.value == pytest.approx(theirs.value)
        assert ours.low == pytest.approx(theirs.low)


@pytest.mark.shared
def test_real_reviewers_show_the_order_effects_that_were_recomputed_from_their_verdicts() -> None:
    path = SHARED / "ratings_compact.csv"
    if not path.exists():
        pytest.skip("the neighbouring folder of public data is absent")
    winners: dict[str, Winner] = {"1": "first", "2": "second", "3": "tie"}
    with path.open(encoding="utf-8", newline="") as lines:
        verdicts = [
            Verdict(
                row["question_id"],
                row["reviewer"],
                row["answer1"],
                row["answer2"],
                winners[row["score"]],
            )
            for row in csv.DictReader(lines)
            if row["reviewer"] != "human" and not row["file"].startswith("answer-")
        ]
    judges = ("gpt35", "gpt4", "claude", "vicuna-13b", "bard")
    c = comparisons_from(verdicts, judges, judges)
    consistent = [round(e.value or 0, 4) for e in swap_consistency(c)]
    # The data's README, §8: consistent after swapping, share of verdicts won by the first.
    assert consistent == [0.6913, 0.6887, 0.5487, 0.3738, 0.3688]
    ties = [float(np.mean(c.points[c.judge == k] == 0.5)) for k in range(5)]
    preference = [e.value or 0 for e in first_preference(c)]
    # won by first = (1 − ties + preference) ÷ 2, since the two shares and the ties make 1
    first_won = [(1 - t + p) / 2 for t, p in zip(ties, preference, strict=True)]
    assert first_won == pytest.approx([0.396, 0.530, 0.333, 0.394, 0.783], abs=6e-4)
