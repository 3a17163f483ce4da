"""Questions on a map, and which of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.records import Question
from peerexam.tasks.question_bias import flat_map, sample_questions

pytest.importorskip("sklearn")


def questions(n: int) -> list[Question]:
    return [Question(f"q{i}", f"What is {i}?", "numbers") for i in range(n)]


def test_two_heaps_of_points_stay_two_heaps() -> None:
    rng = np.random.default_rng(0)
    heaps = np.repeat([[5.0] * 8, [-5.0] * 8], 20, axis=0) + rng.normal(size=(40, 8))
    points = flat_map(heaps.astype(np.float32), seed=1)
    assert points is not None
    assert points.shape == (40, 2)
    one, other = points[:20], points[20:]
    apart = np.linalg.norm(one.mean(0) - other.mean(0))
    assert apart > 2 * max(one.std(), other.std())
    again = flat_map(heaps.astype(np.float32), seed=1)
    assert again is not None
    assert points.tobytes() == again.tobytes()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_too_few_points_make_no_map(n: int) -> None:
    assert flat_map(np.eye(8, dtype=np.float32)[:n], seed=0) is None


def test_points_that_are_all_one_make_no_map() -> None:
    assert flat_map(np.ones((9, 3), dtype=np.float32), seed=0) is None


def test_follow_ups_are_left_out() -> None:
    later = Question("f", "And then?", "numbers", round=2, parent_id="q0")
    assert sample_questions([*questions(2), later]) == questions(2)


@given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 9))
def test_a_larger_draw_holds_the_smaller_and_order_decides_nothing(
    n: int, most: int, seed: int
) -> None:
    held = questions(n)
    drawn = sample_questions(held, most, seed)
    assert len(drawn) == min(n, most)
    assert {one.id for one in drawn} <= {one.id for one in sample_questions(held, most + 1, seed)}
    assert {one.id for one in drawn} == {one.id for one in sample_questions(held[::-1], most, seed)}
