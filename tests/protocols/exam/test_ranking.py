from __future__ import annotations

import asyncio
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.protocols.exam.ranking import (
    METHODS,
    Groups,
    insert,
    merge_sort,
    most_comparisons,
    rank_merge,
    round_robin,
)
from peerexam.protocols.planning.ranges import comparisons, longest_path


def names(n: int) -> list[str]:
    return [f"a{i:02d}" for i in range(n)]


@given(st.integers(1, 64), st.randoms(use_true_random=False))
def test_merge_sort_finds_the_order_within_its_bound(n: int, rng: random.Random) -> None:
    truth = names(n)
    asked: list[frozenset[str]] = []

    async def compare(a: str, b: str) -> float:
        asked.append(frozenset((a, b)))
        return 1.0 if truth.index(a) < truth.index(b) else 0.0

    shuffled = rng.sample(truth, n)
    assert asyncio.run(merge_sort(shuffled, compare)) == [[name] for name in truth]
    # Textbook worst case of top-down merge sort: n⌈lg n⌉ − 2^⌈lg n⌉ + 1.
    assert len(asked) <= most_comparisons(n)
    assert len(asked) == len(set(asked)), "no pair is asked twice"


@given(st.integers(2, 32), st.randoms(use_true_random=False))
def test_equal_answers_stay_tied(n: int, rng: random.Random) -> None:
    level = {name: rng.randrange(3) for name in names(n)}

    async def compare(a: str, b: str) -> float:
        return 0.5 if level[a] == level[b] else float(level[a] > level[b])

    groups = asyncio.run(merge_sort(rng.sample(names(n), n), compare))
    assert [{level[name] for name in group} for group in groups] == [
        {value} for value in sorted(set(level.values()), reverse=True)
    ]
    assert sorted(name for group in groups for name in group) == names(n)


@given(st.integers(2, 24), st.randoms(use_true_random=False), st.sampled_from(sorted(METHODS)))
def test_any_judge_even_a_cyclic_one_ends_in_a_ranking(
    n: int, rng: random.Random, method: str
) -> None:
    asked = 0

    async def compare(a: str, b: str) -> float | None:
        nonlocal asked
        asked += 1
        return rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, None])

    groups = asyncio.run(METHODS[method](names(n), compare))
    assert sorted(name for group in groups for name in group) == names(n)
    assert asked <= comparisons(n, method).most


def test_rock_paper_scissors_is_a_three_way_tie_in_a_round_robin() -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}

    async def compare(a: str, b: str) -> float:
        return float((a, b) in beats)

    groups = asyncio.run(round_robin(["rock", "paper", "scissors"], compare))
    assert groups == [["rock", "paper", "scissors"]]


@given(st.integers(1, 20), st.randoms(use_true_random=False), st.integers(1, 20))
def test_rank_merge_agrees_with_the_true_order_ties_among_it(
    n: int, rng: random.Random, values: int
) -> None:
    level = {name: rng.randrange(values) for name in names(n)}
    asked: list[frozenset[str]] = []

    async def compare(a: str, b: str) -> float:
        asked.append(frozenset((a, b)))
        return 0.5 if level[a] == level[b] else float(level[a] > level[b])

    groups = asyncio.run(rank_merge(rng.sample(names(n), n), compare))
    assert [{level[name] for name in group} for group in groups] == [
        {value} for value in sorted(set(level.values()), reverse=True)
    ]
    assert sorted(name for group in groups for name in group) == names(n)
    assert comparisons(n, "rank_merge").least <= len(asked) <= comparisons(n, "rank_merge").most
    assert len(asked) == len(set(asked)), "no pair is asked twice"


def test_rank_merge_keeps_each_half_in_order_where_verdicts_form_a_cycle() -> None:
    # The halves are sorted as a > b and c > d. Then c goes behind b, and d before a: d may not
    # come before c, so it stands right behind it.
    beats = {("a", "b"), ("c", "d"), ("a", "c"), ("b", "c"), ("d", "a"), ("d", "b")}

    async def compare(first: str, second: str) -> float:
        return float((first, second) in beats)

    groups = asyncio.run(rank_merge(["a", "b", "c", "d"], compare))
    assert groups == [["a"], ["b"], ["c"], ["d"]]


def test_a_comparison_without_a_result_counts_as_a_tie_in_every_sort() -> None:
    async def compare(a: str, b: str) -> float | None:
        return None if "b" in (a, b) else float(a < b)

    assert asyncio.run(rank_merge(["c", "a", "b"], compare)) == [["a"], ["c", "b"]]
    assert asyncio.run(insert("b", [["a"], ["c"]], compare)) == [["a"], ["c", "b"]]


@given(st.integers(2, 16), st.randoms(use_true_random=False), st.sampled_from(sorted(METHODS)))
def test_a_ranking_does_not_depend_on_which_comparison_ends_first(
    n: int, rng: random.Random, method: str
) -> None:
    verdicts = {
        (a, b): rng.choice([0.0, 0.5, 1.0, None]) for a in names(n) for b in names(n) if a != b
    }

    async def ranked(order: random.Random | None) -> Groups:
        async def compare(a: str, b: str) -> float | None:
            for _ in range(0 if order is None else order.randrange(9)):
                await asyncio.sleep(0)
            return verdicts[a, b]

        return await METHODS[method](names(n), compare)

    assert asyncio.run(ranked(None)) == asyncio.run(ranked(rng))


# Comparisons in a row by hand. Merge sort of 8, both halves at once: 1 + 3 + 7 = 11, where one
# after another needs up to 17. Rank merge: ⌈lg 2⌉ + ⌈lg 3⌉ + ⌈lg 5⌉ = 6. A round robin: 1.
@pytest.mark.parametrize(
    ("method", "row"), [("merge_sort", 11), ("rank_merge", 6), ("round_robin", 1)]
)
def test_what_can_be_asked_at_the_same_time_is(method: str, row: int) -> None:
    ticks = 0

    async def run() -> Groups:
        nonlocal ticks
        waiting: list[asyncio.Future[None]] = []

        async def compare(a: str, b: str) -> float:
            gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append(gate)
            await gate
            return float(a < b)

        answers = ["c", "a", "g", "e", "b", "h", "d", "f"]
        task = asyncio.ensure_future(METHODS[method](answers, compare))
        while not task.done():
            for _ in range(20):
                await asyncio.sleep(0)
            ticks += bool(waiting)
            for gate in waiting:
                gate.set_result(None)
            waiting.clear()
        return await task

    assert asyncio.run(run()) == [[name] for name in "abcdefgh"]
    assert ticks <= row == longest_path(8, method)


@pytest.mark.parametrize(("n", "most"), [(1, 0), (2, 1), (4, 5), (8, 17), (16, 49), (64, 321)])
def test_the_bound_is_the_closed_form(n: int, most: int) -> None:
    # n⌈lg n⌉ − 2^⌈lg n⌉ + 1 by hand, e.g. 8·3 − 8 + 1 = 17.
    assert most_comparisons(n) == most
    assert most <= len(list(combinations(range(n), 2))) + 1
