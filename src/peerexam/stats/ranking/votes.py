"""Voting rules: from ballots to one score an agent, 0 to 1, higher is better.

Every rule takes sums of ballots with any leading axes, so that all bootstrap replicates are
scored at once. An agent on no ballot scores NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from peerexam.stats.core.tables import Floats
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.pairs.wins import meetings, win_rates
from peerexam.stats.ranking.ballots import Ballots
from peerexam.stats.ranking.ratings import expected_win_rate, fit_many

Method = Literal["borda", "copeland", "schulze", "bradley_terry"]

PRIOR = 0.5
"""Strength of the regularisation in the Bradley–Terry vote: virtual drawn comparisons a pair.

It keeps every bootstrap replicate finite and weighs nothing against real numbers of ballots.
"""


def borda(ballots: Ballots) -> Floats:
    """Mean, over the ballots that hold the agent, of the share of the others it beats there.

    Ties are half. A ballot of n agents gives its best 1 and its worst 0, whatever n is, so that
    a judge that leaves out its own answer weighs the same as one that ranks them all.
    """
    held = ballots.held
    return np.where(held > 0, ballots.share / np.where(held > 0, held, 1), np.nan)


def copeland(ballots: Ballots) -> Floats:
    """Share of the agents it met that the agent beats by majority, a drawn majority half."""
    rates = win_rates(ballots.wins)
    return _mean_over_others((rates > 0.5) + 0.5 * (rates == 0.5), ~np.isnan(rates))


def schulze(ballots: Ballots) -> Floats:
    """Share of the others beaten by the Schulze method (Schulze 2011), equal paths half.

    A link from i to j exists where i wins the majority of their meetings. Its strength is its win
    rate, not the number of votes: pairs meet unequally often because judges leave out their own
    answers. A path is as strong as its weakest link.
    """
    rates = win_rates(ballots.wins)
    path = np.where(rates > 0.5, rates, 0.0)
    for k in range(path.shape[-1]):
        through = np.minimum(path[..., :, k, None], path[..., None, k, :])
        np.maximum(path, through, out=path)
    back = np.swapaxes(path, -1, -2)
    beats = (path > back) + 0.5 * (path == back)
    return _mean_over_others(beats, _voted_on(ballots.wins))


def bradley_terry(ballots: Ballots) -> Floats:
    """Expected win rate against the others under a Bradley–Terry model with `PRIOR`."""
    wins = ballots.wins
    size = wins.shape[-1]
    strengths = fit_many(wins.reshape(-1, size, size), prior=PRIOR)
    scores = expected_win_rate(strengths).reshape(wins.shape[:-1])
    return np.where(meetings(wins).sum(axis=-1) > 0, scores, np.nan)


METHODS: Mapping[Method, Callable[[Ballots], Floats]] = {
    "borda": borda,
    "copeland": copeland,
    "schulze": schulze,
    "bradley_terry": bradley_terry,
}
"""The voting rules by name."""


def _voted_on(wins: Floats) -> Mask:
    on = meetings(wins).sum(axis=-1) > 0
    pairs = on[..., :, None] & on[..., None, :] & ~np.eye(wins.shape[-1], dtype=np.bool_)
    return np.asarray(pairs, dtype=np.bool_)


def _mean_over_others(points: Floats, known: Mask) -> Floats:
    number = known.sum(axis=-1)
    total = np.where(known, points, 0.0).sum(axis=-1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
