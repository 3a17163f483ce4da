"""Telling classes apart by a regularised logistic regression, tested on what it has not seen."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerexam.errors import MissingExtraError
from peerexam.stats.core.tables import Floats, Ints

PARTS = 50
"""Principal parts of the embeddings that the regression sees: a fit then takes milliseconds."""

STRENGTH = 10.0
"""Inverse of the penalty, for vectors of mean squared length 1. Fixed, and never tuned on data."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is given to the regression, whatever the classes are.

    Attributes:
        x: Shape n × parts.
        fold: Per row; a fold is predicted from all others.
        groups: Where given, every vector is taken relative to the mean of its group over the
            training rows.
    """

    x: Floats
    fold: Ints
    groups: Ints | None = None


def principal_parts(vectors: Floats) -> Floats:
    """The first principal parts, scaled to a mean squared length of 1.

    They are found without looking at the classes, so a held-out row gives nothing away.

    Returns:
        Shape n × at most `PARTS`.
    """
    centred = np.asarray(vectors, dtype=np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    parts = min(PARTS, int((size > 1e-9 * max(size[0], 1e-300)).sum()) or 1)
    x = left[:, :parts] * size[:parts]
    spread = float(np.sqrt((x**2).sum(axis=1).mean()))
    return np.asarray(x / spread if spread > 1e-12 else x, dtype=np.float64)


def out_of_fold(trial: Trial, classes: Ints) -> Ints:
    """The class that each row is taken for by a regression trained on the other folds.

    Every class weighs alike in training, however many rows it has.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    logistic = _logistic_regression()
    predicted = np.empty(len(classes), dtype=np.int64)
    for fold in np.unique(trial.fold):
        test = trial.fold == fold
        x = trial.x if trial.groups is None else _relative(trial.x, trial.groups, ~test)
        known = np.unique(classes[~test])
        if len(known) == 1:
            predicted[test] = known[0]
            continue
        model = logistic(C=STRENGTH, class_weight="balanced", max_iter=500, tol=1e-3)
        predicted[test] = model.fit(x[~test], classes[~test]).predict(x[test])
    return predicted


def _relative(x: Floats, groups: Ints, training: np.ndarray) -> Floats:
    """Rows less their group's mean over training; a group without any keeps the mean of all."""
    centre = np.tile(x[training].mean(axis=0), (int(groups.max()) + 1, 1))
    for group in np.unique(groups[training]):
        centre[group] = x[training & (groups == group)].mean(axis=0)
    return np.asarray(x - centre[groups], dtype=np.float64)


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra keeps to one thread in the block.

    On matrices so small a second thread only waits, and on a busy machine for very long.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    _logistic_regression()
    with importlib.import_module("threadpoolctl").threadpool_limits(1):
        yield


def _logistic_regression() -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtraError(
            "telling authors apart needs the package scikit-learn: pip install 'peerexam[embed]'"
        ) from error
    return LogisticRegression
