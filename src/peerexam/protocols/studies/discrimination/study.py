"""What a study of discrimination comes to: result, tables, notes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from peerexam.calls import Json
from peerexam.protocols.studies.base import StudyRecords
from peerexam.protocols.studies.discrimination.answer_scoring import REFERENCE_METRIC
from peerexam.protocols.studies.discrimination.measures import measures_of
from peerexam.protocols.studies.discrimination.protocol import (
    Discrimination,
    Examined,
)
from peerexam.protocols.studies.result import Measure, StudyResult
from peerexam.stats.discrimination import task_average
from peerexam.tasks.benchmarks.base import Item


def discrimination_result(
    settings: Discrimination, done: StudyRecords[tuple[Examined, ...]]
) -> StudyResult:
    """The result of a study of discrimination."""
    rows = [one for item in done.rows for one in item]
    measures = measures_of(settings, done.rows)
    failed = sum(one.failed for one in rows)
    return StudyResult.of(
        "discrimination",
        done,
        _about(settings),
        measures,
        _notes(settings),
        {
            "correct_candidates": _correct(settings, rows),
            "task_average": _averages(settings, measures),
            "states": _states(rows),
        },
        [f"{failed} calls failed; their items are left out"] if failed else [],
    )


def draw_items(items: Sequence[Item], limit: int | None, seed: int) -> tuple[Item, ...]:
    """So many items, drawn by the seed, in their own order; None takes all."""
    if limit is None or limit >= len(items):
        return tuple(items)
    chosen = sorted(random.Random(f"items {seed}").sample(range(len(items)), limit))
    return tuple(items[at] for at in chosen)


def _about(settings: Discrimination) -> dict[str, Json]:
    task = settings.task
    metric = "key" if not task.judges else "judges" if settings.judges else REFERENCE_METRIC
    return {
        "task": task.name,
        "items": len(settings.items),
        "candidates": settings.candidates,
        "temperature": settings.temperature,
        "own_candidates": settings.given is None,
        "variations": [one.name for one in settings.variations],
        "peers": settings.peers,
        "judges": list(settings.judges),
        "metric": metric,
        "scale": list(task.scale),
        "seed": settings.seed,
    }


def _correct(settings: Discrimination, rows: Sequence[Examined]) -> Json:
    """By agent, on how many items how many candidates have the full score."""
    high = settings.task.scale[1]
    return {
        agent: {
            str(correct): times
            for correct, times in sorted(
                Counter(
                    sum(c.score == high for c in one.candidates)
                    for one in rows
                    if one.agent == agent and all(c.score is not None for c in one.candidates)
                ).items()
            )
        }
        for agent in settings.agents
    }


def _averages(settings: Discrimination, measures: Sequence[Measure]) -> Json:
    """DG-Diff averaged over the agents, by variation (last line of the paper's Table 2)."""
    found: dict[str, Json] = {}
    for variation in settings.variations:
        condition = "" if variation.name == "plain" else variation.name
        values = {
            (one.agent, one.name): one.estimate.value
            for one in measures
            if one.condition == condition and one.name in ("s_disc", "dg_diff")
        }
        pairs = [
            (score - gap, score)
            for agent in settings.agents
            if (score := values.get((agent, "s_disc"))) is not None
            and (gap := values.get((agent, "dg_diff"))) is not None
        ]
        found[variation.name] = {"value": task_average(pairs) if pairs else None, "n": len(pairs)}
    return found


def _states(rows: Sequence[Examined]) -> Json:
    """States of candidates and choices by agent, counted."""
    counted: dict[str, dict[str, Counter[str]]] = {}
    for one in rows:
        of = counted.setdefault(one.agent, {"candidates": Counter(), "choices": Counter()})
        of["candidates"].update(candidate.answer.state for candidate in one.candidates)
        of["choices"].update(choice.state for choice in one.choices)
    return {
        agent: {kind: dict(sorted(states.items())) for kind, states in of.items()}
        for agent, of in counted.items()
    }


def _notes(settings: Discrimination) -> list[str]:
    task = settings.task
    notes = ["a reply that names no candidate is credited with the lowest one (§4.1)"]
    if settings.given is not None:
        notes.append(
            "the candidates come from a file: what is chosen among them is a judgement of others' "
            "answers unless the agent wrote them"
        )
    if task.judges and not settings.judges:
        notes.append(
            f"no judge was named: answers are scored by {REFERENCE_METRIC}, which is not the "
            "paper's metric (truthful and informative, by --judges)"
        )
    both = sorted(set(settings.judges) & set(settings.agents))
    if both:
        notes.append(
            f"{', '.join(both)} scores its own answers too; the paper left such a model out"
        )
    if settings.peers:
        notes.append(f"peers choose by {settings.head.name}, as the agent itself does beside them")
    if any(one.wording.verbatim for one in settings.variations):
        notes.append("verbatim: no label is named, so there are no shares of labels")
    if any(one.simplified for one in settings.variations):
        notes.append(
            "simplified: TriviaQA's wrong candidates are keys of other questions, GSM8K's end in "
            "100 times the number or a hundredth; their scores stay as they were"
        )
    return notes
