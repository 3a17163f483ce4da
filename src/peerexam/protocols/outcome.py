"""What a run came to, and the manifest that says so."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from peerexam.calls import KEY_VERSION, Json
from peerexam.protocols.config import ExamConfig
from peerexam.protocols.prices import price_held
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder import RunFolder

Status = Literal["complete", "partial"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run.

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
    }
