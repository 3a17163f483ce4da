"""How far two classifiers agree on the cognitive level of questions: share, Cohen's κ, table.

κ = (p_o − p_e) ÷ (1 − p_e), with p_o the share of questions on which both say the same and p_e the
share that two classifiers with the same habits would share by chance (Cohen 1960).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np

from peerexam.records import Level, LevelVote
from peerexam.stats.core.cluster_ratio import check_settings, expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson
from peerexam.stats.core.tables import Floats, Ints

LEVELS: tuple[Level, ...] = get_args(Level)
"""The order of rows and columns."""

_KAPPA = "Cohen's kappa, bootstrap over questions"
_PERFECT = "Cohen's kappa, Wilson's interval of the share"


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Two classifiers over the questions that both classified.

    Attributes:
        first: A classifier.
        second: The other.
        share: Of the questions on which they say the same, 0 to 1.
        kappa: The same beyond chance; 1 is full agreement, 0 what chance would give.
        table: Questions by level, rows the first's and columns the second's, in the order of
            `LEVELS`.
    """

    first: str
    second: str
    share: Estimate
    kappa: Estimate
    table: tuple[tuple[int, ...], ...]


def level_agreement(
    votes: Iterable[LevelVote], *, rounds: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[LevelAgreement, ...]:
    """Agreement of every two classifiers; none where there is one classifier or no vote.

    Args:
        votes: As the classifiers gave them. A question to which one of two gave no level is left
            out, and counted.
        rounds: Of the bootstrap over questions.
        confidence: Of the intervals.
        seed: Fixes the bootstrap.

    Raises:
        StatisticsError: `rounds` or `confidence` is out of bounds.
    """
    check_settings(rounds, confidence)
    by_classifier: dict[str, dict[str, Level | None]] = {}
    for vote in votes:
        by_classifier.setdefault(vote.classifier, {})[vote.question_id] = vote.level
    return tuple(
        _pair(first, second, by_classifier, rounds, confidence, seed)
        for first, second in combinations(by_classifier, 2)
    )


def cohen_kappa(table: Floats) -> Floats:
    """κ of tables of counts, NaN where both classifiers give one and the same level throughout.

    Args:
        table: Shape … × levels × levels.

    Returns:
        Shape ….
    """
    total = table.sum(axis=(-2, -1))
    same = np.trace(table, axis1=-2, axis2=-1) / total
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
    kappa: Floats = np.full_like(same, np.nan)
    np.divide(same - chance, 1 - chance, out=kappa, where=chance < 1)
    return kappa


def _pair(
    first: str,
    second: str,
    levels: Mapping[str, Mapping[str, Level | None]],
    rounds: int,
    confidence: float,
    seed: int,
) -> LevelAgreement:
    one, other = levels[first], levels[second]
    table = np.zeros((len(LEVELS), len(LEVELS)), dtype=np.int64)
    for question, level in one.items():
        against = other.get(question)
        if level is not None and against is not None:
            table[LEVELS.index(level), LEVELS.index(against)] += 1
    left_out = len(one.keys() | other.keys()) - int(table.sum())
    rng = np.random.default_rng(seed)
    return LevelAgreement(
        first,
        second,
        _share(table, left_out, confidence),
        _kappa(table, left_out, rounds, confidence, rng),
        tuple(tuple(row) for row in table.tolist()),
    )


def _share(table: Ints, left_out: int, confidence: float) -> Estimate:
    n, same = int(table.sum()), int(np.trace(table))
    if not n:
        return Estimate(None, left_out=left_out, reason="no question that both classified")
    low, high = wilson(same, n, confidence) or (None, None)
    return Estimate(same / n, low, high, n=n, left_out=left_out, method="Wilson's interval")


def _kappa(
    table: Ints, left_out: int, rounds: int, confidence: float, rng: np.random.Generator
) -> Estimate:
    n = int(table.sum())
    if not n:
        return Estimate(None, left_out=left_out, reason="no question that both classified")
    value = float(cohen_kappa(table.astype(np.float64)))
    if np.isnan(value):
        why = "both gave every question the same one level"
        return Estimate(None, n=n, left_out=left_out, method=_KAPPA, reason=why)
    if int(np.trace(table)) == n:
        low, high = _perfect(table, confidence)
        return Estimate(value, low, high, n=n, left_out=left_out, method=_PERFECT)
    # Each question falls into one cell by itself, so drawing questions is multinomial over cells.
    cells = rng.multinomial(n, table.ravel() / n, size=rounds).reshape(rounds, *table.shape)
    drawn = cohen_kappa(cells.astype(np.float64))
    if n < 2 or bool(np.isnan(drawn).all()):
        return Estimate(value, n=n, left_out=left_out, method="Cohen's kappa")
    low, high = expanded_quantiles(drawn, n, confidence)
    return Estimate(value, low, high, n=n, left_out=left_out, method=_KAPPA)


def _perfect(table: Ints, confidence: float) -> tuple[float | None, float | None]:
    """The least share that is still credible, beyond the same chance, and 1.

    Where no question is disputed, no draw of questions is either: a bootstrap would be certain.
    """
    n = int(table.sum())
    interval = wilson(n, n, confidence)
    if interval is None:
        return None, None
    shares = table.sum(axis=1) / n
    chance = float((shares**2).sum())
    return max(-1.0, (interval[0] - chance) / (1 - chance)), 1.0
