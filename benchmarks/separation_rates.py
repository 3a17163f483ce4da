"""How often alike agents are separated, and agents that differ, beside paired tests with Holm.

    export OMP_NUM_THREADS=1
    python benchmarks/separation_rates.py --exams 5000 --power-exams 400 --processes 2

Null exams, in which all agents are alike; a false alarm is an exam with any pair separated, nominal
5 %. *independent*: every verdict is drawn by itself (two in ten tie). *correlated*: how hard a
question is decides how many answer it well, answers are good or bad (ties are frequent), and three
judges see the same answers with a little noise of their own. *peers*: the agents judge each other,
own answers left out, all seeing the same quality with noise of their own. *rankings*: one judge
ranks by chance, without ties. *halves*: the same, but one half of the agents is far better than the
other; *twins*: two and two alike, far from the others. There a false alarm is a pair of equals.

Power: agents in equal steps of quality, ranked by one judge without ties; the share of pairs that
are separated. The paired tests take each question's difference of Borda shares: Student's t, and
signs drawn at random (exact up to 12 questions), each with Holm's correction. *t at 5 %* is the
former at the level at which it separates some pair in 5 % of rankings of alike agents (by lot
between the two levels next to it, as few questions leave gaps).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from scipy.stats import t as student

from peerexam.stats.core.tables import Floats
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.wins import implied_by_scores
from peerexam.stats.ranking.pair_tests import separated

QUESTIONS, AGENTS = (8, 12, 24, 64), (4, 6, 8)
ERROR = 0.05
DRAWS = {"steps": 199}
"""Of a test; 39 for null exams: a test by draws has its level for any number of them."""

_FAR = 6.0
"""Between the halves, in standard deviations of an answer's quality."""

STEP = 1.7
"""Between neighbours, in standard deviations of an answer's quality, times √questions."""


def independent(questions: int, agents: int, rng: Generator) -> Floats:
    said = rng.choice([0.0, 0.5, 1.0], p=[0.4, 0.2, 0.4], size=(questions, agents, agents))
    wins = np.triu(said, 1)
    return np.asarray(wins + np.swapaxes(np.triu(1 - said, 1), 1, 2), dtype=np.float64)


def correlated(questions: int, agents: int, rng: Generator) -> Floats:
    good = rng.random((questions, agents)) < rng.beta(0.5, 0.5, (questions, 1))
    seen = good[:, None, :] + rng.integers(-1, 2, (questions, 3, agents)) * 0.5
    return np.asarray(implied_by_scores(seen).sum(axis=1), dtype=np.float64)


def peers(questions: int, agents: int, rng: Generator) -> Floats:
    quality = rng.normal(size=(questions, 1, agents))
    seen = np.round(quality + 0.5 * rng.normal(size=(questions, agents, agents)), 0)
    seen[:, np.arange(agents), np.arange(agents)] = np.nan
    return np.asarray(implied_by_scores(seen).sum(axis=1), dtype=np.float64)


def rankings(questions: int, agents: int, rng: Generator) -> Floats:
    return implied_by_scores(rng.normal(size=(questions, agents)))


