"""Whether a judge favours its own answers: three estimates side by side.

The paper's measure compares a judge's view of itself with its peers' view (Eq. 1, and its
counterpart in win rates). A peer that favours itself marks its rivals down, so its own
self-preference leaks into everybody else's reading. The third estimate counts only judges that
have no answer in the comparison and so is free of that; nor has another agent of theirs, where
several agents are one model (`stats.bias_peers`).

Where all questions say the same, a bootstrap would claim to be sure. The interval then says how far
the value may be off if as many questions differ as could without one of those seen being among them
(`stats.all_alike`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.all_alike import QUESTIONS_ALIKE, alike, alike_interval, worth
from peerexam.stats.core.cluster_ratio import (
    check_settings,
    resampled_ratios,
    sum_by_cluster,
)
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.holm import with_holm
from peerexam.stats.core.interval_test import interval_with_p, percentile_with_p
from peerexam.stats.core.tables import Comparisons, Floats
from peerexam.stats.judges.peer_points import PairPoints, any_sorted, pair_points, peer_ranks
from peerexam.stats.pairs.orders import Disagreement, agent_of_judge
from peerexam.stats.pairs.peers import peers_of

_METHOD = (
    "bootstrap over questions (expanded percentile), p the level at which it reaches 0, "
    "Holm over judges; "
)


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """One judge's self-preference. Positive, positive, negative mean that it favours itself.

    Attributes:
        win_rate: Own win rate by own judgement minus that by all other judges, on the same
            questions and opponents; in −1..1.
        rank_bias: Own rank by own judgement minus the peers' mean, θ_ii − mean_{j≠i} θ_ij
            (paper 004, Eq. 1); in ranks.
        third_party: Like `win_rate`, against judges that wrote neither of the two answers, and are
            no other agent of a model that did.
    """

    win_rate: Estimate
    rank_bias: Estimate
    third_party: Estimate


@dataclass(frozen=True, slots=True)
class _Measure:
    """Differences own − others (shape: questions × agents × comparisons), NaN where none.

    Attributes:
        span: How large a difference can be, in either direction.
        unit: What one comparison is.
        reason: Why there is no value, where there is none.
    """

    differences: Floats
    asked: Floats
    span: float
    unit: str
    reason: str


def self_preference(
    c: Comparisons,
    *,
    rule: Disagreement = "tie",
    orderless: Collection[str] = (),
    same: Sequence[Collection[str]] = (),
    rounds: int = 10_000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[SelfPreference | None]:
    """Estimate every judge's self-preference, in the order of `c.judges`.

    Each question's differences are taken within the question (same answers, same opponents) and
    averaged over all of them; peers count equally, as far as they gave a result. Ranks are taken
    within a question first, then averaged; ties get average ranks, which the paper leaves open.
    Where judges sorted, their rankings and the direct verdicts on own answers are not of one kind;
    an agent's rank is then 1 plus the opponents that won against it in direct comparisons (as far
    as peers made them), which is the same where verdicts are complete and without circles.
    The interval resamples root questions; the p-value is the level at which it reaches 0
    (`stats.interval_test`).

    Args:
        c: Verdicts, self-judgements included.
        rule: What two orders that disagree amount to.
        orderless: Judges that see no order; for them one verdict a pair is enough.
        same: Groups of names that are one model each: none of a group is a third party where
            another of it wrote one of the answers.
        rounds: Bootstrap rounds.
        rng: Where all randomness comes from.
        confidence: Of the intervals.

    Returns:
        None for a judge that is no examinee, or was never asked about its own answers. `n` and
        `left_out` count (question, opponent)s for the win rates and questions for the rank.

    Raises:
        StatisticsError: Bad settings.
    """
    check_settings(rounds, confidence)
    related = peers_of(c.agents, c.judges, same).related() if same else None
    pairs = pair_points(c, rule, orderless, related)
    own_of_judge: list[int] = agent_of_judge(c.agents, c.judges).tolist()
    judged_itself: list[bool] = np.any(pairs.asked, axis=(0, 2)).tolist()
    agents = [place for place in own_of_judge if place >= 0 and judged_itself[place]]
    measures = (
        _win_rate(pairs),
        _rank_bias(c, pairs, rule, orderless),
        _third_party(pairs, bool(same)),
    )
    estimates = [_estimate(c, measure, agents, rounds, rng, confidence) for measure in measures]
    of_agent = {
        agent: SelfPreference(*(family[place] for family in estimates))
        for place, agent in enumerate(agents)
    }
    return [of_agent.get(place) for place in own_of_judge]


def _win_rate(pairs: PairPoints) -> _Measure:
    return _Measure(
        pairs.own - pairs.peers(),
        pairs.asked.astype(np.float64),
        1.0,
        "(question, opponent)s",
        "no pair of its own was judged readably both by it and by a peer",
    )


def _rank_bias(
    c: Comparisons, pairs: PairPoints, rule: Disagreement, orderless: Collection[str]
) -> _Measure:
    asked = np.asarray(pairs.asked.any(axis=2), dtype=np.float64)[:, :, None]
    most = float(len(c.agents) - 1)
    if any_sorted(c):
        lost = pairs.peers() - pairs.own
        return _Measure(
            (_mean_known(lost) * pairs.asked.sum(axis=2))[:, :, None],
            asked,
            most,
            "questions; ranks as 1 + opponents that won, ties half, from direct comparisons, since "
            "judges sorted",
            "no pair of its own was judged readably both by it and by a peer",
        )
    ranks = peer_ranks(c, rule, orderless)
    return _Measure(
        (ranks.own - ranks.peers)[:, :, None],
        asked,
        most,
        "questions",
        "no question was ranked completely both by it, own answer included, and by a peer",
    )


def _mean_known(values: Floats) -> Floats:
    """Mean over the last axis of what is not NaN; NaN where all is."""
    count = (~np.isnan(values)).sum(axis=-1)
    mean = np.full(count.shape, np.nan)
    np.divide(np.nansum(values, axis=-1), count, out=mean, where=count > 0)
    return mean


def _third_party(pairs: PairPoints, related: bool) -> _Measure:
    nor = ", nor did another agent of its model" if related else ""
    return _Measure(
        pairs.own - pairs.third_party(),
        pairs.asked.astype(np.float64),
        1.0,
        "(question, opponent)s",
        "no pair of its own was judged readably both by it and by a third party, a judge that "
        f"wrote neither answer{nor}; where all are examinees, that takes at least three judges"
        + (" of different models" if related else ""),
    )


def _estimate(
    c: Comparisons,
    measure: _Measure,
    agents: list[int],
    rounds: int,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate]:
    """One measure for the agents given, with Holm's correction over them."""
    differences = measure.differences[:, agents]
    above = sum_by_cluster(np.nansum(differences, axis=2), c.cluster)
    below = sum_by_cluster((~np.isnan(differences)).sum(axis=2).astype(np.float64), c.cluster)
    asked = measure.asked[:, agents].sum(axis=(0, 2))
    n = below.sum(axis=0)
    if not agents or not n.any():
        return [_undefined(measure, int(planned)) for planned in asked]
    drawn = resampled_ratios(above, below, rounds, rng)
    family = []
    for k in range(len(agents)):
        if not n[k]:
            family.append(_undefined(measure, int(asked[k])))
            continue
        low, high, p, certain = _interval(
            above[:, k], below[:, k], drawn[:, k], measure.span, confidence
        )
        family.append(
            Estimate(
                float(above[:, k].sum() / n[k]),
                low,
                high,
                p=p,
                n=int(n[k]),
                left_out=int(asked[k] - n[k]),
                method=_METHOD
                + f"n counts {measure.unit}"
                + (f"; {QUESTIONS_ALIKE}" if certain else ""),
            )
        )
    return with_holm(family)


def _interval(
    above: Floats, below: Floats, drawn: Floats, span: float, confidence: float
) -> tuple[float | None, float | None, float | None, bool]:
    """Low, high, p of a ratio of sums by question, and whether all questions say the same."""
    used = below > 0
    clusters = int(used.sum())
    if clusters < 2:
        return None, None, None, False
    if not alike(above[used] / below[used]):
        return *percentile_with_p(drawn, clusters, confidence), False
    value, seen = float(above.sum() / below.sum()), worth(below[used])
    return *interval_with_p(lambda c: alike_interval(value, span, seen, c), confidence), True


def _undefined(measure: _Measure, left_out: int) -> Estimate:
    return Estimate(
        None,
        left_out=left_out,
        method=_METHOD + f"n counts {measure.unit}",
        reason=measure.reason,
    )
