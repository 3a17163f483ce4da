"""Bootstrap of values of which many are equal, by how many there are of each.

Ranks within a segment take few values, so that a resample is a multinomial draw over these, and
the outcome has the very distribution that drawing segments one by one would give it.
"""

from __future__ import annotations

import numpy as np

from peerexam.stats.core.cluster_ratio import draws
from peerexam.stats.core.tables import Floats

_DIGITS = 9
_FEW = 4
"""Values are counted where there are this many rows for each that differs, at least."""


def resampled_means(values: Floats, rounds: int, rng: np.random.Generator) -> Floats:
    """Means of bootstrap samples (shape: rounds).

    Args:
        values: One a segment; NaN is a segment that is drawn and adds nothing.
        rounds: How many samples.
        rng: Where the draws come from.
    """
    kinds, number = np.unique(values.round(_DIGITS), return_counts=True)
    known = (~np.isnan(kinds)).astype(np.float64)
    columns = np.stack([np.nan_to_num(kinds), known], axis=1)
    if len(kinds) * _FEW <= len(values) or len(kinds) == 1:
        sums = rng.multinomial(len(values), number / len(values), size=rounds) @ columns
    else:
        there = (~np.isnan(values)).astype(np.float64)
        columns = np.stack([np.nan_to_num(values), there], axis=1)
        sums = np.concatenate([weights @ columns for weights in draws(rounds, len(values), rng)])
    means = np.full(rounds, np.nan)
    np.divide(sums[:, 0], sums[:, 1], out=means, where=sums[:, 1] > 0)
    return means
