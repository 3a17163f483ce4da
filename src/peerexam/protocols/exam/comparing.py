"""One comparison: both orders asked at once, and the rule for orders that disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peerexam.examiners.base import Judge
from peerexam.protocols.session.concurrency import together
from peerexam.records import Answer, Question, Verdict

Disagreement = Literal["tie", "average", "abstain"]
"""What two orders with different winners come to: half each, the mean of the two, or nothing.

With one verdict an order, `tie` and `average` differ only where one order is a tie and the other
is not: `tie` makes that ½, `average` ¾ or ¼ (examiner paper, appendix C.3, takes the average).
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A judge's two verdicts on two answers.

    Attributes:
        forward: `a` shown first.
        backward: `b` shown first.
        points: Of `a`: 1, ½, 0 (¾, ¼ under `average`); None where there is no result.
    """

    a: str
    b: str
    forward: Verdict
    backward: Verdict
    points: float | None


def combine(forward: float | None, backward: float | None, rule: Disagreement) -> float | None:
    """Points of `a` from the two orders.

    Args:
        forward: Points of the first-shown answer where `a` was first.
        backward: Points of the first-shown answer where `b` was first.
        rule: For orders that disagree.

    Returns:
        None where an order has no verdict, or they disagree and the rule is `abstain`.

    >>> combine(1.0, 0.0, "tie")  # a won in both orders
    1.0
    >>> combine(1.0, 1.0, "tie")  # the first place won twice
    0.5
    """
    if forward is None or backward is None:
        return None
    back = 1.0 - backward
    if forward == back:
        return forward
    return {"tie": 0.5, "average": (forward + back) / 2, "abstain": None}[rule]


async def compare(
    judge: Judge, question: Question, a: Answer, b: Answer, rule: Disagreement
) -> Comparison:
    """Ask both orders at once, so that the first place decides nothing.

    Both verdicts are kept whatever the rule makes of them.
    """
    forward, backward = await together(
        (judge.verdict(question, a, b), judge.verdict(question, b, a))
    )
    points = combine(forward.points_of_first, backward.points_of_first, rule)
    return Comparison(a.examinee, b.examinee, forward, backward, points)
