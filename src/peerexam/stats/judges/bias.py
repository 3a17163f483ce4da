"""How a judge judges: consistency, taste for the first place and for length, unreadable replies.

Every function gives one `Estimate` a judge, in the order of `c.judges`. Intervals are closed-form
(`cluster_ratio.share_interval`): Wilson's, for as many independent trials as the verdicts,
clustered by root question, are worth. Nothing is drawn at random here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, share_interval, sum_by_cluster
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Comparisons, Floats, Ints, Marks
from peerexam.stats.pairs.both_orders import fold_rows, rows_by_judge
from peerexam.stats.pairs.orders import Mask

_METHOD = "ratio over questions, cluster-robust Wilson interval"


def swap_consistency(c: Comparisons, *, confidence: float = 0.95) -> list[Estimate]:
    """Share of pairs that a judge decides the same way in both orders (1 is wholly consistent).

    A tie twice is consistent, a tie once is not. Units (`n`, `left_out`) are (question, pair)s;
    left out are those without a readable verdict in each order.
    """
    check_settings(1, confidence)
    estimates = []
    for pairs in fold_rows(c):
        cluster, lost = c.cluster[pairs.question], int((~pairs.readable).sum())
        estimates.append(
            _share(
                pairs.agree.astype(np.int64),
                pairs.readable.astype(np.int64),
                cluster,
                lost,
                confidence,
                "no pair has both orders",
            )
        )
    return estimates


def first_preference(c: Comparisons, *, confidence: float = 0.95) -> list[Estimate]:
    """Share of verdicts won by the first place minus share won by the second.

    0 is no preference, 1 always the first, −1 always the second; a tie counts half for each, so it
    stays in the denominator and pulls towards 0. Only where both orders are asked is quality
    balanced out. Units are verdicts; left out are the unreadable ones.
    """
    check_settings(1, confidence)
    return _preferences(c, c.points, ~np.isnan(c.points), confidence, "no readable verdict")


def longer_preference(
    c: Comparisons, lengths: Floats, *, confidence: float = 0.95
) -> list[Estimate]:
    """Share of verdicts won by the longer answer minus share won by the shorter.

    Signs and ties as in `first_preference`. This is not cleared of quality: where longer answers
    are better, a fair judge prefers them too. Compare judges with each other.

    Args:
        c: The verdicts.
        lengths: Of the answers, in any one unit (shape: questions × agents); NaN is unknown.
        confidence: Of the interval.

    Returns:
        Units are verdicts; left out are unreadable ones and those on answers of equal or unknown
        length.

    Raises:
        StatisticsError: `lengths` has another shape.
    """
    check_settings(1, confidence)
    if lengths.shape != (len(c.questions), len(c.agents)):
        raise StatisticsError(
            f"lengths must have the shape questions × agents, {len(c.questions)} × "
            f"{len(c.agents)}, not {lengths.shape}"
        )
    gap = lengths[c.question, c.first] - lengths[c.question, c.second]
    usable = ~np.isnan(c.points) & ~np.isnan(gap) & (gap != 0)
    points = np.where(gap > 0, c.points, 1.0 - c.points)
    return _preferences(
        c, points, usable, confidence, "no readable verdict on answers of different known length"
    )


def invalid_rate(
    c: Comparisons, marks: Marks | None = None, *, confidence: float = 0.95
) -> list[Estimate]:
    """Share of a judge's planned verdicts and marks that did not become one (0 is best).

    Units are verdicts and marks together; nothing is left out, since the failures are the point.

    Raises:
        StatisticsError: `marks` has other judges than `c`.
    """
    check_settings(1, confidence)
    judge, unit, failed = c.judge, c.cluster[c.question], np.isnan(c.points)
    if marks is not None:
        if marks.judges != c.judges:
            raise StatisticsError("marks and comparisons must list the same judges")
        joint = _joint_clusters(c, marks)
        judge = np.concatenate([judge, marks.judge])
        unit = np.concatenate([unit, joint[marks.question]])
        failed = np.concatenate([failed, np.isnan(marks.overall)])
    clusters = int(unit.max(initial=-1)) + 1
    shape = (clusters, len(c.judges))
    cell = unit * len(c.judges) + judge
    planned = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    lost = np.bincount(cell[failed], minlength=shape[0] * shape[1]).reshape(shape)
    own_cluster = np.arange(clusters)
    return [
        _share(lost[:, j], planned[:, j], own_cluster, 0, confidence, "nothing was asked of it")
        for j in range(len(c.judges))
    ]


def _joint_clusters(c: Comparisons, marks: Marks) -> Ints:
    """Per question of `marks`, its cluster in the numbering of `c`; new numbers for the rest."""
    known = dict(zip(c.questions, c.cluster.tolist(), strict=True))
    numbers: dict[int, int] = {}
    for name, cluster in zip(marks.questions, marks.cluster.tolist(), strict=True):
        if name in known:
            numbers[cluster] = known[name]
    fresh = int(c.cluster.max(initial=-1)) + 1
    for cluster in marks.cluster.tolist():
        if cluster not in numbers:
            numbers[cluster] = fresh
            fresh += 1
    return np.array([numbers[cluster] for cluster in marks.cluster.tolist()], dtype=np.int64)


def _preferences(
    c: Comparisons, points: Floats, usable: Mask, confidence: float, reason: str
) -> list[Estimate]:
    """Per judge, 2 × (mean points) − 1 over the usable rows."""
    shares = []
    for rows in rows_by_judge(c):
        used = rows[usable[rows]]
        cluster, one = c.cluster[c.question[used]], np.ones(len(used))
        lost = len(rows) - len(used)
        shares.append(_share(points[used], one, cluster, lost, confidence, reason))
    return [_stretch(share) for share in shares]


def _stretch(share: Estimate) -> Estimate:
    """From a share on 0..1 to the difference of shares on −1..1."""
    value, low, high = (
        None if end is None else 2 * end - 1 for end in (share.value, share.low, share.high)
    )
    return replace(share, value=value, low=low, high=high)


def _share(
    numerator: Floats | Ints,
    denominator: Floats | Ints,
    cluster: Ints,
    left_out: int,
    confidence: float,
    reason: str,
) -> Estimate:
    """Σ numerator ÷ Σ denominator over questions, with an interval over their clusters."""
    total = float(denominator.sum())
    if total == 0:
        return Estimate(None, n=0, left_out=left_out, method=_METHOD, reason=reason)
    sums = sum_by_cluster(np.stack([numerator, denominator], axis=1).astype(np.float64), cluster)
    ends = share_interval(sums[:, 0], sums[:, 1], confidence)
    low, high = (None, None) if ends is None else ends
    return Estimate(
        float(numerator.sum()) / total,
        low,
        high,
        n=round(total),
        left_out=left_out,
        method=_METHOD,
    )
