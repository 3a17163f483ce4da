"""What share of the variance of scores each role makes up.

A part is the variance, over the scores there are, of what its effects add, less what error of
estimation adds to that (the mean squared standard error). Parts that come out negative count as 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from peerexam.stats.core.cluster_ratio import expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.self_bias.role_design import RoleDesign
from peerexam.stats.self_bias.role_fit import RoleFit

_PARTS: Mapping[str, tuple[str, ...]] = {
    "examinee": ("examinee",),
    "judge": ("judge",),
    "author × examinee": ("author × examinee", "home"),
    "judge × examinee": ("judge × examinee", "self"),
}
_METHOD = "variance of the effects less that of estimation; bootstrap over questions"
_NO_WIDTH = 1e-12


def variance_shares(
    fit: RoleFit,
    design: RoleDesign,
    author: Ints,
    weights: Floats,
    level: bool,
    moved: Floats,
    summed: Floats,
    confidence: float,
) -> dict[str, Estimate]:
    """Shares of the variance, which sum to 1.

    Args:
        fit: The effects.
        design: What they are.
        author: Per question.
        weights: Shape authors × cells: scores there are.
        level: Whether questions have a level (scores), or not (comparisons, where examinee's
            share is of one answer, so that half of the rest is its own).
        moved: Shape rounds × effects: how far resampling moved them.
        summed: `question_sums` of the resampled questions (rounds × columns).
        confidence: Of the intervals.
    """
    quadratics = _quadratics(design, weights, level)
    errors = {
        name: float(np.sum((fit.influence @ q) * fit.influence)) for name, q in quadratics.items()
    }
    free = float(fit.scores.sum()) - fit.rank - (len(author) if level else 0)
    inflate = float(fit.scores.sum()) / max(free, 1.0) * (1.0 if level else 0.5)

    def parts(effects: Floats, held: Floats, times: float) -> dict[str, Floats]:
        found = {
            name: np.einsum("rp,pq,rq->r", effects, q, effects) - times * errors[name]
            for name, q in quadratics.items()
        }
        rest = held[:, 0] / np.maximum(held[:, 1], 1) * inflate
        if level:
            found |= _levels(held, rest, times)
        return {name: np.maximum(part, 0.0) for name, part in {**found, "rest": rest}.items()}

    seen = parts(fit.effects[None], question_sums(fit, author).sum(axis=0)[None], 1.0)
    many = parts(fit.effects + moved, summed, 2.0)
    return _shares(seen, many, len(author), confidence)


def _quadratics(design: RoleDesign, weights: Floats, level: bool) -> dict[str, Floats]:
    """The variance over scores of a part's effects, as a quadratic form of all effects."""
    cells = np.concatenate(design.cells)
    flat = weights.ravel() / weights.sum()
    around = cells - flat @ cells
    found = {}
    for name, families in _PARTS.items():
        columns = np.concatenate([design.family(family) for family in families])
        if len(columns) and (level or name != "judge"):
            part = around[:, columns]
            form = np.zeros((cells.shape[1], cells.shape[1]))
            form[np.ix_(columns, columns)] = (part * flat[:, None]).T @ part
            found[name] = form
    return found


def question_sums(fit: RoleFit, author: Ints) -> Floats:
    """What of each question a replicate needs (shape: questions × 2 + 3 per author).

    Squared residuals, number of scores; for each author the questions, their levels, the levels'
    squares.
    """
    mine = (author[:, None] == np.arange(int(author.max()) + 1)).astype(np.float64)
    level = fit.level[:, None]
    own = np.stack([fit.residual, fit.scores], axis=1)
    return np.concatenate([own, mine, mine * level, mine * level**2], axis=1)


def _levels(held: Floats, rest: Floats, times: float) -> dict[str, Floats]:
    """Variance of authors' means, and of questions around them."""
    number, total, squares = np.split(held[:, 2:], 3, axis=1)
    questions = np.maximum(number.sum(axis=1), 1)
    mean = total / np.maximum(number, 1)
    within = (squares - number * mean**2).sum(axis=1)
    spread = within / np.maximum(questions - (number > 0).sum(axis=1), 1)
    size = np.maximum(held[:, 1] / questions, 1)
    part = number / questions[:, None]
    centre = (part * mean).sum(axis=1, keepdims=True)
    between = (part * (mean - centre) ** 2).sum(axis=1)
    noise = ((1 - part) * (number > 0)).sum(axis=1) * spread / questions
    return {"author": between - times * noise, "question": spread - rest / size}


def _shares(
    seen: Mapping[str, Floats], many: Mapping[str, Floats], n: int, confidence: float
) -> dict[str, Estimate]:
    whole = float(sum(part[0] for part in seen.values()))
    if whole <= 0:
        return {
            name: Estimate(None, n=n, method=_METHOD, reason="all scores are equal")
            for name in seen
        }
    totals = np.maximum(np.sum(list(many.values()), axis=0), 1e-300)
    found = {}
    for name, part in seen.items():
        low, high = (
            expanded_quantiles(many[name] / totals, n, confidence) if n > 1 else (None, None)
        )
        value, method = float(part[0]) / whole, _METHOD
        if low is not None and high is not None and high - low < _NO_WIDTH:
            # Replicates that are all alike would claim to be sure.
            low, high, method = None, None, f"{_METHOD}; no interval: no replicate differs"
        found[name] = Estimate(value, low, high, n=n, method=method)
    return found
