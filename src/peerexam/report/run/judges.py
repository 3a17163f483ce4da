"""The judges' tables: may this judge be trusted, and whom does it favour?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.report.figures.axis import Axis, Bar, axis_about_zero
from peerexam.report.numbers import (
    MISSING,
    counted,
    decimal,
    interval,
    percent,
    points,
    probability,
    ratio,
    signed,
)
from peerexam.report.run.conclusion import Standings

ESTIMATES = ("third_party", "win_rate", "rank_bias")
"""Of self-preference, in the order in which they are shown; the first that has a value leads."""

_FAVOUR = {"self": "in its own favour", "other": "against itself", "none": "not significant"}
_HOME = {"self": "better at home", "other": "worse at home", "none": "not significant"}
_OTHER = dict.fromkeys(_FAVOUR, "")
"""An estimate beside the one that leads is given without a reading of its own."""

Number = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with its interval and what it rests on, as text."""

    value: str
    interval: str
    n: str


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One judge's fitness.

    Attributes:
        attack_success: None in a run whose judges were not probed.
        agreement: With the other judges; None in standings that do not have it.
    """

    agent: str
    by: str
    is_fit: bool
    why: tuple[str, ...]
    swap_consistency: Measure
    first_preference: Measure
    longer_preference: Measure
    invalid_rate: Measure
    attack_success: Measure | None
    agreement: Measure | None
    triads: str
    contradictions: str
    verdicts: str
    marks: str


@dataclass(frozen=True, slots=True)
class Effect:
    """One estimate of a difference that may be nothing.

    Attributes:
        reading: What it says in words.
        leaning: `self`, `other` or `none`: towards whom the interval points.
        p_holm: After Holm's correction over the family tested together.
    """

    value: str
    interval: str
    p: str
    p_holm: str
    n: str
    left_out: str
    bar: Bar | None
    reading: str
    leaning: str


@dataclass(frozen=True, slots=True)
class SelfPreferenceRow:
    """One judge's three estimates, in the order of `ESTIMATES`.

    Attributes:
        left: How many third parties are left, where one is left out; else empty.
        relatives: Judges that are no third parties to it, being the same model.
    """

    agent: str
    effects: tuple[Effect, ...]
    left: str
    relatives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HomeRow:
    """One author's home advantage; `left` and `relatives` as in `SelfPreferenceRow`."""

    agent: str
    effect: Effect
    left: str
    relatives: tuple[str, ...]


def judge_rows(standings: Standings) -> list[JudgeRow]:
    """Every judge's fitness, those that lost their vote included."""
    return [_judge_row(judge) for judge in standings.get("judges", [])]


def _judge_row(judge: Mapping[str, Json]) -> JudgeRow:
    triads, contradictions = (
        judge.get(key) or {} for key in ("circular_triads", "order_contradictions")
    )
    verdicts, marks = (judge.get(key) or {} for key in ("verdicts", "marks"))
    return JudgeRow(
        agent=judge["agent"],
        by=judge.get("by") or "prompt",
        is_fit=bool(judge.get("fit", True)),
        why=tuple(judge.get("why_unfit") or ()),
        swap_consistency=_measure(judge, "swap_consistency", percent),
        first_preference=_measure(judge, "first_preference", signed),
        longer_preference=_measure(judge, "longer_preference", signed),
        invalid_rate=_measure(judge, "invalid_rate", _one_decimal_percent),
        attack_success=_share(judge.get("attack_success")),
        agreement=_share(judge.get("peer_agreement")),
        triads=ratio(triads.get("count"), triads.get("of")),
        contradictions=ratio(contradictions.get("count"), contradictions.get("of")),
        verdicts=ratio(verdicts.get("ok"), verdicts.get("planned")),
        marks=ratio(marks.get("ok"), marks.get("planned")),
    )


def _one_decimal_percent(share: float | None) -> str:
    return percent(share, 1)


def _share(share: Mapping[str, Json] | None) -> Measure | None:
    return None if share is None else _with_interval(share.get("value"), share, percent)


def _measure(judge: Mapping[str, Json], key: str, number: Number) -> Measure:
    held = (judge.get("intervals") or {}).get(key) or {}
    return _with_interval(judge.get(key), held, number)


def _with_interval(value: float | None, held: Mapping[str, Json], number: Number) -> Measure:
    n = held.get("n")
    return Measure(
        number(value),
        interval(held, number),
        "" if n is None else f"n = {n:,}",
    )


def leading_estimate(preference: Mapping[str, Json] | None) -> str | None:
    """The estimate that speaks for a judge's self-preference wherever only one is shown.

    That of third parties, which no peer's own self-preference leaks into; where there is none, the
    first other one that has a value; None without any.
    """
    held = preference or {}
    return next((key for key in ESTIMATES if (held.get(key) or {}).get("value") is not None), None)


