"""What a run came to, and the manifest that says so."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

from peerexam.calls import KEY_VERSION, Json
from peerexam.errors import MissingExtraError, SetupError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.prices import price_held
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder import RunFolder, read_jsonl
from peerexam.runfolder.folder import Kind

Status = Literal["complete", "partial"]

_NAMED = 3
_COLUMNS = ("rank", "agent", "tier", "score", "score_low", "score_high", "win_rate", "questions")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run; in a notebook it is shown as a table.

    Attributes:
        folder: Where its files are.
        status: `partial` where the budget ended it or calls failed.
        reason: Why it is partial.
        standings: The content of `standings.json`.
    """

    folder: Path
    status: Status
    reason: str | None
    standings: Mapping[str, Json]

    def __repr__(self) -> str:
        rows = self._rows()
        first = ", ".join(f"{row['rank']}. {row['agent']}" for row in rows[:_NAMED])
        more = f", … {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        return f"Outcome({self.status}: {first or 'no standings'}{more}; folder {self.folder})"

    def _repr_html_(self) -> str:
        """The standings as a table; names of agents are escaped."""
        why = f": {self.reason}" if self.reason else ""
        caption = escape(f"{self.standings.get('exam') or 'exam'}: {self.status}{why}")
        head = "".join(f"<th>{column.replace('_', ' ')}</th>" for column in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row.get(column))}</td>" for column in _COLUMNS) + "</tr>"
            for row in self._rows()
        )
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table><p>{escape(str(self.folder))}</p>"
        )

    def to_pandas(self, kind: str = "standings") -> Any:
        """A data frame, one row a record, columns as in the run's files.

        Args:
            kind: `standings`, or a kind of record: `questions`, `answers`, `marks`, `verdicts`,
                `rankings`, `levels`, `references` or `probes`. One that the run has none of gives
                an empty frame.

        Raises:
            MissingExtraError: pandas is not installed.
            SetupError: There is no such kind, or its file is damaged.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "to_pandas needs the package pandas: pip install pandas"
            ) from error
        if kind == "standings":
            return pandas.DataFrame(self._rows())
        kinds = get_args(Kind)
        if kind not in kinds:
            raise SetupError(f"no records are called '{kind}': say standings, {', '.join(kinds)}")
        path = self.folder / f"{kind}.jsonl"
        rows = [body for _, body in read_jsonl(path)] if path.exists() else []
        return pandas.DataFrame(rows)

    def _rows(self) -> list[dict[str, Json]]:
        return list(self.standings.get("standings") or ())


def _cell(value: Json) -> str:
    """A value in a table's cell."""
    if value is None:
        return "–"
    return escape(f"{value:.3f}" if isinstance(value, float) else str(value))


def outcome_of(folder: RunFolder) -> Outcome:
    """What a run that has ended came to.

    Raises:
        SetupError: The folder holds no run, or its files are damaged.
    """
    standings = folder.read_standings()
    held = folder.read_manifest()
    return Outcome(folder.path, held["status"], held.get("status_reason"), standings)


def manifest(
    config: ExamConfig,
    fingerprints: Mapping[str, Mapping[str, Json]],
    seal: str | None,
    *,
    status: Status,
    reason: str | None,
    notes: Sequence[str],
    counts: Mapping[str, Json],
    inputs: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The content of `manifest.json`. It holds no time, so that a replay leaves the same bytes."""
    return {
        "schema": SCHEMA_VERSION,
        "request_key_version": KEY_VERSION,
        "versions": {
            "peerexam": metadata.version("peerexam"),
            "python": platform.python_version(),
        },
        "exam": config.name,
        "protocol": config.protocol,
        "examiner": config.examiner,
        "seed": config.seed,
        "agents": [
            {
                "name": agent.name,
                "model": agent.model,
                "roles": [
                    role
                    for role in ("examiner", "examinee", "judge")
                    if agent in config.agents_in(role)
                ],
                "judges_by": agent.judge.by,
                "variant_of": agent.variant_of,
                "family": agent.family,
                "price": price_held(agent, fingerprints.get(agent.name, {})),
                "fingerprint": dict(fingerprints.get(agent.name, {})),
            }
            for agent in config.agents
        ],
        "questions_hash": seal,
        "status": status,
        "status_reason": reason,
        "notes": list(notes),
        "counts": dict(counts),
        **({} if inputs is None else {"inputs": dict(inputs)}),
    }
