"""The tables of `standings.json`, and the rounding that makes its bytes stable."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations

import numpy as np

from peerexam.calls import Json
from peerexam.protocols.standings.columns import Gathered, Seen
from peerexam.stats.benchmarks.depth import DepthRound
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.tables import Floats, Positions
from peerexam.stats.judges.agreement import (
    ballot_tau,
    mark_agreement,
    orders_of_pairs,
    orders_of_rankings,
)
from peerexam.stats.judges.fullmarks import FullMarks
from peerexam.stats.pairs.orders import Pairs
from peerexam.stats.pairs.wins import direct_wins, implied_wins, meetings, win_rates

DECIMALS = 6

_STATES = ("ok", "unparsed", "refused", "filtered", "truncated", "empty", "error")


def plain(value: Json) -> Json:
    """Plain JSON values: arrays as lists, numbers rounded, NaN and infinities as null.

    >>> plain({"a": np.array([1.0, np.nan]), "b": 0.12345678})
    {'a': [1.0, None], 'b': 0.123457}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        # Adding 0 turns -0.0, which is what tiny negative numbers round to, into 0.0.
        return round(value, DECIMALS) + 0.0 if math.isfinite(value) else None
    return value


def estimate_json(estimate: Estimate) -> dict[str, Json]:
    """An estimate as it stands in `standings.json`."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p": estimate.p,
        "p_holm": estimate.p_holm,
        "n": estimate.n,
        "left_out": estimate.left_out,
        "reason": estimate.reason,
    }


def win_rate_tables(positions: Positions, pairs: Pairs, counted: Sequence[int]) -> dict[str, Json]:
    """Win rates direct and implied, of each judge and pooled over the judges that count."""
    judges = len(pairs.judges)
    direct = direct_wins(pairs, pairs.judge, judges)
    implied = implied_wins(positions, positions.judge, judges)
    chosen = list(counted)
    pooled = _win_rates(direct[chosen].sum(axis=0), implied[chosen].sum(axis=0))
    each = {
        name: _win_rates(direct[place], implied[place]) for place, name in enumerate(pairs.judges)
    }
    return {"agents": list(pairs.agents), **pooled, "per_judge": each}


def _win_rates(direct: Floats, implied: Floats) -> dict[str, Json]:
    return {
        "direct": win_rates(direct),
        "direct_counts": meetings(direct).astype(np.int64),
        "implied": win_rates(implied),
        "implied_counts": meetings(implied).astype(np.int64),
    }


def full_mark_tables(
    marked: FullMarks, agents: Sequence[str], judges: Sequence[str]
) -> dict[str, Json]:
    """Percentages of full marks, with the marks given and planned behind each of them."""
    return {
        "examinees": list(agents),
        "judges": list(judges),
        "percent": marked.percent,
        "counts": marked.counts,
        "planned": marked.planned,
    }


def depth_rows(rounds: Sequence[DepthRound]) -> list[Json]:
    """Depth by agent and round."""
    return [asdict(entry) for entry in rounds]


def agreement_rows(table: Gathered, pairs: Pairs, judges: Sequence[int]) -> list[Json]:
    """Kendall's τ-b for every pair of judges: of their rankings, else verdicts, else marks.

    `of` says which; `n` counts questions for rankings and verdicts, and answers for marks.
    """
    names = pairs.judges
    if len(table.positions.question):
        kind = "rankings"
    elif len(pairs.question):
        kind = "verdicts"
    else:
        kind = "marks"
    rows: list[Json] = []
    for (i, j), tau in _taus(table, pairs, judges, kind).items():
        rows.append(
            {
                "judges": [names[i], names[j]],
                "kendall_tau": tau.value,
                "n": tau.n,
                "reason": tau.reason,
                "of": kind,
            }
        )
    return rows


def _taus(
    table: Gathered, pairs: Pairs, judges: Sequence[int], kind: str
) -> dict[tuple[int, int], Estimate]:
    if kind == "marks":
        return mark_agreement(table.marks, judges)
    if kind == "rankings":
        orders = {judge: orders_of_rankings(table.positions, judge) for judge in judges}
    else:
        orders = {judge: orders_of_pairs(pairs, judge) for judge in judges}
    return {(i, j): ballot_tau(orders[i], orders[j]) for i, j in combinations(judges, 2)}


def planned_and_ok(seen: Seen, who: str) -> dict[str, int]:
    """How many records somebody was to give, and how many it gave."""
    return {
        "planned": sum(number for (name, _), number in seen.items() if name == who),
        "ok": seen[who, "ok"],
    }


def counts_of(table: Gathered, questions: int, planned: Mapping[str, int]) -> dict[str, Json]:
    """How many records of each kind were planned and what became of them."""
    kinds = {
        "answers": table.answers_seen,
        "marks": table.marks_seen,
        "verdicts": table.verdicts_seen,
    }
    counts: dict[str, Json] = {
        kind: _states(seen, _STATES, planned.get(kind)) for kind, seen in kinds.items()
    }
    counts["rankings"] = _states(
        table.rankings_seen, ("ok", "incomplete", "empty"), planned.get("rankings")
    )
    counts["questions"] = {"planned": planned.get("questions", questions), "ok": questions}
    return counts


def _states(seen: Seen, states: Sequence[str], planned: int | None) -> dict[str, int]:
    total: Counter[str] = Counter()
    for (_, state), number in seen.items():
        total[state] += number
    return {
        "planned": total.total() if planned is None else planned,
        **{state: total[state] for state in states},
    }
