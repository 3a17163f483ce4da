"""What an experiment on self-judgement leaves: `result.json`, the same shape for all of them.

A measure is one number of one agent, with its interval and what it rests on, so that the results
of several experiments can stand side by side in a profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.studies.base import StudyRecords, row_of
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder.folder import read_object, write_object
from peerexam.stats.core.estimate import Estimate

StudyName = Literal["discrimination", "mistakes", "backtracking", "consistency", "self-bias"]
Unit = Literal["share", "points", "ranks", "alpha"]
"""`share` is 0 to 1, `points` are on the task's own scale, `ranks` are places."""

RESULT = "result.json"
_AGAIN = "perform the study again: what it asked is in its ledger"


def estimate_json(one: Estimate) -> dict[str, Json]:
    """An estimate as plain JSON, with the method behind it."""
    return row_of(one, "value low high p p_holm n left_out method reason")


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of one agent.

    Attributes:
        agent: Whose.
        name: What it is, as in `dg_diff` or `location_accuracy`.
        title: The same in words.
        task: On what, as in `gsm8k` or `word_sorting`; empty where there is one task.
        condition: Under which variation, method or role; empty where there is one.
        estimate: The number, its interval, its n.
        unit: What it counts.
        headline: Whether it stands for the study in a profile.
    """

    agent: str
    name: str
    title: str
    estimate: Estimate
    task: str = ""
    condition: str = ""
    unit: Unit = "share"
    headline: bool = False

    def to_json(self) -> dict[str, Json]:
        """As plain JSON, missing values null."""
        return {
            **row_of(self, "agent name title task condition unit headline"),
            **estimate_json(self.estimate),
        }


@dataclass(frozen=True, slots=True)
class StudyResult:
    """All that came of one experiment.

    Attributes:
        study: Which.
        about: What was asked: task, sizes, seed, options.
        agents: Name to fingerprint.
        measures: In the order in which they are shown.
        tables: Further tables by name, as plain JSON.
        notes: What to know when reading it, a sentence each.
        status: `partial` where a budget ended it or calls failed.
        status_reason: Why it is partial.
    """

    study: StudyName
    about: Mapping[str, Json]
    agents: Mapping[str, Mapping[str, Json]]
    measures: Sequence[Measure]
    tables: Mapping[str, Json] = field(default_factory=dict)
    notes: Sequence[str] = ()
    status: Literal["complete", "partial"] = "complete"
    status_reason: str | None = None

    @classmethod
    def of(
        cls,
        study: StudyName,
        records: StudyRecords[Any],
        about: Mapping[str, Json],
        measures: Sequence[Measure],
        notes: Sequence[str],
        tables: Mapping[str, Json] | None = None,
        failures: Iterable[str] = (),
    ) -> StudyResult:
        """The result of some records; `failures` and what ended the study make it partial."""
        reasons = [
            *([records.stopped] if records.stopped else []),
            *(f"{name} was given up: {reason}" for name, reason in records.lost.items()),
            *failures,
        ]
        return cls(
            study,
            about,
            records.fingerprints,
            measures,
            tables or {},
            notes,
            "partial" if reasons else "complete",
            "; ".join(reasons) or None,
        )

    def to_json(self) -> dict[str, Json]:
        """As plain JSON."""
        return {
            "schema": SCHEMA_VERSION,
            "study": self.study,
            "about": dict(self.about),
            "agents": {name: dict(one) for name, one in self.agents.items()},
            "measures": [one.to_json() for one in self.measures],
            "tables": dict(self.tables),
            "notes": list(self.notes),
            "status": self.status,
            "status_reason": self.status_reason,
        }


def failed_calls(reasons: Sequence[str | None]) -> list[str]:
    """How many calls failed, and why the first did; nothing where none did."""
    return [f"{len(reasons)} calls failed, the first with {reasons[0]}"] if reasons else []


def write_result(folder: Path, result: StudyResult) -> Path:
    """Leave a result in a folder, in one step.

    Raises:
        ValueError: A value is NaN or an infinity.
    """
    path = folder / RESULT
    write_object(path, result.to_json())
    return path


def read_result(folder: Path) -> dict[str, Json]:
    """The result that an experiment left.

    Raises:
        SetupError: There is none, or it is damaged.
    """
    path = folder / RESULT if folder.is_dir() else folder
    body = read_object(path)
    if not isinstance(body.get("measures"), list) or not isinstance(body.get("study"), str):
        raise SetupError(f"{path} is no result of a study: name the folder that one left")
    agents = body.get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(one, dict) for one in agents.values()):
        raise SetupError(f"{path} is damaged: agents must be fingerprints by name; {_AGAIN}")
    for number, measure in enumerate(body["measures"], 1):
        if not _is_measure(measure):
            raise SetupError(f"{path} is damaged: measure {number} is none; {_AGAIN}")
    return body


def _is_measure(body: Json) -> bool:
    """Whether all is there that stands in a profile, each of its kind."""
    if not isinstance(body, dict):
        return False
    return (
        all(isinstance(body.get(key), str) for key in ("agent", "name", "title"))
        and all(isinstance(body.get(key, ""), str) for key in ("task", "condition"))
        and body.get("unit") in get_args(Unit)
        and all(_is_number_or_none(body.get(key)) for key in ("value", "low", "high"))
        and type(body.get("n")) is int
    )


def _is_number_or_none(value: Json) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))
