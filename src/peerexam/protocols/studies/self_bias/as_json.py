"""Self-bias and decompositions as measures of agents, and as plain JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.studies.base import row_of
from peerexam.protocols.studies.result import Measure, Unit, estimate_json
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.mean_share import mean_share
from peerexam.stats.judges.self_preference import SelfPreference
from peerexam.stats.self_bias.benchmark_table import BenchmarkTable
from peerexam.stats.self_bias.decomposition import Decomposition, Effect
from peerexam.stats.self_bias.rank_bias import SelfBias
from peerexam.tasks.self_bias.source_diversity import SourceDiversity


def bias_measures(role: str, found: SelfBias, *, headline: bool) -> list[Measure]:
    """Four measures a model: Eq. 1 and third parties, each in ranks and in win rate."""
    kinds: tuple[tuple[str, str, Unit, list[Estimate]], ...] = (
        ("self_bias", "self-bias, Eq. 1", "ranks", found.equation_1),
        ("self_bias_third_party", "self-bias by third parties", "ranks", found.third_party),
        ("self_bias_win_rate", "Eq. 1 in win rate", "share", found.win_rate),
        (
            "self_bias_win_rate_third_party",
            "by third parties in win rate",
            "share",
            found.third_party_win_rate,
        ),
    )
    return [
        Measure(agent, name, title, one, "", role, unit, headline and name == leads)
        for at, agent in enumerate(found.agents)
        for leads in (_leads(found.third_party[at]),)
        for name, title, unit, family in kinds
        for one in (family[at],)
    ]


def _leads(third_party: Estimate) -> str:
    """Third parties speak for a model, and Eq. 1 only where it has none."""
    return "self_bias" if third_party.value is None else "self_bias_third_party"


def win_rate_measures(
    judges: Sequence[str], found: Sequence[SelfPreference | None]
) -> list[Measure]:
    """A judge's self-preference as the standings have it, from all pairs that were compared."""
    return [
        Measure(judge, name, title, one, "", "evaluator, every pair", "share")
        for judge, preference in zip(judges, found, strict=True)
        if preference is not None
        for name, title, one in (
            ("self_preference", "own win rate, own less peers' view", preference.win_rate),
            ("self_preference_third_party", "the same by third parties", preference.third_party),
        )
    ]


def decomposition_measures(name: str, found: Decomposition) -> list[Measure]:
    """Home advantage and self-preference of each model, from a decomposition."""
    unit: Unit = "share" if name == "comparisons" else "points"
    titles = {"home": "home advantage", "self": "self-preference"}
    names = {"home": "home_advantage", "self": "self_preference_effect"}
    return [
        Measure(effect.of[0], names[family], titles[family], effect.estimate, "", name, unit)
        for family in titles
        for effect in found.families.get(family, ())
    ]


def table_json(table: BenchmarkTable, found: SelfBias) -> Json:
    """θ by target and benchmark, null where there is none."""
    return {
        "targets": list(table.targets),
        "benchmarks": list(table.benchmarks),
        "mean_rank": [[_number(value) for value in row] for row in found.theta.tolist()],
        "paired": table.paired,
    }


def decomposition_json(found: Decomposition) -> Json:
    """All effects and shares."""
    return {
        "questions": found.questions,
        "scores": found.scores,
        "effects": {
            family: [_effect(one) for one in effects] for family, effects in found.families.items()
        },
        "mean_home": None if found.mean_home is None else _effect(found.mean_home),
        "mean_self": None if found.mean_self is None else _effect(found.mean_self),
        "variance_shares": {name: estimate_json(one) for name, one in found.shares.items()},
    }


def diversity_json(found: Sequence[SourceDiversity], seed: int) -> Json:
    """Diversity of every author's sources; chrF with an interval over sources."""
    return [
        row_of(
            one,
            "author sources words type_token_ratio type_token_ratio_equal_words chrf_at_k k",
            type_token_ratio_equal_words=one.type_token_ratio_equal,
            chrf_at_k=estimate_json(_chrf(one)),
        )
        for one in found
    ]


def _chrf(one: SourceDiversity) -> Estimate:
    values = np.array(one.chrf, dtype=np.float64)[:, None] / 100
    reason = one.reason or "nothing to compare"
    found = mean_share(values, np.ones_like(values), reason=reason)
    return found


def _effect(one: Effect) -> dict[str, Json]:
    return {
        "of": list(one.of),
        **estimate_json(one.estimate),
        "shrunken": one.shrinkage,
        "smallest_findable": one.minimum_detectable,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