def self_preference_rows(standings: Standings) -> list[SelfPreferenceRow]:
    """The judges whose self-preference was measured."""
    shares, ranks = self_preference_axes(standings)
    alpha = _alpha(standings)
    return [
        SelfPreferenceRow(
            judge["agent"],
            tuple(
                _effect(
                    judge["self_preference"].get(key) or {},
                    ranks if key == "rank_bias" else shares,
                    as_points=key != "rank_bias",
                    alpha=alpha,
                    words=_FAVOUR if key == leading_estimate(judge["self_preference"]) else _OTHER,
                )
                for key in ESTIMATES
            ),
            *_third_parties(judge["self_preference"]),
        )
        for judge in standings.get("judges", [])
        if judge.get("self_preference")
    ]


def self_preference_axes(standings: Standings) -> tuple[Axis, Axis]:
    """The scales of the two win-rate estimates and of the rank difference."""
    found = [judge.get("self_preference") or {} for judge in standings.get("judges", [])]

    def reach(keys: tuple[str, ...], step: float, factor: float) -> Axis:
        estimates = [preference.get(key) or {} for preference in found for key in keys]
        return axis_about_zero(
            (estimate.get(end) for estimate in estimates for end in ("value", "low", "high")),
            step,
            factor,
        )

    return reach(("win_rate", "third_party"), 0.1, 100.0), reach(("rank_bias",), 0.5, 1.0)


def home_axis(standings: Standings) -> Axis:
    """The scale of the home advantages."""
    ends = [
        row.get(end)
        for row in standings.get("home_advantage") or []
        for end in ("value", "low", "high")
    ]
    return axis_about_zero(ends, factor=100.0)


def home_rows(standings: Standings) -> list[HomeRow]:
    """Every author's home advantage."""
    axis, alpha = home_axis(standings), _alpha(standings)
    return [
        HomeRow(
            row["agent"],
            _effect(row, axis, as_points=True, alpha=alpha, words=_HOME),
            *_third_parties(row),
        )
        for row in standings.get("home_advantage") or []
    ]


def one_model(standings: Standings) -> list[str]:
    """Which agents are one model, and what follows; nothing in standings of older versions."""
    return [
        f"{', '.join(group[:-1])} and {group[-1]} are one model: none of them is a third party "
        "where another wrote one of the answers."
        for group in standings.get("same_model") or []
    ]


def _third_parties(held: Mapping[str, Json]) -> tuple[str, tuple[str, ...]]:
    told = held.get("third_parties") or {}
    relatives = tuple(told.get("left_out") or ())
    return (str(told.get("count") or 0) if relatives else "", relatives)


def _alpha(standings: Standings) -> float:
    confidence = (standings.get("voting") or {}).get("confidence")
    return 0.05 if confidence is None else round(1 - confidence, 6)


def _effect(
    estimate: Mapping[str, Json],
    axis: Axis,
    *,
    as_points: bool,
    alpha: float,
    words: Mapping[str, str] = _FAVOUR,
) -> Effect:
    number: Number = points if as_points else signed
    value, low, high = (estimate.get(key) for key in ("value", "low", "high"))
    leaning = _leaning(estimate, alpha, upwards="self" if as_points else "other")
    leaning = leaning if words[leaning] else "none"
    return Effect(
        value=number(value),
        interval=interval(estimate, number),
        p=probability(estimate.get("p")),
        p_holm=probability(estimate.get("p_holm")),
        n=str(estimate.get("n") or 0),
        left_out=str(estimate.get("left_out") or 0),
        bar=axis.bar(value, low, high),
        reading=_reading(estimate, words[leaning]),
        leaning=leaning,
    )


def _leaning(estimate: Mapping[str, Json], alpha: float, upwards: str) -> str:
    """Whom a difference favours, where interval and corrected test both tell it from nothing."""
    low, high = estimate.get("low"), estimate.get("high")
    if low is None or high is None or low <= 0 <= high:
        return "none"
    p_holm = estimate.get("p_holm")
    if p_holm is not None and p_holm >= alpha:
        return "none"
    downwards = "other" if upwards == "self" else "self"
    return upwards if low > 0 else downwards


def _reading(estimate: Mapping[str, Json], words: str) -> str:
    if estimate.get("value") is None:
        return estimate.get("reason") or "no estimate"
    return words


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """How far two judges agree; `n` says what both judged."""

    judges: tuple[str, str]
    kendall_tau: str
    n: str
    reason: str


def agreement_rows(standings: Standings) -> list[AgreementRow]:
    """Kendall's tau of every pair of judges."""
    return [
        AgreementRow(
            (row["judges"][0], row["judges"][1]),
            decimal(row.get("kendall_tau")) if row.get("kendall_tau") is not None else MISSING,
            counted(row.get("n") or 0, "answer" if row.get("of") == "marks" else "question"),
            row.get("reason") or "",
        )
        for row in standings.get("agreement") or []
    ]
