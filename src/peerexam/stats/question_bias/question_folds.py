"""Which questions are held out together, and which count once, so that no fold knows another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from peerexam.stats.core.tables import Floats, Ints

SAME = 0.95
"""Cosine from which two questions of one author count as one asked twice."""

_ROWS = 1024
"""Rows of the similarity matrix held at a time."""


def first_of_each(vectors: Floats, kinds: Ints) -> Ints:
    """Rows left when of near-duplicates of one kind only the first is kept.

    A question asked twice would stand in training and test, and be told by its text alone.

    Args:
        vectors: Shape n × d, rows of length 1.
        kinds: Per row; rows of different kinds never count as one.

    Returns:
        Row numbers, ascending.
    """
    kept = np.ones(len(vectors), dtype=bool)
    for first, near in _near_rows(vectors):
        for row, others in enumerate(near, first):
            if kept[row]:
                later = others & (kinds == kinds[row])
                later[: row + 1] = False
                kept &= ~later
    return np.flatnonzero(kept)


def _near_rows(vectors: Floats) -> Iterator[tuple[int, np.ndarray]]:
    for first in range(0, len(vectors), _ROWS):
        yield first, vectors[first : first + _ROWS] @ vectors.T >= SAME


def folds_by_group(groups: Ints, folds: int, rng: Generator) -> Ints:
    """Whole groups into folds of about one size.

    Args:
        groups: Per row, its group.
        folds: How many at most; there are no more than groups.
        rng: Which groups go together.

    Returns:
        Per row, its fold, counted from 0.
    """
    names, sizes = np.unique(groups, return_counts=True)
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    load = np.zeros(min(folds, len(names)))
    fold_of = np.zeros(len(names), dtype=np.int64)
    for group in order:
        fold_of[group] = int(load.argmin())
        load[fold_of[group]] += sizes[group]
    return np.asarray(fold_of[np.searchsorted(names, groups)], dtype=np.int64)


def folds_by_class(classes: Ints, strata: Ints, folds: int, rng: Generator) -> Ints:
    """Rows into folds so that every fold has its part of every class, and of every stratum of it.

    Returns:
        Per row, its fold, counted from 0.
    """
    order = rng.permutation(len(classes))
    order = order[np.lexsort((strata[order], classes[order]))]
    fold = np.empty(len(classes), dtype=np.int64)
    fold[order] = np.arange(len(order)) % folds
    return fold
