"""The proof that peerexam finds what is there: biases planted in simulated participants, and found.

Eight participants run a whole exam of 200 questions, in memory and by the real protocol. Each check
lays what was planted beside what was found. A hundred smaller tables then show how often something
is found where nothing was planted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from peerexam.calls import Json
from peerexam.examiners.simulated.spec import SimSpec
from peerexam.protocols.selftest.exam import run_simulated_exam
from peerexam.protocols.selftest.tables import sample_comparisons
from peerexam.protocols.session import event_loop
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.judges.home_advantage import home_advantage
from peerexam.stats.judges.self_preference import self_preference

PER_AUTHOR = 25
"""Questions by each of the eight participants: 200."""

SEEDS = 100
"""Tables for the rate of false alarms, each with a seed of its own."""

_ALARM = 0.05
_TABLE_QUESTIONS = 60
_ROUNDS = 1000
_FIRST = 0.3

# Abilities 0.3 logits apart, best first. Large biases sit in the middle of the field, where adding
# to a chance does not carry it past 0 or 1; there, what is planted is what there is to find.
PLAYERS: Mapping[str, SimSpec] = {
    "ada": SimSpec(ability=1.05, noise=0.3),
    "ben": SimSpec(ability=0.75, noise=0.3),
    "cleo": SimSpec(ability=0.45, noise=0.3, longer_preference=0.2),
    "dan": SimSpec(ability=0.15, noise=0.3, self_preference=0.2),
    "eve": SimSpec(ability=-0.15, noise=0.3, home_advantage=0.2),
    "finn": SimSpec(ability=-0.45, noise=0.3, first_preference=0.2),
    "gus": SimSpec(ability=-0.75, noise=0.3, error_rate=0.1),
    "hana": SimSpec(ability=-1.05, noise=0.3),
}
"""What is planted in the first exam. The second gives every judge a taste for the first place."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing planted and looked for.

    Attributes:
        name: What, and in whom.
        planted: Its true value.
        found: The estimate; None where there is none.
        low: Lower end of its interval, or of what passes; None where the check has none.
        high: Upper end likewise.
        ok: Whether the check is passed.
    """

    name: str
    planted: float
    found: float | None
    low: float | None
    high: float | None
    ok: bool


@dataclass(frozen=True, slots=True)
class SelftestReport:
    """The whole proof."""

    seed: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether everything was found, and nothing else."""
        return all(check.ok for check in self.checks)


def selftest(seed: int = 0) -> SelftestReport:
    """Run the whole proof; under a minute on one core. For use outside an event loop.

    Args:
        seed: Every random number comes from it.
    """
    return event_loop.run(run_selftest(seed))


async def run_selftest(seed: int = 0) -> SelftestReport:
    """The same inside a running event loop."""
    fair = await run_simulated_exam(PLAYERS, PER_AUTHOR, seed, _ROUNDS)
    leaning = {name: replace(spec, first_preference=_FIRST) for name, spec in PLAYERS.items()}
    first = await run_simulated_exam(leaning, PER_AUTHOR, seed, _ROUNDS)
    return SelftestReport(
        seed,
        (
            *_standings_checks(fair, first),
            *_bias_checks(fair),
            *await asyncio.to_thread(_alarm_checks, seed),
        ),
    )


def _standings_checks(fair: Mapping[str, Json], first: Mapping[str, Json]) -> list[Check]:
    true_order = sorted(PLAYERS, key=lambda name: -PLAYERS[name].ability)
    with_taste = _of(first["judges"], "finn")
    return [
        _order_check("order of the standings (Kendall's tau)", true_order, _order(fair)),
        _order_check(
            "the same order where every judge prefers the first place",
            _order(fair),
            _order(first),
        ),
        _excludes_zero(
            "first-place preference there, of finn",
            _FIRST,
            with_taste["first_preference"],
            with_taste["intervals"]["first_preference"],
        ),
    ]


