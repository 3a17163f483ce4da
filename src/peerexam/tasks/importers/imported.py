"""What an importer hands over, and how it becomes a run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from peerexam.calls import Json, State
from peerexam.errors import SetupError
from peerexam.records import (
    SCHEMA_VERSION,
    Answer,
    Mark,
    Question,
    Ranking,
    Record,
    Verdict,
)
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import Kind

Disagreement = Literal["tie", "average", "abstain"]
"""What two orders of a pair that disagree are worth: `stats.orders` has the rules."""

_STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class Imported:
    """Another tool's results as records, each in the order in which it is to be written.

    Attributes:
        roles: Every agent's name and the roles it played (`examiner`, `examinee`, `judge`).
        questions: All of them.
        answers: All of them.
        marks: All of them.
        verdicts: All of them, one an order.
        rankings: Only those that the source itself has; none is derived.
        left_out: What the source holds and this import does not, one sentence each.
        notes: What else a reader of the report must know, one sentence each.
        full_mark: Of the source's marks; None where it is the 5 of our own.
        lowest_mark: Of the source's marks, in the same steps.
        one_order: Judges that saw every pair in one order only.
    """

    roles: Mapping[str, Sequence[str]]
    questions: Sequence[Question]
    answers: Sequence[Answer] = ()
    marks: Sequence[Mark] = ()
    verdicts: Sequence[Verdict] = ()
    rankings: Sequence[Ranking] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    full_mark: int | None = None
    lowest_mark: int | None = None
    one_order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import wrote.

    Attributes:
        kind: The layout that was read.
        out: The run's folder.
        agents: Their names, sorted.
        played: Role to how many agents have it.
        counts: Kind of record to how many there are.
        left_out: What the source holds and the import does not.
        notes: What else a reader of the report must know.
    """

    kind: str
    out: Path
    agents: tuple[str, ...]
    played: Mapping[str, int]
    counts: Mapping[str, int]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def write_imported(
    kind: str, name: str, imported: Imported, out: Path, disagreement: Disagreement = "tie"
) -> ImportSummary:
    """Write a run's folder. The same import into the same folder leaves the same bytes.

    Args:
        kind: The layout that was read.
        name: What the run is called.
        imported: Its records.
        out: The folder; an import of the same kind that stands there is overwritten.
        disagreement: What two orders of a pair that disagree are worth when it is counted.

    Raises:
        SetupError: Another run stands in the folder.
    """
    folder = RunFolder(out)
    one_order = set(imported.one_order)
    _refuse_another_run(folder, kind)
    by_kind: dict[Kind, Sequence[Record]] = {
        "questions": imported.questions,
        "answers": imported.answers,
        "marks": imported.marks,
        "verdicts": imported.verdicts,
        "rankings": imported.rankings,
    }
    for record_kind, records in by_kind.items():
        with folder.writer(record_kind) as writer:
            for record in records:
                writer.emit(record)
    for derived in (folder.standings_path, folder.report_path):
        derived.unlink(missing_ok=True)  # an earlier import's
    folder.write_manifest(
        {
            "schema": SCHEMA_VERSION,
            "protocol": "import",
            "source": {"kind": kind},
            "exam": name,
            "seed": 0,
            "disagreement": disagreement,
            "agents": [
                {
                    "name": agent,
                    "roles": list(roles),
                    **({"orders": "one"} if agent in one_order else {}),
                }
                for agent, roles in sorted(imported.roles.items())
            ],
            "questions_hash": sha256(folder.records_path("questions").read_bytes()).hexdigest(),
            "notes": [*imported.notes, *(f"Left out: {reason}." for reason in imported.left_out)],
            **({} if imported.full_mark is None else {"full_mark": imported.full_mark}),
            **({} if imported.lowest_mark is None else {"lowest_mark": imported.lowest_mark}),
            "versions": {"peerexam": metadata.version("peerexam")},
            "counts": {name: _counts(records) for name, records in by_kind.items()},
            "status": "complete",
            "status_reason": None,
        }
    )
    return ImportSummary(
        kind,
        out,
        tuple(sorted(imported.roles)),
        Counter(role for roles in imported.roles.values() for role in roles),
        {name: len(records) for name, records in by_kind.items()},
        imported.left_out,
        imported.notes,
    )


def _refuse_another_run(folder: RunFolder, kind: str) -> None:
    if folder.manifest_path.exists():
        source = folder.read_manifest().get("source")
        if isinstance(source, dict) and source.get("kind") == kind:
            return
    elif not any(folder.path.glob("*.jsonl")):
        return
    raise SetupError(f"{folder.path} holds another run; name another folder to import into")


def _counts(records: Iterable[Record]) -> dict[str, Json]:
    """Records by state; questions and rankings have none and count as `ok`."""
    states = Counter(getattr(record, "state", "ok") for record in records)
    return {"planned": states.total(), **{state: states[state] for state in _STATES}}
