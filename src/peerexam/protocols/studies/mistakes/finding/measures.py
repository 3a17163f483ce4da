"""What finds come to: accuracies of location by kind of trace, F1 of answers, agreement."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from peerexam.calls import Json
from peerexam.examiners.mistakes.finding import Method
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.mistakes.finding.data_statistics import task_counts
from peerexam.protocols.studies.mistakes.finding.protocol import Find, Finding
from peerexam.protocols.studies.result import Measure, StudyResult, failed_calls
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.nominal_agreement import MISSING, nominal_alpha
from peerexam.stats.core.tables import Ints
from peerexam.stats.mistakes.location import (
    NO_MISTAKE,
    UNREADABLE,
    Located,
    Split,
    answer_f1,
    location_accuracy,
    overall,
    unreadable_share,
)

ALL_AGENTS = "all agents"
"""The agent of a measure of how far they agree."""

_SPLITS: Mapping[Split, tuple[str, str]] = {
    "all": ("location_accuracy", "first mistake located"),
    "mistake": ("location_accuracy_mistake", "the same, of traces with a mistake"),
    "no_mistake": ("location_accuracy_no_mistake", "the same, of traces without a mistake"),
    "correct_answer": ("location_accuracy_correct_ans", "the same, of traces with a right answer"),
    "incorrect_answer": (
        "location_accuracy_incorrect_ans",
        "the same, of traces with a wrong answer",
    ),
}

NOTES = (
    "locations in finds.jsonl count from 0, as in the data; prompts count from 1",
    "a reply that cannot be read counts as wrong and is not asked for again; a call that failed "
    "says nothing of the agent and is left out",
    "the overall accuracy weighs tasks alike (the paper's); floors are in the table 'floors'",
)


def finding_result(finding: Finding, finds: StudyRecords[Find]) -> StudyResult:
    """The result of a study of mistake finding."""
    counts = task_counts(finding.traces)
    return StudyResult.of(
        "mistakes",
        finds,
        about={
            "traces": len(finding.traces),
            "tasks": [one.task for one in counts],
            "methods": list(finding.methods),
            "seed": finding.seed,
        },
        measures=list(measures(finds.rows, finding)),
        notes=NOTES,
        tables={
            "traces": [one.row for one in counts],
            "floors": [{"task": one.task, **one.floors.to_json()} for one in counts],
            "calls": _calls(finds.rows),
        },
        failures=failed_calls([find.reason for find in finds.rows if find.failed]),
    )


def measures(rows: Sequence[Find], finding: Finding) -> Iterator[Measure]:
    """Of every agent and method: over the tasks, then task by task; then how far agents agree."""
    agents = list(dict.fromkeys(find.agent for find in rows))
    tasks = list(dict.fromkeys(trace.task for trace in finding.traces))
    for agent in agents:
        for method in finding.methods:
            of = [find for find in rows if find.agent == agent and find.method == method]
            by_task = {task: [find for find in of if find.task == task] for task in tasks}
            accuracies = {task: _accuracies(finds) for task, finds in by_task.items()}
            for split, (name, title) in _SPLITS.items():
                yield Measure(
                    agent=agent,
                    name=name,
                    title=f"{title}, mean over tasks",
                    estimate=overall([of_task[split] for of_task in accuracies.values()]),
                    condition=method,
                    headline=split == "all" and method == finding.methods[0],
                )
            for task, finds in by_task.items():
                yield from _of_task(agent, task, method, located(finds), accuracies[task])
    if len(agents) > 1:
        yield from _agreement(rows, finding, agents, tasks)


def located(finds: Iterable[Find]) -> Located:
    """Finds as columns; those whose call failed are only counted."""
    rows = list(finds)
    kept = [find for find in rows if not find.failed]
    return _columns(kept, len(rows) - len(kept))


def _columns(rows: Sequence[Find], left_out: int = 0) -> Located:
    return Located(
        found=np.array([find.found for find in rows], dtype=np.int64),
        gold=np.array(
            [NO_MISTAKE if find.gold is None else find.gold for find in rows], dtype=np.int64
        ),
        correct_answer=np.array([find.correct_answer for find in rows], dtype=np.bool_),
        left_out=left_out,
    )


def _accuracies(finds: Sequence[Find]) -> dict[Split, Estimate]:
    """By kind of trace, each kind with the traces of it whose call failed."""
    return location_accuracy(located(finds), _columns([find for find in finds if find.failed]))


def _of_task(
    agent: str,
    task: str,
    method: Method,
    table: Located,
    accuracies: Mapping[Split, Estimate],
) -> Iterator[Measure]:
    def measure(name: str, title: str, estimate: Estimate) -> Measure:
        return Measure(agent, name, title, estimate, task, method)

    for split, estimate in accuracies.items():
        yield measure(*_SPLITS[split], estimate)
    yield measure("answer_f1", "weighted F1 of right and wrong answers", answer_f1(table))
    yield measure("unreadable_share", "traces without a readable reply", unreadable_share(table))


def _agreement(
    rows: Sequence[Find], finding: Finding, agents: Sequence[str], tasks: Sequence[str]
) -> Iterator[Measure]:
    """Krippendorff's α of the locations that agents named, by task and method."""
    for method in finding.methods:
        for task in tasks:
            of = [find for find in rows if find.method == method and find.task == task]
            rng = _rng(finding.seed, ALL_AGENTS, task, method)
            yield Measure(
                agent=ALL_AGENTS,
                name="location_agreement",
                title="agreement on where the mistake is",
                estimate=nominal_alpha(_labels(of, agents), rng=rng),
                task=task,
                condition=method,
                unit="alpha",
            )


def _labels(finds: Sequence[Find], agents: Sequence[str]) -> Ints:
    """Traces × agents; what could not be read is no label."""
    row = {trace: at for at, trace in enumerate(dict.fromkeys(find.trace for find in finds))}
    column = {agent: at for at, agent in enumerate(agents)}
    labels = np.full((len(row), len(agents)), MISSING, dtype=np.int64)
    for find in finds:
        if find.found != UNREADABLE:
            labels[row[find.trace], column[find.agent]] = find.found
    return labels


def _calls(rows: Sequence[Find]) -> list[Json]:
    """Calls made, by agent and method."""
    asked: dict[tuple[str, str], int] = {}
    for find in rows:
        key = (find.agent, find.method)
        asked[key] = asked.get(key, 0) + find.asked
    return [{"agent": agent, "method": how, "calls": n} for (agent, how), n in asked.items()]


def _rng(seed: int, *names: str) -> np.random.Generator:
    """One for each measure, so that one more task changes no other's interval."""
    digest = hashlib.blake2b("\0".join(names).encode(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
