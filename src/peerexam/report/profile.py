"""The profiles' table: an agent a row group, a measure a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.report.numbers import MISSING, decimal, signed, span


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One measure as it is shown; `study` is its whole name, `n` counts what `counts` says."""

    study: str
    title: str
    place: str
    value: str
    interval: str
    n: str
    counts: str
    reason: str


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """All measures of one agent."""

    agent: str
    lines: tuple[ProfileLine, ...]


def read_profiles(run: Path) -> tuple[list[AgentProfile], list[str]]:
    """The profiles that `peerexam profile` left in a run's folder, and the notes to them.

    Raises:
        SetupError: The file is damaged.
    """
    path = run / "profiles.json"
    if not path.exists():
        return [], []
    try:
        body = json.loads(path.read_bytes())
        return profile_rows(body), [str(text) for text in body["notes"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(
            f"{path} cannot be read: {error!r}; run `peerexam profile` again, or remove it"
        ) from error


def profile_rows(body: Mapping[str, Json]) -> list[AgentProfile]:
    """Profiles ready to print."""
    return [
        AgentProfile(str(one["agent"]), tuple(_line(measure) for measure in one["measures"]))
        for one in body["agents"]
    ]


def _line(measure: Mapping[str, Json]) -> ProfileLine:
    unit = measure["unit"]

    def text(value: float | None) -> str:
        if value is None:
            return MISSING
        if unit == "share":
            return f"{decimal(100 * value, 1)} %"
        return signed(value, 3) if unit in ("points", "ranks") else decimal(value, 3)

    return ProfileLine(
        str(measure.get("from", measure["study"])),
        str(measure["title"]),
        " ".join(str(measure[key]) for key in ("task", "condition") if measure[key]),
        text(measure["value"]),
        span(text(measure["low"]), text(measure["high"])),
        f"{int(measure['n']):,}",
        str(measure.get("counts", "")),
        str(measure["reason"] or "") if measure["value"] is None else "",
    )
