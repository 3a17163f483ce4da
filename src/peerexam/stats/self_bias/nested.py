"""Self-bias where every author has segments of its own: differences of the authors' means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from peerexam.stats.core.all_alike import alike
from peerexam.stats.core.cluster_ratio import expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.interval_test import LEAST, Ends, finest_level, interval_with_p
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.judges.authorship import (
    Alike,
    author_bootstrap,
    author_interval,
    no_narrower,
    sum_of_means,
)
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.peers import KINDS, Kind, Peers
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable

SOME_ALIKE = "an author's segments all alike: exact bound of how many could differ"
"""What an interval's method ends with where the bootstrap had nothing to draw from an author."""

_Column = tuple[Kind, int]
"""What is estimated, and of which target."""


def nested_estimates(
    table: BenchmarkTable, peers: Peers, rounds: int, rng: np.random.Generator, confidence: float
) -> list[Estimate]:
    """Estimates of every kind, and within it of every model, without reasons.

    Args:
        table: Complete rows, no two authors with the same segment.
        peers: Who counts as whose.
        rounds: Of the bootstrap.
        rng: Where all randomness comes from.
        confidence: Of the intervals.
    """
    columns: list[_Column] = [(kind, agent) for kind in KINDS for agent in peers.chosen]
    found = {column: Estimate(None) for column in columns}
    if not len(table.segment):
        return list(found.values())
    compared = _compared(table)
    table = filled(table) if table.rank is None else table
    # Authors that count for nothing (twins, where third parties are asked for) are left out.
    by_authors: dict[tuple[bool, ...], list[_Column]] = {}
    for column in columns:
        by_authors.setdefault(tuple(peers.used(*column).tolist()), []).append(column)
    for authors, some in by_authors.items():
        if any(authors):
            chosen: Mask = np.array(authors, dtype=np.bool_)
            told = _of_authors(table, compared, peers, chosen, some, rounds, rng, confidence)
            found.update(zip(some, told, strict=True))
    return list(found.values())


def _of_authors(
    table: BenchmarkTable,
    compared: Ints,
    peers: Peers,
    chosen: Mask,
    columns: list[_Column],
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate]:
    """Estimates that rest on the authors chosen."""
    rows = chosen[table.benchmark]
    author = (np.cumsum(chosen) - 1)[table.benchmark[rows]]
    values = np.stack([_contributions(table, peers, *column) for column in columns], axis=2)
    values = values[rows][:, chosen]
    total, n = sum_of_means(values, author)
    if not len(author):
        return [Estimate(None) for _ in columns]
    drawn, fewest = author_bootstrap(values, author, rounds, rng)
    scale = _scale(table, compared, peers, chosen, columns)
    found = []
    for k, value in enumerate(total.tolist()):
        if np.isnan(value):
            found.append(Estimate(None))
            continue
        one = Estimate(value, n=int(n[k]))
        if fewest[k] >= 2:
            held = [values[author == one, one, k] for one in range(values.shape[1])]
            one = _with_interval(one, drawn[:, k], int(fewest[k]), held, scale, k, confidence)
        found.append(one)
    return found


def _with_interval(
    one: Estimate,
    drawn: Floats,
    fewest: int,
    held: Sequence[Floats],
    scale: Alike,
    column: int,
    confidence: float,
) -> Estimate:
    value, moved = one.value or 0.0, np.sort(drawn)
    spans = scale.high[:, column] - scale.low[:, column]

    def ends(wanted: float) -> Ends:
        plain = expanded_quantiles(moved, fewest, wanted)
        plain = no_narrower(plain, value, held, spans, wanted)
        return author_interval(plain, value, held, scale, column, wanted) or plain

    sure = [alike(of) for of in held]
    finest = LEAST if all(sure) else finest_level(len(moved), fewest)
    low, high, p = interval_with_p(ends, confidence, finest)
    method = f"; {SOME_ALIKE}" if any(sure) else ""
    return replace(one, low=low, high=high, p=p, method=method)


def _scale(
    table: BenchmarkTable, compared: Ints, peers: Peers, chosen: Mask, columns: list[_Column]
) -> Alike:
    """What a segment could add at least and at most, and on how many an author's mean rests."""
    targets = len(table.targets)
    ends, seen = [], []
    for kind, agent in columns:
        weights = peers.weights(kind, agent)
        if kind == "rank":
            ends.append(np.outer(weights, [1.0, targets]))
        else:
            unit = -1.0 / (targets - 1) if kind == "win" else 1.0
            ends.append(np.outer(weights.sum(axis=1) * unit, [0.0, 1.0]))
        # Where a sort chose the pairs, that which was compared least says least.
        met = compared[:, agent]
        seen.append(np.where(met > 0, met, len(table.segment)).min(axis=1))
    both = np.sort(np.stack(ends, axis=1), axis=2)[chosen]
    return Alike(both[:, :, 0], both[:, :, 1], np.stack(seen, axis=1)[chosen])


def _compared(table: BenchmarkTable) -> Ints:
    """How often each author's segments compared each two (shape: authors × targets × targets)."""
    known = ~np.isnan(table.behind)
    count = np.zeros((len(table.benchmarks), *known.shape[1:]), dtype=np.int64)
    np.add.at(count, table.benchmark, known.astype(np.int64))
    return count


def filled(table: BenchmarkTable) -> BenchmarkTable:
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


def _contributions(table: BenchmarkTable, peers: Peers, kind: Kind, agent: int) -> Floats:
    """What a segment would add to its author's mean, were it by each (shape: rows × authors).

    Own minus peers is the sum over authors of these means; NaN where nothing is known.
    """
    targets = len(table.targets)
    weights = peers.weights(kind, agent)
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
