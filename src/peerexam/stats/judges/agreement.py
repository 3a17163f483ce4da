"""How far judges agree: Kendall's τ-b of their marks and of their ballots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats, Ints, Marks, Positions
from peerexam.stats.judges.fullmarks import own_marks
from peerexam.stats.pairs.orders import Pairs

CONSTANT = "constant scores"
"""Why τ is undefined where a judge gives everything the same."""

_ALL = slice(None)

TOO_FEW = "fewer than 2 shared items"


def kendall_tau(one: Floats, other: Floats) -> Estimate:
    """Kendall's τ-b of two scores of the same items: 1 same order, −1 reverse, ties corrected.

    τ_b = (C − D) / √((P − T₁)(P − T₂)), with C and D the concordant and discordant pairs of items,
    P all pairs and T the pairs tied in one score. Undefined, with a reason and never 0 or NaN,
    where a score is constant or fewer than two items have both.

    Args:
        one: Shape items, NaN where there is no score.
        other: The same items.

    Returns:
        `n` counts the items with both scores, `left_out` the others.

    Raises:
        StatisticsError: The two do not list the same items.
    """
    if one.shape != other.shape or one.ndim != 1:
        raise StatisticsError("Kendall's tau needs two lists of scores of the same items")
    both = ~np.isnan(one) & ~np.isnan(other)
    x, y = _codes(one[both]), _codes(other[both])
    n = len(x)
    left_out = len(one) - n
    if n < 2:
        return _undefined(TOO_FEW, n, left_out)
    pairs = n * (n - 1) // 2
    tied_x, tied_y = _tied(x), _tied(y)
    if pairs in (tied_x, tied_y):
        return _undefined(CONSTANT, n, left_out)
    tied_both = _tied(x * (int(y.max()) + 1) + y)
    discordant = _inversions(y[np.lexsort((y, x))])
    untied = pairs - tied_x - tied_y + tied_both
    value = (untied - 2 * discordant) / np.sqrt(float(pairs - tied_x) * float(pairs - tied_y))
    return Estimate(float(value), n=n, left_out=left_out, method="Kendall tau-b")


@dataclass(frozen=True, slots=True)
class Orders:
    """One judge's ballots, taken apart into pairs of agents within a question.

    Attributes:
        key: Per pair, a number for the question and the two agents, ascending.
        sign: Per pair, 1 where the first stands above the second, 0 where level, else −1.
        pairs: How many keys a question has room for.
    """

    key: Ints
    sign: Ints
    pairs: int

    def questions(self, rows: Ints | slice = _ALL) -> Ints:
        """The questions of some pairs, each once."""
        return np.unique(self.key[rows] // self.pairs)


def orders_of_pairs(pairs: Pairs, judge: int) -> Orders:
    """One judge's results of direct verdicts, as `ballot_tau` takes them."""
    rows = np.flatnonzero(pairs.judge == judge)
    lean = np.sign(np.round(pairs.points[rows] - 0.5, 9))
    return _orders(pairs.question[rows], pairs.a[rows], pairs.b[rows], lean, len(pairs.agents))


def orders_of_rankings(positions: Positions, judge: int) -> Orders:
    """One judge's rankings, as `ballot_tau` takes them."""
    rows = np.flatnonzero(positions.judge == judge)
    one, other = np.triu_indices(len(positions.agents), k=1)
    gap = positions.rank[rows][:, other] - positions.rank[rows][:, one]
    row, pair = np.nonzero(~np.isnan(gap))
    lean = np.sign(gap[row, pair])
    question = positions.question[rows][row]
    return _orders(question, one[pair], other[pair], lean, len(positions.agents))


def _orders(question: Ints, a: Ints, b: Ints, lean: Floats, agents: int) -> Orders:
    keys, place = np.unique((question * agents + a) * agents + b, return_inverse=True)
    total = np.bincount(place, weights=lean, minlength=len(keys))
    return Orders(keys, np.sign(total).astype(np.int64), agents * agents)


def ballot_tau(one: Orders, other: Orders) -> Estimate:
    """Kendall's τ-b of two judges' ballots, over pairs of agents within the same question.

    Pairs are pooled over the questions where both judges have a result for them, since places on
    different questions do not compare. Undefined as in `kendall_tau`.

    Args:
        one: One judge's ballots.
        other: Another's, over the same agents and questions.

    Returns:
        `n` counts the questions with a pair that both have; `left_out` those where only one
        judge has any.
    """
    shared, in_one, in_other = np.intersect1d(
        one.key, other.key, assume_unique=True, return_indices=True
    )
    n = len(one.questions(in_one))
    left_out = len(np.union1d(one.questions(), other.questions())) - n
    if not len(shared):
        return _undefined(TOO_FEW, n, left_out)
    a, b = one.sign[in_one], other.sign[in_other]
    untied_a, untied_b = float(np.abs(a).sum()), float(np.abs(b).sum())
    if untied_a == 0 or untied_b == 0:
        return _undefined(CONSTANT, n, left_out)
    value = float((a * b).sum()) / np.sqrt(untied_a * untied_b)
    return Estimate(float(value), n=n, left_out=left_out, method="Kendall tau-b within questions")


def mark_agreement(
    marks: Marks, judges: Sequence[int] | None = None
) -> dict[tuple[int, int], Estimate]:
    """τ-b of overall marks for every pair of judges, over the answers that both marked.

    A judge's marks of its own answers stay out.

    Args:
        marks: Of any rounds.
        judges: Those to compare, all by default.
    """
    peer = ~own_marks(marks)
    cell = marks.question * len(marks.agents) + marks.examinee
    size = len(marks.questions) * len(marks.agents)
    columns: dict[int, Floats] = {}
    for judge in range(len(marks.judges)) if judges is None else judges:
        rows = peer & (marks.judge == judge)
        columns[judge] = np.full(size, np.nan)
        columns[judge][cell[rows]] = marks.overall[rows]
    return {(i, j): kendall_tau(columns[i], columns[j]) for i, j in combinations(columns, 2)}


def _undefined(reason: str, n: int, left_out: int) -> Estimate:
    return Estimate(None, n=n, left_out=left_out, method="Kendall tau-b", reason=reason)


def _codes(scores: Floats) -> Ints:
    return np.asarray(np.unique(scores, return_inverse=True)[1], dtype=np.int64)


def _tied(codes: Ints) -> int:
    sizes = np.unique(codes, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(codes: Ints) -> int:
    """How many pairs stand in falling order, counted by merging sorted runs of doubling width."""
    top = int(codes.max()) + 1
    length = 1 << (len(codes) - 1).bit_length()
    padded = np.full(length, top, dtype=np.int64)  # the padding stands last and is the largest
    padded[: len(codes)] = codes
    total, width = 0, 1
    while width < length:
        runs = padded.reshape(-1, 2 * width)
        # Each run's values are lifted above the run before, so one search serves all of them.
        lift = np.arange(len(runs))[:, None] * (top + 1)
        left, right = (runs[:, :width] + lift).ravel(), (runs[:, width:] + lift).ravel()
        not_above = np.searchsorted(left, right, side="right")
        before = np.repeat(np.arange(len(runs)) * width, width)
        total += int((width - (not_above - before)).sum())
        padded = np.sort(runs, axis=1).ravel()
        width *= 2
    return total
