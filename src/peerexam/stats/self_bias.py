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

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from peerexam.stats.all_alike import alike, most_moved
from peerexam.stats.authorship import (
    Alike,
    author_bootstrap,
    author_interval,
    author_permutation_p,
    sum_of_means,
)
from peerexam.stats.benchmark_table import BenchmarkTable, mean_known
from peerexam.stats.cluster_ratio import check_settings, expanded_quantiles
from peerexam.stats.counted_values import flipped_p, resampled_means
from peerexam.stats.estimate import Estimate
from peerexam.stats.holm import with_holm
from peerexam.stats.orders import agent_of_judge
from peerexam.stats.tables import Floats, Ints

_Kind = Literal["rank", "third", "win"]
_KINDS: tuple[_Kind, ...] = ("rank", "third", "win")

_PAIRED = "bootstrap over segments (expanded percentile), sign-flip test on segments' differences"
_NESTED = (
    "bootstrap over each author's segments (expanded percentile), studentised permutation of the "
    "segments' authors"
)
ALL_ALIKE = "all segments alike: exact bound of how many could differ"
"""What an interval's method ends with where the bootstrap had nothing to draw."""

SOME_ALIKE = "an author's segments all alike: exact bound of how many could differ"
"""The same where every author has segments of its own."""

_TIES = "; ties get average ranks; Holm over models; n counts segments"


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
    """

    agents: tuple[str, ...]
    theta: Floats
    equation_1: list[Estimate]
    third_party: list[Estimate]
    win_rate: list[Estimate]
    third_party_win_rate: list[Estimate]


def self_bias(
    table: BenchmarkTable,
    *,
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
        rounds: Bootstrap rounds, and rounds of the test (two-sided).
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Returns:
        Estimates whose `n` counts segments, `left_out` those of them with a gap.

    Raises:
        StatisticsError: Bad settings.
    """
    check_settings(rounds, confidence)
    complete = _complete(table)
    used = _filled(complete) if table.rank is None and not table.paired else complete
    own = agent_of_judge(table.targets, table.benchmarks).tolist()
    chosen = [place for place in own if place >= 0]
    if table.paired:
        found = _paired(used, own, chosen, rounds, rng, confidence)
    else:
        found = _nested(used, _compared(complete), own, chosen, rounds, rng, confidence)
    whole = len(np.unique(table.segment)) if table.paired else len(table.segment)
    families = []
    for at, kind in enumerate(_KINDS):
        family = found[at * len(chosen) : (at + 1) * len(chosen)]
        families.append(with_holm([_told(one, kind, table, whole) for one in family]))
    by_rank, third, won = families
    scale = -1 / max(len(table.targets) - 1, 1)
    return SelfBias(
        tuple(table.targets[place] for place in chosen),
        used.mean_ranks(),
        by_rank,
        third,
        won,
        [_scaled(one, scale) for one in third],
    )


def _complete(table: BenchmarkTable) -> BenchmarkTable:
    """Complete rows, and where benchmarks share segments those segments that all of them have."""
    if table.rank is None:
        return table.rows_where(np.asarray(~np.isnan(table.behind).all(axis=(1, 2))))
    held = table.rows_where(np.asarray(~np.isnan(table.rank).any(axis=1)))
    if not table.paired or not len(held.segment):
        return held
    return held.rows_where(np.bincount(held.segment)[held.segment] == len(table.benchmarks))


def _filled(table: BenchmarkTable) -> BenchmarkTable:
    """Where a sort chose the pairs: an author's mean of each pair, however often it was compared.

    Which pairs a sort compares depends on who wins, so that a mean over whatever was compared in a
    segment is not one of all pairs. Pairs that were not compared count as the author's mean of the
    pair, and those that were as much more strongly: the mean and its linearised error are those of
    the pairs compared.
    """
    behind = table.behind.copy()
    for author in range(len(table.benchmarks)):
        rows = np.flatnonzero(table.benchmark == author)
        held = table.behind[rows]
        known = ~np.isnan(held)
        count = known.sum(axis=0)
        mean = np.full(count.shape, np.nan)
        np.divide(np.nansum(held, axis=0), count, out=mean, where=count > 0)
        stretch = len(rows) / np.maximum(count, 1)
        behind[rows] = mean + np.where(known, held - mean, 0.0) * stretch
    return replace(table, behind=behind)


