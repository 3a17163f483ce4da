"""Whether an agent does better on the questions it wrote itself.

Where all questions of one side, its own or others', say the same, resampling takes that side's rate
for certain. It is then given the room that so many questions leave (`stats.all_alike`), as is done
in `stats.authorship`, and joined to the interval of the other side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peerexam.stats.core.all_alike import QUESTIONS_ALIKE, alike, worth
from peerexam.stats.core.cluster_ratio import (
    check_settings,
    draws,
    expanded_quantiles,
    sum_by_cluster,
)
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import with_holm
from peerexam.stats.core.interval_test import LEAST, Ends, finest_level, interval_with_p
from peerexam.stats.core.tables import Comparisons, Floats
from peerexam.stats.judges.authorship import Alike, author_interval, no_narrower
from peerexam.stats.judges.peer_points import pair_points
from peerexam.stats.pairs.orders import Disagreement, Mask, rows_where
from peerexam.stats.pairs.peers import peers_of
from peerexam.stats.pairs.wins import row_blocks

_METHOD = (
    "third-party win rate on own minus on others' questions; bootstrap over questions (expanded "
    "percentile, own and others' apart), p the level at which it reaches 0, Holm over agents; "
    "n counts questions"
)

_LEAST, _MOST = np.array([[0.0], [-1.0]]), np.array([[1.0], [0.0]])
"""What the rate at home adds to the difference at least and at most, and what that away does."""

_CELLS = 500_000
"""Random numbers held in memory at a time. Points are quarters, so that how many moves nothing."""

_HELD = 16
"""Arrays of pairs that folding orders holds at a time, about."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Points and comparisons of one agent (shape: question clusters × opponents)."""

    points: Floats
    count: Floats

    @property
    def rate(self) -> float:
        return float(_rates(self.points.sum(axis=0), self.count.sum(axis=0)))

    @property
    def parts(self) -> Floats:
        """What each question adds to the rate, about it: their mean is the rate, linearised."""
        total, met = self.count.sum(axis=0), self.count.any(axis=0)
        points, count = self.points[:, met], self.count[:, met]
        moved = (points - count * points.sum(axis=0) / total[met]) * len(count) / total[met]
        return np.asarray(self.rate + moved.mean(axis=1), dtype=np.float64)

    @property
    def worth(self) -> float:
        """How many questions of equal weight it rests on, against the opponent met on fewest."""
        met = self.count[:, self.count.any(axis=0)]
        return min(worth(column) for column in met.T)


def _rates(points: Floats, count: Floats) -> Floats:
    """Mean over opponents (the last axis) of the win rates against those that were met."""
    met = count > 0
    rate = np.zeros_like(points)
    np.divide(points, count, out=rate, where=met)
    number = met.sum(axis=-1)
    mean = np.full(number.shape, np.nan)
    np.divide(rate.sum(axis=-1), number, out=mean, where=number > 0)
    return mean


