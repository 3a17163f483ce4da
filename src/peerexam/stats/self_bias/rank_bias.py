"""Self-bias: how much better a model ranks itself as benchmark than its peers rank it.

Paper 004, §2, Eq. 1: with θ_ij the mean over segments of the rank of target i where j is the
benchmark (author of the test set, evaluator, or both),

    bias_i = θ_ii − (1 / (M − 1)) Σ_{j≠i} θ_ij,

and negative means that it ranks itself better than its peers do. Ranks are taken within a segment
first and then averaged; ties get average ranks, which the paper leaves open.

A peer that favours itself pushes its rivals down, so that in Eq. 1 a fair model among biased ones
looks biased too. The third-party estimate is in the same unit and has no such leak: a rank is 1
plus the rivals ahead, and whether rival r is ahead of i is taken from the peers that are neither i
nor r,

    third_i = Σ_{r≠i} (L_i(i, r) − mean over j ∉ {i, r} of L_j(i, r)),

where L_j(i, r) is the mean over segments of 1 where r is ahead of i under j, ½ for a tie. Peer
consensus is no truth: a model that knows better than its peers is biased by either.

Where all segments agree, a bootstrap would claim to be sure. The interval then says how far the
value may be off if as many segments differ as could without one of those seen being among them
(`stats.all_alike`), each by all that ranks allow.

`stats.self_preference` measures the same on an exam's verdicts, for the evaluator alone, question
by question: its `rank_bias` is Eq. 1 here, its `third_party` is third_i ÷ −(M − 1), both exactly
where all pairs were compared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerexam.stats.core.all_alike import alike, alike_interval
from peerexam.stats.core.cluster_ratio import check_settings
from peerexam.stats.core.counted_values import resampled_means
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import with_holm
from peerexam.stats.core.interval_test import interval_with_p, percentile_with_p
from peerexam.stats.core.tables import Floats
from peerexam.stats.pairs.peers import KINDS, Kind, Peers, peers_of
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable, mean_known
from peerexam.stats.self_bias.nested import filled, nested_estimates

_PAIRED = "bootstrap over segments (expanded percentile)"
_NESTED = "bootstrap over each author's segments (expanded percentile)"
ALL_ALIKE = "all segments alike: exact bound of how many could differ"
"""What an interval's method ends with where the bootstrap had nothing to draw."""

_TIES = (
    "; p the level at which it reaches 0; ties get average ranks; Holm over models; n counts "
    "segments"
)


@dataclass(frozen=True, slots=True)
class SelfBias:
    """One role's self-bias of every model that is target and benchmark.

    Attributes:
        agents: Whom the estimates are of, in their order.
        theta: Mean rank of a target (row) under a benchmark (column), of the segments that count.
        equation_1: As printed, in ranks; negative favours itself.
        third_party: Free of the peers' own bias, in ranks.
        win_rate: Eq. 1 in the share of rivals that it beats, −1..1; positive favours itself.
        third_party_win_rate: The third-party estimate in that unit.
        third_parties: How many benchmarks are third parties on any of the model's rivals.
    """

    agents: tuple[str, ...]
    theta: Floats
    equation_1: list[Estimate]
    third_party: list[Estimate]
    win_rate: list[Estimate]
    third_party_win_rate: list[Estimate]
    third_parties: tuple[int, ...]