def _told(one: Estimate, kind: _Kind, table: BenchmarkTable, whole: int) -> Estimate:
    method = (_PAIRED if table.paired else _NESTED) + _TIES + one.method
    one = replace(one, method=method, left_out=whole - one.n)
    if one.value is not None:
        return one
    if kind == "third" and not _has_third_parties(table):
        reason = "no third party: it takes a benchmark that is neither the model nor its rival"
    else:
        reason = "no segment was ranked completely by it and by its peers"
    return replace(one, reason=reason)


def _has_third_parties(table: BenchmarkTable) -> bool:
    return len(table.benchmarks) >= 3 or not set(table.benchmarks) <= set(table.targets)


def _scaled(one: Estimate, scale: float) -> Estimate:
    """In another unit; the ends change places where the sign does."""
    if one.value is None:
        return one
    # Adding 0 makes of −0 what it is.
    ends = [None if end is None else scale * end + 0.0 for end in (one.low, one.high)]
    low, high = reversed(ends) if scale < 0 else ends
    return replace(one, value=scale * one.value + 0.0, low=low, high=high)


def _counted(own: list[int], kind: _Kind, agent: int, targets: int) -> Floats:
    """Whether a benchmark counts as peer on a target's rival (shape: benchmarks × targets)."""
    whose, rival = np.array(own)[:, None], np.arange(targets)
    peers = (whose != agent) & (rival != agent)
    if kind == "third":
        peers &= whose != rival
    return np.asarray(peers, dtype=np.float64)


# Benchmarks share their segments: differences within a segment


def _paired(
    table: BenchmarkTable,
    own: list[int],
    chosen: list[int],
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate]:
    behind = _pivot(table, table.behind)
    columns = [_difference(table, behind, own, kind, i) for kind in _KINDS for i in chosen]
    if not len(behind) or not columns:
        return [Estimate(None) for _ in columns]
    most = len(table.targets) - 1
    spans = [1 if kind == "win" else most for kind in _KINDS for _ in chosen]
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
    low, high = None, None
    if n >= 2:
        low, high = expanded_quantiles(resampled_means(column, rounds, rng), n, confidence)
    if n >= 2 and alike(known):
        below, above = (
            most_moved(np.array([span + side]), np.array([n]), confidence)
            for side in (value, -value)
        )
        low, high, method = value - below, value + above, f"; {ALL_ALIKE}"
    return Estimate(value, low, high, p=flipped_p(known, rounds, rng), n=n, method=method)


def _pivot(table: BenchmarkTable, values: Floats) -> Floats:
    """Rows as segments × benchmarks × …, NaN where there is no row."""
    segments, place = np.unique(table.segment, return_inverse=True)
    held = np.full((len(segments), len(table.benchmarks), *values.shape[1:]), np.nan)
    held[place, table.benchmark] = values
    return held


def _difference(
    table: BenchmarkTable, behind: Floats, own: list[int], kind: _Kind, agent: int
) -> Floats:
    """Own minus peers, a segment; by rank where ranks are whole, else rival by rival."""
    mine = own.index(agent)
    if kind == "rank" and table.rank is not None:
        ranks = _pivot(table, table.rank)[:, :, agent]
        others = np.delete(ranks, mine, axis=1)
        return np.asarray(ranks[:, mine] - mean_known(others), dtype=np.float64)
    rivals = len(table.targets) - 1
    counts = _counted(own, kind, agent, rivals + 1) > 0
    seen = np.where(counts, behind[:, :, agent], np.nan)
    gap = behind[:, mine, agent] - mean_known(seen.transpose(0, 2, 1))
    return mean_known(gap) * (-1.0 if kind == "win" else rivals)


# Every author has its own segments: differences of the authors' means