def halves(questions: int, agents: int, rng: Generator) -> Floats:
    better = np.where(np.arange(agents) < agents // 2, _FAR, 0.0)
    return implied_by_scores(rng.normal(size=(questions, agents)) + better)


def twins(questions: int, agents: int, rng: Generator) -> Floats:
    better = _FAR * (np.arange(agents) // 2)
    return implied_by_scores(rng.normal(size=(questions, agents)) + better)


def steps(questions: int, agents: int, rng: Generator) -> Floats:
    means = STEP / questions**0.5 * np.arange(agents)
    return implied_by_scores(rng.normal(size=(questions, agents)) + means)


EXAMS: Mapping[str, Callable[[int, int, Generator], Floats]] = {
    "independent": independent,
    "correlated": correlated,
    "peers": peers,
    "steps": steps,
    "rankings": rankings,
    "halves": halves,
    "twins": twins,
}


def holm(p: Floats, error: float = ERROR) -> Mask:
    order = np.argsort(p)
    kept = np.minimum.accumulate(p[order] <= error / np.arange(len(p), 0, -1))
    found = np.zeros(len(p), dtype=np.bool_)
    found[order] = kept
    return found


def paired(wins: Floats) -> tuple[Floats, Floats]:
    """Differences of shares per question and pair, and the p-values of t."""
    one, other = np.triu_indices(wins.shape[1], 1)
    shares = wins.sum(axis=2) / np.maximum((wins + np.swapaxes(wins, 1, 2)).sum(axis=2), 1)
    moved = shares[:, one] - shares[:, other]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = moved.mean(axis=0) / (moved.std(axis=0, ddof=1) / len(moved) ** 0.5)
    return moved, np.nan_to_num(2 * student.sf(np.abs(t), len(moved) - 1), nan=1.0)


def calibrated(
    questions: int, agents: int, exams: int, rng: Generator
) -> Callable[[Floats], Floats]:
    """Holm at the level that alike agents, ranked without ties, pass in 5 % of exams."""
    pairs = agents * (agents - 1) // 2
    null = [paired(rankings(questions, agents, rng))[1].min() for _ in range(exams)]
    # Up to rounding, after which equal p-values are equal.
    with np.errstate(divide="ignore"):
        levels, passed = np.unique(np.round(np.log(null), 6), return_counts=True)
    rate = np.cumsum(passed) / exams
    over = int(np.searchsorted(rate, ERROR))
    below = rate[over - 1] if over else 0.0
    share = (ERROR - below) / (rate[over] - below)
    low, high = (pairs * np.exp(levels[[max(over - 1, 0), over]] + 1e-6)).tolist()

    def found(p: Floats) -> Floats:
        return (1 - share) * holm(p, low if over else 0.0) + share * holm(p, high)

    return found


def by_signs(moved: Floats, rng: Generator) -> Mask:
    n = len(moved)
    if n <= 12:
        signs, extra = np.array(list(product((-1.0, 1.0), repeat=n))), 0
    else:
        signs, extra = rng.integers(0, 2, (1999, n)) * 2.0 - 1.0, 1
    beyond = (np.abs(signs @ moved) >= np.abs(moved.sum(axis=0)) - 1e-9).sum(axis=0)
    return holm((beyond + extra) / (len(signs) + extra))


@dataclass(frozen=True)
class Cell:
    kind: str
    questions: int
    agents: int
    exams: int
    null_exams: int
    """From which the level of t is calibrated."""


def alike(cell: Cell) -> Mask:
    """Which pairs a false alarm can be of."""
    size = {"halves": cell.agents // 2, "twins": 2}.get(cell.kind, cell.agents)
    part = np.arange(cell.agents) // size
    one, other = np.triu_indices(cell.agents, 1)
    return np.asarray(part[one] == part[other])


def rates(cell: Cell) -> list[float]:
    """Per cent of exams with a false alarm (ours, t), or of pairs separated (two more)."""
    # The seed is of the cell, so that a cell can be run again by itself.
    rng = np.random.default_rng([list(EXAMS).index(cell.kind), cell.questions, cell.agents])
    alone = np.zeros(cell.agents, dtype=np.int64)
    power, draws = cell.kind == "steps", DRAWS.get(cell.kind, 39)
    at_5 = calibrated(cell.questions, cell.agents, cell.null_exams, rng) if power else holm
    one, other = np.triu_indices(cell.agents, 1)
    equals = alike(cell)
    rows = []
    for _ in range(cell.exams):
        wins = EXAMS[cell.kind](cell.questions, cell.agents, rng)
        ours = separated(wins, alone, confidence=1 - ERROR, rounds=draws, rng=rng)
        moved, p = paired(wins)
        ways = [(ours | ours.T)[one, other], holm(p)]
        if power:
            ways += [at_5(p), by_signs(moved, rng)]
        rows.append([way.mean() if power else way[equals].any() for way in ways])
    found: list[float] = (100 * np.mean(rows, axis=0)).tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--exams", type=int, default=5000, help="null exams a cell")
    parser.add_argument("--power-exams", type=int, default=400, help="exams a cell for power")
    parser.add_argument("--kinds", nargs="+", choices=list(EXAMS), default=list(EXAMS))
    parser.add_argument("--questions", nargs="+", type=int, default=QUESTIONS)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    cells = [
        Cell(kind, n, m, args.power_exams if kind == "steps" else args.exams, args.exams)
        for kind in args.kinds
        for n in args.questions
        for m in AGENTS
    ]
    print("| exams | questions | agents | separated, % | t, % | t at 5 %, % | signs, % |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(args.processes) as pool:
        for cell, row in zip(cells, pool.map(rates, cells), strict=True):
            numbers = " | ".join([*(f"{rate:.1f}" for rate in row), "–", "–"][:4])
            print(f"| {cell.kind} | {cell.questions} | {cell.agents} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
