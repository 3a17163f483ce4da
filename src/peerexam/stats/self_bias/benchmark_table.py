"""What every benchmark made of every target, segment by segment: the table behind self-bias.

A benchmark is a model in the role of author of the test set, of evaluator, or of both (paper 004,
§2). One row is a segment under one benchmark. Within it every target has a rank, and stands behind
each other target or not; ties are average ranks and halves, a convention of ours, since the paper
does not say what it does with them. Both are the same thing where one evaluator's scores are
compared: the rank is 1 plus the targets that stand ahead. Where several evaluators are pooled, the
rank is that of the pooled win points within the segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask

Orientation = Literal["higher", "lower"]
"""Which scores are better."""


@dataclass(frozen=True, slots=True)
class BenchmarkTable:
    """Ranks of targets by segment and benchmark.

    Attributes:
        targets: Names of the models that are evaluated.
        benchmarks: Names of what they are evaluated by; those that are targets too can be biased
            towards themselves.
        segment: Per row, which segment it is.
        benchmark: Per row, whose.
        behind: Shape rows × targets × targets: how far the row's target stands behind the
            column's: 1, ½ for a tie, 0, or between where several evaluators are pooled; NaN where
            nobody compared the two, and on the diagonal.
        rank: Shape rows × targets: average ranks, NaN in a row that is not complete. None where
            only some pairs were compared; ranks are then read from `behind`.
        paired: Whether every benchmark evaluates the same segments.
    """

    targets: tuple[str, ...]
    benchmarks: tuple[str, ...]
    segment: Ints
    benchmark: Ints
    behind: Floats
    rank: Floats | None
    paired: bool

    def rows_where(self, keep: Mask) -> BenchmarkTable:
        """The same table with only some rows."""
        return replace(
            self,
            segment=self.segment[keep],
            benchmark=self.benchmark[keep],
            behind=self.behind[keep],
            rank=None if self.rank is None else self.rank[keep],
        )

    def ranks(self) -> Floats:
        """Ranks as they are used: of complete rows, or 1 + targets ahead, as far as compared."""
        if self.rank is not None:
            return self.rank
        return 1 + (len(self.targets) - 1) * mean_known(self.behind)

    def mean_ranks(self) -> Floats:
        """θ: mean rank of a target (row) under a benchmark (column); NaN where there is none."""
        ranks = self.ranks()
        known = ~np.isnan(ranks)
        shape = (len(self.benchmarks), len(self.targets))
        total, count = np.zeros(shape), np.zeros(shape)
        np.add.at(total, self.benchmark, np.nan_to_num(ranks))
        np.add.at(count, self.benchmark, known)
        theta = np.full(shape, np.nan)
        np.divide(total, count, out=theta, where=count > 0)
        return theta.T


def mean_known(values: Floats) -> Floats:
    """Mean over the last axis of what is not NaN; NaN where all is."""
    count = (~np.isnan(values)).sum(axis=-1)
    mean = np.full(count.shape, np.nan)
    np.divide(np.nansum(values, axis=-1), count, out=mean, where=count > 0)
    return mean


def table_from_scores(
    scores: Floats,
    segment: Ints,
    benchmark: Ints,
    targets: tuple[str, ...],
    benchmarks: tuple[str, ...],
    *,
    orientation: Orientation,
    paired: bool,
) -> BenchmarkTable:
    """Rank targets by their scores, within each segment.

    Args:
        scores: Shape rows × targets, NaN where there is none. A row with a gap has no ranks.
        segment: Per row.
        benchmark: Per row.
        targets: Names.
        benchmarks: Names.
        orientation: Which scores are better (MetricX: lower).
        paired: Whether every benchmark evaluates the same segments.

    Raises:
        StatisticsError: There is no such orientation, or the shapes do not fit.
    """
    if orientation not in ("higher", "lower"):
        raise StatisticsError(f"scores are better higher or lower, not '{orientation}'")
    if scores.shape != (len(segment), len(targets)) or len(segment) != len(benchmark):
        raise StatisticsError("scores must have the shape rows × targets, as segment and benchmark")
    gaps: Mask = np.asarray(np.isnan(scores).any(axis=1))
    better = scores if orientation == "higher" else -scores
    gap = better[:, None, :] - better[:, :, None]  # of the column's target over the row's
    behind = np.where(gap > 0, 1.0, np.where(gap == 0, 0.5, 0.0))
    behind[gaps] = np.nan
    behind[:, np.arange(len(targets)), np.arange(len(targets))] = np.nan
    rank = np.where(gaps[:, None], np.nan, 1 + np.nansum(behind, axis=2))
    return BenchmarkTable(targets, benchmarks, segment, benchmark, behind, rank, paired)
