"""Krippendorff's α of labels with no order among them, such as the place of a first mistake.

BIG-Bench Mistake, §2.2 and Table 2, gives it for three annotators a trace. Here it also says how
far several agents agree on where the mistake is.
"""

from __future__ import annotations

import krippendorff
import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.resampling import bootstrap
from peerexam.stats.core.tables import Floats, Ints

MISSING = -(2**31)
"""As a label: this rater gave none."""

_NAME = "Krippendorff's alpha, nominal; bootstrap over units"


def nominal_alpha(
    labels: Ints,
    *,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's α, nominal metric, with any number of raters and missing labels.

    The value is that of the package `krippendorff`; the bootstrap, which needs it for a thousand
    draws at once, goes by the same formula over sums by unit:
    α = 1 − (N − 1) Σᵤ Σ_c n_uc (n_u − n_uc) / (n_u − 1) / Σ_c n_c (N − n_c), n_uc being how often
    unit u got label c, n_u, n_c and N its sums, over units with two labels or more (Krippendorff
    2011, "Computing Krippendorff's Alpha-Reliability", section C).

    Args:
        labels: Shape units × raters; whole numbers, `MISSING` where there is none.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the interval.

    Returns:
        `n` counts units with two labels or more, `left_out` the others. Undefined where all labels
        are the same: agreement beyond chance then means nothing.

    Raises:
        StatisticsError: The labels are no table of units and raters.
    """
    if labels.ndim != 2:
        raise StatisticsError("Krippendorff's alpha needs a table of units and raters")
    check_settings(rounds, confidence)
    given = labels != MISSING
    kept = given.sum(axis=1) >= 2
    left_out = int((~kept).sum())
    if not kept.any():
        reason = "no unit was labelled twice"
        return Estimate(None, left_out=left_out, method=_NAME, reason=reason)
    counts = _counts(labels[kept])
    n = len(counts)
    if counts.shape[1] < 2:
        reason = "there is one label only"
        return Estimate(None, n=n, left_out=left_out, method=_NAME, reason=reason)
    value = float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))
    rows = _sums(counts)
    if n == 1:
        return Estimate(value, n=n, left_out=left_out, method=_NAME)
    drawn = bootstrap([rows], lambda parts: _alpha(parts[0]), rounds=rounds, rng=rng)
    low, high = expanded_quantiles(drawn, n, confidence)
    return Estimate(value, low, high, n=n, left_out=left_out, method=_NAME)


def _counts(labels: Ints) -> Floats:
    """How often each unit got each label (units × labels)."""
    names, code = np.unique(labels, return_inverse=True)
    code = code.reshape(labels.shape)
    counts = np.zeros((len(labels), len(names)))
    np.add.at(counts, (np.arange(len(labels))[:, None], code), 1.0)
    return counts[:, names != MISSING]


def _sums(counts: Floats) -> Floats:
    """Of each unit: its disagreeing pairs, and its labels; both add up over units."""
    size = counts.sum(axis=1)
    disagreeing = (counts * (size[:, None] - counts)).sum(axis=1) / (size - 1)
    return np.column_stack([disagreeing, counts])


def _alpha(sums: Floats) -> Floats:
    observed, by_label = sums[:, 0], sums[:, 1:]
    total = by_label.sum(axis=1)
    expected = total**2 - (by_label**2).sum(axis=1)
    out = np.full(len(sums), np.nan)
    np.divide((total - 1) * observed, expected, out=out, where=expected > 0)
    return 1 - out
