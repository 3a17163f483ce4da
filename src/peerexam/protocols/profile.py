"""One profile an agent: its standing, how it judges, and what studies found of its self-judgement.

How well an agent answers, how well it judges, and whether it judges itself better than it answers
are different numbers on different scales. They stand side by side, each with its interval and what
it rests on, and are never added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.study_result import read_result
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_object

PROFILES = "profiles.json"

Body = Mapping[str, Json]


def write_profiles(run: Path, studies: Sequence[Path]) -> dict[str, Json]:
    """Put a run and studies side by side, and leave that as `profiles.json` in the run's folder.

    Args:
        run: The run's folder.
        studies: Folders that studies left.

    Returns:
        What was written.

    Raises:
        SetupError: The run has no standings, or a folder holds no study's result.
    """
    folder = RunFolder(run)
    if not folder.standings_path.exists():
        raise SetupError(f"{run} has no standings: `peerexam report {run}` counts them")
    results = [read_result(study) for study in studies]
    try:
        body = profiles(folder.read_standings(), folder.read_manifest(), results)
    except (AttributeError, KeyError, TypeError) as error:
        raise SetupError(
            f"{folder.standings_path} is damaged ({error!r}): `peerexam report {run}` counts anew"
        ) from error
    write_object(run / PROFILES, body)
    return body


def profiles(standings: Body, manifest: Body, results: Sequence[Body]) -> dict[str, Json]:
    """The profiles as plain JSON, agents of the run first, in the order of their standing."""
    found: dict[str, list[Json]] = {row["agent"]: [] for row in standings.get("standings", [])}
    for row in standings.get("standings", []):
        found[row["agent"]].append(_standing(row))
    for judge in standings.get("judges", []):
        found.setdefault(judge["agent"], []).extend(_judging(judge))
    for result in results:
        about = set(result.get("agents", {}))
        for measure in result["measures"]:
            # A measure of all agents together belongs to nobody's profile.
            if measure.get("headline") and measure["agent"] in about:
                found.setdefault(measure["agent"], []).append(_of_study(measure, result["study"]))
    return {
        "schema": SCHEMA_VERSION,
        "exam": standings.get("exam"),
        "agents": [{"agent": name, "measures": measures} for name, measures in found.items()],
        "studies": [_study(result) for result in results],
        "notes": list(dict.fromkeys(_notes(manifest, results))),
    }


def _standing(row: Body) -> dict[str, Json]:
    score = {"value": row["score"], "low": row["score_low"], "high": row["score_high"]}
    return {
        **_place("exam", f"score (rank {row['rank']})"),
        **score,
        "n": row["questions"],
        "reason": None,
    }


def _judging(judge: Body) -> Iterator[dict[str, Json]]:
    interval = (judge.get("intervals") or {}).get("swap_consistency") or {}
    value = judge.get("swap_consistency")
    yield {
        **_place("exam", "same verdict in both orders"),
        "value": value,
        "low": interval.get("low"),
        "high": interval.get("high"),
        "n": interval.get("n", 0),
        "reason": interval.get("reason") if value is None else None,
    }
    own = (judge.get("self_preference") or {}).get("third_party")
    if own:
        yield {**_place("exam", "favours its own answers (third party)", "points"), **_numbers(own)}


def _of_study(measure: Body, study: str) -> dict[str, Json]:
    return {
        **_place(study, str(measure["title"]), str(measure["unit"])),
        "task": measure.get("task", ""),
        "condition": measure.get("condition", ""),
        **_numbers(measure),
    }


def _place(study: str, title: str, unit: str = "share") -> dict[str, Json]:
    return {"study": study, "title": title, "unit": unit, "task": "", "condition": ""}


def _numbers(one: Body) -> dict[str, Json]:
    return {
        "value": one.get("value"),
        "low": one.get("low"),
        "high": one.get("high"),
        "n": one.get("n", 0),
        "reason": one.get("reason"),
    }


def _study(result: Body) -> dict[str, Json]:
    return {
        "study": result["study"],
        "about": result.get("about", {}),
        "status": result.get("status", "complete"),
        "status_reason": result.get("status_reason"),
    }


def _notes(manifest: Body, results: Sequence[Body]) -> Iterator[str]:
    """Where one name means two things, or a study is not whole."""
    held = {one["name"]: one.get("fingerprint") or {} for one in manifest.get("agents", [])}
    for result in results:
        for name, fingerprint in result.get("agents", {}).items():
            if name not in held:
                yield f"{name} took part in the study of {result['study']}, and not in the exam"
            elif held[name] and fingerprint and _identity(held[name]) != _identity(fingerprint):
                yield (
                    f"{name} is not the same model in the exam and in the study of "
                    f"{result['study']}: read its lines apart"
                )
        if result.get("status") == "partial":
            yield f"the study of {result['study']} is partial: {result.get('status_reason')}"


def _identity(fingerprint: Body) -> tuple[Json, ...]:
    return tuple(fingerprint.get(key) for key in ("provider", "model", "base_url", "sha256"))
