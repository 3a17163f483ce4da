"""How far a judge of pairs agrees with people: pairwise accuracy, and what place does to it.

A row is one pair of answers to one question. `human` is people's majority, `forward` the judge's
points of the first answer where it was shown first, `backward` the points of the same answer where
it was shown second; each is 1, ½ or 0, and NaN where there is none.

The rules, all of them in one place:

- Pairs on which people tie are left out of accuracy, and counted: nobody can be right about them.
- The judge's two orders make one result: agreement counts, disagreement is a tie.
- `accuracy` gives a tie half a point and leaves out pairs without a verdict in both orders.
- `strict` gives ties and pairs without a verdict nothing.
- `three_classes` and `macro_f1` take a tie for a class of its own, on either side: pairs on which
  people tie count, and a tie is right there and nowhere else. Pairs that the judge did not settle
  are left out, and counted.
- A judge of which every verdict is of one order is taken at its word: that verdict is its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import expanded_quantiles, share_interval, sum_by_cluster
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.resampling import bootstrap
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.self_bias.benchmark_table import mean_known

NO_PAIRS = "no pair that people decided and the judge judged"
NO_VERDICT = "no pair that people and the judge judged"


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """Pairs of answers with people's and a judge's view of them; see the module's docstring.

    Attributes:
        cluster: The question of each pair (shape: pairs).
        human: People's majority.
        forward: The judge's, first answer first.
        backward: The judge's, first answer second; the same as `forward` for what sees no order.
    """

    cluster: Ints
    human: Floats
    forward: Floats
    backward: Floats

    def __post_init__(self) -> None:
        if not self.cluster.shape == self.human.shape == self.forward.shape == self.backward.shape:
            raise StatisticsError("the columns of judged pairs differ in length")

    @property
    def settled(self) -> Floats:
        """The judge's result from both orders: 1, ½, 0, and NaN where an order is missing."""
        mean = (self.forward + self.backward) / 2
        return np.where(self.forward == self.backward, mean, np.where(np.isnan(mean), mean, 0.5))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Agreement with people's majority on pairs.

    Attributes:
        accuracy: A tie is half right; see the module's docstring. `left_out` counts the pairs
            that people decided and the judge did not judge in both orders.
        strict: A tie, or no verdict, is wrong.
        three_classes: Share of results that are people's majority, ties as a class.
        macro_f1: Mean F1 of the classes first, second and tie, those that occur (PandaLM's F1;
            as `sklearn.metrics.f1_score(average="macro")`).
        human_ties: Pairs on which people tie, left out of both.
        judge_ties: Pairs that people decided and the judge tied.
    """

    accuracy: Estimate
    strict: Estimate
    three_classes: Estimate
    macro_f1: Estimate
    human_ties: int
    judge_ties: int


@dataclass(frozen=True, slots=True)
class OrderAccuracy:
    """Accuracy order by order, as LLMBar reports it: a missing verdict is wrong.

    Attributes:
        first_order: Share right with the first answer first.
        swapped: Share right with the answers swapped.
        mean: Mean of the two.
        agreement: Share of pairs judged alike in both orders; missing in both counts as alike.
        exact: Share of verdicts, both orders, that are people's majority in three classes (first,
            second, tie). Pairs on which people tie count here: PRD's agreement.
    """

    first_order: Estimate
    swapped: Estimate
    mean: Estimate
    agreement: Estimate
    exact: Estimate


def majority(points: Sequence[float]) -> float | None:
    """What most people say of a pair: 1, ½ or 0; ½ where they are even, None without any.

    >>> majority([1.0, 0.5, 0.0]), majority([1.0, 1.0, 0.0]), majority([])
    (0.5, 1.0, None)
    """
    if not points:
        return None
    balance = sum(points) - 0.5 * len(points)
    return 0.5 if abs(balance) < 1e-9 else float(balance > 0)


def pairwise_accuracy(
    pairs: JudgedPairs, *, confidence: float = 0.95, rounds: int = 1000, seed: int = 0
) -> Accuracy:
    """Accuracy against people's majority, by question-clustered Wilson intervals.

    Args:
        pairs: See the module's docstring for the rules.
        confidence: Of the intervals.
        rounds: Of the bootstrap over questions that F1 takes.
        seed: Of its draws.
    """
    decided = ~np.isnan(pairs.human) & (pairs.human != 0.5)
    human, judge, cluster = pairs.human[decided], pairs.settled[decided], pairs.cluster[decided]
    judged = ~np.isnan(judge)
    right = 1.0 - np.abs(human[judged] - judge[judged])
    missing = int((~judged).sum())
    return Accuracy(
        accuracy=share(right, cluster[judged], confidence, missing),
        strict=share((human == judge).astype(np.float64), cluster, confidence),
        **_three_classes(pairs, confidence, rounds, np.random.default_rng(seed)),
        human_ties=int((pairs.human == 0.5).sum()),
        judge_ties=int((judge == 0.5).sum()),
    )


def _three_classes(
    pairs: JudgedPairs, confidence: float, rounds: int, rng: np.random.Generator
) -> dict[Literal["three_classes", "macro_f1"], Estimate]:
    settled, known = pairs.settled, ~np.isnan(pairs.human)
    used = known & ~np.isnan(settled)
    human, judge, cluster = pairs.human[used], settled[used], pairs.cluster[used]
    missing = int((known & ~used).sum())
    same = share((human == judge).astype(np.float64), cluster, confidence, missing, NO_VERDICT)
    method = "macro F1 over first, second and tie; bootstrap over questions"
    if not len(human):
        nothing = Estimate(None, left_out=missing, method=method, reason=NO_VERDICT)
        return {"three_classes": same, "macro_f1": nothing}
    kinds = np.unique(np.concatenate([human, judge]))
    people, its = (part[:, None] == kinds for part in (human, judge))
    place = np.asarray(np.unique(cluster, return_inverse=True)[1], dtype=np.int64)
    rows = np.concatenate([people & its, people, its], axis=1).astype(np.float64)
    sums = sum_by_cluster(rows, place)
    low, high = None, None
    if len(sums) >= 2:
        drawn = bootstrap([sums], lambda parts: _macro_f1(parts[0]), rounds=rounds, rng=rng)
        low, high = expanded_quantiles(drawn, len(sums), confidence)
        low, high = max(low, 0.0), min(high, 1.0)
    value = float(_macro_f1(sums.sum(axis=0)[None])[0])
    found = Estimate(value, low, high, n=len(human), left_out=missing, method=method)
    return {"three_classes": same, "macro_f1": found}


def _macro_f1(sums: Floats) -> Floats:
    """Mean over classes of 2 · both ÷ (people's + the judge's), of those that occur in a draw."""
    both, people, its = np.split(sums, 3, axis=1)
    return mean_known(np.where(people + its > 0, 2 * both / np.maximum(people + its, 1), np.nan))


def order_accuracy(pairs: JudgedPairs, *, confidence: float = 0.95) -> OrderAccuracy:
    """Accuracy and agreement order by order, over the pairs that people decided."""
    judged = ~np.isnan(pairs.human)
    same = [(part == pairs.human)[judged] for part in (pairs.forward, pairs.backward)]
    decided = ~np.isnan(pairs.human) & (pairs.human != 0.5)
    human, cluster = pairs.human[decided], pairs.cluster[decided]
    one, two = pairs.forward[decided], pairs.backward[decided]
    right_one, right_two = (np.nan_to_num(1.0 - np.abs(human - part)) for part in (one, two))
    alike = (one == two) | (np.isnan(one) & np.isnan(two))
    return OrderAccuracy(
        share(right_one, cluster, confidence),
        share(right_two, cluster, confidence),
        share((right_one + right_two) / 2, cluster, confidence),
        share(alike.astype(np.float64), cluster, confidence),
        share(
            np.concatenate(same).astype(np.float64), np.tile(pairs.cluster[judged], 2), confidence
        ),
    )


def share(
    points: Floats, cluster: Ints, confidence: float, left_out: int = 0, reason: str = NO_PAIRS
) -> Estimate:
    """The mean of points between 0 and 1, its interval clustered by question.

    Args:
        points: Shape rows, without NaN.
        cluster: The question of each row.
        confidence: Of the interval.
        left_out: Rows that could not be counted.
        reason: Why there is no value, where there is no row.

    Returns:
        `n` counts rows.
    """
    if not len(points):
        return Estimate(None, left_out=left_out, reason=reason)
    groups, place = np.unique(cluster, return_inverse=True)
    total = np.bincount(place, weights=points, minlength=len(groups)).astype(np.float64)
    count = np.bincount(place, minlength=len(groups)).astype(np.float64)
    ends = share_interval(total, count, confidence) or (None, None)
    if ends[0] is not None and ends[0] == ends[1]:
        ends = _by_questions(float(points.mean()), len(groups), confidence)
    method = "share; Wilson's interval with the cluster-robust variance of questions"
    return Estimate(
        float(points.mean()), ends[0], ends[1], n=len(points), left_out=left_out, method=method
    )


def _by_questions(value: float, questions: int, confidence: float) -> tuple[float, float]:
    """Where all questions have the same share, as all ties, a question counts as one trial."""
    low, high = (
        wilson(side(value * questions), questions, confidence) or (0.0, 1.0)
        for side in (floor, ceil)
    )
    return low[0], high[1]
