"""How evenly points lie on the sphere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.stats.question_bias.uniformity import spread


def test_three_points_by_hand() -> None:
    # Cosines 0 (twice) and −1 (once): distances 1, 1, 2; exp(−4 (1 − cos)) is e⁻⁴ twice and e⁻⁸.
    found = spread(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), rng=np.random.default_rng(0))
    assert found.distance.value == pytest.approx(4 / 3)
    assert found.uniformity.value == pytest.approx(math.log((2 * math.exp(-4) + math.exp(-8)) / 3))
    assert found.distance.n == 3


def test_one_question_is_no_pair() -> None:
    found = spread(np.ones((1, 1)), rng=np.random.default_rng(0))
    assert found.distance.value is None
    assert found.uniformity.reason == "fewer than two questions"


def test_questions_that_are_all_the_same_have_no_distance() -> None:
    found = spread(np.tile([[0.6, 0.8]], (5, 1)), rng=np.random.default_rng(0), rounds=20)
    assert found.distance.value == pytest.approx(0.0, abs=1e-12)
    assert found.uniformity.value == pytest.approx(0.0, abs=1e-12)


@given(st.integers(3, 30), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_intervals_hold_the_values_roughly_and_repeat(n: int, d: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = spread(rows, rng=np.random.default_rng(seed), rounds=50)
    again = spread(rows, rng=np.random.default_rng(seed), rounds=50)
    assert found == again
    for one in (found.distance, found.uniformity):
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.high
    assert found.uniformity.value is not None
    assert found.uniformity.value <= 1e-9
    # Reference: the same by a loop over pairs.
    pairs = [(a, b) for a in range(n) for b in range(a)]
    plain = sum(math.exp(-2 * float(((rows[a] - rows[b]) ** 2).sum())) for a, b in pairs)
    assert found.uniformity.value == pytest.approx(math.log(plain / len(pairs)), abs=1e-9)


def test_the_interval_covers_the_true_distance_as_often_as_it_says() -> None:
    # Directions round a middle: the true mean distance is 1 − ‖mean direction‖², found from 10⁵.
    rng = np.random.default_rng(1)

    def draw(n: int) -> np.ndarray:
        rows = rng.normal(size=(n, 4)) + np.eye(4)[0]
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    true = 1 - float((draw(100_000).mean(axis=0) ** 2).sum())
    held = 0
    for _ in range(200):
        one = spread(draw(60), rng=rng, rounds=200).distance
        held += (one.low or 0) <= true <= (one.high or 2)
    assert 180 <= held <= 199  # nominal 190
