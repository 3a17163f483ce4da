"""Counting a vote: scores by a rule, bootstrap intervals, places, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from peerexam.stats.ballots import Ballots
from peerexam.stats.orders import Mask
from peerexam.stats.ranks import Place, places, told_apart
from peerexam.stats.resampling import bootstrap, percentile_interval
from peerexam.stats.tables import Floats, Ints
from peerexam.stats.votes import METHODS, Method


@dataclass(frozen=True, slots=True)
class VoteCount:
    """The outcome of a vote; arrays over agents, NaN for an agent on no ballot.

    Attributes:
        total: All ballots that count, added up.
        scores: By the rule, 0 to 1.
        low: Lower end of the score's interval; NaN where there are fewer than two root questions.
        high: Its upper end.
        places: Ranks, rank intervals and tiers; None for an agent on no ballot.
        questions: On how many questions an agent stands on a ballot.
    """

    total: Ballots
    scores: Floats
    low: Floats
    high: Floats
    places: list[Place | None]
    questions: Ints


def count_votes(
    ballots: Ballots,
    stands: Mask,
    counted: Sequence[int],
    *,
    method: Method = "borda",
    rounds: int = 1000,
    confidence: float = 0.95,
    cluster_judges: bool = False,
    rng: Generator,
) -> VoteCount:
    """Count the ballots of the judges that count.

    Args:
        ballots: Per root question and judge.
        stands: Who is on a ballot (questions × judges × agents).
        counted: Indices of the judges that count.
        method: The voting rule.
        rounds: Bootstrap rounds.
        confidence: Of the intervals of scores, each by itself, and of ranks and tiers, all pairs
            at once.
        cluster_judges: Draw judges as well as root questions.
        rng: Where the draws come from.
    """
    chosen = list(counted)
    pooled = ballots.over_judges(chosen)
    total = pooled.over_clusters()
    rule = METHODS[method]
    scores = rule(total)
    present = pooled.held > 0
    used = present.any(axis=1)
    low, high = np.full(scores.shape, np.nan), np.full(scores.shape, np.nan)
    apart: Mask = np.zeros((len(scores), len(scores)), dtype=np.bool_)
    if int(used.sum()) > 1:
        source = ballots.of_judges(chosen) if cluster_judges else pooled
        replicates = bootstrap(
            [part[used] for part in source.parts],
            lambda drawn: rule(Ballots(*drawn)),
            rounds=rounds,
            rng=rng,
            judges=cluster_judges,
        )
        low, high = percentile_interval(replicates, confidence)
        both = present.astype(np.int64)
        apart = told_apart(scores, replicates, confidence, both.T @ both)
    on_question = stands[:, chosen].any(axis=1)
    return VoteCount(
        total, scores, low, high, places(scores, apart), np.asarray(on_question.sum(axis=0))
    )