def self_bias(
    table: BenchmarkTable,
    *,
    same: Sequence[Collection[str]] = (),
    rounds: int = 10_000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> SelfBias:
    """Estimate the self-bias of every model in one role.

    Where benchmarks share segments, only those count that every benchmark has ranked completely
    (where the table has ranks), and differences are taken within a segment. Where every author has
    segments of its own, each author's mean has the same weight, however many those are.

    Args:
        table: Ranks of the role.
        same: Groups of names that are one model each: none of a group is a third party where
            another of it is the model or the rival.
        rounds: Bootstrap rounds; the two-sided p-value is read off the same draws
            (`stats.interval_test`).
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Returns:
        Estimates whose `n` counts segments, `left_out` those of them with a gap.

    Raises:
        StatisticsError: Bad settings.
    """
    check_settings(rounds, confidence)
    used = _complete(table)
    peers = peers_of(table.targets, table.benchmarks, same)
    chosen = peers.chosen
    estimate = _paired if table.paired else nested_estimates
    found = estimate(used, peers, rounds, rng, confidence)
    families = []
    for at, kind in enumerate(KINDS):
        family = found[at * len(chosen) : (at + 1) * len(chosen)]
        told = [
            _told(one, kind, table, peers, agent, bool(same))
            for one, agent in zip(family, chosen, strict=True)
        ]
        families.append(with_holm(told))
    by_rank, third, won = families
    scale = -1 / max(len(table.targets) - 1, 1)
    return SelfBias(
        tuple(table.targets[place] for place in chosen),
        (filled(used) if table.rank is None and not table.paired else used).mean_ranks(),
        by_rank,
        third,
        won,
        [_scaled(one, scale) for one in third],
        tuple(peers.third_parties(place) for place in chosen),
    )


def _complete(table: BenchmarkTable) -> BenchmarkTable:
    """Complete rows, and where benchmarks share segments those segments that all of them have."""
    if table.rank is None:
        return table.rows_where(np.asarray(~np.isnan(table.behind).all(axis=(1, 2))))
    held = table.rows_where(np.asarray(~np.isnan(table.rank).any(axis=1)))
    if not table.paired or not len(held.segment):
        return held
    return held.rows_where(np.bincount(held.segment)[held.segment] == len(table.benchmarks))


def _told(
    one: Estimate, kind: Kind, table: BenchmarkTable, peers: Peers, agent: int, related: bool
) -> Estimate:
    if table.paired:
        whole = len(np.unique(table.segment))
    else:
        whole = int(peers.used(kind, agent)[table.benchmark].sum())
    method = (_PAIRED if table.paired else _NESTED) + _TIES + one.method
    one = replace(one, method=method, left_out=whole - one.n)
    if one.value is not None:
        return one
    if kind == "third" and not peers.third_parties(agent):
        reason = "no third party: it takes a benchmark that is neither the model nor its rival"
        reason += ", nor another agent of the same model" if related else ""
    else:
        reason = "no segment was ranked completely by it and by its peers"
    return replace(one, reason=reason)


def _scaled(one: Estimate, scale: float) -> Estimate:
    """In another unit; the ends change places where the sign does."""
    if one.value is None:
        return one
    # Adding 0 makes of −0 what it is.
    ends = [None if end is None else scale * end + 0.0 for end in (one.low, one.high)]
    low, high = reversed(ends) if scale < 0 else ends
    return replace(one, value=scale * one.value + 0.0, low=low, high=high)


# Benchmarks share their segments: differences within a segment


def _paired(
    table: BenchmarkTable,
    peers: Peers,
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate]:
    behind = _pivot(table, table.behind)
    columns = [_difference(table, behind, peers, kind, i) for kind in KINDS for i in peers.chosen]
    if not len(behind) or not columns:
        return [Estimate(None) for _ in columns]
    most = len(table.targets) - 1
    spans = [1 if kind == "win" else most for kind in KINDS for _ in peers.chosen]
    return [
        _mean_difference(column, float(span), rounds, rng, confidence)
        for column, span in zip(columns, spans, strict=True)
    ]


def _mean_difference(
    column: Floats, span: float, rounds: int, rng: np.random.Generator, confidence: float
) -> Estimate:
    """Mean of the segments' differences, none of which can be larger than `span`."""
    known = column[~np.isnan(column)]
    n = len(known)
    if not n:
        return Estimate(None)
    value, method = float(known.mean()), ""
    if n < 2:
        return Estimate(value, n=n)
    drawn = resampled_means(column, rounds, rng)
    if alike(known):
        low, high, p = interval_with_p(lambda c: alike_interval(value, span, n, c), confidence)
        method = f"; {ALL_ALIKE}"
    else:
        low, high, p = percentile_with_p(drawn, n, confidence)
    return Estimate(value, low, high, p=p, n=n, method=method)


def _pivot(table: BenchmarkTable, values: Floats) -> Floats:
    """Rows as segments × benchmarks × …, NaN where there is no row."""
    segments, place = np.unique(table.segment, return_inverse=True)
    held = np.full((len(segments), len(table.benchmarks), *values.shape[1:]), np.nan)
    held[place, table.benchmark] = values
    return held


def _difference(
    table: BenchmarkTable, behind: Floats, peers: Peers, kind: Kind, agent: int
) -> Floats:
    """Own minus peers, a segment; by rank where ranks are whole, else rival by rival."""
    mine = peers.own.index(agent)
    if kind == "rank" and table.rank is not None:
        ranks = _pivot(table, table.rank)[:, :, agent]
        others = np.delete(ranks, mine, axis=1)
        return np.asarray(ranks[:, mine] - mean_known(others), dtype=np.float64)
    rivals = len(table.targets) - 1
    counts = peers.counted(kind, agent) > 0
    seen = np.where(counts, behind[:, :, agent], np.nan)
    gap = behind[:, mine, agent] - mean_known(seen.transpose(0, 2, 1))
    return mean_known(gap) * (-1.0 if kind == "win" else rivals)
