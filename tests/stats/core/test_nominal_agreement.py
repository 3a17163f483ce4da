"""Krippendorff's α of labels: the published example, evalica's, and planted agreement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.core.nominal_agreement import MISSING, nominal_alpha
from peerexam.stats.core.tables import Ints

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers,
# twelve units, some missing; the nominal alpha is 0.743.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def table(raters: list[list[int | None]]) -> Ints:
    return np.array(
        [[MISSING if x is None else x for x in row] for row in raters], dtype=np.int64
    ).T


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_published_example_has_its_published_value() -> None:
    found = nominal_alpha(table(PUBLISHED), rng=rng())
    assert found.value is not None
    assert found.value == pytest.approx(0.743, abs=5e-4)
    assert (found.n, found.left_out) == (11, 1)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


# Its own bootstrap, which is not looked at, may draw nothing but one label.
@pytest.mark.filterwarnings("ignore:All-NaN slice encountered:RuntimeWarning")
@given(
    st.integers(2, 4).flatmap(
        lambda raters: st.lists(
            st.lists(st.one_of(st.none(), st.integers(-1, 3)), min_size=raters, max_size=raters),
            min_size=2,
            max_size=12,
        )
    )
)
def test_it_is_evalica_s(units: list[list[int | None]]) -> None:
    evalica = pytest.importorskip("evalica")
    pandas = pytest.importorskip("pandas")
    labels = table([list(column) for column in zip(*units, strict=True)])
    found = nominal_alpha(labels, rounds=1, rng=rng())
    if found.value is None:
        return
    frame = pandas.DataFrame(np.where(labels == MISSING, np.nan, labels).T)
    assert found.value == pytest.approx(evalica.alpha(frame, distance="nominal").alpha)


def test_planted_agreement_lies_in_the_interval_at_the_nominal_rate() -> None:
    # Two raters say the same with probability 0.6 and draw from five labels otherwise: both keep
    # the same margins, so alpha is 0.6.
    draw = np.random.default_rng(3)
    rounds, covered = 200, 0
    for _ in range(rounds):
        one = draw.integers(0, 5, size=150)
        other = np.where(draw.random(150) < 0.6, one, draw.integers(0, 5, size=150))
        found = nominal_alpha(np.stack([one, other], axis=1), rounds=300, rng=draw)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.6 <= found.high
    assert covered / rounds > 0.885  # Binomial(200, .95), four standard deviations


def test_where_it_means_nothing_it_says_why() -> None:
    alone = nominal_alpha(table([[1, 2, 3], [None, None, None]]), rng=rng())
    assert (alone.value, alone.reason, alone.left_out) == (None, "no unit was labelled twice", 3)
    same = nominal_alpha(table([[1, 1], [1, 1]]), rng=rng())
    assert (same.value, same.reason) == (None, "there is one label only")
    one = nominal_alpha(table([[1], [2]]), rng=rng())
    assert (one.value, one.low) == (0.0, None)
    with pytest.raises(StatisticsError, match="units and raters"):
        nominal_alpha(np.zeros(3, dtype=np.int64), rng=rng())
