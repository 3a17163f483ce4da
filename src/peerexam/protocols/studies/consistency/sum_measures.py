"""What prompts about nested sums come to: consistency, correctness, and how errors travel.

Consistency and correctness are two columns (self-knowledge, "Consistency vs. correctness"): a model
may be consistently wrong. An answer that cannot be read is its own state. It is wrong, but it is
neither consistent nor inconsistent; the share of such answers is given, and what consistency would
be were they counted as inconsistent. Calls that failed say nothing of a model and are left out.

Intervals go by graph: the prompts of one graph hang together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.consistency.result import (
    chance,
    consistency_result,
    consistent,
    share,
)
from peerexam.protocols.studies.consistency.sums import NOT_ASKED, Kind, Prompt
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.stats.core.clustered_share import clustered_difference
from peerexam.stats.core.estimate import Estimate

TASK = "arithmetic"

NOTES = (
    "consistency: the answer to a prompt with one part replaced by the agent's own answer is the "
    "same number as its answer to the whole; over pairs of which both can be read",
    "correctness: an answer that cannot be read is wrong; a self-knowledge prompt is right where "
    "its answer is the value of the whole expression, whatever was put in",
    "numbers are compared as numbers; decimals of two places or more may be rounded or cut",
    "intervals go by graph; depth is the height of the whole expression",
)


def sums_result(asked: StudyRecords[Prompt], about: Mapping[str, Json], seed: int) -> StudyResult:
    """The result of a study of nested sums."""
    tables: dict[str, Json] = {"states": _states(asked.rows)}
    return consistency_result(asked, about, partial(of_agent, seed=seed), NOTES, tables)


def of_agent(agent: str, rows: Sequence[Prompt], *, seed: int) -> Iterator[Measure]:
    """All measures of one agent, the one that stands for it first."""

    def measure(
        name: str, title: str, estimate: Estimate, condition: str = "", *, headline: bool = False
    ) -> Measure:
        return Measure(agent, name, title, estimate, TASK, condition, headline=headline)

    initial = [row for row in rows if row.kind == "initial"]
    pairs = [row for row in rows if row.kind == "self_knowledge"]
    yield measure("consistency", "stands by its own answers", consistency(pairs), headline=True)
    yield measure(
        "consistency_strict", "the same, unreadable as inconsistent", share(pairs, _strictly)
    )
    yield measure("consistency_chance", "the same, partners drawn at random", chance(pairs, _sides))
    yield measure(
        "consistency_whole",
        "the same, whole numbers only",
        consistency([row for row in pairs if row.whole]),
    )
    for depth, of in by_depth(pairs):
        yield measure("consistency", "the same, by depth", consistency(of), f"depth {depth}")
    for title, estimate, condition in _correctness(initial, pairs):
        yield measure("correctness", title, estimate, condition)
    yield measure(
        "correctness_gain", "right with a part replaced minus right whole", gain(rows, seed)
    )
    for name, title, estimate, condition in _propagation(pairs):
        yield measure(name, title, estimate, condition)
    for kind, title in (("order", "operands swapped"), ("association", "brackets moved")):
        of = [row for row in rows if row.kind == kind]
        yield measure("invariance", f"same answer with {title}", consistency(of), kind)
    for kinds, condition in ((initial, "initial"), (pairs, "self-knowledge")):
        yield measure("unreadable", "answers that cannot be read", share(kinds, _unread), condition)


def consistency(rows: Sequence[Prompt]) -> Estimate:
    """Share of prompts whose answer is the same number as that to the initial prompt."""
    return share(rows, consistent)


def _sides(row: Prompt) -> tuple[Fraction, Fraction] | None:
    return (row.expected.value, row.answer.value) if row.expected and row.answer else None


def gain(rows: Sequence[Prompt], seed: int) -> Estimate:
    """How much more often a self-knowledge prompt is right than the initial prompt it goes with."""
    right = {(row.item, row.node): row.correct for row in rows if row.kind == "initial"}
    pairs = [row for row in rows if row.kind == "self_knowledge"]
    both = [
        (int(row.correct) - int(before), row.item)
        for row in pairs
        if row.correct is not None and (before := right[row.item, row.node]) is not None
    ]
    return clustered_difference(
        [difference for difference, _ in both],
        [graph for _, graph in both],
        seed=seed,
        left_out=len(pairs) - len(both),
        reason="no such prompt was answered",
    )


def by_depth(rows: Iterable[Prompt]) -> list[tuple[int, list[Prompt]]]:
    """Prompts by the height of the whole expression, lowest first."""
    found: dict[int, list[Prompt]] = {}
    for row in rows:
        found.setdefault(row.depth, []).append(row)
    return sorted(found.items())


def _correctness(
    initial: Sequence[Prompt], pairs: Sequence[Prompt]
) -> Iterator[tuple[str, Estimate, str]]:
    for rows, words, condition in (
        (initial, "right, initial prompts", "initial"),
        (pairs, "right, self-knowledge prompts", "self-knowledge"),
    ):
        yield words, share(rows, _correct), condition
        for depth, of in by_depth(rows):
            yield "the same, by depth", share(of, _correct), f"{condition} depth {depth}"


def _propagation(pairs: Sequence[Prompt]) -> Iterator[tuple[str, str, Estimate, str]]:
    """How errors travel, of the parts' answers that were wrong and of those that were right."""
    for right, condition in ((False, "part wrong"), (True, "part right")):
        of = [row for row in pairs if row.part_right is right]
        yield "error_propagation", "wrong with that part put in", share(of, _wrong), condition
        for depth, deep in by_depth(of):
            where = f"{condition} depth {depth}"
            yield "error_propagation", "the same, by depth", share(deep, _wrong), where
        yield "follows", "the value of what was asked", share(of, _follows), condition
        yield "consistency", "stands by its own answers", consistency(of), condition


def _correct(row: Prompt) -> bool | None:
    return row.correct


def _wrong(row: Prompt) -> bool | None:
    return None if row.correct is None else not row.correct


def _follows(row: Prompt) -> bool | None:
    return row.follows


def _unread(row: Prompt) -> bool | None:
    return row.answer is None if row.counts else None


def _strictly(row: Prompt) -> bool | None:
    """As for consistency, but where the agent wrote what cannot be read it is not consistent."""
    return None if row.undone or row.state == "error" else row.consistent is True


def _states(rows: Iterable[Prompt]) -> list[Json]:
    counts: dict[tuple[str, Kind, str], int] = {}
    for row in rows:
        key = (row.agent, row.kind, row.state)
        counts[key] = counts.get(key, 0) + 1
    return [
        {"agent": agent, "kind": kind, "state": state, "prompts": count, "asked": asked}
        for (agent, kind, state), count in counts.items()
        for asked in [state != NOT_ASKED]
    ]
