from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.protocols.exam.comparing import Disagreement, combine, compare
from peerexam.records import Answer, Mark, Question, Verdict, Winner

POINTS = st.sampled_from([0.0, 0.5, 1.0])
RULES = st.sampled_from(["tie", "average", "abstain"])


@given(POINTS, POINTS, RULES)
def test_swapping_the_names_swaps_the_points(
    forward: float, backward: float, rule: Disagreement
) -> None:
    ours, theirs = combine(forward, backward, rule), combine(backward, forward, rule)
    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert ours == 1 - theirs


@pytest.mark.parametrize(
    ("forward", "backward", "tie", "average", "abstain"),
    [
        (1.0, 0.0, 1.0, 1.0, 1.0),  # a wins both orders
        (0.5, 0.5, 0.5, 0.5, 0.5),  # a tie twice
        (1.0, 1.0, 0.5, 0.5, None),  # the first place wins twice
        (1.0, 0.5, 0.5, 0.75, None),  # a win and a tie: mean of 1 and ½
        (None, 0.0, None, None, None),  # an order without a verdict
    ],
)
def test_orders_that_disagree_follow_the_rule(
    forward: float | None,
    backward: float | None,
    tie: float | None,
    average: float | None,
    abstain: float | None,
) -> None:
    assert combine(forward, backward, "tie") == tie
    assert combine(forward, backward, "average") == average
    assert combine(forward, backward, "abstain") == abstain


class FirstPlaceLover:
    name = "j"

    async def mark(self, question: Question, answer: Answer) -> Mark:
        raise AssertionError("not asked")

    async def verdict(self, question: Question, first: Answer, second: Answer) -> Verdict:
        winner: Winner = "first"
        return Verdict(question.id, self.name, first.examinee, second.examinee, winner)


async def test_a_judge_that_loves_the_first_place_decides_nothing() -> None:
    question = Question("q", "?", "d")
    comparison = await compare(
        FirstPlaceLover(), question, Answer("q", "a", "x"), Answer("q", "b", "y"), "tie"
    )
    assert comparison.points == 0.5
    assert (comparison.forward.first, comparison.backward.first) == ("a", "b")
