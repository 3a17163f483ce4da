"""From what was asked about consistency to its result: agent by agent, and whether it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords, given_up
from peerexam.protocols.studies.result import Measure, StudyResult


class Asked(Protocol):
    """One prompt of one agent."""

    @property
    def agent(self) -> str:
        """Who was asked."""

    @property
    def state(self) -> str:
        """`ok`, or why nothing was read."""

    @property
    def reason(self) -> str | None:
        """The same in words."""

    @property
    def call(self) -> str | None:
        """Ledger key of the call; equal prompts of one agent are one call."""


Row = TypeVar("Row", bound=Asked)


def consistency_result(
    asked: StudyRecords[Row],
    about: Mapping[str, Json],
    of_agent: Callable[[str, Sequence[Row]], Iterable[Measure]],
    notes: Sequence[str],
    tables: Mapping[str, Json] | None = None,
) -> StudyResult:
    """The result of a study of consistency.

    Args:
        asked: The prompts of all agents.
        about: What was asked.
        of_agent: From an agent and its prompts to all its measures.
        notes: What to know when reading it.
        tables: Further tables by name.

    Returns:
        `partial` where a budget ended it, an agent was given up or calls failed.
    """
    by_agent: dict[str, list[Row]] = {}
    for row in asked.rows:
        by_agent.setdefault(row.agent, []).append(row)
    failed = {
        (row.agent, row.call or at): row.reason
        for at, row in enumerate(asked.rows)
        if row.state == "error"
    }
    reasons = [*([asked.stopped] if asked.stopped else []), *given_up(asked.lost)]
    if failed:
        reasons.append(f"{len(failed)} calls failed, the first with {next(iter(failed.values()))}")
    return StudyResult(
        study="consistency",
        about=about,
        agents=asked.fingerprints,
        measures=[one for agent, rows in by_agent.items() for one in of_agent(agent, rows)],
        tables=tables or {},
        notes=notes,
        status="partial" if reasons else "complete",
        status_reason="; ".join(reasons) or None,
    )