def _bias_checks(fair: Mapping[str, Json]) -> list[Check]:
    judges = fair["judges"]
    own = _of(judges, "dan")["self_preference"]
    home = _of(fair["home_advantage"], "eve")
    checks = [
        _excludes_zero(
            "self-preference of dan, by third parties",
            PLAYERS["dan"].self_preference,
            own["third_party"]["value"],
            own["third_party"],
        ),
        _excludes_zero("home advantage of eve", PLAYERS["eve"].home_advantage, home["value"], home),
    ]
    for measure, name, planted in (
        ("longer_preference", "cleo", PLAYERS["cleo"].longer_preference),
        ("first_preference", "finn", PLAYERS["finn"].first_preference),
        ("invalid_rate", "gus", PLAYERS["gus"].error_rate),
    ):
        judge = _of(judges, name)
        words = measure.replace("_", " ")
        checks.append(
            _excludes_zero(
                f"{words} of {name}", planted, judge[measure], judge["intervals"][measure]
            )
        )
    return checks


def _alarm_checks(seed: int) -> list[Check]:
    """Over many tables: found where planted every time, elsewhere no oftener than stated."""
    seen, home_alarms, alarms, families = 0, 0, 0, 0
    for number in range(SEEDS):
        rng = np.random.default_rng([seed, number])
        table, authors = sample_comparisons(PLAYERS, _TABLE_QUESTIONS, rng)
        found = self_preference(table, rounds=_ROUNDS, rng=rng)
        third = {
            name: entry.third_party
            for name, entry in zip(table.judges, found, strict=True)
            if entry is not None
        }
        planted = third.pop("dan")
        seen += planted.low is not None and planted.low > 0
        alarms += sum(_shows_something(estimate) for estimate in third.values())
        families += any((estimate.p_holm or 0.0) < _ALARM for estimate in third.values())
        homes = home_advantage(table, authors, rounds=_ROUNDS, rng=rng)
        others = [e for name, e in zip(table.agents, homes, strict=True) if name != "eve"]
        home_alarms += sum(_shows_something(estimate) for estimate in others)
    fair = len(PLAYERS) - 1
    return [
        _at_least(f"self-preference of dan found, of {SEEDS} exams", seen, SEEDS),
        _at_nominal_rate("false alarms of self-preference in the others", alarms, SEEDS * fair),
        _at_nominal_rate("exams with a false alarm after Holm", families, SEEDS),
        _at_nominal_rate("false alarms of home advantage in the others", home_alarms, SEEDS * fair),
    ]


def _shows_something(estimate: Estimate) -> bool:
    if estimate.low is None or estimate.high is None:
        return False
    return estimate.low > 0 or estimate.high < 0


def _excludes_zero(
    name: str, planted: float, found: float | None, interval: Mapping[str, Json]
) -> Check:
    """Found where the interval lies on the planted side of zero."""
    low, high = interval["low"], interval["high"]
    ok = low is not None and high is not None and (low > 0 if planted > 0 else high < 0)
    return Check(name, planted, found, low, high, ok)


def _order_check(name: str, wanted: list[str], found: list[str]) -> Check:
    """Passed where the orders are the same; shows Kendall's tau of the two."""
    at = {participant: place for place, participant in enumerate(found)}
    pairs = [(a, b) for k, a in enumerate(wanted) for b in wanted[k + 1 :]]
    tau = sum(1 if at[a] < at[b] else -1 for a, b in pairs) / len(pairs)
    return Check(name, 1.0, tau, None, None, wanted == found)


def _at_least(name: str, found: int, of: int) -> Check:
    """Passed where at least 95 of 100 tables show it."""
    return Check(name, 1.0, found / of, 0.95, 1.0, found >= 0.95 * of)


def _at_nominal_rate(name: str, found: int, of: int) -> Check:
    """Passed up to the bound that 1 in 1000 binomial samples at the nominal rate exceeds."""
    bound = _binomial_bound(of, _ALARM, 0.001)
    return Check(name, _ALARM, found / of, 0.0, bound / of, found <= bound)


def _binomial_bound(n: int, rate: float, tail: float) -> int:
    """Smallest k with P(X > k) ≤ tail for X binomial."""
    above = 1.0
    for k in range(n + 1):
        above -= comb(n, k) * rate**k * (1 - rate) ** (n - k)
        if above <= tail:
            return k
    return n


def _order(standings: Mapping[str, Json]) -> list[str]:
    rows = sorted(standings["standings"], key=lambda row: (row["rank"], row["agent"]))
    return [row["agent"] for row in rows]


def _of(rows: list[Mapping[str, Json]], agent: str) -> Mapping[str, Json]:
    return next(row for row in rows if row["agent"] == agent)
