"""What the standings rest on: counts, agents, domains, and depth by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peerexam.calls import Json, canonical_json
from peerexam.report.figures.axis import Axis, Bar
from peerexam.report.numbers import interval, percent
from peerexam.report.run.conclusion import Standings

STATES = ("ok", "unparsed", "refused", "filtered", "truncated", "empty", "error")
KINDS = ("questions", "answers", "marks", "verdicts", "rankings")

MOST_VOTERS = 100
"""That are listed by name."""

DEPTH_AXIS = Axis(0.0, 1.0, 100.0)


@dataclass(frozen=True, slots=True)
class CountRow:
    """What became of what was planned, for one kind of record.

    Attributes:
        counts: In the order of the states; a state that the run does not count is a dash.
        open: Planned and not yet there.
        has_gap: Whether anything failed or is missing.
    """

    kind: str
    planned: str
    counts: tuple[str, ...]
    open: str
    has_gap: bool


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent as the manifest has it."""

    name: str
    model: str
    roles: str
    variant_of: str | None
    licence: str
    price: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DepthCell:
    """One agent in one round; `asked` is how many were at risk."""

    rate: str
    interval: str
    asked: str
    bar: Bar | None


def count_table(counts: Mapping[str, Json]) -> tuple[list[str], list[CountRow]]:
    """The states, and the counts of `standings.json` or of the manifest, a row a kind."""
    known = [kind for kind in KINDS if kind in counts]
    extra = sorted(kind for kind in counts if kind not in KINDS)
    found = {state for row in counts.values() for state in row or {}}
    states = [*STATES, *sorted(found - {"planned", *STATES})]
    return states, [
        _count_row(kind, counts[kind], states) for kind in known + extra if counts[kind]
    ]


def _count_row(kind: str, row: Mapping[str, Json], states: Sequence[str]) -> CountRow:
    there = [row.get(state) for state in states]
    planned = row.get("planned")
    missing = 0 if planned is None else max(planned - sum(n or 0 for n in there), 0)
    return CountRow(
        kind,
        "–" if planned is None else f"{planned:,}",
        tuple("–" if n is None else f"{n:,}" for n in there),
        f"{missing:,}",
        bool(missing or any(there[1:])),
    )


def agent_rows(manifest: Mapping[str, Json]) -> list[AgentRow]:
    """The agents with their models and fingerprints; voters by number where there are many."""
    agents = manifest.get("agents") or []
    voters = [agent["name"] for agent in agents if _only_votes(agent)]
    shown = agents
    if len(voters) > MOST_VOTERS:
        shown = [agent for agent in agents if not _only_votes(agent)]
        shown.append({"name": f"{len(voters):,} judges", "roles": ["judge"]})
    return [
        AgentRow(
            agent["name"],
            str(agent.get("model") or ""),
            ", ".join(agent.get("roles") or ()),
            agent.get("variant_of"),
            str(agent.get("licence") or ""),
            _price(agent["price"]) if "price" in agent else "–",
            canonical_json(agent.get("fingerprint") or {}),
        )
        for agent in shown
    ]


def _only_votes(agent: Mapping[str, Json]) -> bool:
    """Whether nothing is known of an agent but its votes, as in an imported arena."""
    return agent.get("roles") == ["judge"] and not agent.get("fingerprint")


def _price(price: Json) -> str:
    """A price as the manifest has it; a model that runs here costs nothing, which is known."""
    if price is None:
        return "unknown"
    if price.get("source") == "runs here":
        return "none"
    return (
        f"${price['input']:g} in, ${price['output']:g} out "
        f"({price.get('price_list') or 'set by the exam'})"
    )


def depth_table(standings: Standings) -> tuple[list[int], list[tuple[str, list[DepthCell | None]]]]:
    """The rounds, and for each agent a cell a round (None where it was not asked)."""
    found: dict[str, dict[int, DepthCell]] = {}
    for row in standings.get("depth") or []:
        found.setdefault(row["agent"], {})[row["round"]] = _depth_cell(row)
    rounds = sorted({number for cells in found.values() for number in cells})
    order = _order(standings, list(found))
    return rounds, [(agent, [found[agent].get(number) for number in rounds]) for agent in order]


def _depth_cell(row: Mapping[str, Json]) -> DepthCell:
    return DepthCell(
        percent(row.get("rate")),
        interval(row),
        f"{row.get('correct') or 0} of {row.get('asked') or 0}",
        DEPTH_AXIS.bar(row.get("rate"), row.get("low"), row.get("high")),
    )


def _order(standings: Standings, names: Sequence[str]) -> list[str]:
    """Names in the order of the standings, the others after them."""
    ranked = [row["agent"] for row in standings.get("standings", []) if row["agent"] in names]
    return ranked + [name for name in names if name not in ranked]
