"""Counting a vote: scores by a rule, intervals, places, and what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from peerexam.stats.core.all_alike import alike, most_moved, worth
from peerexam.stats.core.cluster_ratio import expanded_quantiles
from peerexam.stats.core.resampling import bootstrap
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Mask
from peerexam.stats.ranking.ballots import Ballots
from peerexam.stats.ranking.pair_tests import FEWEST_DRAWS, met_groups, separated
from peerexam.stats.ranking.ranks import Place, places, resampled_apart, scored_above
from peerexam.stats.ranking.votes import METHODS, Method

Rule = Callable[[Ballots], Floats]
"""From sums of ballots to a score an agent."""

_BY_MAJORITY: frozenset[Method] = frozenset({"copeland", "schulze"})


@dataclass(frozen=True, slots=True)
class VoteCount:
    """The outcome of a vote; arrays over agents, NaN for an agent on no ballot.

    Attributes:
        total: All ballots that count, added up.
        scores: By the rule, 0 to 1, among the agents of its group.
        low: Lower end of the score's interval.
        high: Its upper end.
        places: Ranks, rank intervals and tiers; None for an agent on no ballot.
        groups: Per agent its group: those of different groups never met; -1 on no ballot.
        questions: On how many questions an agent stands on a ballot.
        all_questions: On how many questions there is a ballot at all.
    """

    total: Ballots
    scores: Floats
    low: Floats
    high: Floats
    places: list[Place | None]
    groups: Ints
    questions: Ints
    all_questions: int


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

    A score's interval is a bootstrap's, widened for few questions (`expanded_quantiles`). Where all
    questions agree on an agent, or redrawing moves nothing, it is the exact bound of how many could
    have disagreed (`all_alike`), two-sided as Clopper and Pearson have it: it excludes ½ just where
    a sign test does.

    Args:
        ballots: Per root question and judge.
        stands: Who is on a ballot (questions × judges × agents).
        counted: Indices of the judges that count.
        method: The voting rule.
        rounds: Draws of bootstrap and tests.
        confidence: Of the intervals of scores, each by itself, and of ranks and tiers, all pairs
            at once.
        cluster_judges: Draw judges as well as root questions.
        rng: Where the draws come from.
    """
    chosen = list(counted)
    pooled = ballots.over_judges(chosen)
    used = (pooled.held > 0).any(axis=1)
    if not used.all():
        pooled = Ballots(*(part[used] for part in pooled.parts))
    total = pooled.over_clusters()
    groups = met_groups(total.wins)
    rule = within_groups(METHODS[method], groups)
    scores = rule(total)
    ends, apart = _nothing_known(len(scores))
    if bool(used.any()):
        source = ballots.of_judges(chosen) if cluster_judges else pooled
        parts = [part[used] for part in source.parts] if cluster_judges else list(pooled.parts)
        replicates = bootstrap(
            parts,
            lambda drawn: rule(Ballots(*drawn)),
            rounds=rounds,
            rng=rng,
            judges=cluster_judges,
        )
        ends = _intervals(scores, pooled, replicates, confidence)
        apart = scored_above(scores) & separated(
            pooled.wins,
            groups,
            confidence=confidence,
            rounds=max(rounds, FEWEST_DRAWS),
            rng=rng,
        )
        if cluster_judges or method in _BY_MAJORITY:
            apart &= resampled_apart(scores, replicates, confidence)
    on_question = np.asarray(stands[:, chosen].any(axis=1), dtype=np.bool_)
    return VoteCount(
        total,
        scores,
        *ends,
        places(scores, apart, groups),
        groups,
        np.asarray(on_question.sum(axis=0)),
        int(on_question.any(axis=1).sum()),
    )


def within_groups(rule: Rule, groups: Ints) -> Rule:
    """The rule among the agents of each group, as if there were no others."""
    numbers = range(int(groups.max(initial=-1)) + 1)
    members = [np.flatnonzero(groups == number) for number in numbers]

    def scored(ballots: Ballots) -> Floats:
        scores = np.full(ballots.held.shape, np.nan)
        for inside in members:
            wins = ballots.wins[..., inside[:, None], inside]
            scores[..., inside] = rule(
                Ballots(ballots.share[..., inside], ballots.held[..., inside], wins)
            )
        return scores

    return scored


def _nothing_known(size: int) -> tuple[tuple[Floats, Floats], Mask]:
    unknown = np.full(size, np.nan)
    return (unknown, unknown.copy()), np.zeros((size, size), dtype=np.bool_)


def _intervals(
    scores: Floats, pooled: Ballots, replicates: Floats, confidence: float
) -> tuple[Floats, Floats]:
    (low, high), _ = _nothing_known(len(scores))
    for item in np.flatnonzero(~np.isnan(scores)):
        held = pooled.held[:, item]
        on = held > 0
        shares, drawn = pooled.share[on, item] / held[on], replicates[:, item]
        if alike(shares) or alike(drawn):
            ends = _exact(float(scores[item]), worth(held[on]), confidence)
        else:
            ends = expanded_quantiles(drawn, int(on.sum()), confidence)
        low[item], high[item] = min(ends[0], scores[item]), max(ends[1], scores[item])
    return low, high


def _exact(score: float, questions: float, confidence: float) -> tuple[float, float]:
    """Interval of a score, 0 to 1, on so many questions that all agree."""
    n, sure = np.array([questions]), (1 + confidence) / 2
    below, above = (most_moved(np.array([room]), n, sure) for room in (score, 1 - score))
    return score - below, score + above
