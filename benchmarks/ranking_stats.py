"""Bradley–Terry strengths and bootstrap intervals: peerexam beside evalica and choix.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 RAYON_NUM_THREADS=1
    python benchmarks/ranking_stats.py --models 50 --results 1000000

All in one process and one run, since only ratios between rows of one run mean something. Times are
CPU seconds, so one thread each. Every library gets the results in the form that its documentation
shows. The peers' bootstrap is run for as many rounds as fit into --budget seconds and scaled up to
1,000 (column "rounds run"). `err` is the largest difference from choix' log-strengths.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import choix
import evalica
import numpy as np

from peerexam.stats.core.resampling import bootstrap, resample_results
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.ranking.ratings import fit_many, rate, standard_errors

ROUNDS = 1000


@dataclass(frozen=True)
class Results:
    """Single results: `winner` beat `loser` on `question`."""

    models: int
    questions: int
    winner: Ints
    loser: Ints
    question: Ints


@dataclass(frozen=True)
class Row:
    method: str
    fit: float
    boot: float
    rounds: int
    strengths: Floats


def synthetic(models: int, results: int, questions: int) -> Results:
    rng = np.random.default_rng(1)
    truth = rng.normal(0, 1, models)
    a = rng.integers(0, models, results)
    b = (a + rng.integers(1, models, results)) % models
    won = rng.random(results) < 1 / (1 + np.exp(truth[b] - truth[a]))
    question = rng.integers(0, questions, results)
    return Results(models, questions, np.where(won, a, b), np.where(won, b, a), question)


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def points_of(data: Results, groups: int) -> Floats:
    group = data.question if groups > 1 else np.zeros_like(data.question)
    cell = (group * data.models + data.winner) * data.models + data.loser
    counts = np.bincount(cell, minlength=groups * data.models**2)
    return counts.reshape(groups, data.models, data.models).astype(np.float64)


def ours(data: Results, repeats: int) -> list[Row]:
    """From integer columns to intervals, three ways."""
    points = points_of(data, 1)[0]
    no_ties = np.zeros_like(points, dtype=np.int64)
    fit = median(timed(lambda: rate(points_of(data, 1)[0])) for _ in range(repeats))
    fitted = np.array(rate(points).strength, dtype=np.float64)

    def single() -> None:
        rng = np.random.default_rng(2)
        fit_many(resample_results(points.astype(np.int64), no_ties, ROUNDS, rng), prior=0.0)

    def clustered() -> None:
        sums = points_of(data, data.questions)
        rng = np.random.default_rng(2)
        bootstrap([sums], lambda drawn: fit_many(drawn[0], prior=0.0), rounds=ROUNDS, rng=rng)

    ways: list[tuple[str, Callable[[], object]]] = [
        ("peerexam, single results drawn", single),
        ("peerexam, whole questions drawn", clustered),
        ("peerexam, sandwich errors", lambda: standard_errors(points, fitted)),
    ]
    return [
        Row(name, fit, median(timed(way) for _ in range(repeats)), ROUNDS, fitted)
        for name, way in ways
    ]


def evalicas(data: Results, budget: float) -> Row:
    names = np.array([f"model-{i:03d}" for i in range(data.models)], dtype=object)
    xs, ys = list(names[data.winner]), list(names[data.loser])
    winners = [evalica.Winner.X] * len(xs)
    found: list[Floats] = []

    def fit() -> None:
        scores = evalica.bradley_terry(xs, ys, winners, limit=10_000).scores
        found.append(np.log(scores.reindex(names).to_numpy()))

    once = timed(fit)
    rounds = max(2, min(ROUNDS, int(budget / max(once, 1e-4))))

    def boot() -> None:
        evalica.bootstrap(
            evalica.bradley_terry,
            xs,
            ys,
            winners,
            n_resamples=rounds,
            bootstrap_method="percentile",
            random_state=1,
            limit=10_000,
        )

    spent = max(timed(boot) - once, 0.0)
    return Row("evalica", once, spent * ROUNDS / rounds, rounds, found[0])


def choixs(data: Results, budget: float) -> Row:
    """Its dense interface, fed with our counts; it has no bootstrap of its own."""
    points = points_of(data, 1)[0]
    once = timed(lambda: choix.ilsr_pairwise_dense(points_of(data, 1)[0], alpha=0.0))
    total = int(points.sum())
    rounds = max(2, min(ROUNDS, int(budget / max(once, 1e-4))))

    def boot() -> None:
        rng = np.random.default_rng(1)
        for _ in range(rounds):
            drawn = rng.multinomial(total, points.ravel() / total).reshape(points.shape)
            choix.ilsr_pairwise_dense(drawn.astype(np.float64), alpha=0.0)

    strengths = np.asarray(choix.ilsr_pairwise_dense(points, alpha=0.0))
    return Row("choix, on our counts", once, timed(boot) * ROUNDS / rounds, rounds, strengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--results", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5, help="of our own rows; medians shown")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for a slow bootstrap")
    args = parser.parse_args()
    data = synthetic(args.models, args.results, args.questions)
    rows = [
        *ours(data, args.repeats),
        choixs(data, args.budget),
        evalicas(data, args.budget),
    ]
    reference = rows[-2].strengths - rows[-2].strengths.mean()
    print(f"{args.models} models, {args.results:,} results, {args.questions:,} questions")
    print("| method | fit s | 1,000 rounds s | × first | rounds run | err |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        err = np.abs(row.strengths - row.strengths.mean() - reference).max()
        ratio = row.boot / rows[0].boot
        print(
            f"| {row.method} | {row.fit:.4f} | {row.boot:.3g} | {ratio:.3g} | {row.rounds} "
            f"| {err:.0e} |"
        )


if __name__ == "__main__":
    main()
