"""Mean of several shares that rest on the same clusters of questions, every share with one weight.

A panel's preference is the mean over its judges, balanced accuracy the mean over the classes: each
column's share counts alike, however many trials it has. The columns hang together by the clusters,
which the interval respects.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import (
    check_settings,
    share_interval,
    student_quantile,
    wilson_score,
)
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats

_METHOD = "mean of shares, each of one weight; cluster-robust Wilson interval"


def mean_share(
    successes: Floats, trials: Floats, *, confidence: float = 0.95, reason: str = "nothing to count"
) -> Estimate:
    """Mean over columns of Σ successes ÷ Σ trials.

    The interval is Wilson's for as many independent trials as the linearised variance over
    clusters is worth: with p_j the share and N_j the trials of column j, cluster c moves the mean
    by Σ_j (successes_cj − p_j trials_cj) ÷ (J N_j). A column where all or none succeeded shows no
    variance, and is given that of Wilson's centre, as if such columns erred together.

    Args:
        successes: Shape clusters × columns.
        trials: The same shape; a column without any trial is left out of the mean.
        confidence: Of the interval.
        reason: What to say where no column has a trial.

    Returns:
        `n` counts the clusters with a trial, `left_out` the columns without any; no interval with
        fewer than two clusters.

    Raises:
        StatisticsError: The shapes differ, or `confidence` is no probability.
    """
    check_settings(1, confidence)
    if successes.shape != trials.shape or trials.ndim != 2:
        raise StatisticsError("successes and trials must both have the shape clusters × columns")
    used = trials.sum(axis=0) > 0
    left_out = int((~used).sum())
    if not bool(used.any()):
        return Estimate(None, left_out=left_out, method=_METHOD, reason=reason)
    won, of = successes[:, used], trials[:, used]
    shares = won.sum(axis=0) / of.sum(axis=0)
    value = float(shares.mean())
    low, high = _interval(won, of, shares, confidence) or (None, None)
    clusters = int(np.count_nonzero(of.sum(axis=1)))
    return Estimate(value, low, high, n=clusters, left_out=left_out, method=_METHOD)


def _interval(
    won: Floats, of: Floats, shares: Floats, confidence: float
) -> tuple[float, float] | None:
    used = of.sum(axis=1) > 0
    clusters = int(used.sum())
    if clusters < 2:
        return None
    moved = (won - shares * of) @ (1.0 / (of.sum(axis=0) * len(shares)))
    variance = clusters / (clusters - 1) * float(moved @ moved)
    sure = (shares < 1e-12) | (shares > 1 - 1e-12)
    parts: Floats = of @ (1.0 / (of.sum(axis=0) * len(shares)))
    if bool(sure.all()) and len(np.unique(shares.round())) == 1:
        return share_interval(parts * shares[0].round(), parts, confidence)
    variance += (float(_hidden_error((of[:, sure] > 0).sum(axis=0)).sum()) / len(shares)) ** 2
    value = float(shares.mean())
    if variance < 1e-18:
        return share_interval(parts * value, parts, confidence)
    z = student_quantile(0.5 + confidence / 2, clusters - 1)
    return wilson_score(value, value * (1 - value) / variance, z)


def _hidden_error(clusters: Floats) -> Floats:
    """Standard error of a share of 0 or 1 over so many clusters, taken at Wilson's centre."""
    z = NormalDist().inv_cdf(0.975)
    centre = z * z / 2 / (clusters + z * z)
    return np.asarray(np.sqrt(centre * (1 - centre) / clusters), dtype=np.float64)
