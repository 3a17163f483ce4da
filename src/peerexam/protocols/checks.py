"""What can be known to be wrong with an exam before any model is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator

from peerexam.agents.registry import installed_providers
from peerexam.agents.spec import parse_model
from peerexam.calls import canonical_json
from peerexam.errors import SetupError
from peerexam.protocols.config import AgentConfig, ExamConfig
from peerexam.protocols.document import Place
from peerexam.protocols.problems import suggest

_CANNOT_SCORE = frozenset({"openai", "file"})
"""Providers of ours that give no log-probabilities of a given text; plug-ins say so themselves."""

_PLAYS_DIRECTLY = "sim"
"""Simulated players differ by name, so that three equal ones are three."""


def check(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    """Every problem with its place, in no particular order."""
    yield from _models(config)
    yield from _twins(config)
    yield from _files(config)
    yield from _roles(config)


def _models(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    providers = sorted(installed_providers())
    for index, agent in enumerate(config.agents):
        place = ("agents", index, "model")
        try:
            provider = parse_model(agent.model)[0]
        except SetupError as error:
            yield place, str(error)
            continue
        if provider not in providers:
            yield place, f"no provider '{provider}'; {suggest(provider, providers)}"
        elif agent.judge.by == "likelihood" and provider in _CANNOT_SCORE:
            yield (
                ("agents", index, "judge", "by"),
                f"'{provider}' gives no log-probabilities of a given text, so it cannot judge by "
                "likelihood; use judge: {by: prompt}, or a local/ or gguf/ model",
            )


def identity(agent: AgentConfig) -> str:
    """What decides an agent's answers, as canonical JSON: equal for twins under two names."""
    provider, model, base_url, options = parse_model(agent.model)
    settings = agent.model_dump(
        mode="json",
        include={"api_key_env", "system", "temperature", "top_p", "max_tokens", "seed"},
    )
    return canonical_json(
        [provider, model, agent.base_url or base_url, {**options, **agent.options}, settings]
    )


def _twins(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    """Agents that would share every call, and so are one agent counted twice."""
    seen: dict[tuple[str, str], str] = {}
    for index, agent in enumerate(config.agents):
        try:
            if parse_model(agent.model)[0] == _PLAYS_DIRECTLY:
                continue
            base = identity(agent)
        except ValueError:
            continue  # the model's name, or an option that is not JSON, is reported elsewhere
        for role in agent.roles:
            judging = agent.judge.model_dump_json() if role == "judge" else ""
            other = seen.setdefault((role, base + judging), agent.name)
            if other != agent.name:
                yield (
                    ("agents", index),
                    f"'{agent.name}' and '{other}' are the same model with the same settings, and "
                    f"both are {role}: change an option of one (temperature, seed, system, …) or "
                    "take the role from one",
                )
                break


def _files(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    wanted: list[tuple[Place, str]] = [
        (("prompts", key), str(path)) for key, path in config.prompts.items()
    ]
    if config.questions.file is not None:
        wanted.append((("questions", "file"), str(config.questions.file)))
    if config.judging.rubric is not None:
        wanted.append((("judging", "rubric"), str(config.judging.rubric)))
    for index, agent in enumerate(config.agents):
        if agent.model.startswith(("file/", "gguf/")):
            wanted.append((("agents", index, "model"), agent.model.split("/", 1)[1].split("?")[0]))
    for place, path in wanted:
        problem = _unreadable(path)
        if problem:
            yield place, f"{problem}: {path}"


def _unreadable(path: str) -> str | None:

    try:
        if os.path.isfile(path):
            return None if os.access(path, os.R_OK) else "no right to read the file"
        return "this is a folder, not a file" if os.path.isdir(path) else "no such file"
    except ValueError:
        return "no such file"


def _roles(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    examinees, judges = config.agents_in("examinee"), config.agents_in("judge")
    if len(examinees) < 2 and config.judging.ranking != "none":
        yield (
            ("agents",),
            f"{len(examinees)} agent answers, and a ranking needs two: give another agent the "
            "role examinee, or set judging.ranking: none",
        )
    if not judges:
        yield ("agents",), "no agent judges: give one the role judge"
    elif config.judging.quorum > len(judges):
        yield (
            ("judging", "quorum"),
            f"a quorum of {config.judging.quorum} with {len(judges)} judges is never met; lower it",
        )
    if config.questions.file is None and not config.agents_in("examiner"):
        yield ("agents",), "no agent sets questions: give one the role examiner"
