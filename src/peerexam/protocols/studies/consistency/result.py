"""What the studies of consistency share: their rows, shares over trials, and the result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.result import Measure, StudyResult, failed_calls
from peerexam.stats.core.clustered_share import chance_share, clustered_share
from peerexam.stats.core.estimate import Estimate

PROMPTS = "prompts.jsonl"


class Asked(Protocol):
    """One prompt of one agent."""

    @property
    def item(self) -> str:
        """What prompts that depend on each other share."""

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
    def counts(self) -> bool:
        """Whether anything came back at all, readable or not."""

    @property
    def undone(self) -> bool:
        """Whether a call that it builds on failed."""

    @property
    def consistent(self) -> bool | None:
        """Whether it agrees with what it builds on; None where that cannot be said."""

    @property
    def call(self) -> str | None:
        """Ledger key of the call; equal prompts of one agent are one call."""


Row = TypeVar("Row", bound=Asked)
Key = TypeVar("Key", bound=Hashable)


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
    measures = [one for agent, rows in by_agent.items() for one in of_agent(agent, rows)]
    failures = failed_calls(list(failed.values()))
    return StudyResult.of("consistency", asked, about, measures, notes, tables, failures)


def share(
    rows: Sequence[Row],
    trial: Callable[[Row], bool | None],
    nothing: str = "no such prompt was answered",
) -> Estimate:
    """Share of rows that succeed, clustered by item.

    Args:
        rows: Of one agent.
        trial: Whether a row succeeds; None where it cannot say.
        nothing: The reason where no row can say.
    """
    tried = [(float(found), row.item) for row in rows if (found := trial(row)) is not None]
    return clustered_share(
        [hit for hit, _ in tried],
        [item for _, item in tried],
        left_out=len(rows) - len(tried),
        reason=nothing,
    )


def chance(rows: Sequence[Row], sides: Callable[[Row], tuple[Key, Key] | None]) -> Estimate:
    """What consistency would be if each answer met what one of another item builds on.

    Args:
        rows: Of one agent.
        sides: What was expected and what was answered; None where either cannot be read.
    """
    read = [(*both, row.item) for row in rows if (both := sides(row)) is not None]
    return chance_share(
        [expected for expected, _, _ in read],
        [answer for _, answer, _ in read],
        [item for _, _, item in read],
        left_out=len(rows) - len(read),
        reason="no such prompt was answered",
    )


def consistent(row: Asked) -> bool | None:
    """The trial of `consistency`."""
    return row.consistent


def consistent_strictly(row: Asked) -> bool | None:
    """The same, where the agent wrote what cannot be read as inconsistent."""
    return row.consistent is True if row.counts and not row.undone else None
