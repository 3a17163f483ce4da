"""Mean of several shares that rest on the same clusters of questions, every share with one weight.

A panel's preference is the mean over its judges, balanced accuracy the mean over the classes: each
column's share counts alike, however many trials it has. The columns hang together by the clusters,
which the interval respects.
"""

from __future__ import annotations

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.cluster_ratio import check_settings, share_interval
from peerexam.stats.estimate import Estimate
from peerexam.stats.tables import Floats

_METHOD = "mean of shares, each of one weight; cluster-robust Wilson interval"


def mean_share(
    successes: Floats, trials: Floats, *, confidence: float = 0.95, reason: str = "nothing to count"
) -> Estimate:
    """Mean over columns of Σ successes ÷ Σ trials.

    The interval is Wilson's for as many independent trials as the linearised variance over
    clusters is worth: with p_j the share and N_j the trials of column j, cluster c moves the mean
    by Σ_j (successes_cj − p_j trials_cj) ÷ (J N_j).

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
    weights = 1.0 / (of.sum(axis=0) * of.shape[1])
    value = float(shares.mean())
    moved = (won - shares * of) @ weights
    parts: Floats = of @ weights
    # A share whose residuals are the mean's own: its cluster-robust variance is the one wanted.
    interval = share_interval(value * parts + moved, parts, confidence)
    low, high = interval or (None, None)
    clusters = int(np.count_nonzero(parts))
    return Estimate(value, low, high, n=clusters, left_out=left_out, method=_METHOD)
