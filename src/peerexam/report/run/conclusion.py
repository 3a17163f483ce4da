"""What one may conclude from an exam, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from peerexam.calls import Json
from peerexam.report.numbers import counted, listed

_MOST_PAIRS = 3
"""Pairs that are named; of more, how many they are."""

Standings = Mapping[str, Json]
"""`standings.json` as it was read; `docs/standings-format.md` has its keys."""

METHODS = {
    "borda": "Borda",
    "copeland": "Copeland",
    "schulze": "Schulze",
    "bradley_terry": "Bradley–Terry",
}
"""The voting rules with their names as people write them."""


_UNJUDGED = (
    "Nothing was judged, so there are no standings: judging.marks or judging.ranking asks for "
    "judgements, and the same command continues from these answers."
)


@dataclass(frozen=True, slots=True)
class Tier:
    """Agents that share a tier.

    Attributes:
        agents: By rank.
        is_level: Whether no two of them differ significantly. In a longer chain A may well differ
            from C though neither does from B; their possible ranks then differ.
        group: Of agents that met; nothing orders tiers of different groups.
    """

    agents: tuple[str, ...]
    is_level: bool
    group: int = 1

    @property
    def caution(self) -> str:
        """What may not be concluded within the tier; empty for an agent alone."""
        if len(self.agents) == 1:
            return ""
        if self.is_level:
            return f"no significant difference between {listed(self.agents)}"
        return f"{listed(self.agents)} are partly distinguishable (see possible ranks)"


def tiers(standings: Standings) -> list[Tier]:
    """The tiers by group, best first; every agent of one differs from every agent of the next."""

    def tier(row: Mapping[str, Json]) -> tuple[int, int]:
        return row.get("group", 1), row["tier"]

    rows = sorted(standings.get("standings", []), key=lambda row: (*tier(row), row["rank"]))
    return [_tier(list(same), at[0]) for at, same in groupby(rows, key=tier)]


def _tier(rows: Sequence[Mapping[str, Json]], group: int) -> Tier:
    spans = {(row.get("rank_low"), row.get("rank_high")) for row in rows}
    return Tier(tuple(row["agent"] for row in rows), len(spans) == 1, group)


def headline(standings: Standings) -> str:
    """One sentence on who is ahead of whom, as far as the intervals go.

    >>> headline({"standings": [{"agent": "A", "tier": 1, "rank": 1},
    ...     {"agent": "B", "tier": 2, "rank": 2}, {"agent": "C", "tier": 2, "rank": 3}]})
    'A is ahead of B and C; no significant difference between B and C.'
    """
    found = tiers(standings)
    if not found and has_standings(standings):
        agents = tuple(standings["win_rates"]["agents"])
        return _one_tier(Tier(agents, True)) if len(agents) == 1 else _UNJUDGED
    if not found:
        why = standings.get("no_standings")
        since = f": {why}" if why else ""
        return f"There are no standings, so nothing may be concluded{since}."
    voting = standings.get("voting") or {}
    if voting.get("quorum_met") is False:
        have = counted(number_of_judges(standings), "judge")
        return (
            f"Nothing may be concluded: {have} counted, "
            f"and the exam asks for at least {voting.get('quorum')}."
        )
    by_group = [list(one) for _, one in groupby(found, key=lambda tier: tier.group)]
    if len(by_group) == 1:
        return _order(found) + _uncompared_tail(standings)
    parts = " ".join(f"Group {one[0].group}: {_order(one)}" for one in by_group)
    return f"{len(by_group)} groups never met, so there is no order between them. {parts}" + (
        _uncompared_tail(standings)
    )


def _order(found: Sequence[Tier]) -> str:
    if len(found) == 1:
        return _one_tier(found[0])
    return _two_tiers(*found) if len(found) == 2 else _many_tiers(found)


def has_standings(standings: Standings) -> bool:
    """Whether a run has what it was for: standings by enough judges, where any were to follow."""
    if "no_standings" in standings:
        return standings["no_standings"] is None
    voting = standings.get("voting") or {}
    return bool(standings.get("standings")) and voting.get("quorum_met") is not False


def uncompared(standings: Standings) -> list[tuple[str, str]]:
    """Pairs that no judge with a vote compared: their order is not based on a direct comparison."""
    pairs = (standings.get("voting") or {}).get("uncompared") or []
    return [(one, other) for one, other in pairs]


def _uncompared_tail(standings: Standings) -> str:
    pairs = uncompared(standings)
    if not pairs:
        return ""
    if len(pairs) > _MOST_PAIRS:
        return f" {len(pairs)} pairs of agents were never compared with each other."
    return "".join(
        f" {one} and {other} were never compared with each other." for one, other in pairs
    )


def _one_tier(tier: Tier) -> str:
    if len(tier.agents) == 1:
        return f"{tier.agents[0]} was examined alone, so there is nobody to compare it with."
    if not tier.is_level:
        return f"{tier.caution}. The intervals overlap: no tier boundary."
    return f"There is {tier.caution}."


def _two_tiers(best: Tier, rest: Tier) -> str:
    verb = "is" if len(best.agents) == 1 else "are"
    tail = "".join(f"; {tier.caution}" for tier in (best, rest) if tier.caution)
    return f"{listed(best.agents)} {verb} ahead of {listed(rest.agents)}{tail}."


def _many_tiers(groups: Sequence[Tier]) -> str:
    tail = "".join(f"; {tier.caution}" for tier in groups if tier.caution)
    return f"From best to worst: {'; then '.join(listed(tier.agents) for tier in groups)}{tail}."


def number_of_judges(standings: Standings) -> int:
    """How many judges counted; a row of `judges` may stand for many."""
    names = (standings.get("voting") or {}).get("judges_counted", [])
    stands_for = {
        judge["agent"]: judge.get("stands_for", 1) for judge in standings.get("judges", [])
    }
    return sum(stands_for.get(name, 1) for name in names)


def basis(standings: Standings) -> str:
    """One sentence on whose word the headline is, and on how much."""
    voting = standings.get("voting") or {}
    judges = list(voting.get("judges_counted", []))
    if not judges:
        return "No judge counted."
    if not standings.get("standings"):
        return "No vote was counted."
    questions = voting.get("questions")
    if questions is None:  # standings of older versions
        questions = max(row["questions"] for row in standings["standings"])
    confidence = voting.get("confidence")
    level = "" if confidence is None else f", {100 * confidence:g} % intervals"
    method = METHODS.get(voting.get("method", ""), "voting")
    who = listed(judges) if len(judges) <= 4 else f"{len(judges)} judges"
    return (
        f"By the votes of {who} on {counted(questions, 'question')} ({method}{level}). This says "
        "what these judges prefer, not what is true."
    )


def _judges(standings: Standings, by: str) -> list[str]:
    return [judge["agent"] for judge in standings.get("judges", []) if judge.get("by") == by]


def _likelihood_note(standings: Standings) -> list[str]:
    names = _judges(standings, "likelihood")
    if not names:
        return []
    return [
        f"Judges by likelihood ({listed(names)}) were asked for no opinion: they measure how much "
        "likelier the text of an answer becomes once the question is known. They can say whether "
        "an answer belongs to its question. They see no order, so their swap consistency and "
        "first-place preference follow from the construction and say nothing of their quality. "
        "They cannot check a fact that their own weights do not hold, they give no reasons, and "
        "their full mark is a threshold on that gain. They may find likely what they, or a near "
        "relation, would have written: read their self-preference before their votes."
    ]


def _unfit_note(standings: Standings) -> list[str]:
    unfit = [judge["agent"] for judge in standings.get("judges", []) if not judge.get("fit", True)]
    voters = (standings.get("voting") or {}).get("judges_counted", [])
    notes = []
    for names, fate in (
        ([name for name in unfit if name not in voters], "votes excluded"),
        ([name for name in unfit if name in voters], "votes counted anyway"),
    ):
        if names:
            verb = "is" if len(names) == 1 else "are"
            notes.append(f"{listed(names)} {verb} unfit to judge: {fate}.")
    return notes


def _coordinator_notes(standings: Standings) -> list[str]:
    if standings.get("no_standings"):
        return []  # the headline says why
    voting = standings.get("voting") or {}
    notes = [voting["note"]] if voting.get("note") else []
    return notes + [
        f"{row['agent']} is unranked: {row['why']}." for row in voting.get("unplaced") or []
    ]


def _uncompared_note(standings: Standings) -> list[str]:
    pairs = uncompared(standings)
    if not pairs:
        return []
    named = [f"{one} and {other}" for one, other in pairs[:_MOST_PAIRS]]
    if len(pairs) > _MOST_PAIRS:
        named.append(f"{len(pairs) - _MOST_PAIRS} more pairs")
    return [
        f"* {listed(named)}: no judge with a vote compared these two, so their order is not "
        "based on a direct comparison, only on each one's results against others. Add a judge that "
        "is neither of them (roles: [judge])."
    ]


def _few_judges_note(standings: Standings) -> list[str]:
    judges = (standings.get("voting") or {}).get("judges_counted", [])
    if len(judges) != 1 or number_of_judges(standings) != 1:
        return []
    return [
        f"Only {judges[0]} counted as a judge. The intervals then describe the uncertainty of that "
        "judge's preferences, not how far another judge would agree."
    ]


def _variants_note(standings: Standings) -> list[str]:
    pairs = [
        f"{row['agent']} is a variant of {row['variant_of']}"
        for row in standings.get("standings", [])
        if row.get("variant_of")
    ]
    if not pairs:
        return []
    return [
        f"{listed(pairs)}: the same weights with other settings. A difference between them is "
        "due to the settings, and as judges they are not independent."
    ]


def _cut_note(standings: Standings) -> list[str]:
    cut = standings.get("cut_answers") or []
    if not cut:
        return []
    whose = [f"{row['agent']} ({row['cut']} of {row['of']})" for row in cut]
    return [
        f"Answers were cut at the length limit: {listed(whose)}. A cut answer may be marked down "
        "for what is missing: raise answers.max_tokens, or ask for shorter answers."
    ]


def cautions(standings: Standings) -> list[str]:
    """What a reader must know before leaning on the standings, a paragraph each."""
    return [
        *_coordinator_notes(standings),
        *_uncompared_note(standings),
        *_few_judges_note(standings),
        *_unfit_note(standings),
        *_cut_note(standings),
        *_likelihood_note(standings),
        *_variants_note(standings),
    ]
