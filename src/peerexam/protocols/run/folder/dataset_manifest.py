"""The manifest of a data set: who set it, how, when, and under what seal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.questions.sealing import Shortfall
from peerexam.protocols.run.annotating import Annotated
from peerexam.protocols.run.folder.setup_digest import file_digests
from peerexam.protocols.session.outcome import Status, manifest
from peerexam.records import SCHEMA_VERSION, LevelVote, Question, Reference
from peerexam.runfolder import RunFolder
from peerexam.runfolder.sealing import canary_of


def parts_of(config: ExamConfig) -> dict[str, list[str]]:
    """What the agents do for a data set, by name; those that do nothing are left out."""
    questions = config.questions
    parts: dict[str, list[str]] = {a.name: ["examiner"] for a in config.agents_in("examiner")}
    for name in questions.levels.classifiers:
        parts.setdefault(name, []).append("classifier")
    if questions.references.checker is not None and questions.references.draws > 1:
        parts.setdefault(questions.references.checker, []).append("checker")
    return {agent.name: parts[agent.name] for agent in config.agents if agent.name in parts}


def first_date(folder: RunFolder, seal: str) -> str | None:
    """The date on which these very questions were generated, None where they are new."""
    try:
        held = folder.read_manifest()
    except SetupError:
        return None
    date = held.get("generated")
    return date if held.get("questions_hash") == seal and isinstance(date, str) else None


def replaced_seal(folder: RunFolder, seal: str) -> str | None:
    """The seal of other questions that stand whole in a folder, None where there are none."""
    try:
        held = folder.read_manifest()
    except SetupError:
        return None
    other = held.get("questions_hash")
    whole = held.get("status") == "complete"
    return other if whole and other != seal and isinstance(other, str) else None


def begun_manifest(config: ExamConfig) -> dict[str, Json]:
    """What stands in a data set's `manifest.json` until its questions are set: whose it is."""
    return {
        "schema": SCHEMA_VERSION,
        "kind": "dataset",
        "exam": config.name,
        "status": "partial",
        "status_reason": "the questions are not generated yet: run the same command to continue",
    }


def dataset_manifest(
    config: ExamConfig,
    fingerprints: Mapping[str, Mapping[str, Json]],
    found: Annotated,
    *,
    status: Status,
    reason: str | None,
    generated: str,
) -> dict[str, Json]:
    """The content of a data set's `manifest.json`.

    Args:
        config: The exam.
        fingerprints: What every agent is, by name.
        found: The questions, and what is noted on them.
        status: Whether all of it is there.
        reason: Why not.
        generated: The date, as in 2024-05-17.
    """
    questions, parts = found.questions, parts_of(config)
    playing = config.model_copy(
        update={"agents": tuple(agent for agent in config.agents if agent.name in parts)}
    )
    body = manifest(
        playing,
        fingerprints,
        questions.seal,
        status=status,
        reason=reason,
        notes=questions.notes,
        counts=_counts(found),
        inputs=file_digests(config),
    )
    for agent in body["agents"]:
        agent["roles"] = parts[agent["name"]]
        del agent["judges_by"]
    return {
        **body,
        "kind": "dataset",
        "generated": generated,
        "canary": canary_of(questions.seal),
        "setting": _setting(config),
        "prompts": _prompts(found),
        "shortfalls": [_shortfall(one) for one in questions.shortfalls],
        "repeated": {name: dict(counts) for name, counts in questions.repeated.items()},
    }


def _setting(config: ExamConfig) -> dict[str, Json]:
    questions = config.questions
    return {
        # Of a file its name only: where it lies on this machine is nobody's business.
        "taxonomy": questions.taxonomy and Path(questions.taxonomy).name,
        "sample": questions.sample,
        "stratified": questions.stratified,
        "per_domain": questions.per_domain,
        "style": questions.style,
        "near_duplicate": questions.near_duplicate,
        "duplicates": questions.duplicates.model_dump(mode="json"),
        "classifiers": list(questions.levels.classifiers),
        "references": questions.references.model_dump(mode="json"),
    }


def _counts(found: Annotated) -> dict[str, Json]:
    questions = found.questions
    counts: dict[str, Json] = {
        "questions": {"planned": questions.planned, "ok": len(questions.questions)}
    }
    for kind, records in (("levels", found.votes), ("references", found.references)):
        if records:
            states = Counter(record.state for record in records)
            counts[kind] = {"planned": len(records), **dict(sorted(states.items()))}
    return counts


def _prompts(found: Annotated) -> dict[str, Json]:
    """Kind of record to the prompts' hashes, to how many records came of each."""
    kinds: dict[str, Iterable[Question | LevelVote | Reference]] = {
        "questions": found.questions.questions,
        "levels": found.votes,
        "references": found.references,
    }
    counted = {
        kind: Counter(record.prompt for record in records if record.prompt is not None)
        for kind, records in kinds.items()
    }
    return {kind: dict(sorted(counts.items())) for kind, counts in counted.items() if counts}


def _shortfall(shortfall: Shortfall) -> dict[str, Json]:
    return {
        "examiner": shortfall.examiner,
        "domain": shortfall.domain,
        "wanted": shortfall.wanted,
        "found": shortfall.found,
        "reasons": list(shortfall.reasons),
        "repeated": dict(shortfall.repeated),
    }
