"""What stands beside each judge: its consistency, its tastes, its fitness to vote."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from peerexam.calls import Json
from peerexam.protocols.config.models import Fitness
from peerexam.protocols.standings.as_json import estimate_json, planned_and_ok
from peerexam.protocols.standings.columns import Gathered
from peerexam.protocols.standings.judge_pools import Pools
from peerexam.protocols.standings.same_model import third_parties
from peerexam.protocols.standings.settings import JudgeInfo, TallySettings
from peerexam.records import Probe
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.judges.attack_success import attack_success
from peerexam.stats.judges.bias import (
    first_preference,
    invalid_rate,
    longer_preference,
    swap_consistency,
)
from peerexam.stats.judges.peer_agreement import PeerAgreement, peer_agreement
from peerexam.stats.judges.self_preference import SelfPreference, self_preference
from peerexam.stats.pairs.orders import Mask, Pairs, on_own_answer, rows_where
from peerexam.stats.ranking.transitivity import (
    Contradictions,
    Triads,
    circular_triads,
    order_contradictions,
    preference_cycles,
)

_MEASURES = ("swap_consistency", "first_preference", "longer_preference", "invalid_rate")
_NO_WORDS = Estimate(None, reason="was not probed: no prompt is read to it")
_NO_ORDER = Estimate(None, reason="judges by likelihood, which sees no order of answers")
_ONE_ORDER = Estimate(None, reason="saw every pair in one order only")


@dataclass(frozen=True, slots=True)
class JudgeSheet:
    """Everything that is known of one judge.

    Attributes:
        measures: By name: swap consistency, preference for the first place and for the longer
            answer, invalid rate.
        why_unfit: The bounds it breaks, in words.
        gave_nothing: Not one usable verdict, mark or ranking came from it.
        attack_success: How often answers that ordered it about had their way; None where the exam
            does not ask.
        self_preference: None where it was not asked about its own answers.
        third_parties: Who speaks in its third-party estimate; None where it does not answer.
        peer_agreement: With all other judges, fit or not, on answers of neither.
        stands_for: How many judges it is the sheet of.
    """

    agent: str
    by: str
    measures: Mapping[str, Estimate]
    why_unfit: tuple[str, ...]
    gave_nothing: bool
    attack_success: Estimate | None
    self_preference: SelfPreference | None
    third_parties: Mapping[str, Json] | None
    peer_agreement: PeerAgreement
    triads: Triads
    cycles: list[tuple[str, ...]]
    contradictions: Contradictions
    verdicts: Mapping[str, int]
    marks: Mapping[str, int]
    stands_for: int = 1

    @property
    def counts(self) -> bool:
        """Whether it has a vote."""
        return not self.why_left_out

    @property
    def why_left_out(self) -> str:
        """Why it has no vote; empty where it has one."""
        if self.gave_nothing:
            return "gave no usable verdict, mark or ranking"
        return "; ".join(self.why_unfit)

    def to_json(self) -> dict[str, Json]:
        """Its entry in `standings.json`."""
        own, others = self.self_preference, self.third_parties
        return {
            "agent": self.agent,
            "by": self.by,
            "stands_for": self.stands_for,
            "fit": not self.why_unfit,
            "why_unfit": list(self.why_unfit),
            **{name: self.measures[name].value for name in _MEASURES},
            "intervals": {name: _interval(self.measures[name]) for name in _MEASURES},
            "attack_success": None if self.attack_success is None else _share(self.attack_success),
            "self_preference": None
            if own is None or others is None
            else {
                "win_rate": estimate_json(own.win_rate),
                "rank_bias": estimate_json(own.rank_bias),
                "third_party": estimate_json(own.third_party),
                "third_parties": others,
            },
            "peer_agreement": _agreement(self.peer_agreement),
            "circular_triads": {"count": self.triads.count, "of": self.triads.of},
            "preference_cycles": [list(names) for names in self.cycles],
            "order_contradictions": {
                "count": self.contradictions.count,
                "of": self.contradictions.of,
            },
            "verdicts": dict(self.verdicts),
            "marks": dict(self.marks),
        }


def judge_sheets(
    pools: Pools,
    pairs: Pairs,
    settings: TallySettings,
    seed: int,
    probes: Iterable[Probe] = (),
    same: Sequence[Collection[str]] = (),
) -> list[JudgeSheet]:
    """One sheet a judge, or a pool of them, in order; verdicts on own answers are used here.

    `pairs` are results of the table's verdicts without those; `seed` is the run's, and `same` are
    groups of agents that are one model each.
    """
    table, judges = pools.table, pools.judges
    c = table.verdicts
    measures = _measures(table, list(judges.values()), settings.confidence)
    orderless = [name for name, info in judges.items() if info.one_verdict_is_enough]
    own = _self_preferences(table, settings, np.random.default_rng([seed, 1]), orderless, same)
    others = third_parties(c, same)
    peers = rows_where(c, ~on_own_answer(c))
    rule = settings.disagreement
    triads = circular_triads(peers, rule=rule, orderless=orderless)
    cycles = preference_cycles(peers, rule=rule, orderless=orderless)
    turned = order_contradictions(peers, table.positions, rule=rule, orderless=orderless)
    attacks = _attacks(judges, settings, probes)
    agreeing = _agreements(pools, pairs, settings, np.random.default_rng([seed, 4]))
    gave = gave_something(table)
    return [
        JudgeSheet(
            agent=name,
            by=info.by,
            measures=measures[place],
            why_unfit=_why_unfit(measures[place], attacks[name], settings.fitness),
            gave_nothing=not gave[place],
            attack_success=attacks[name],
            self_preference=own[place],
            third_parties=others.get(name),
            peer_agreement=agreeing[place],
            triads=triads[place],
            cycles=cycles[place],
            contradictions=turned[place],
            verdicts=planned_and_ok(table.verdicts_seen, name),
            marks=planned_and_ok(table.marks_seen, name),
            stands_for=pools.stands_for[name],
        )
        for place, (name, info) in enumerate(judges.items())
    ]


def _measures(
    table: Gathered, judges: Sequence[JudgeInfo], confidence: float
) -> list[dict[str, Estimate]]:
    c = table.verdicts
    columns = (
        swap_consistency(c, confidence=confidence),
        first_preference(c, confidence=confidence),
        longer_preference(c, table.lengths, confidence=confidence),
        invalid_rate(c, table.marks, confidence=confidence),
    )
    rows = [dict(zip(_MEASURES, row, strict=True)) for row in zip(*columns, strict=True)]
    for row, info in zip(rows, judges, strict=True):
        if info.by == "likelihood":
            row["swap_consistency"] = row["first_preference"] = _NO_ORDER
        elif info.one_order:
            row["swap_consistency"] = row["first_preference"] = _ONE_ORDER
    return rows


def _attacks(
    judges: Mapping[str, JudgeInfo], settings: TallySettings, probes: Iterable[Probe]
) -> dict[str, Estimate | None]:
    """What the probes of each judge come to; None where the bounds do not ask for it."""
    if not settings.fitness.probes:
        return dict.fromkeys(judges)
    found: dict[str, list[Probe]] = {name: [] for name in judges}
    for probe in probes:
        if probe.judge in found:
            found[probe.judge].append(probe)
    return {
        name: attack_success(
            own, full_mark=settings.full_mark, confidence=settings.confidence
        ).success
        if own
        else _NO_WORDS
        for name, own in found.items()
    }


def _self_preferences(
    table: Gathered,
    settings: TallySettings,
    rng: Generator,
    orderless: Sequence[str],
    same: Sequence[Collection[str]],
) -> list[SelfPreference | None]:
    c = table.verdicts
    asked = np.bincount(c.judge[on_own_answer(c)], minlength=len(c.judges)) > 0
    if not bool(asked.any()):
        return [None] * len(c.judges)
    found = self_preference(
        c,
        rule=settings.disagreement,
        orderless=orderless,
        same=same,
        rounds=settings.rounds,
        rng=rng,
        confidence=settings.confidence,
    )
    return [entry if was else None for entry, was in zip(found, asked, strict=True)]


def _agreements(
    pools: Pools, pairs: Pairs, settings: TallySettings, rng: Generator
) -> list[PeerAgreement]:
    return peer_agreement(
        pools.once(pairs),
        judges=sum(pools.stands_for.values()),
        rounds=settings.rounds,
        rng=rng,
        confidence=settings.confidence,
    )


def gave_something(table: Gathered) -> Mask:
    """Per judge, whether a usable verdict, mark or ranking came from it."""
    # What it said of its own answers is no vote.
    c, marks, positions = table.verdicts, table.marks, table.positions
    gave = np.zeros(len(c.judges), dtype=np.bool_)
    gave[c.judge[~np.isnan(c.points) & ~on_own_answer(c)]] = True
    gave[marks.judge[~np.isnan(marks.overall)]] = True
    # A ranking in which nobody could be placed is a record, and says nothing.
    gave[positions.judge[~np.isnan(positions.rank).all(axis=1)]] = True
    return gave


def _why_unfit(
    measures: Mapping[str, Estimate], attacks: Estimate | None, limits: Fitness
) -> tuple[str, ...]:
    """The bounds that a judge breaks. What could not be measured is held against nobody."""
    reasons: list[str] = []
    consistency = measures["swap_consistency"].value
    if consistency is not None and consistency < limits.min_swap_consistency:
        reasons.append(
            f"swap consistency {consistency:.2f} is below {limits.min_swap_consistency:g}"
        )
    invalid = measures["invalid_rate"].value
    if invalid is not None and invalid > limits.max_invalid_rate:
        reasons.append(f"invalid rate {invalid:.2f} is above {limits.max_invalid_rate:g}")
    elif invalid is not None and invalid >= 1:
        reasons.append("none of its replies could be used")  # whatever bounds were set
    first = measures["first_preference"].value
    if first is not None and abs(first) > limits.max_first_preference:
        place = "first" if first > 0 else "second"
        reasons.append(
            f"preference for the {place} place {abs(first):.2f} "
            f"is above {limits.max_first_preference:g}"
        )
    obeyed = None if attacks is None else attacks.value
    if obeyed is not None and obeyed > limits.max_attack_success:
        reasons.append(f"attack success {obeyed:.2f} is above {limits.max_attack_success:g}")
    return tuple(reasons)


def _agreement(found: PeerAgreement) -> dict[str, Json]:
    return {
        **_share(found.verdicts),
        "compared": found.compared,
        "chance": found.chance,
        "decided": _share(found.decided),
    }


def _share(estimate: Estimate) -> dict[str, Json]:
    return {"value": estimate.value, **_interval(estimate)}


def _interval(estimate: Estimate) -> dict[str, Json]:
    return {
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "left_out": estimate.left_out,
        "reason": estimate.reason,
    }
