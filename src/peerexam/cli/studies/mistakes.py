"""`mistakes`: statistics of annotated traces, Dyck by rule, finding mistakes, backtracking."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from peerexam.cli import COMPLETE
from peerexam.cli.arguments import add_action
from peerexam.cli.output import columns, plain, say, say_json
from peerexam.cli.studies import mistakes_backtrack, mistakes_find
from peerexam.report.grid import grid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from peerexam.calls import Json
    from peerexam.protocols.studies.mistakes.finding.annotator_agreement import AnnotatorAgreement
    from peerexam.protocols.studies.mistakes.finding.data_statistics import DyckCheck, TaskCounts
    from peerexam.stats.core.estimate import Estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "print statistics of a folder in the layout of BIG-Bench Mistake"
    stats = add_action(actions, "stats", about)
    stats.add_argument("path", metavar="DIR", help="the folder with its JSONL files")
    stats.add_argument(
        "--annotations",
        metavar="CSV",
        help="several people's votes (trace, annotator, location): how far do they agree?",
    )
    dyck = add_action(actions, "dyck", "check the steps of Dyck traces by rule")
    dyck.add_argument("path", metavar="FILE", help="dyck_languages.jsonl")
    about = "ask agents where the first mistake of a trace is"
    mistakes_find.add_arguments(add_action(actions, "find", about))
    about = "backtrack: regenerate a trace from its mistake"
    mistakes_backtrack.add_arguments(add_action(actions, "backtrack", about))
    about = "train a small classifier of steps, one task held out"
    mistakes_backtrack.add_training_arguments(add_action(actions, "train", about))


def perform(arguments: argparse.Namespace) -> int:
    """Perform one of the actions."""
    action = {
        "stats": _stats,
        "dyck": _dyck,
        "find": mistakes_find.perform,
        "backtrack": mistakes_backtrack.perform,
        "train": mistakes_backtrack.train,
    }[arguments.action]
    return action(arguments)


def _stats(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from peerexam.protocols.studies.mistakes.finding.annotator_agreement import annotator_agreement
    from peerexam.protocols.studies.mistakes.finding.data_statistics import task_counts
    from peerexam.tasks.mistakes.location_votes import read_location_votes
    from peerexam.tasks.mistakes.traces import load_traces

    traces = load_traces(Path(arguments.path))
    counts = task_counts(traces)
    agreement: list[AnnotatorAgreement] = []
    if arguments.annotations:
        votes = read_location_votes(Path(arguments.annotations), traces)
        agreement = annotator_agreement(traces, votes)
    if arguments.json:
        body: dict[str, Json] = {
            "tasks": [one.row for one in counts],
            "cross": [one.cross for one in counts],
            "floors": [{"task": one.task, **one.floors.to_json()} for one in counts],
        }
        if arguments.annotations:
            body["annotators"] = [one.to_json() for one in agreement]
        say_json(body)
        return COMPLETE
    say(_stats_text(counts))
    if arguments.annotations:
        say("\nAgreement of annotators\n\n" + _agreement_text(agreement))
    return COMPLETE


def _agreement_text(agreement: Sequence[AnnotatorAgreement]) -> str:
    """Krippendorff's alpha by task, and how often the majority is the label."""
    if not agreement:
        return "nobody voted on any trace"
    return _table(
        [
            {
                "task": one.task,
                "alpha": _between(one.alpha, 1, ""),
                "traces": one.alpha.n,
                "majority is the label": _between(one.majority, 100, " %"),
            }
            for one in agreement
        ]
    )


def _between(one: Estimate, times: float, unit: str) -> str:
    """A value with its interval, or why there is none."""
    if one.value is None:
        return one.reason or "none"
    value = f"{times * one.value:.3f}{unit}"
    if one.low is None or one.high is None:
        return value
    return f"{value} ({times * one.low:.3f} to {times * one.high:.3f})"


def _stats_text(counts: Sequence[TaskCounts]) -> str:
    """Three tables: counts, answers against traces, baselines in per cent."""
    floors = [
        {
            "task": one.task,
            **{key: f"{100 * value:.2f}" for key, value in one.floors.to_json().items()},
        }
        for one in counts
    ]
    rows = [{**one.row, "mean_steps": f"{one.mean_steps:.3f}"} for one in counts]
    parts = [
        _table(rows),
        _table([one.cross for one in counts]),
        "Baselines, in per cent (accuracy of locations, weighted F1 of answers)\n\n"
        + _table(floors),
    ]
    return "\n\n".join(parts)


def _dyck(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from peerexam.protocols.studies.mistakes.finding.data_statistics import check_dyck
    from peerexam.tasks.mistakes.traces import load_traces

    found = check_dyck(load_traces(Path(arguments.path)))
    if arguments.json:
        say_json(found.to_json())
    else:
        say(_dyck_text(found))
    return COMPLETE


def _dyck_text(found: DyckCheck) -> str:
    """The agreement in a line, then every trace on which rule and label differ."""
    one = found.agreement
    ends = f" ({_per_cent(one.low)} to {_per_cent(one.high)})"
    agreeing = one.n - len(found.differences)
    head = f"rule and label agree on {agreeing} of {one.n} traces: {_per_cent(one.value)}{ends}"
    if not found.differences:
        return head
    rows = [
        {
            "trace": each.id,
            "label (from 0)": "none" if each.label is None else each.label,
            "rule (from 0)": "none" if each.rule is None else each.rule,
            "the rule expects": each.expected or "",
        }
        for each in found.differences
    ]
    return f"{head}\n\n{_table(rows)}"


def _per_cent(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:.2f} %"


def _table(rows: Sequence[dict[str, Json]]) -> str:
    cells = [[plain(str(cell)) for cell in row.values()] for row in rows]
    return grid(list(rows[0]), cells, range(1, len(rows[0])), width=columns())
