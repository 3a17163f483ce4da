"""Bradley–Terry strengths from a matrix of points, with honest answers where there are none.

The probability that i beats j is 1 / (1 + exp(θ_j − θ_i)); a tie is half a win for each. The
points matrix `W` is sufficient. The likelihood has a maximum only inside groups of items that have
all beaten each other through some chain (strongly connected); between groups the data say at
most "above" or "below", which no finite number is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.wins import meetings

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Convergence:
    """When an iteration is done, and that it never stops undone in silence.

    Attributes:
        tolerance: Largest change of a log-strength in the last step.
        limit: Most steps allowed.
    """

    tolerance: float = 1e-9
    limit: int = 100

    def reached(self, change: float, step: int) -> bool:
        """Whether the last step was small enough.

        Raises:
            StatisticsError: It was not, and the limit is reached.
        """
        if change <= self.tolerance:
            return True
        if step >= self.limit:
            raise StatisticsError(
                f"Bradley–Terry fit did not converge: after {step} steps a strength still moved "
                f"by {change:.2g} (tolerance {self.tolerance:g})"
            )
        return False


PRECISE = Convergence()
REPLICATE = Convergence(tolerance=1e-6)
"""For bootstrap replicates, whose spread is orders of magnitude larger."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Bradley–Terry strengths (shape: m).

    Attributes:
        strength: Natural-log strength, centred to mean 0 within its group; None where no finite
            number fits, and `reason` then says why.
        reason: Per item, None where the rating stands; else why it is missing, or why it may not
            be set against another group's.
        group: Per item, its group; ratings compare within one only. 0 is the largest.
        above: above[i, j] where i's group as a whole is above j's, by wins in one direction only.
        prior: Virtual drawn comparisons a pair that were added (0: none).
    """

    strength: tuple[float | None, ...]
    reason: tuple[str | None, ...]
    group: Ints
    above: Mask
    prior: float

    @property
    def expected(self) -> Floats:
        """Expected win rate against the others: 1 and 0 across groups in order, ½ if in none."""
        theta = np.array([0.0 if s is None else s for s in self.strength])
        together = self.group[:, None] == self.group[None, :]
        inside = _win_probability(theta)
        across = 0.5 * (1.0 + self.above - self.above.T)
        chance = np.where(together, inside, across)
        np.fill_diagonal(chance, 0)
        return np.asarray(chance.sum(axis=1) / max(len(theta) - 1, 1), dtype=np.float64)


def rate(wins: Floats, prior: float = 0.0, convergence: Convergence = PRECISE) -> Ratings:
    """Fit Bradley–Terry strengths, apart for every strongly connected group of items.

    Args:
        wins: Shape m × m, points of i over j.
        prior: Strength of an optional regularisation: so many virtual drawn comparisons are
            added to every pair. Above 0 all ratings are finite.
        convergence: When to stop.

    Raises:
        StatisticsError: The matrix is not square, holds negative or non-finite numbers, or the
            fit does not converge.
    """
    _check(wins)
    full = _with_prior(wins, prior)
    reach = _reachable(full > 0)
    group = _groups(reach, full)
    strength: list[float | None] = [None] * len(wins)
    for number in range(int(group.max(initial=-1)) + 1):
        members = np.flatnonzero(group == number)
        if len(members) > 1 or len(wins) == 1:
            inside = full[np.ix_(members, members)]
            for place, value in zip(members, _newton(inside, convergence), strict=True):
                strength[place] = float(value)
    reasons = tuple(_reason(i, full, group, strength[i]) for i in range(len(wins)))
    return Ratings(tuple(strength), reasons, group, reach & ~reach.T, prior)


def fit_many(wins: Floats, prior: float, convergence: Convergence = REPLICATE) -> Floats:
    """Strengths of many replicates at once, each centred to mean 0.

    Starts from the fit of the replicates' mean with its inverted Hessian (chord Newton), so that a
    replicate costs a few passes over its matrix; what has not settled is fitted in full.

    Args:
        wins: Shape rounds × m × m.
        prior: As in `rate`; 0 is for replicates that are all strongly connected.
        convergence: When to stop.

    Returns:
        Shape rounds × m.

    Raises:
        StatisticsError: A replicate did not converge, because without `prior` it has no finite
            fit.
    """
    rounds, size = wins.shape[0], wins.shape[-1]
    if rounds == 0 or size == 0:
        return np.zeros((rounds, size))
    start = _newton(_with_prior(wins.mean(axis=0), prior), convergence)
    out = np.empty((rounds, size))
    step = max(1, _CELLS_AT_ONCE // (size * size))
    for first in range(0, rounds, step):
        block = _with_prior(wins[first : first + step], prior)
        out[first : first + step] = _fit_block(block, start, convergence)
    return out


def expected_win_rate(strengths: Floats) -> Floats:
    """Mean probability of beating each of the others (shape … × m), 0 to 1."""
    size = strengths.shape[-1]
    return np.asarray((_win_probability(strengths).sum(axis=-1) - 0.5) / max(size - 1, 1))


def standard_errors(wins: Floats, strengths: Floats, prior: float = 0.0) -> Floats:
    """Sandwich standard errors of centred log-strengths (shape: m).

    H⁻¹ G H⁻¹ with G from the scores of the clusters; without clusters every result is its own and
    counts as a win or loss (ties are then counted as half results, which is cautious).

    Args:
        wins: Shape clusters × m × m, points per root question; or m × m for independent results.
        strengths: The fit, finite.
        prior: As in the fit.
    """
    total = wins.sum(axis=0) if wins.ndim == 3 else wins
    chance = _win_probability(strengths)
    hessian = _hessian(meetings(_with_prior(total, prior)), chance)
    if wins.ndim == 3:
        scores = (wins - meetings(wins) * chance).sum(axis=2)
        spread = scores.T @ scores
    else:
        squares = wins * (1 - chance) ** 2
        squares = squares + squares.T
        spread = np.diag(squares.sum(axis=1)) - squares
    size = len(strengths)
    inverse = np.linalg.inv(hessian + 1 / size)
    centre = np.eye(size) - 1 / size
    variance = np.diag(centre @ inverse @ spread @ inverse @ centre)
    return np.asarray(np.sqrt(np.maximum(variance, 0)), dtype=np.float64)


def _check(wins: Floats) -> None:
    if wins.ndim != 2 or wins.shape[0] != wins.shape[1]:
        raise StatisticsError(f"wins must be a square matrix, not of shape {wins.shape}")
    if not bool(np.all(np.isfinite(wins) & (wins >= 0))):
        raise StatisticsError("wins must be finite and not negative")


def _with_prior(wins: Floats, prior: float) -> Floats:
    size = wins.shape[-1]
    return np.asarray(wins + prior / 2 * (1 - np.eye(size)), dtype=np.float64)


def _win_probability(strengths: Floats) -> Floats:
    difference = strengths[..., :, None] - strengths[..., None, :]
    # tanh cannot overflow where exp of a large difference would.
    return np.asarray(0.5 * (1 + np.tanh(difference / 2)), dtype=np.float64)


def _hessian(met: Floats, chance: Floats) -> Floats:
    """Negative Hessian of the log-likelihood (shape … × m × m); its rows sum to 0."""
    hessian = -met * chance * (1 - chance)
    places = np.arange(met.shape[-1])
    hessian[..., places, places] = 0
    hessian[..., places, places] = -hessian.sum(axis=-1)
    return hessian


def _newton(wins: Floats, convergence: Convergence, start: Floats | None = None) -> Floats:
    """Damped Newton for one matrix or a stack of them; the result is centred."""
    met, won = meetings(wins), wins.sum(axis=-1)
    size = wins.shape[-1]
    theta = np.zeros(wins.shape[:-1]) if start is None else start.copy()
    for step in range(1, convergence.limit + 1):
        chance = _win_probability(theta)
        gradient = won - (met * chance).sum(axis=-1)
        hessian = _hessian(met, chance) + 1 / size  # the constant fixes the free mean
        move = _solve(hessian, gradient)
        largest = np.abs(move).max(axis=-1, initial=0.0)
        # log(1 + d) / d: the damping under which Newton cannot overshoot a logistic likelihood.
        theta = theta + move * (np.log1p(largest) / np.maximum(largest, 1e-300))[..., None]
        if convergence.reached(float(largest.max()), step):
            break
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True), dtype=np.float64)


def _solve(hessian: Floats, gradient: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise StatisticsError(
            "Bradley–Terry fit did not converge: a strength has no finite value; give a prior"
        ) from error


def _fit_block(wins: Floats, start: Floats, convergence: Convergence) -> Floats:
    met, won = meetings(wins), wins.sum(axis=-1)
    size = len(start)
    hessian = _hessian(met.mean(axis=0), _win_probability(start))
    inverse = np.linalg.inv(hessian + 1 / size)
    theta = np.broadcast_to(start, won.shape).copy()
    move = np.full(won.shape, np.inf)
    for _ in range(30):
        strength = np.exp(theta)
        share = met / (strength[:, :, None] + strength[:, None, :])
        # The diagonal of `met` is zero, so the sum runs over the others.
        move = (won - strength * share.sum(axis=2)) @ inverse
        theta += move
        far = np.abs(theta).max() > 300
        if far or np.abs(move).max() <= convergence.tolerance:
            break
    settled = np.abs(move).max(axis=1) <= convergence.tolerance
    if not bool(settled.all()):
        theta[~settled] = _newton(wins[~settled], convergence)
    return np.asarray(theta - theta.mean(axis=1, keepdims=True), dtype=np.float64)


def _reachable(beats: Mask) -> Mask:
    """Whether a chain of wins leads from i to j; every item reaches itself."""
    reach = beats | np.eye(len(beats), dtype=np.bool_)
    length = 1
    while length < len(beats):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        length *= 2
    return reach


def _groups(reach: Mask, wins: Floats) -> Ints:
    """Strongly connected groups, numbered by size, then by results inside, then by place."""
    both = reach & reach.T
    leader = np.argmax(both, axis=1) if len(both) else np.zeros(0, dtype=np.int64)
    names = np.unique(leader)
    inside = [float(wins[np.ix_(leader == name, leader == name)].sum()) for name in names]
    size = [int((leader == name).sum()) for name in names]
    order = sorted(range(len(names)), key=lambda k: (-size[k], -inside[k], k))
    number = {int(names[k]): place for place, k in enumerate(order)}
    return np.array([number[int(name)] for name in leader], dtype=np.int64)


def _reason(item: int, wins: Floats, group: Ints, strength: float | None) -> str | None:
    won, lost = wins[item].sum() > 0, wins[:, item].sum() > 0
    if strength is None:
        if not won and not lost:
            return "never compared"
        if not won:
            return "no wins, rating not finite"
        if not lost:
            return "no losses, rating not finite"
        return "never lost to one side and never beat the other, rating not finite"
    if group[item] != 0 or np.bincount(group)[0] == 1 < len(group):
        return "rated within its own group only: no chain of wins leads both ways to the others"
    return None
