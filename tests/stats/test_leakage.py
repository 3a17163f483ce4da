from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.leakage import similarity_tail

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_figures_by_hand() -> None:
    tail = similarity_tail([0.0, 0.2, 0.5, 0.9, 0.9], range(5), seed=0)
    assert tail.mean.value == pytest.approx(0.5)
    assert tail.median.value == 0.5
    assert {one: share.value for one, share in tail.shares.items()} == {
        0.5: 0.6,
        0.7: 0.4,
        0.9: 0.4,
    }
    assert tail.percentiles[90] == pytest.approx(0.9)
    # Wilson for 3 of 5 at 95 %: 0.2307, 0.8824 (Brown, Cai and DasGupta 2001, formula 4).
    share = tail.shares[0.5]
    assert share.low == pytest.approx(0.2307, abs=1e-4)
    assert share.high == pytest.approx(0.8824, abs=1e-4)
    assert share.n == tail.mean.n == 5


@given(SHARES, st.integers(0, 2**32))
def test_intervals_hold_their_values_in_order(values: list[float], seed: int) -> None:
    tail = similarity_tail(values, range(len(values)), seed=seed, rounds=50)
    for one in (tail.mean, tail.median):
        assert one.low is not None
        assert one.high is not None
        assert -1e-9 <= one.low <= one.high <= 1 + 1e-9
    assert tail.mean.value == pytest.approx(float(np.mean(values)))
    assert sorted(tail.percentiles.values()) == list(tail.percentiles.values())
    assert tail == similarity_tail(values, range(len(values)), seed=seed, rounds=50)


def test_the_interval_has_the_width_of_the_mean_s_standard_error() -> None:
    values = np.random.default_rng(1).random(400).tolist()
    tail = similarity_tail(values, range(400), seed=2, rounds=2000)
    # Uniform on 0 to 1: standard error 1/√12/√400 = 0.01443, so 95 % are ± 0.0283.
    assert tail.mean.low is not None
    assert tail.mean.high is not None
    assert tail.mean.high - tail.mean.low == pytest.approx(0.0566, rel=0.1)
    # The median's: 1/(2√400) = 0.025, ± 0.049.
    assert tail.median.low is not None
    assert tail.median.high is not None
    assert tail.median.high - tail.median.low == pytest.approx(0.098, rel=0.35)


def test_questions_that_hang_together_widen_the_interval() -> None:
    values = np.repeat(np.random.default_rng(1).random(20), 10).tolist()
    widths = []
    for clusters in (range(200), np.repeat(range(20), 10).tolist()):
        mean = similarity_tail(values, clusters, seed=0).mean
        assert mean.low is not None
        assert mean.high is not None
        widths.append(mean.high - mean.low)
    # Ten equal values a cluster: the variance is ten times as large.
    assert widths[1] / widths[0] == pytest.approx(10**0.5, rel=0.2)


def test_no_value_is_refused() -> None:
    with pytest.raises(StatisticsError, match="no similarity"):
        similarity_tail([], [], seed=0)
