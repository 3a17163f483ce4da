"""What differs between the config that a folder's results rest on and the one it is run with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.folder.dataset_manifest import parts_of
from peerexam.protocols.run.folder.setup_digest import FREE

_MOST_SHOWN = 6


def refuse_changes(
    path: Path,
    held: ExamConfig,
    config: ExamConfig,
    command: str,
    inputs: tuple[Mapping[str, Json], Mapping[str, Json]] = ({}, {}),
) -> None:
    """Refuse to replace a folder's results by those of another set-up.

    Limits, budgets, prices and the counting of votes may change: they replace no record.

    Args:
        path: The folder.
        held: What its records rest on.
        config: What it is to be run with.
        command: `run`, `rejudge` or `generate`, which is only decided by what sets questions.
        inputs: Digests of the files that it names, as they were and as they are.

    Raises:
        SetupError: They differ in what decides a record; the message names where, and the choices.
    """
    deciding = _setting if command == "generate" else _deciding
    changes = list(_changes(deciding(held), deciding(config), ()))
    files = list(_changed_files(*inputs, of_questions=command == "generate"))
    changes += files
    if not changes:
        return
    shown = changes[:_MOST_SHOWN]
    if len(changes) > len(shown):
        shown.append(f"and {len(changes) - len(shown)} more")
    lines = "".join(f"\n  {line}" for line in shown)
    raise SetupError(
        f"{path} has results of another set-up, and this {command} would replace them:{lines}\n"
        + "\n".join(_choices(path, held, config, command, inputs_too=bool(files)))
    )


def _changed_files(
    was: Mapping[str, Json], now: Mapping[str, Json], *, of_questions: bool
) -> Iterator[str]:
    for name in sorted({*was, *now}):
        if was.get(name) != now.get(name) and not (of_questions and name == "judging.rubric"):
            yield f"{name}: its content has changed"


def _choices(
    path: Path, held: ExamConfig, config: ExamConfig, command: str, *, inputs_too: bool
) -> Iterator[str]:
    names, new = {agent.name for agent in held.agents}, {agent.name for agent in config.agents}
    if command == "run" and names - new:
        yield (
            f"Keep {_listed(names - new)}: peerexam run {path / 'exam.yaml'} --out {path}. Or "
            "choose another folder with --out, or replace the results with --replace."
        )
    elif command == "run" and new - names:
        yield (
            f"Let {_listed(new - names)} join without new questions: peerexam add {path} MODEL. Or "
            "choose another folder with --out, or replace the results with --replace."
        )
    elif command in ("run", "generate") and not inputs_too:
        yield (
            f"Continue with the settings of the folder: peerexam {command} {path / 'exam.yaml'} "
            f"--out {path}. Or choose another folder with --out, or replace the results with "
            "--replace."
        )
    else:
        yield "Choose another folder with --out, or replace the results with --replace."
    yield "Answers stay in the ledger, and are not asked or paid for again."


def _listed(names: set[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


def _deciding(config: ExamConfig) -> dict[str, Json]:
    """What decides records, agents by their names."""
    body = config.model_dump(mode="json", exclude=FREE)
    return {**body, "agents": {agent.pop("name"): agent for agent in body["agents"]}}


def _setting(config: ExamConfig) -> dict[str, Json]:
    """What decides the questions of a data set, and what is noted of them."""
    body, parts = _deciding(config), parts_of(config)
    return {
        "seed": config.seed,
        "questions": body["questions"],
        "judging": {"reasks": config.judging.reasks},
        "agents": {name: agent for name, agent in body["agents"].items() if name in parts},
    }


def _changes(old: Json, new: Json, place: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            if place == ("agents",) and (key not in old or key not in new):
                joined = key in old and old[key].get("joined")
                gone = f"not in this config{', and joined by peerexam add' if joined else ''}"
                yield f"agent '{key}' is {'new' if key in new else gone}"
            else:
                yield from _changes(old.get(key), new.get(key), (*place, key))
    elif old != new:
        yield f"{'.'.join(place)}: {_short(old)} → {_short(new)}"


def _short(value: Json) -> str:
    text = "nothing" if value in (None, [], {}) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
