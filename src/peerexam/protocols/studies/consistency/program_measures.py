"""What programs of questions and sub-questions come to; see `consistency_measures` for the rules.

Intervals go by question: its sub-questions hang together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.consistency.programs import Parse
from peerexam.protocols.studies.consistency.result import (
    consistency_result,
    consistent,
    consistent_strictly,
    share,
)
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.stats.core.estimate import Estimate

TASK = "geoquery"

NOTES = (
    "consistency: the program of a sub-question is a subtree of the program of its question, both "
    "the agent's own; over pairs of which both parse",
    "correctness: the same tree as the gold program, the order of an intersection apart; what does "
    "not parse is wrong",
    "intervals go by question; depth is that of the gold program, constants counted",
)


def programs_result(parses: StudyRecords[Parse], about: Mapping[str, Json]) -> StudyResult:
    """The result of a study of programs."""
    return consistency_result(parses, about, of_agent, NOTES)


def of_agent(agent: str, rows: Sequence[Parse]) -> Iterator[Measure]:
    """All measures of one agent, the one that stands for it first."""
    whole = [row for row in rows if not row.part]
    parts = [row for row in rows if row.part]
    depths = sorted({row.depth for row in parts})

    def measure(
        name: str, title: str, estimate: Estimate, condition: str = "", *, headline: bool = False
    ) -> Measure:
        return Measure(agent, name, title, estimate, TASK, condition, headline=headline)

    yield measure(
        "consistency", "part's program is in the whole's", _share(parts, consistent), headline=True
    )
    yield measure(
        "consistency_strict",
        "the same, unparsable as inconsistent",
        _share(parts, consistent_strictly),
    )
    for depth in depths:
        of = [row for row in parts if row.depth == depth]
        estimate = _share(of, consistent)
        yield measure("consistency", "the same, by depth", estimate, f"depth {depth}")
    for right, condition in ((True, "part right"), (False, "part wrong")):
        of = [row for row in parts if row.correct is right]
        estimate = _share(of, consistent)
        yield measure("consistency", "part's program is in the whole's", estimate, condition)
    yield measure("correctness", "right, questions", _share(whole, _correct), "question")
    yield measure("correctness", "right, sub-questions", _share(parts, _correct), "part")
    for depth in depths:
        estimate = _share([row for row in parts if row.depth == depth], _correct)
        yield measure("correctness", "the same, by depth", estimate, f"part depth {depth}")
    for of, condition in ((whole, "question"), (parts, "part")):
        yield measure("unreadable", "what does not parse", _share(of, _unread), condition)


def _share(rows: Sequence[Parse], trial: Callable[[Parse], bool | None]) -> Estimate:
    return share(rows, trial, "no such program was written")


def _correct(row: Parse) -> bool | None:
    return row.correct


def _unread(row: Parse) -> bool | None:
    return row.program is None if row.counts else None