def home_advantage(
    c: Comparisons,
    authors: Mapping[str, str | None],
    *,
    rule: Disagreement = "tie",
    orderless: Collection[str] = (),
    same: Sequence[Collection[str]] = (),
    rounds: int = 10_000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[Estimate]:
    """Win rate on questions an agent wrote minus that on questions others wrote, per agent.

    Positive means that it does better at home; the unit is win rate (−1..1), ties half, as mean
    over its opponents, so that a sort's choice of opponents does not enter. Only third
    parties judge: neither the agent nor its rival of the moment, nor another agent of their models,
    so no self-preference enters.
    Nothing else is adjusted for: where every author is better at home, an agent's rate on others'
    questions is lowered by its rivals' advantage there, and the difference shows some of that too.

    Args:
        c: Verdicts on questions of the paper; follow-ups are for the caller to leave out.
        authors: Question id to the name of its author. Questions without one are left out.
        rule: What two orders that disagree amount to.
        orderless: Judges that see no order; for them one verdict a pair is enough.
        same: Groups of names that are one model each.
        rounds: Bootstrap rounds.
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Returns:
        In the order of `c.agents`. `n` is the number of questions that count, own and others';
        `left_out` that of judged questions without an author or a third party's result.

    Raises:
        StatisticsError: Bad settings.
    """
    check_settings(rounds, confidence)
    related = peers_of(c.agents, c.judges, same).related() if same else None
    points, count = _third_party_sums(c, rule, orderless, related)
    compared = count.sum(axis=2) > 0
    judged = np.bincount(c.question, minlength=len(c.questions)) > 0
    writer = [authors.get(name) for name in c.questions]
    known = np.array([name is not None for name in writer], dtype=np.bool_)
    estimates = []
    for agent, name in enumerate(c.agents):
        own = np.array([author == name for author in writer], dtype=np.bool_)
        home = _side(c, points[:, agent], count[:, agent], own)
        away = _side(c, points[:, agent], count[:, agent], known & ~own)
        n = int((compared[:, agent] & known).sum())
        left_out = int(judged.sum()) - n
        estimates.append(_difference(home, away, n, left_out, rounds, rng, confidence))
    if same:
        estimates = [_with_relatives_told(one) for one in estimates]
    return with_holm(estimates)


def _with_relatives_told(one: Estimate) -> Estimate:
    if one.value is not None:
        return one
    return replace(one, reason=f"{one.reason}; another agent of the same model is none")


def _third_party_sums(
    c: Comparisons, rule: Disagreement, orderless: Collection[str], related: Mask | None
) -> tuple[Floats, Floats]:
    """As `PairPoints.third_party_sums`, some questions at a time: what is in between is large."""
    size = len(c.agents)
    points = np.zeros((len(c.questions), size, size))
    count = points.copy()
    for block in row_blocks(len(c.questions), _HELD * size * size):
        keep = (block.start <= c.question) & (c.question < block.stop)
        part = rows_where(c, keep)
        part = replace(part, questions=c.questions[block], question=part.question - block.start)
        pairs = pair_points(part, rule, orderless, related)
        points[block], count[block] = pairs.third_party_sums()
    return points, count


def _side(c: Comparisons, points: Floats, count: Floats, chosen: Mask) -> _Side:
    met = sum_by_cluster(count * chosen[:, None], c.cluster)
    won = sum_by_cluster(points * chosen[:, None], c.cluster)
    used = met.sum(axis=1) > 0
    return _Side(won[used], met[used])


def _difference(
    home: _Side,
    away: _Side,
    n: int,
    left_out: int,
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> Estimate:
    if not len(home.count) or not len(away.count):
        where = "its own questions" if not len(home.count) else "others' questions"
        reason = f"no third party judged its answers to {where}"
        return Estimate(None, n=n, left_out=left_out, method=_METHOD, reason=reason)
    value = home.rate - away.rate
    fewest = min(len(home.count), len(away.count))
    if fewest < 2:
        return Estimate(value, n=n, left_out=left_out, method=_METHOD)
    drawn = _resampled(home, rounds, rng), _resampled(away, rounds, rng)
    moved = np.sort(drawn[0] - drawn[1])
    seen = np.array([[home.worth], [away.worth]])
    parts = home.parts, -away.parts
    held, wider = (drawn[0], -drawn[1]), Alike(_LEAST, _MOST, seen)
    sure = [alike(one) for one in held]

    def ends(wanted: float) -> Ends:
        plain = expanded_quantiles(moved, fewest, wanted)
        plain = no_narrower(plain, value, parts, np.ones(2), wanted)
        return author_interval(plain, value, held, wider, 0, wanted) or plain

    finest = LEAST if all(sure) else finest_level(rounds, fewest)
    low, high, p = interval_with_p(ends, confidence, finest)
    method = f"{_METHOD}; {QUESTIONS_ALIKE}" if any(sure) else _METHOD
    return Estimate(value, low, high, p=p, n=n, left_out=left_out, method=method)


def _resampled(side: _Side, rounds: int, rng: np.random.Generator) -> Floats:
    return np.concatenate(
        [
            _rates(weights @ side.points, weights @ side.count)
            for weights in draws(rounds, len(side.count), rng, _CELLS)
        ]
    )
