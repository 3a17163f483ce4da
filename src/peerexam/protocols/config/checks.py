"""What can be known to be wrong with an exam before any model is asked."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from peerexam.agents.local.model_paths import model_path
from peerexam.agents.local.weights import WEIGHTS
from peerexam.agents.registry import check_options, installed_providers
from peerexam.agents.spec import AgentSpec, endpoint_problem, parse_model
from peerexam.calls import Json, canonical_json
from peerexam.errors import PeerexamError, SetupError
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import load_rubric
from peerexam.examiners.simulated.spec import sim_spec
from peerexam.protocols.config.domains import domain_count
from peerexam.protocols.config.messages import describe, suggest
from peerexam.protocols.config.models import AgentConfig, ExamConfig, RoleName
from peerexam.protocols.config.parsing import Place
from peerexam.tasks.metrics.embeddings import check_encoder
from peerexam.tasks.questions.sealed import is_question_folder

_CANNOT_SCORE = frozenset({"openai", "anthropic", "langchain", "file"})
"""Providers of ours that give no log-probabilities of a given text; plug-ins say so themselves."""

_SETTINGS = ("system", "temperature", "top_p", "max_tokens", "seed")

_MOST_QUESTIONS = 10_000_000

PLAYS_DIRECTLY = "sim"
"""Simulated participants differ by name, so that three equal ones are three."""

HANDED_OVER = "given"
"""In place of a provider: the agent is an object that the caller of `run` hands over."""


def check(config: ExamConfig, *, setting_only: bool = False) -> Iterator[tuple[Place, str]]:
    """Every problem with its place, in no particular order.

    Args:
        config: The exam.
        setting_only: Its questions are set, and nobody answers them yet.
    """
    yield from check_agents(config.agents)
    yield from _files(config)
    yield from _prompts(config)
    yield from _setters(config)
    if not setting_only:
        yield from _roles(config)
    yield from _annotators(config)


def check_agents(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    """What is wrong with agents, whatever the exam."""
    yield from _models(agents)
    yield from _endpoints(agents)
    yield from _sampling(agents)
    yield from _options(agents)
    yield from _same_models(agents)
    yield from _model_files(agents)


def _models(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    providers = sorted({info.name for info in installed_providers()} | {PLAYS_DIRECTLY})
    for index, agent in enumerate(agents):
        place = ("agents", index, "model")
        try:
            provider, model = parse_model(agent.model)[:2]
        except SetupError as error:
            yield place, str(error)
            continue
        if provider == HANDED_OVER:
            continue
        if provider not in providers:
            yield place, f"no provider '{provider}'; {suggest(provider, providers)}"
        elif provider == PLAYS_DIRECTLY:
            yield from _player(agent, place)
        elif provider == "local" and model not in WEIGHTS:
            yield place, f"no weights are called '{model}'; {suggest(model, sorted(WEIGHTS))}"
        elif agent.judge.by == "likelihood" and provider in _CANNOT_SCORE:
            yield (
                ("agents", index, "judge", "by"),
                f"'{provider}' gives no log-probabilities of a given text, so it cannot judge by "
                "likelihood; use judge: {by: prompt}, or a local/, gguf/ or hf/ model",
            )


def _endpoints(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    for index, agent in enumerate(agents):
        try:
            named = parse_model(agent.model)[2]
        except SetupError:
            continue  # reported with the models
        for key, url in (("model", named), ("base_url", agent.base_url)):
            problem = None if url is None else endpoint_problem(url)
            if problem is not None:
                yield (
                    ("agents", index, key),
                    f"the endpoint of '{agent.name}' is no URL: {problem}; write it as in "
                    "http://127.0.0.1:8000/v1",
                )


def _sampling(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    """Settings among a model name's options have the bounds of those beside it."""
    for index, agent in enumerate(agents):
        try:
            options = {**parse_model(agent.model)[3], **agent.options}
        except SetupError:
            continue  # reported with the models
        written = "options" if agent.options else "model"
        for name, value in options.items():
            if not _is_finite(value):
                yield ("agents", index, written), f"option {name} of '{agent.name}' must be finite"
            elif name in _SETTINGS:
                yield from _setting(agent, name, value, ("agents", index, written))


