from __future__ import annotations

import asyncio
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.protocols.ranking import Groups, merge_sort, most_comparisons, round_robin


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


@given(st.integers(2, 24), st.randoms(use_true_random=False), st.booleans())
def test_any_judge_even_a_cyclic_one_ends_in_a_ranking(
    n: int, rng: random.Random, robin: bool
) -> None:
    asked = 0

    async def compare(a: str, b: str) -> float | None:
        nonlocal asked
        asked += 1
        return rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, None])

    method = round_robin if robin else merge_sort
    groups = asyncio.run(method(names(n), compare))
    assert sorted(name for group in groups for name in group) == names(n)
    assert asked <= (n * (n - 1) // 2 if robin else most_comparisons(n))


def test_rock_paper_scissors_is_a_three_way_tie_in_a_round_robin() -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}

    async def compare(a: str, b: str) -> float:
        return float((a, b) in beats)

    groups = asyncio.run(round_robin(["rock", "paper", "scissors"], compare))
    assert groups == [["rock", "paper", "scissors"]]


def test_the_two_halves_are_sorted_at_the_same_time() -> None:
    # With one comparison a tick, 8 answers need as many ticks as the critical path has
    # comparisons: at most 1 + 3 + 7 = 11 (both halves at once), where one after another
    # needs up to 17.
    ticks = 0

    async def run() -> Groups:
        nonlocal ticks
        waiting: list[asyncio.Future[None]] = []

        async def compare(a: str, b: str) -> float:
            gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append(gate)
            await gate
            return float(a < b)

        task = asyncio.ensure_future(merge_sort(["c", "a", "g", "e", "b", "h", "d", "f"], compare))
        while not task.done():
            for _ in range(20):
                await asyncio.sleep(0)
            ticks += bool(waiting)
            for gate in waiting:
                gate.set_result(None)
            waiting.clear()
        return await task

    assert asyncio.run(run()) == [[name] for name in "abcdefgh"]
    assert ticks <= 11


@pytest.mark.parametrize(("n", "most"), [(1, 0), (2, 1), (4, 5), (8, 17), (16, 49), (64, 321)])
def test_the_bound_is_the_closed_form(n: int, most: int) -> None:
    # n⌈lg n⌉ − 2^⌈lg n⌉ + 1 by hand, e.g. 8·3 − 8 + 1 = 17.
    assert most_comparisons(n) == most
    assert most <= len(list(combinations(range(n), 2))) + 1
