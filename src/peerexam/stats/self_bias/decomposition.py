"""What a score is made of: examinee, author, judge, how they get on, question, and the rest.

For a score y of examinee e on question q by author a from judge j, least squares of

    y = level_q + examinee_e + judge_j + home_e [a = e] + self_e [j = e]
          + (author × examinee)_ae [a ≠ e] + (judge × examinee)_je [j ≠ e] + rest,

the author being the mean level of its questions. For a comparison, y is the win points of one
answer less ½, the right side is the difference between the two answers, and what both share (level,
author, judge) is gone. Home advantage and self-preference are thus taken against what the
examinee does elsewhere and what the author and the judge give to others, each free of the rivals'
own; that takes three of them at least.

Intervals resample whole questions (clusters). A replicate is linearised: the sum of the questions'
influences, which is what least squares gives where no score is missing. A shrinkage estimate
(empirical Bayes) pulls each of a family to the family's mean by τ² / (τ² + se²), where τ² is
the spread of the estimates less their mean squared error. The smallest effect that a design could
have found at 80 % power in a two-sided test at 5 % is (t₀.₉₇₅ + z₀.₈₀) × se, with the clustered
standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, draws, student_quantile
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import with_holm
from peerexam.stats.core.interval_test import percentile_with_p
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.self_bias.role_design import RoleDesign, role_design
from peerexam.stats.self_bias.role_fit import RoleFit, fit_roles
from peerexam.stats.self_bias.variance_shares import question_sums, variance_shares

_METHOD = (
    "least squares; bootstrap over questions (linearised, expanded percentile), p the level at "
    "which it reaches 0; n counts questions"
)
ALL_ALIKE = "no interval: every question says the same"
"""What a method ends with where resampling questions moves nothing, and says nothing either."""

_NO_SPREAD = 1e-10
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect.

    Attributes:
        of: Whom it is of: one name, or author or judge and examinee.
        estimate: Least squares; `p_holm` is over the effects of home, or of self.
        shrinkage: By empirical Bayes within its family.
        minimum_detectable: At 80 % power.
    """

    of: tuple[str, ...]
    estimate: Estimate
    shrinkage: float | None
    minimum_detectable: float | None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """All effects by family.

    Attributes:
        families: `examinee`, `author`, `judge`, `author × examinee`, `judge × examinee`, `home`,
            `self`: those that the scores can tell of.
        mean_home: Mean home advantage over the examinees.
        mean_self: Mean self-preference over the judges.
        shares: Share of the variance that each makes up, error of estimation taken off; home is
            part of author × examinee, and self of judge × examinee.
        questions: How many count.
        scores: How many scores.
    """

    families: Mapping[str, Sequence[Effect]]
    mean_home: Effect | None
    mean_self: Effect | None
    shares: Mapping[str, Estimate]
    questions: int
    scores: int


