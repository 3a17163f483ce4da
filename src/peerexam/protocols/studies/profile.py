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
from peerexam.protocols.run.folder.lock import settled
from peerexam.protocols.standings.same_model import model_identity
from peerexam.protocols.studies.names import study_names
from peerexam.protocols.studies.result import read_result
from peerexam.records import SCHEMA_VERSION
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import write_object
from peerexam.stats.judges.peer_agreement import ALONE

PROFILES = "profiles.json"

_NOT_COUNTED = (
    "these standings are of an older version, which did not count it; without standings.json "
    "`peerexam report` counts anew"
)

_UNITS: Mapping[str, str] = {
    "discrimination": "items",
    "mistakes": "traces",
    "backtracking": "traces",
    "consistency": "prompts",
    "self-bias": "segments",
}
"""What the measure that stands for a study counts."""

_PAIRS = "pairs of answers"

Body = Mapping[str, Json]


def write_profiles(run: Path, studies: Sequence[Path]) -> dict[str, Json]:
    """Put a run and studies side by side, and leave that as `profiles.json` in the run's folder.

    Args:
        run: The run's folder.
        studies: Folders that studies left; one that is named twice counts once.

    Returns:
        What was written.

    Raises:
        SetupError: The run has no standings, or a folder holds no study's result.
    """
    folder = RunFolder(run)
    settled(folder)
    if not folder.standings_path.exists():
        raise SetupError(f"{run} has no standings: `peerexam report {run}` counts them")
    paths = list({study.resolve(): study for study in studies}.values())
    results = [read_result(study) for study in paths]
    named = list(zip(study_names(results, paths), results, strict=True))
    try:
        body = profiles(folder.read_standings(), folder.read_manifest(), named)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SetupError(
            f"{folder.standings_path} is damaged ({error!r}): remove it, and "
            f"`peerexam report {run}` counts anew"
        ) from error
    write_object(run / PROFILES, body)
    return body


def profiles(
    standings: Body, manifest: Body, studies: Sequence[tuple[str, Body]]
) -> dict[str, Json]:
    """The profiles as plain JSON, agents of the run first, in the order of their standing.

    Args:
        standings: The run's.
        manifest: The run's.
        studies: Names, each its own, and results.
    """
    found = _of_exam(standings)
    held = {one["name"] for one in manifest.get("agents", [])}
    for name, result in studies:
        about = set(result.get("agents", {}))
        for measure in result["measures"]:
            # A measure of all agents together belongs to nobody's profile.
            if measure.get("headline") and measure["agent"] in about:
                agent = measure["agent"]
                if agent not in found:
                    why = "neither answers nor judges" if agent in held else "took no part"
                    found[agent] = [_no_standing(f"it {why} in this exam")]
                found[agent].append(_of_study(measure, name, result["study"]))
    return {
        "schema": SCHEMA_VERSION,
        "exam": standings.get("exam"),
        "agents": [{"agent": name, "measures": measures} for name, measures in found.items()],
        "studies": [_study(name, result) for name, result in studies],
        "notes": list(dict.fromkeys(_notes(manifest, studies))),
    }


def _of_exam(standings: Body) -> dict[str, list[Json]]:
    """By agent what the exam says: who answered, in the order of their standing, then judges."""
    voting = standings.get("voting") or {}
    several = len(voting.get("groups") or []) > 1
    found: dict[str, list[Json]] = {
        row["agent"]: [_standing(row, several)] for row in standings.get("standings", [])
    }
    for row in voting.get("unplaced") or []:
        found.setdefault(row["agent"], [_no_standing(row["why"])])
    judges = standings.get("judges", [])
    for judge in judges:
        lines = found.setdefault(
            judge["agent"], [_no_standing("it judges here and does not answer")]
        )
        lines.extend(_judging(judge, len(judges)))
    return found


def _standing(row: Body, several: bool) -> dict[str, Json]:
    score = {"value": row["score"], "low": row["score_low"], "high": row["score_high"]}
    group = f" in group {row['group']}" if several else ""
    return {
        **_place("exam", f"score (rank {row['rank']}{group})"),
        **score,
        "n": row["questions"],
        "counts": "questions",
        "reason": None,
    }


def _no_standing(reason: str) -> dict[str, Json]:
    return {**_place("exam", "score"), **_numbers({"reason": reason})}


def _judging(judge: Body, judges: int) -> Iterator[dict[str, Json]]:
    interval = (judge.get("intervals") or {}).get("swap_consistency") or {}
    value = judge.get("swap_consistency")
    yield {
        **_place("exam", "same verdict in both orders"),
        "value": value,
        "low": interval.get("low"),
        "high": interval.get("high"),
        "n": interval.get("n", 0),
        "counts": _PAIRS,
        "reason": interval.get("reason") if value is None else None,
    }
    yield _agreement(judge.get("peer_agreement"), judges)
    own = (judge.get("self_preference") or {}).get("third_party")
    if own:
        yield {
            **_place("exam", "favours its own answers (third party)", "points"),
            **_numbers(own, _PAIRS),
        }


def _agreement(found: Body | None, judges: int) -> dict[str, Json]:
    place = _place("exam", "agrees with the other judges")
    if found is None:  # standings of an older version
        why = _NOT_COUNTED if judges > 1 else ALONE
        return {**place, **_numbers({"reason": why})}
    chance = found.get("chance")
    beside = "" if chance is None else f"(chance {100 * chance:.0f} %)"
    return {**place, "condition": beside, **_numbers(found, _PAIRS)}


def _of_study(measure: Body, name: str, kind: str) -> dict[str, Json]:
    return {
        **_place(kind, str(measure["title"]), str(measure["unit"])),
        "from": name,
        "task": measure.get("task", ""),
        "condition": measure.get("condition", ""),
        **_numbers(measure, _UNITS.get(kind, "")),
    }


def _place(study: str, title: str, unit: str = "share") -> dict[str, Json]:
    return {
        "study": study,
        "from": study,
        "title": title,
        "unit": unit,
        "task": "",
        "condition": "",
    }


def _numbers(one: Body, counts: str = "") -> dict[str, Json]:
    return {
        "value": one.get("value"),
        "low": one.get("low"),
        "high": one.get("high"),
        "n": one.get("n", 0),
        "counts": counts,
        "reason": one.get("reason"),
    }


def _study(name: str, result: Body) -> dict[str, Json]:
    return {
        "study": result["study"],
        "name": name,
        "about": result.get("about", {}),
        "status": result.get("status", "complete"),
        "status_reason": result.get("status_reason"),
    }


def _notes(manifest: Body, studies: Sequence[tuple[str, Body]]) -> Iterator[str]:
    """Where one name means two things, or a study is not whole."""
    held = {one["name"]: one.get("fingerprint") or {} for one in manifest.get("agents", [])}
    for study, result in studies:
        for name, fingerprint in result.get("agents", {}).items():
            if name not in held:
                yield f"{name} took part in the study {study}, and not in the exam"
            elif held[name] and fingerprint and _identity(held[name]) != _identity(fingerprint):
                yield (
                    f"{name} is not the same model in the exam and in the study "
                    f"{study}: read its lines apart"
                )
        if result.get("status") == "partial":
            yield f"the study {study} is partial: {result.get('status_reason')}"


def _identity(fingerprint: Body) -> tuple[Json, ...]:
    named = model_identity(fingerprint)
    return (named,) if named else (fingerprint.get("provider"), fingerprint.get("model"))
