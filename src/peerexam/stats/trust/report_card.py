"""The report card of a judge as users of AlpacaEval know it (`analyze_evaluators`).

Differences, all of them because a judge here is asked both orders of every pair instead of several
seeds of one order:

- *human agreement* is of single verdicts with people's majority, as there;
- *bias* is the error of the two orders' result (there: of the majority of the seeds);
- *variance* is how far the two orders differ (there: one seed against the others);
- ties count half everywhere (there, a tie counts as a choice of the second in some columns);
- pairs on which people tie are left out (there, the majority is drawn by lot).

Everything is a share from 0 to 1 (there, per cent in some columns), price and time are per 1,000
verdicts, and everything has an interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from peerexam.stats.core.cluster_ratio import bootstrap_ratios, expanded_quantiles
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.resampling import cluster_weights
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.trust.correlation import pearson, spearman
from peerexam.stats.trust.pair_accuracy import JudgedPairs, pairwise_accuracy, share

MIN_DIFFERENCE = 30
"""Characters by which an answer must be longer to count as longer (AlpacaEval's)."""

_NONE_LONGER = f"no judged pair with an answer more than {MIN_DIFFERENCE} characters longer"
_NO_LISTS = "no judged pair with a list in one answer alone"
_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class PairTraits:
    """What the two answers of each pair look like (shape: pairs).

    Attributes:
        a: Who wrote the first answer, an index.
        b: Who wrote the second.
        longer: 1 where the first is longer, 0 where the second is, NaN where neither is.
        listed: 1 where the first alone holds a list, 0 where the second alone does, else NaN.
    """

    a: Ints
    b: Ints
    longer: Floats
    listed: Floats


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a judge's verdicts took (shape: calls): US dollars and seconds, NaN where unknown."""

    cluster: Ints
    dollars: Floats
    seconds: Floats


@dataclass(frozen=True, slots=True)
class ReportCard:
    """See the module's docstring.

    Attributes:
        human_agreement: Of single verdicts; 1 is full agreement.
        bias: Error of the two orders' result.
        variance: Mean difference of the two orders' points.
        spearman: Of the win rates of those who answered, by judge and by people.
        pearson: The same.
        prefer_first: Points of the answer shown first; ½ is none.
        prefer_longer: Points of the longer answer.
        people_prefer_longer: The same of people, on the same pairs: what a fair judge would show.
        prefer_lists: Points of the answer with a list, where the other has none.
        people_prefer_lists: The same of people.
        price: US dollars per 1,000 verdicts.
        time: Seconds per 1,000 verdicts, one after the other.
        read: Verdicts that could be read.
        asked: Verdicts that were asked for.
    """

    human_agreement: Estimate
    bias: Estimate
    variance: Estimate
    spearman: Estimate
    pearson: Estimate
    prefer_first: Estimate
    prefer_longer: Estimate
    people_prefer_longer: Estimate
    prefer_lists: Estimate
    people_prefer_lists: Estimate
    price: Estimate
    time: Estimate
    read: int
    asked: int


def report_card(
    pairs: JudgedPairs,
    traits: PairTraits,
    facts: CallFacts,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> ReportCard:
    """The report card of one judge."""
    cluster = np.tile(pairs.cluster, 2)
    verdicts = np.concatenate([pairs.forward, pairs.backward])  # of the pair's first answer
    shown_first = np.concatenate([pairs.forward, 1.0 - pairs.backward])
    human = np.tile(np.where(pairs.human == 0.5, np.nan, pairs.human), 2)
    accuracy = pairwise_accuracy(pairs, confidence=confidence).accuracy
    systems = _system_correlations(pairs, traits, rng, confidence)

    def mean(points: Floats, reason: str = "no verdict") -> Estimate:
        known = ~np.isnan(points)
        return share(points[known], cluster[: len(points)][known], confidence, reason=reason)

    def favour(points: Floats, trait: Floats, reason: str) -> Estimate:
        side = np.tile(trait, len(points) // len(trait)) if len(trait) else trait
        return mean(1.0 - np.abs(side - points), reason)

    judged = np.where(np.isnan(pairs.settled), np.nan, pairs.human)
    return ReportCard(
        human_agreement=mean(1.0 - np.abs(verdicts - human)),
        bias=_error(accuracy),
        variance=mean(np.abs(pairs.forward - pairs.backward), "no pair judged in both orders"),
        spearman=systems[0],
        pearson=systems[1],
        prefer_first=mean(shown_first),
        prefer_longer=favour(verdicts, traits.longer, _NONE_LONGER),
        people_prefer_longer=favour(judged, traits.longer, _NONE_LONGER),
        prefer_lists=favour(verdicts, traits.listed, _NO_LISTS),
        people_prefer_lists=favour(judged, traits.listed, _NO_LISTS),
        price=_per_thousand(facts.dollars, facts.cluster, rng, confidence, "no price is known"),
        time=_per_thousand(facts.seconds, facts.cluster, rng, confidence, "no time is known"),
        read=int((~np.isnan(verdicts)).sum()),
        asked=len(verdicts),
    )


def _error(accuracy: Estimate) -> Estimate:
    if accuracy.value is None:
        return accuracy
    low, high = (None if end is None else 1 - end for end in (accuracy.high, accuracy.low))
    return Estimate(
        1 - accuracy.value, low, high, n=accuracy.n, left_out=accuracy.left_out, method="1 - share"
    )


def _per_thousand(
    amounts: Floats, cluster: Ints, rng: np.random.Generator, confidence: float, reason: str
) -> Estimate:
    known = ~np.isnan(amounts)
    left_out = int((~known).sum())
    if not known.any():
        return Estimate(None, left_out=left_out, reason=reason)
    groups, place = np.unique(cluster[known], return_inverse=True)
    total = np.bincount(place, weights=amounts[known], minlength=len(groups))[:, None] * 1000
    count = np.bincount(place, minlength=len(groups)).astype(np.float64)[:, None]
    found = bootstrap_ratios(
        total.astype(np.float64), count, rounds=_ROUNDS, rng=rng, confidence=confidence
    )
    ends = found[0] or (None, None)
    mean = 1000 * float(amounts[known].mean())
    method = "bootstrap over questions"
    return Estimate(mean, ends[0], ends[1], n=int(known.sum()), left_out=left_out, method=method)


def _system_correlations(
    pairs: JudgedPairs, traits: PairTraits, rng: np.random.Generator, confidence: float
) -> tuple[Estimate, Estimate]:
    """Spearman's ρ and Pearson's r of win rates, over the pairs that both people and it judged."""
    judge = pairs.settled
    known = ~np.isnan(judge) & ~np.isnan(pairs.human)
    names = np.unique(np.concatenate([traits.a[known], traits.b[known]]))
    if len(names) < 3:
        none = Estimate(None, n=len(names), reason="fewer than 3 who answered")
        return none, none
    groups, place = np.unique(pairs.cluster[known], return_inverse=True)
    sums = np.zeros((len(groups), 3, len(names)))  # people's points, the judge's, pairs
    for side, mirror in ((traits.a, False), (traits.b, True)):
        column: Ints = np.asarray(np.searchsorted(names, side[known]), dtype=np.int64)
        for row, points in enumerate((pairs.human[known], judge[known], np.ones(len(place)))):
            gained = 1.0 - points if mirror and row < 2 else points
            np.add.at(sums[:, row], (place, column), gained)
    weights = cluster_weights(len(groups), _ROUNDS, rng)
    drawn = np.einsum("rc,csn->rsn", weights, sums)
    whole = sums.sum(axis=0)

    def of_rates(measure: Callable[[Floats, Floats], float | None]) -> Estimate:
        value = measure(*_rates(whole))
        values = [measure(*_rates(one)) for one in drawn if bool((one[2] > 0).all())]
        found = np.array([one for one in values if one is not None], dtype=np.float64)
        if value is None:
            return Estimate(None, n=len(names), reason="constant win rates")
        ends: tuple[float, float] | tuple[None, None] = (None, None)
        if len(groups) >= 2 and len(found):
            ends = expanded_quantiles(found, len(groups), confidence)
        return Estimate(value, ends[0], ends[1], n=len(names), method="bootstrap over questions")

    return of_rates(spearman), of_rates(pearson)


def _rates(sums: Floats) -> tuple[Floats, Floats]:
    return sums[0] / sums[2], sums[1] / sums[2]
