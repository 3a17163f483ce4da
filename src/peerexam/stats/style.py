"""How far judges prefer a text's style to another's, where the content is the same (Figure 7).

Every judge compares an answer with its rewritten self in both orders. The preference is the
rewritten text's mean points, ties half: ½ is a judge that minds the content alone. Both orders
count alike, so a taste for the first place moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, share_interval, sum_by_cluster
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.mean_share import mean_share
from peerexam.stats.core.tables import Floats, Ints

_NONE = "no pair with a verdict in both orders"


@dataclass(frozen=True, slots=True)
class StylePreference:
    """Preferences for the rewritten text, 0 to 1, with intervals over questions.

    Attributes:
        by_judge: In the order of the judges; `n` counts the pairs with a verdict in both orders,
            `left_out` the others.
        pooled: Mean over the judges, each of one weight: the paper's rightmost bar. Its interval
            is for these judges, and not for judges at large. `n` counts the questions, `left_out`
            the judges without a verdict.
    """

    by_judge: tuple[Estimate, ...]
    pooled: Estimate


def style_preference(
    points: Floats, cluster: Ints, *, panel: Sequence[int] | None = None, confidence: float = 0.95
) -> StylePreference:
    """Preference of every judge, and of the panel.

    Args:
        points: Shape pairs × judges: of the rewritten text, the mean over both orders, NaN where
            an order has no verdict.
        cluster: Per pair, the number of its question, from 0 on.
        panel: Which judges are pooled; all by default.
        confidence: Of the intervals.

    Raises:
        StatisticsError: The shapes differ, points lie outside 0 to 1, or `confidence` is none.
    """
    check_settings(1, confidence)
    if points.ndim != 2 or len(cluster) != len(points):
        raise StatisticsError("points must have the shape pairs × judges, with a cluster a pair")
    judged = ~np.isnan(points)
    if bool(((points[judged] < 0) | (points[judged] > 1)).any()):
        raise StatisticsError("points lie between 0 and 1")
    won = sum_by_cluster(np.where(judged, points, 0.0), cluster)
    of = sum_by_cluster(judged.astype(np.float64), cluster)
    by_judge = tuple(
        _preference(won[:, at], of[:, at], len(points), confidence) for at in range(points.shape[1])
    )
    chosen = list(range(points.shape[1])) if panel is None else list(panel)
    pooled = mean_share(won[:, chosen], of[:, chosen], confidence=confidence, reason=_NONE)
    return StylePreference(by_judge, pooled)


def _preference(won: Floats, of: Floats, pairs: int, confidence: float) -> Estimate:
    count = int(of.sum())
    method = "mean points of the rewritten text, cluster-robust Wilson interval"
    if count == 0:
        return Estimate(None, left_out=pairs, method=method, reason=_NONE)
    low, high = share_interval(won, of, confidence) or (None, None)
    value = float(won.sum()) / count
    return Estimate(value, low, high, n=count, left_out=pairs - count, method=method)