def _options(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    """Options that a provider does not have, or cannot use."""
    for index, agent in enumerate(agents):
        place = ("agents", index, "options" if agent.options else "model")
        try:
            spec = agent_spec(agent)
            others = {k: v for k, v in spec.options.items() if k not in _SETTINGS}
            if all(map(_is_finite, others.values())):
                check_options(replace(spec, options=others))
        except SetupError as error:
            if _is_readable(agent):  # else it is reported with the models
                yield place, str(error)


def _is_readable(agent: AgentConfig) -> bool:
    """Whether the model's name can be read at all."""
    try:
        parse_model(agent.model)
    except SetupError:
        return False
    return True


def _setting(
    agent: AgentConfig, name: str, value: Json, place: Place
) -> Iterator[tuple[Place, str]]:
    try:
        AgentConfig.model_validate({"name": agent.name, "model": agent.model, name: value})
    except ValidationError as error:
        said = describe(error.errors(include_url=False)[0], AgentConfig)
        yield place, f"{said} (an option of '{agent.name}')"


def _is_finite(value: Json) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _player(agent: AgentConfig, place: Place) -> Iterator[tuple[Place, str]]:
    try:
        sim_spec(agent_spec(agent))
    except SetupError as error:
        yield place, str(error)


def agent_spec(agent: AgentConfig) -> AgentSpec:
    """What a provider gets of an agent's config; settings beside the model win over its name's.

    Raises:
        SetupError: The model's name cannot be read.
    """
    provider, model, base_url, options = parse_model(agent.model)
    named = options.pop("api_key_env", None)
    return AgentSpec(
        agent.name,
        provider,
        model,
        agent.base_url or base_url,
        agent.api_key_env or (None if named is None else str(named)),
        {**options, **agent.options},
    )


def identity(agent: AgentConfig) -> str:
    """What decides an agent's answers, as canonical JSON: equal for one model under two names.

    As in the ledger's keys, a setting is the same wherever it is written, and the key is no part.
    """
    provider, model, _, options = parse_model(agent.model)
    options = {**options, **agent.options}
    options.pop("api_key_env", None)
    settings: dict[str, Json] = {name: options.pop(name, None) for name in _SETTINGS}
    given = agent.model_dump(mode="json", include=set(_SETTINGS), exclude_none=True)
    return canonical_json([provider, model, endpoint(agent), options, {**settings, **given}])


def endpoint(agent: AgentConfig) -> str | None:
    """The URL that an agent is asked at, None for its provider's own."""
    url = agent.base_url or parse_model(agent.model)[2]
    return None if url is None else url.rstrip("/")


def _same_models(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    """Agents that would share every call, and so are one agent counted twice."""
    seen: dict[tuple[str, str], str] = {}
    for index, agent in enumerate(agents):
        try:
            if parse_model(agent.model)[0] == PLAYS_DIRECTLY:
                continue
            base = identity(agent)
        except ValueError:
            continue  # the model's name, or an option that is not JSON, is reported elsewhere
        for role in agent.roles:
            other = seen.setdefault((role, base + _of_role(agent, role)), agent.name)
            if other != agent.name:
                yield (
                    ("agents", index),
                    f"'{agent.name}' and '{other}' are the same model with the same settings, and "
                    f"both are {role}: change an option of one (temperature, seed, system, …) or "
                    "take the role from one",
                )
                break


def _of_role(agent: AgentConfig, role: RoleName) -> str:
    """The settings that count in one role alone."""
    if role == "judge":
        return agent.judge.model_dump_json()
    return canonical_json([agent.shots, agent.stop_at_line]) if role == "examinee" else ""


def _prompts(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    if config.prompts:
        names = PromptLibrary().names
        for name in config.prompts:
            if name not in names:
                yield ("prompts", name), f"no prompt '{name}'; {suggest(name, names)}"
    for name, path in config.prompts.items():
        if name in PromptLibrary().names and _unreadable(str(path)) is None:
            problem = _prompt_problem(name, path)
            if problem is not None:
                yield ("prompts", name), f"prompt '{name}', {path}: {problem}"


def _prompt_problem(name: str, path: Path) -> str | None:
    try:
        return PromptLibrary({name: path}).problem(name)
    except SetupError as error:
        return str(error)


def _files(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    wanted: list[tuple[Place, str]] = [
        (("prompts", key), str(path)) for key, path in config.prompts.items()
    ]
    if config.questions.file is not None and not is_question_folder(config.questions.file):
        if os.path.isdir(config.questions.file):
            yield (
                ("questions", "file"),
                f"{config.questions.file} holds no questions: let `peerexam generate` or the run "
                "that belongs there end, or name a file",
            )
        else:
            wanted.append((("questions", "file"), str(config.questions.file)))
    if config.judging.rubric is not None:
        wanted.append((("judging", "rubric"), str(config.judging.rubric)))
    for place, path in wanted:
        yield from _readable(place, path)
    rubric = config.judging.rubric
    if rubric is not None and _unreadable(str(rubric)) is None:
        try:
            load_rubric(rubric)
        except SetupError as error:
            yield ("judging", "rubric"), str(error)


def _model_files(agents: Sequence[AgentConfig]) -> Iterator[tuple[Place, str]]:
    for index, agent in enumerate(agents):
        found = model_path(agent.model)
        if found is None:
            continue
        place: Place = ("agents", index, "model")
        if found.kind == "file":
            yield from _readable(place, found.path)
        elif not os.path.isdir(found.path):
            there = os.path.exists(found.path)
            problem = "this is a file, not a folder" if there else "no such folder"
            yield place, f"{problem}: {found.path}"


def _readable(place: Place, path: str) -> Iterator[tuple[Place, str]]:
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
    yield from _authors_panel(config)


def _setters(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    questions = config.questions
    if questions.file is None and not config.agents_in("examiner"):
        yield ("agents",), "no agent sets questions: give one the role examiner"
    planned = _planned(config) if questions.file is None else 0
    if planned > _MOST_QUESTIONS:
        yield (
            ("questions", "per_domain"),
            f"that is {planned:,} questions, and at most {_MOST_QUESTIONS:,} can be set at once: "
            "fewer a domain, or fewer domains",
        )
    encoder = questions.duplicates.embedding
    if encoder is not None and questions.file is None:
        try:
            check_encoder(encoder)
        except SetupError as error:
            yield ("questions", "duplicates", "embedding"), str(error)


def _planned(config: ExamConfig) -> int:
    questions = config.questions
    try:
        domains = domain_count(questions)
    except PeerexamError:
        return 0  # reported with the domains
    return len(config.agents_in("examiner")) * domains * questions.per_domain


def _authors_panel(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    """Questions that nobody would judge, since their author alone may and is no judge."""
    if config.judging.panel != "author":
        return
    authors = config.agents_in("examiner")
    if config.questions.file is not None:  # these are in the charge of the first examiner
        authors = tuple(a for a in authors if a.name == config.examiner) or authors[:1]
        if not authors:
            yield (
                ("judging", "panel"),
                "the questions of a file have no author here: give one agent the roles examiner "
                "and judge, or set judging.panel: all",
            )
    for author in authors:
        if author not in config.agents_in("judge"):
            yield (
                ("judging", "panel"),
                f"'{author.name}' alone would judge its questions, and is no judge: give it the "
                "role judge, or set judging.panel: all",
            )


def _annotators(config: ExamConfig) -> Iterator[tuple[Place, str]]:
    """Agents that cannot be asked about questions, and classifiers that are one and the same."""
    agents = {agent.name: agent for agent in config.agents}
    names, checker = config.questions.levels.classifiers, config.questions.references.checker
    asked: list[tuple[Place, str]] = [
        (("questions", "levels", "classifiers", at), name) for at, name in enumerate(names)
    ]
    seen: dict[str, str] = {}
    for at, (place, name) in enumerate(asked):
        other = seen.setdefault(_what_it_is(agents[name]), name)
        if name in names[:at]:
            yield place, f"'{name}' is listed twice among the classifiers: remove one"
        elif other != name:
            yield (
                place,
                f"'{name}' and '{other}' are the same model with the same settings, so that their "
                "agreement says nothing: change an option of one, or remove it",
            )
    if checker is not None:
        asked.append((("questions", "references", "checker"), checker))
    for place, name in asked:
        if agents[name].model.startswith("file/"):
            yield place, f"'{name}' has recorded answers only: name an agent that can be asked"


def _what_it_is(agent: AgentConfig) -> str:
    """Equal for one model under two names."""
    try:
        if parse_model(agent.model)[0] != PLAYS_DIRECTLY:
            return identity(agent)
    except ValueError:
        pass  # the model's name, or an option that is not JSON, is reported elsewhere
    return agent.name
