"""Holm's correction for several tests made together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats


def holm(p: Floats) -> Floats:
    """Adjusted p-values: the chance of even one false alarm in the family stays below the level.

    The i-th smallest of m is multiplied by m − i + 1, made to rise, and cut at 1. NaN marks a test
    that was not made: it stays NaN and is not counted in m.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.06, 0.06]

    Source: Holm (1979), A simple sequentially rejective multiple test procedure, §3.

    Raises:
        StatisticsError: A p-value is not between 0 and 1, or the array has more than one axis.
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise StatisticsError(f"Holm's correction takes one row of p-values, not {values.ndim}")
    made = np.flatnonzero(~np.isnan(values))
    if np.any((values[made] < 0) | (values[made] > 1)):
        raise StatisticsError("p-values lie between 0 and 1")
    order = made[np.argsort(values[made], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full(len(values), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted


def with_holm(family: list[Estimate]) -> list[Estimate]:
    """The same estimates with `p_holm` set, over those of them that have a p-value."""
    raw = np.array([np.nan if e.p is None else e.p for e in family], dtype=np.float64)
    return [
        estimate if np.isnan(value) else replace(estimate, p_holm=float(value))
        for estimate, value in zip(family, holm(raw), strict=True)
    ]
