"""Least squares of scores on roles, and what every question contributes to each effect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.self_bias.role_design import RoleDesign


@dataclass(frozen=True, slots=True)
class RoleFit:
    """What fits best.

    Attributes:
        effects: Least-squares estimates, one a column of the design; 0 where not estimable.
        estimable: Whether the scores decide the effect.
        influence: Shape questions × effects: how far each question has moved each effect; the
            columns sum to zero, and resampled sums of them are the bootstrap (linearised).
        residual: Per question, sum of squared residuals within it.
        scores: Per question, how many scores it has.
        level: Per question, mean of its scores once the effects are taken off.
        mean_cell: Shape authors × effects: mean of the design over an author's scores.
        rank: Free parameters that the scores decide.
    """

    effects: Floats
    estimable: Mask
    influence: Floats
    residual: Floats
    scores: Floats
    level: Floats
    mean_cell: Floats
    rank: int


def fit_roles(
    y: Floats, author: Ints, cells: tuple[Floats, ...], design: RoleDesign, *, level: bool
) -> RoleFit:
    """Fit by least squares.

    Args:
        y: Shape questions × cells, NaN where there is no score.
        author: Per question.
        cells: Per author, the design of the cells.
        design: The effects and their side conditions.
        level: Whether every question has a level of its own, which is taken off (within
            transformation); a comparison has none.
    """
    size = len(design.columns)
    known = ~np.isnan(y)
    count = known.sum(axis=1).astype(np.float64)
    held = np.nan_to_num(y)
    mean = np.divide(held.sum(axis=1), count, out=np.zeros(len(y)), where=count > 0)
    if not level:
        mean = np.zeros(len(y))
    square, moment = np.zeros((size, size)), np.zeros(size)
    for one, cell in enumerate(cells):
        mask = known[author == one].astype(np.float64)
        weight = np.diag(mask.sum(axis=0))
        if level:
            part = mask / np.sqrt(np.maximum(mask.sum(axis=1, keepdims=True), 1))
            weight -= part.T @ part
        square += cell.T @ weight @ cell
        centred = mask * (held - mean[:, None])[author == one]
        moment += cell.T @ centred.sum(axis=0)
    basis = design.basis
    inner = basis.T @ square @ basis
    inverse = np.linalg.pinv(inner, rcond=1e-10, hermitian=True)
    solve = basis @ inverse @ basis.T
    effects = solve @ moment
    lost = basis @ (np.eye(basis.shape[1]) - inverse @ inner)
    estimable = np.asarray((np.abs(lost) < 1e-6).all(axis=1))
    rest = _rest(held, known, author, cells, effects)
    own = np.divide(rest.sum(axis=1), count, out=np.zeros(len(y)), where=count > 0)
    within = np.where(known, rest - (own[:, None] if level else 0.0), 0.0)
    influence = np.zeros((len(y), size))
    mean_cell = np.zeros((len(cells), size))
    for one, cell in enumerate(cells):
        rows = author == one
        influence[rows] = within[rows] @ cell @ solve
        share = known[rows] / np.maximum(count[rows, None], 1)
        mean_cell[one] = (share.sum(axis=0) / max(int((count[rows] > 0).sum()), 1)) @ cell
    return RoleFit(
        effects, estimable, influence, (within**2).sum(axis=1), count, own, mean_cell,
        int(np.linalg.matrix_rank(inner, tol=1e-8 * max(1.0, float(np.abs(inner).max(initial=0))))),
    )  # fmt: skip


def _rest(
    held: Floats, known: Floats, author: Ints, cells: tuple[Floats, ...], effects: Floats
) -> Floats:
    fitted = np.stack([cell @ effects for cell in cells])
    return np.where(known, held - fitted[author], 0.0)
