"""Bootstrap and permutation of values of which many are equal, by how many there are of each.

Ranks within a segment take few values, so that a resample is a multinomial draw over these, and
the outcome has the very distribution that drawing segments one by one would give it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peerexam.stats.cluster_ratio import draws
from peerexam.stats.tables import Floats, Ints

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


def flipped_p(values: Floats, rounds: int, rng: np.random.Generator) -> float:
    """Two-sided p-value that values without NaN have mean zero, by random signs.

    The same test as `cluster_ratio.sign_flip_p`: of n values of one size, as many keep their sign
    as heads come up in n tosses.
    """
    sizes, number = np.unique(np.abs(values).round(_DIGITS), return_counts=True)
    observed = abs(float(values.sum()))
    kept = rng.binomial(number, 0.5, size=(rounds, len(sizes)))
    flipped = np.abs((2.0 * kept - number) @ sizes)
    return float((1 + (flipped >= observed - 1e-6).sum()) / (1 + rounds))


def rows_that_differ(rows: Floats) -> tuple[Ints, Ints]:
    """Of rows with many columns: where the first of each kind stands, and each row's kind."""
    _, first, kind = np.unique(rows.round(_DIGITS), axis=0, return_index=True, return_inverse=True)
    return np.asarray(first, dtype=np.int64), np.asarray(kind.reshape(-1), dtype=np.int64)


def dealt(number: Ints, hands: Ints, rounds: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Deal cards of several kinds to hands at random, hand by hand.

    Args:
        number: Cards of each kind.
        hands: Size of each hand; together all cards.
        rounds: How many deals.
        rng: Where the deals come from.

    Yields:
        For each hand, how many of each kind it holds (shape: rounds × kinds).
    """
    left = np.tile(number, (rounds, 1))
    for size in hands:
        hand = np.zeros_like(left)
        wanted = np.full(rounds, size)
        rest = left.sum(axis=1)
        for kind in range(len(number)):
            rest = rest - left[:, kind]
            hand[:, kind] = rng.hypergeometric(left[:, kind], rest, wanted)
            wanted = wanted - hand[:, kind]
        left = left - hand
        yield hand