def _compared(table: BenchmarkTable) -> Ints:
    """How often each author's segments compared each two (shape: authors × targets × targets)."""
    known = ~np.isnan(table.behind)
    count = np.zeros((len(table.benchmarks), *known.shape[1:]), dtype=np.int64)
    np.add.at(count, table.benchmark, known.astype(np.int64))
    return count


def _nested(
    table: BenchmarkTable,
    compared: Ints,
    own: list[int],
    chosen: list[int],
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate]:
    columns = [_contributions(table, own, kind, i) for kind in _KINDS for i in chosen]
    if not columns or not len(table.segment):
        return [Estimate(None) for _ in columns]
    values = np.stack(columns, axis=2)
    total, n = sum_of_means(values, table.benchmark)
    ends = author_bootstrap(values, table.benchmark, rounds, rng, confidence)
    p = author_permutation_p(values, table.benchmark, rounds, rng)
    scale = _scale(table, compared, own, chosen)
    found = []
    for column, value in enumerate(total.tolist()):
        if np.isnan(value):
            found.append(Estimate(None))
            continue
        between, method = ends[column], ""
        if between is not None:
            held = [values[table.benchmark == one, one, column] for one in range(len(own))]
            wider = author_interval(between, value, held, scale, column, confidence)
            between, method = wider or between, f"; {SOME_ALIKE}" if wider else ""
        low, high = between or (None, None)
        test = None if np.isnan(p[column]) else float(p[column])
        found.append(Estimate(value, low, high, p=test, n=int(n[column]), method=method))
    return found


def _scale(table: BenchmarkTable, compared: Ints, own: list[int], chosen: list[int]) -> Alike:
    """What a segment could add at least and at most, and on how many an author's mean rests."""
    targets = len(table.targets)
    ends, seen = [], []
    for kind in _KINDS:
        for agent in chosen:
            weights = _weights(own, kind, agent, targets)
            if kind == "rank":
                ends.append(np.outer(weights, [1.0, targets]))
            else:
                unit = -1.0 / (targets - 1) if kind == "win" else 1.0
                ends.append(np.outer(weights.sum(axis=1) * unit, [0.0, 1.0]))
            # Where a sort chose the pairs, that which was compared least says least.
            met = compared[:, agent]
            seen.append(np.where(met > 0, met, len(table.segment)).min(axis=1))
    both = np.sort(np.stack(ends, axis=1), axis=2)
    return Alike(both[:, :, 0], both[:, :, 1], np.stack(seen, axis=1))


def _weights(own: list[int], kind: _Kind, agent: int, targets: int) -> Floats:
    """By how much an author's mean counts: of ranks by author, else by author and rival."""
    mine = own.index(agent)
    if kind == "rank":
        weights = np.full(len(own), -1.0 / max(len(own) - 1, 1))
        weights[mine] = 1.0
        return weights
    peers = _counted(own, kind, agent, targets)
    weights = -peers / np.maximum(peers.sum(axis=0), 1)
    weights[mine] = (np.arange(targets) != agent) & (peers.sum(axis=0) > 0)
    return np.asarray(weights, dtype=np.float64)


def _contributions(table: BenchmarkTable, own: list[int], kind: _Kind, agent: int) -> Floats:
    """What a segment would add to its author's mean, were it by each (shape: rows × authors).

    Own minus peers is the sum over authors of these means; NaN where nothing is known.
    """
    targets = len(table.targets)
    weights = _weights(own, kind, agent, targets)
    if kind == "rank":
        return np.asarray(table.ranks()[:, agent, None] * weights, dtype=np.float64)
    known = ~np.isnan(table.behind[:, agent])
    total = np.nan_to_num(table.behind[:, agent]) @ weights.T
    weight = np.abs(weights)
    share = (known @ weight.T) / np.maximum(weight.sum(axis=1), 1e-300)
    # Of the rivals of which nothing is known, as much is assumed as of those that were compared.
    values = np.full(total.shape, np.nan)
    np.divide(total, share, out=values, where=share > 0)
    scale = -1.0 / (targets - 1) if kind == "win" else 1.0
    return np.asarray(values * scale, dtype=np.float64)
