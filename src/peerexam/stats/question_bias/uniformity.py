"""How evenly a set of questions is spread: the number beside the left of the paper's Figure 6.

The examiner paper (§4.4) reads from a t-SNE map that its questions lie more uniformly than those
of other data sets. Measured where the questions are, and not on the map: on the unit sphere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from peerexam.stats.core.cluster_ratio import check_settings
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.resampling import cluster_weights, percentile_interval
from peerexam.stats.core.tables import Floats

_STEP = 64
"""Replicates at a time."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the questions of one set lie from each other.

    Attributes:
        distance: Mean cosine distance of two different questions: 0 for one question in other
            words, about 1 for questions that have nothing to do with each other.
        uniformity: log of the mean of exp(−2 ‖x − y‖²) over pairs; the lower, the more even, with
            −4 the limit for very many dimensions (Wang and Isola 2020, equation 2, t = 2).
    """

    distance: Estimate
    uniformity: Estimate


def spread(
    vectors: Floats, *, rng: Generator, rounds: int = 1000, confidence: float = 0.95
) -> Spread:
    """Mean distance and uniformity, with bootstrap intervals over questions.

    Sets of different size can be compared: both are means over pairs of different questions. A
    question drawn twice is no pair with itself, which would make every replicate too dense.

    Args:
        vectors: Shape n × d, rows of length 1.
        rng: Where the draws come from.
        rounds: How many replicates.
        confidence: Of the intervals.

    Raises:
        StatisticsError: A setting makes no sense.
    """
    check_settings(rounds, confidence)
    n = len(vectors)
    if n < 2:
        none = Estimate(None, n=n, reason="fewer than two questions")
        return Spread(none, none)
    cosine = np.clip(np.asarray(vectors, dtype=np.float64) @ vectors.T, -1.0, 1.0)
    near: Floats = np.exp(-4.0 * (1.0 - cosine))  # ‖x − y‖² is 2 − 2 cos
    np.fill_diagonal(cosine, 0.0)
    np.fill_diagonal(near, 0.0)
    replicates = [
        _means(cluster_weights(n, min(_STEP, rounds - first), rng), cosine, near)
        for first in range(0, rounds, _STEP)
    ]
    whole = _means(np.ones((1, n)), cosine, near)[0]
    low, high = percentile_interval(np.concatenate(replicates), confidence)
    method = "mean over pairs, bootstrap over questions"
    distance, uniformity = (
        Estimate(float(whole[i]), float(low[i]), float(high[i]), n=n, method=method)
        for i in range(2)
    )
    return Spread(distance, uniformity)


def _means(weights: Floats, cosine: Floats, near: Floats) -> Floats:
    """Distance and uniformity per row of weights; shape rows × 2."""
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    means = [
        np.divide(
            ((weights @ one) * weights).sum(axis=1),
            pairs,
            out=np.full(len(weights), np.nan),
            where=pairs > 0,
        )
        for one in (cosine, near)
    ]
    return np.stack([1.0 - means[0], np.log(means[1])], axis=1)
