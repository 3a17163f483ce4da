"""Ranking answers by comparisons (examiner paper, §3.2), as concurrent as the method allows.

Merge sort asks at most n⌈lg n⌉ − 2^⌈lg n⌉ + 1 comparisons. Its halves run at the same time, and so
do the two orders of a comparison. It trusts that preferences are transitive; where a judge's
verdicts form a cycle it still ends, in the order that the comparisons it asked for imply, and
`stats.transitivity` counts how often that contradicts a direct verdict.

A merge asks one comparison after another, so one sort of n answers takes 2n − 2 − lg n of them in
a row. `rank_merge` asks up to twice as many comparisons in all, and only about ½ lg² n in a row:
for few questions, which cannot fill the line by being many.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from itertools import accumulate, combinations
from typing import Any

from peerexam.protocols.session.concurrency import in_turn, together

Compare = Callable[[str, str], Coroutine[Any, Any, float | None]]
"""Points of the first over the second: above ½ it is better, ½ a tie, None no result."""

Groups = list[list[str]]
"""Best first; names that are tied stand together."""


def most_comparisons(n: int) -> int:
    """The most that merge sort asks for n answers.

    >>> [most_comparisons(n) for n in (1, 2, 3, 4, 8)]
    [0, 1, 3, 5, 17]
    """
    depth = (n - 1).bit_length() if n > 1 else 0
    return n * depth - 2**depth + 1 if n > 1 else 0


async def merge_sort(names: Sequence[str], compare: Compare) -> Groups:
    """Sort by comparisons, the two halves at the same time.

    A tie joins the two groups that met; a comparison without a result counts as one here, since
    the sort has to go on (the caller knows which names never got a result).
    """
    if len(names) < 2:
        return [[name] for name in names]
    half = (len(names) + 1) // 2
    left, right = await together(
        (merge_sort(names[:half], compare), merge_sort(names[half:], compare))
    )
    return await _merge(left, right, compare)


async def _merge(left: Groups, right: Groups, compare: Compare) -> Groups:
    merged: Groups = []
    i = j = 0
    while i < len(left) and j < len(right):
        points = await compare(left[i][0], right[j][0])
        if points is None or points == 0.5:
            merged.append(left[i] + right[j])
            i, j = i + 1, j + 1
        elif points > 0.5:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


async def rank_merge(names: Sequence[str], compare: Compare) -> Groups:
    """Sort by comparisons, where every merge asks for all places at once.

    The groups of the half that has fewer find their places in the other half by binary search, all
    at the same time. A tie, or a comparison without a result, joins the group that was met. Places
    that contradict the order within their half, which only verdicts in a cycle lead to, are put
    right in favour of that order: nobody comes before one who was ahead of it.
    """
    if len(names) < 2:
        return [[name] for name in names]
    half = (len(names) + 1) // 2
    left, right = await together(
        (rank_merge(names[:half], compare), rank_merge(names[half:], compare))
    )
    few, many = (left, right) if len(left) < len(right) else (right, left)
    places = await together(_place(group[0], many, compare) for group in few)
    return _placed(few, accumulate(places, max), many)


def _placed(few: Groups, places: Iterable[int], many: Groups) -> Groups:
    """`many`, with each of `few` at its place (as `_place` counts them)."""
    joined = [list(group) for group in many]
    before: list[Groups] = [[] for _ in range(len(many) + 1)]
    for place, group in zip(places, few, strict=True):
        if place % 2:
            joined[place // 2] += group
        else:
            before[place // 2].append(group)
    merged = [part for at, group in enumerate(joined) for part in (*before[at], group)]
    return merged + before[-1]


async def _place(name: str, groups: Groups, compare: Compare) -> int:
    """Where a name belongs in an order: 2i is before group i, 2i + 1 is with group i."""
    low, high = 0, len(groups)
    while low < high:
        middle = (low + high) // 2
        points = await compare(name, groups[middle][0])
        if points is None or points == 0.5:
            return 2 * middle + 1
        low, high = (low, middle) if points > 0.5 else (middle + 1, high)
    return 2 * low


async def insert(name: str, groups: Groups, compare: Compare) -> Groups:
    """Place one more name in an order that stands, in at most ⌈lg (groups + 1)⌉ comparisons.

    A tie, or a comparison without a result, joins the group that was met.
    """
    return _placed([[name]], [await _place(name, groups, compare)], groups)


async def round_robin(names: Sequence[str], compare: Compare) -> Groups:
    """Compare every pair, all at once; order by points, equal points tied.

    A comparison without a result gives neither side points; shares are of the results a name
    has, so that a missing one is no loss.
    """
    pairs = list(combinations(names, 2))
    results = await together(compare(a, b) for a, b in pairs)
    points = dict.fromkeys(names, 0.0)
    compared = dict.fromkeys(names, 0)
    for (a, b), result in zip(pairs, results, strict=True):
        if result is None:
            continue
        points[a] += result
        points[b] += 1 - result
        compared[a] += 1
        compared[b] += 1
    share = {name: points[name] / compared[name] if compared[name] else 0.5 for name in names}
    groups: dict[float, list[str]] = {}
    for name in names:
        groups.setdefault(share[name], []).append(name)
    return [groups[value] for value in sorted(groups, reverse=True)]


async def first_pair(names: Sequence[str], method: str) -> tuple[str, str]:
    """The first two of at least two names that a method compares, whatever comes of it."""
    pairs: list[tuple[str, str]] = []

    async def note(one: str, other: str) -> float | None:
        pairs.append((one, other))
        return None

    with in_turn():
        await METHODS[method](names, note)
    return pairs[0]


METHODS: Mapping[str, Callable[[Sequence[str], Compare], Coroutine[Any, Any, Groups]]] = {
    "merge_sort": merge_sort,
    "rank_merge": rank_merge,
    "round_robin": round_robin,
}
"""By the name that a config gives them."""
