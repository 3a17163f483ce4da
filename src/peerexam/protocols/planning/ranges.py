"""Least, expected and most of something counted, and what a ranking comes to in comparisons."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from peerexam.protocols.exam.ranking import most_comparisons


@dataclass(frozen=True, slots=True)
class Range:
    """Three figures for one quantity.

    Attributes:
        least: Nothing is asked twice, and every choice falls out cheap.
        expected: The mean under the assumptions that the plan states.
        most: It is never more.
    """

    least: float = 0.0
    expected: float = 0.0
    most: float = 0.0

    def __add__(self, other: Range) -> Range:
        """Figure by figure."""
        return Range(
            self.least + other.least, self.expected + other.expected, self.most + other.most
        )

    def __mul__(self, other: Range | float) -> Range:
        """Figure by figure, or all three by one factor."""
        by = other if isinstance(other, Range) else Range(other, other, other)
        return Range(self.least * by.least, self.expected * by.expected, self.most * by.most)


def exactly(value: float) -> Range:
    """A quantity that is known beforehand."""
    return Range(value, value, value)


def total(ranges: list[Range]) -> Range:
    """Their sum."""
    return functools.reduce(lambda a, b: a + b, ranges, Range())


@functools.cache
def mean_comparisons(n: int) -> float:
    """Mean comparisons of merge sort over all orders of n answers without ties.

    Merging runs of a and b stops when one of them is used up. An answer of the first run is then
    left over where all b of the second precede it, which has probability 1/(b + 1); so the merge
    asks a + b − a/(b + 1) − b/(a + 1) on average.

    >>> [mean_comparisons(n) for n in (1, 2, 4)]  # 4: two merges of 1, and 4 − 2/3 − 2/3
    [0.0, 1.0, 4.666666666666667]
    """
    if n < 2:
        return 0.0
    a, b = (n + 1) // 2, n // 2
    merge = a + b - a / (b + 1) - b / (a + 1)
    return mean_comparisons(a) + mean_comparisons(b) + merge


def _gap_depths(n: int) -> tuple[int, float]:
    """Most and mean comparisons of a binary search among n, over all n + 1 gaps.

    Of the gaps, 2(n + 1) − 2^d lie at depth d = ⌈lg (n + 1)⌉ and the others one above.
    """
    depth = n.bit_length()
    deepest = 2 * (n + 1) - 2**depth
    return depth, depth - 1 + deepest / (n + 1)


@functools.cache
def _rank_merge_comparisons(n: int) -> tuple[int, float]:
    """Most and mean comparisons of `rank_merge` over all orders of n answers without ties.

    Over all orders, an answer of the one half is equally likely in each gap of the other.
    """
    if n < 2:
        return 0, 0.0
    many, few = (n + 1) // 2, n // 2
    sorts = [_rank_merge_comparisons(half) for half in (many, few)]
    depth, mean = _gap_depths(many)
    return sum(most for most, _ in sorts) + few * depth, sum(mid for _, mid in sorts) + few * mean


@functools.cache
def longest_path(n: int, ranking: str) -> int:
    """The most comparisons that one ranking of n answers asks one after another.

    >>> [longest_path(8, name) for name in ("merge_sort", "rank_merge", "round_robin")]
    [11, 6, 1]
    """
    if n < 2 or ranking == "none":
        return 0
    if ranking == "round_robin":
        return 1
    many = (n + 1) // 2
    return longest_path(many, ranking) + (
        _gap_depths(many)[0] if ranking == "rank_merge" else n - 1
    )


def comparisons(n: int, ranking: str) -> Range:
    """Comparisons that one judge makes in order to rank n answers.

    The least of the sorts is n − 1: every answer has to meet another, and answers that tie go on
    as one.

    >>> comparisons(8, "merge_sort").most, comparisons(8, "round_robin").most
    (17, 28.0)
    """
    if n < 2 or ranking == "none":
        return Range()
    if ranking == "round_robin":
        return exactly(n * (n - 1) / 2)
    if ranking == "rank_merge":
        most, mean = _rank_merge_comparisons(n)
        return Range(n - 1, mean, most)
    return Range(n - 1, mean_comparisons(n), most_comparisons(n))