def decompose_scores(
    scores: Floats,
    author: Ints,
    *,
    authors: Sequence[str],
    judges: Sequence[str],
    examinees: Sequence[str],
    rounds: int = 2_000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Decomposition:
    """Decompose scores.

    Args:
        scores: Shape questions × judges × examinees, higher is better; NaN where there is none.
        author: Per question, the number of its author; -1 (unknown) leaves a question out.
        authors: Names.
        judges: Names.
        examinees: Names.
        rounds: Bootstrap rounds.
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Raises:
        StatisticsError: Bad settings, or no score at all.
    """
    kept = (author >= 0) & ~np.isnan(scores).all(axis=(1, 2))
    y = scores[kept].reshape(int(kept.sum()), len(judges) * len(examinees))
    author = author[kept]
    seen = _seen(y, author, len(authors)).reshape(-1, len(judges), len(examinees))
    design = role_design(authors, judges, examinees, seen)
    fit = fit_roles(y, author, design.cells, design, level=True)
    weights = seen.reshape(len(authors), -1)
    return _told(fit, design, author, authors, weights, True, rounds, rng, confidence)


def decompose_comparisons(
    points: Floats,
    author: Ints,
    *,
    authors: Sequence[str],
    judges: Sequence[str],
    examinees: Sequence[str],
    rounds: int = 2_000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Decomposition:
    """Decompose win points, which are told apart by who was compared with whom.

    Args:
        points: Shape questions × judges × examinees × examinees, of the row's against the
            column's; NaN where there is no result.
        author: As for `decompose_scores`, and the rest too.
        authors: Names.
        judges: Names.
        examinees: Names.
        rounds: Bootstrap rounds.
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Raises:
        StatisticsError: Bad settings, or no result at all.
    """
    pairs = list(combinations(range(len(examinees)), 2))
    one, other = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    y = points[:, :, one, other] - 0.5
    kept = (author >= 0) & ~np.isnan(y).all(axis=(1, 2))
    y = y[kept].reshape(int(kept.sum()), len(judges) * len(pairs))
    author = author[kept]
    met = _seen(y, author, len(authors)).reshape(-1, len(judges), len(pairs))
    seen = np.zeros((len(authors), len(judges), len(examinees)))
    for place, (a, b) in enumerate(pairs):
        seen[:, :, a] += met[:, :, place]
        seen[:, :, b] += met[:, :, place]
    design = role_design(authors, judges, examinees, seen)
    shape = (len(judges), len(examinees), len(design.columns))
    cells = tuple(
        (whole := cell.reshape(shape))[:, one].reshape(-1, shape[2])
        - whole[:, other].reshape(-1, shape[2])
        for cell in design.cells
    )
    fit = fit_roles(y, author, cells, design, level=False)
    weights = seen.reshape(len(authors), -1)
    return _told(fit, design, author, authors, weights, False, rounds, rng, confidence)


def _seen(y: Floats, author: Ints, authors: int) -> Floats:
    if not len(y):
        raise StatisticsError("nothing to decompose: no score on a question whose author is known")
    return np.stack([(~np.isnan(y[author == one])).sum(axis=0) for one in range(authors)]) * 1.0


def _told(
    fit: RoleFit,
    design: RoleDesign,
    author: Ints,
    authors: Sequence[str],
    weights: Floats,
    level: bool,
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> Decomposition:
    check_settings(rounds, confidence)
    values, influence, of = _columns(fit, design, author, authors, level)
    by_author = np.bincount(author, minlength=len(authors))
    drawn = _draw(influence, question_sums(fit, author), rounds, rng)
    effects: dict[str, list[Effect]] = {}
    for k, (family, whose) in enumerate(of):
        rests_on = (
            int(by_author[list(authors).index(whose[0])]) if family == "home" else len(author)
        )
        decided = k >= len(fit.effects) or bool(fit.estimable[k])
        one = _effect(values, influence, drawn, [k], rests_on, confidence)
        if not decided:
            one = Effect((), _undecided(family), None, None)
        effects.setdefault(family, []).append(replace(one, of=whose))
    families = {name: _with_shrinkage(family, name) for name, family in effects.items()}
    shares = variance_shares(
        fit,
        design,
        author,
        weights,
        level,
        drawn.moved[:, : len(fit.effects)],
        drawn.summed,
        confidence,
    )
    means = {}
    for name, rests_on in (("home", int(by_author.min())), ("self", len(author))):
        at = [k for k, (family, _) in enumerate(of) if family == name]
        mean = _effect(values, influence, drawn, at, rests_on, confidence) if at else None
        means[name] = None if mean is None else _mean_of(mean, effects[name], name)
    return Decomposition(
        families, means["home"], means["self"], shares, len(author), int(fit.scores.sum())
    )


def _columns(
    fit: RoleFit, design: RoleDesign, author: Ints, authors: Sequence[str], level: bool
) -> tuple[Floats, Floats, list[tuple[str, tuple[str, ...]]]]:
    """Effects with those of the authors behind them, and the influences of all."""
    of = list(design.columns)
    if not level or len(authors) < 2:
        return fit.effects, fit.influence, of
    mine = (author[:, None] == np.arange(len(authors))).astype(np.float64)
    size = np.maximum(mine.sum(axis=0), 1)
    means = fit.level @ mine / size
    part = mine * (fit.level[:, None] - means) / size - fit.influence @ fit.mean_cell.T
    part -= part.mean(axis=1, keepdims=True)
    of += [("author", (name,)) for name in authors]
    values = np.concatenate([fit.effects, means - means.mean()])
    return values, np.concatenate([fit.influence, part], axis=1), of


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Resampled (shape: rounds × …): sums of influences, and of `question_sums`."""

    moved: Floats
    summed: Floats


def _draw(influence: Floats, sums: Floats, rounds: int, rng: np.random.Generator) -> _Drawn:
    width = influence.shape[1]
    both = np.concatenate([influence, sums], axis=1)
    moved = np.concatenate([weights @ both for weights in draws(rounds, len(both), rng)])
    return _Drawn(moved[:, :width], moved[:, width:])


def _effect(
    values: Floats,
    influence: Floats,
    drawn: _Drawn,
    at: list[int],
    rests_on: int,
    confidence: float,
) -> Effect:
    """An effect, or the mean of several; `shrinkage` holds the standard error until later."""
    n, value = len(influence), float(values[at].mean())
    if rests_on < 2:
        return Effect((), Estimate(value, n=n, method=_METHOD), None, None)
    widen = (rests_on / (rests_on - 1)) ** 0.5
    own = influence[:, at].mean(axis=1)
    error = widen * float(np.sqrt(own @ own))
    if error <= _NO_SPREAD * max(float(np.abs(values).max()), 1e-3):
        return Effect((), Estimate(value, n=n, method=f"{_METHOD}; {ALL_ALIKE}"), None, None)
    low, high, p = percentile_with_p(value + drawn.moved[:, at].mean(axis=1), rests_on, confidence)
    least = student_quantile(0.5 + confidence / 2, rests_on - 1) + NormalDist().inv_cdf(_POWER)
    return Effect((), Estimate(value, low, high, p=p, n=n, method=_METHOD), error, least * error)


def _undecided(family: str) -> Estimate:
    reason = f"the scores do not decide the effect of {family}: it takes three models at least"
    return Estimate(None, method=_METHOD, reason=reason)


def _with_shrinkage(family: list[Effect], name: str) -> list[Effect]:
    """Empirical Bayes within a family; `shrinkage` holds the standard error until then."""
    told = [e for e in family if e.estimate.value is not None and e.shrinkage is not None]
    values = np.array([e.estimate.value for e in told], dtype=np.float64)
    errors = np.array([e.shrinkage for e in told], dtype=np.float64) ** 2
    centre = float(values.mean()) if name in ("home", "self") and len(values) else 0.0
    spread = max(0.0, float(((values - centre) ** 2).mean() - errors.mean())) if told else 0.0
    pulled = iter(
        (centre + (values - centre) * spread / np.maximum(spread + errors, 1e-300)).tolist()
    )
    estimates = [e.estimate for e in family]
    if name in ("home", "self"):
        estimates = with_holm(estimates)
    return [
        replace(e, estimate=estimate, shrinkage=next(pulled) if e in told else None)
        for e, estimate in zip(family, estimates, strict=True)
    ]


def _mean_of(mean: Effect, family: Sequence[Effect], name: str) -> Effect:
    whose = tuple(one.of[0] for one in family)
    if any(one.estimate.value is None for one in family):
        return Effect(whose, _undecided(name), None, None)
    return replace(mean, of=whose, shrinkage=None)
