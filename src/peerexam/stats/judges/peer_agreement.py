"""How often a judge's verdict on two answers is the one that the other judges give.

Raw agreement as MT-bench has it (Zheng et al. 2023, Judging LLM-as-a-judge with MT-bench and
Chatbot Arena, §4.1): the share of pairs of verdicts, by two judges on the same two answers to the
same question, that say the same; pooled over all such pairs, as its published program does. It has
two set-ups, and so has this module. In the first, a tie is a verdict like another and orders that
disagree are a tie (which is the rule `tie` of `orders.combine_orders`); in the second, only decided
verdicts are compared. There, tossing a coin agrees in a half; in the first it depends on the ties.

Agreement is no truth: judges with the same blind spot agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerexam.stats.core.cluster_ratio import bootstrap_ratios, check_settings, share_interval
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.pairs.orders import Pairs

ALONE = "there is no other judge"

_METHOD = "share of the other judges' verdicts; bootstrap over questions (expanded percentile)"
_OUTCOMES, _TIE = 3, 1

Ends = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PeerAgreement:
    """How far one judge agrees with the others.

    Attributes:
        verdicts: Ties count as a verdict (set-up 1). `n` counts (question, pair of answers)s on
            which it and another judge have a result, `left_out` those on which it alone has one.
        decided: Ties are left out on both sides (set-up 2); chance level ½. `n` and `left_out`
            count likewise, `left_out` its ties among them.
        compared: How many verdicts of others it was compared with.
        chance: What `verdicts` would be were every decision of it and the others a coin's, with as
            many ties as there are: t·u + (1 − t)(1 − u) / 2, t and u being the two shares of ties.
            MT-bench's ⅓ where a third are ties, ½ where there are none; None without a value.
    """

    verdicts: Estimate
    decided: Estimate
    compared: int
    chance: float | None


@dataclass(frozen=True, slots=True)
class _Votes:
    """How often each item, a question with two answers, got each outcome.

    Attributes:
        item: Per row of `Pairs`.
        outcome: Per row: lost, tied or won by the pair's first agent.
        counts: Shape items × outcomes.
    """

    item: Ints
    outcome: NDArray[np.int8]
    counts: Ints


@dataclass(frozen=True, slots=True)
class _Compared:
    """One judge's results beside the others', in both set-ups.

    Attributes:
        same: Verdicts of others that say the same, by root question (clusters × set-ups).
        others: All of them.
        given: How many results it has.
        shared: On how many of them another judge has one, too (set-ups).
        chance: See `PeerAgreement`.
    """

    same: Floats
    others: Floats
    given: int
    shared: tuple[int, int]
    chance: float | None


def peer_agreement(
    pairs: Pairs,
    *,
    judges: int | None = None,
    rounds: int = 1000,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[PeerAgreement]:
    """Agreement of every judge with all the others, in the order of `pairs.judges`.

    A judge that shares more pairs with one peer than with another is compared with it more often:
    this is the mean over its peers, each weighing as many pairs as both judged. Intervals draw
    whole root questions; where all verdicts agree, or none does, there is nothing to draw, and it
    is Wilson's with a question as one trial.

    Args:
        pairs: Results without the judges' own answers, so that self-preference is no part of it;
            at most one a judge, question and pair. More than ½ is a win, less a loss. A judge of
            the table may stand for several, with a row each: they then are each other's peers too.
        judges: How many there are, where some stand for several.
        rounds: Of the bootstrap.
        rng: Where its draws come from.
        confidence: Of the intervals.

    Returns:
        No interval with fewer than two questions.

    Raises:
        StatisticsError: Bad settings.
    """
    check_settings(rounds, confidence)
    if not pairs.judges:
        return []
    rows = list(_compared(pairs, _votes(pairs)))
    ends = _intervals(
        np.hstack([row.same for row in rows]),
        np.hstack([row.others for row in rows]),
        rounds=rounds,
        rng=rng,
        confidence=confidence,
    )
    return [
        PeerAgreement(
            _estimate(row, 0, ends[2 * place], _reason(judges or len(rows), row)),
            _estimate(row, 1, ends[2 * place + 1], _reason(judges or len(rows), row)),
            int(row.others[:, 0].sum()),
            row.chance,
        )
        for place, row in enumerate(rows)
    ]


def _votes(pairs: Pairs) -> _Votes:
    """Count once for all judges: each is then compared with the others by taking itself out.

    So time goes by the number of results, however many judges there are.
    """
    size = max(len(pairs.agents), 1)
    key = (pairs.question * size + pairs.a) * size + pairs.b
    keys, item = np.unique(key, return_inverse=True)
    # Means of repeated verdicts may miss ½ by a rounding error.
    outcome = (np.sign(np.round(pairs.points - 0.5, 9)) + 1).astype(np.int8)
    counts = np.bincount(item * _OUTCOMES + outcome, minlength=_OUTCOMES * len(keys))
    return _Votes(item, outcome, counts.reshape(-1, _OUTCOMES))


def _compared(pairs: Pairs, votes: _Votes) -> Iterator[_Compared]:
    """Judge by judge, so that what is needed in between stays small."""
    clusters = int(pairs.cluster.max(initial=-1)) + 1
    for judge in range(len(pairs.judges)):
        rows = np.flatnonzero(pairs.judge == judge)
        cluster = pairs.cluster[pairs.question[rows]]
        outcome = votes.outcome[rows]
        tied = outcome == _TIE
        # Of the others only.
        counts = votes.counts[votes.item[rows]]
        counts[np.arange(len(rows)), outcome] -= 1
        same = counts[np.arange(len(rows)), outcome]
        others = counts.sum(axis=1)
        deciding = np.where(tied, 0, others - counts[:, _TIE])
        columns = (same, np.where(tied, 0, same), others, deciding)
        by_cluster = [np.bincount(cluster, one, minlength=clusters) for one in columns]
        sums = np.column_stack(by_cluster).astype(np.float64)
        yield _Compared(
            sums[:, :2],
            sums[:, 2:],
            len(rows),
            (int((others > 0).sum()), int((deciding > 0).sum())),
            _chance(int(others[tied].sum()), int(counts[:, _TIE].sum()), int(others.sum())),
        )


def _chance(ties: int, ties_of_others: int, compared: int) -> float | None:
    """Both counts of ties are over the pairs of verdicts that are compared."""
    if not compared:
        return None
    t, u = ties / compared, ties_of_others / compared
    return t * u + (1 - t) * (1 - u) / 2


def _intervals(
    same: Floats, others: Floats, *, rounds: int, rng: np.random.Generator, confidence: float
) -> Sequence[Ends]:
    drawn = bootstrap_ratios(same, others, rounds=rounds, rng=rng, confidence=confidence)
    totals = same.sum(axis=0), others.sum(axis=0)
    return [
        share_interval(same[:, k], others[:, k], confidence) if hits in (0, of) else ends
        for k, (ends, hits, of) in enumerate(zip(drawn, *totals, strict=True))
    ]


def _reason(judges: int, row: _Compared) -> str:
    if judges < 2:
        return ALONE
    if not row.given:
        return "it has no result on any two answers of others"
    if not row.shared[0]:
        return "no other judge has a result on the same two answers"
    return "no two answers were told apart both by it and by another judge"


def _estimate(row: _Compared, setup: int, ends: Ends, reason: str) -> Estimate:
    n = row.shared[setup]
    left_out = row.given - n
    if not n:
        return Estimate(None, left_out=left_out, method=_METHOD, reason=reason)
    low, high = ends or (None, None)
    value = float(row.same[:, setup].sum() / row.others[:, setup].sum())
    return Estimate(value, low, high, n=n, left_out=left_out, method=_METHOD)
