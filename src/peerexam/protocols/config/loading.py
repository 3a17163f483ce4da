"""EXAM.yaml in, a checked `ExamConfig` out; and back to YAML that runs again.

Flags beat the environment, and the environment beats the file. Everything that can be known to be
wrong without asking a model is found here, all of it at once, each with its line and its remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import yaml
from pydantic import BaseModel, ValidationError

from peerexam.agents.local.model_paths import model_path
from peerexam.calls import Json
from peerexam.errors import ConfigError
from peerexam.protocols.config.checks import HANDED_OVER, check, check_agents
from peerexam.protocols.config.domains import domain_problems, is_built_in
from peerexam.protocols.config.messages import describe
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.config.overrides import apply, from_environment, from_flags
from peerexam.protocols.config.parsing import Document, Place, read_document
from peerexam.protocols.config.secret_keys import find_secrets

Problem = tuple[Place, str]


def load_config(
    source: Path | str | Mapping[str, Json],
    *,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    setting_only: bool = False,
    handed_over: Collection[str] = (),
) -> ExamConfig:
    """Read, override and check a config.

    Args:
        source: A file's path (YAML, or JSON or TOML by its suffix), or what would stand in one.
            Relative paths in a file are relative to its folder; those in a mapping, in the
            environment and in overrides to the working directory.
        environ: `PEEREXAM_SEED`, `PEEREXAM_OUTPUT`, and `PEEREXAM_SET__…` for any other setting.
        overrides: `key.path=value`, the last one wins.
        setting_only: Its questions are set, whatever file of questions it names, and nobody need
            answer or judge.
        handed_over: Names of agents that are objects of the caller's. In the list they need no
            `model`; where there is no list, they are the agents.

    Raises:
        ConfigError: Everything that is wrong, a line each.
    """
    path, document = _document(source)
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "must be a mapping of keys to values"
        raise ConfigError(f"the file {what}; `peerexam init` writes one to start from", path)
    settings = [*from_environment(environ), *from_flags(overrides)]
    based = (
        document.value if path is None else _resolve_paths(document.value, path.resolve().parent)
    )
    value, origins = apply(_with_models(based, handed_over), settings)
    value = _resolve_paths(value, Path.cwd())
    voice = _Voice(path, document, origins)
    voice.stop_if(find_secrets(value))
    try:
        config = ExamConfig.model_validate(value)
    except ValidationError as error:
        raise voice.error(list(_problems(error, ExamConfig))) from None
    if setting_only:
        config = without_file(config)
    found = check(config, setting_only=setting_only)
    voice.stop_if([*found, *domain_problems(config.questions)])
    return config


def _document(source: Path | str | Mapping[str, Json]) -> tuple[Path | None, Document]:
    if isinstance(source, Mapping):
        return None, Document(_plain(source))
    path = Path(source)
    return path, read_document(path)


def _plain(value: Any) -> Json:
    """What a caller wrote, as a file would have it: dicts, lists, and paths as text."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, PurePath) else value


def _with_models(value: dict[str, Json], handed_over: Collection[str]) -> dict[str, Json]:
    """With a model for those agents that are the caller's own and have none."""
    agents = value.get("agents", [{"name": name} for name in handed_over])
    if not handed_over or not isinstance(agents, list):
        return value
    return {**value, "agents": [_with_model(agent, handed_over) for agent in agents]}


def _with_model(agent: Json, handed_over: Collection[str]) -> Json:
    if not isinstance(agent, dict) or "model" in agent or agent.get("name") not in handed_over:
        return agent
    return {**agent, "model": f"{HANDED_OVER}/{quote(agent['name'], safe='')}"}


def without_file(config: ExamConfig) -> ExamConfig:
    """The config with its questions to be set, whatever file of them it names.

    Raises:
        ConfigError: It says nothing about what they are to be set.
    """
    questions = config.questions
    if not questions.domains and questions.taxonomy is None:
        raise ConfigError(
            "questions.file is given and nothing to set questions about: add domains (a list of "
            "names) or taxonomy (google-trends, or a file of domains)"
        )
    return config.model_copy(update={"questions": questions.model_copy(update={"file": None})})


class _AgentFile(BaseModel):
    agents: tuple[AgentConfig, ...]


def load_agents(path: Path | str) -> tuple[AgentConfig, ...]:
    """The agents of a file: an EXAM.yaml, a list of agents, or one agent.

    Raises:
        ConfigError: Everything that is wrong, a line each.
    """
    path = Path(path)
    document = read_document(path).below("agents")
    voice = _Voice(path, document, {})
    if not isinstance(document.value, dict):
        raise ConfigError("expected agents: a list, each with a name and a model", path)
    value = _resolve_paths(document.value, path.resolve().parent)
    voice.stop_if(find_secrets(value["agents"], ("agents",)))
    try:
        agents = _AgentFile.model_validate(value).agents
    except ValidationError as error:
        raise voice.error(list(_problems(error, _AgentFile))) from None
    voice.stop_if(check_agents(agents))
    return agents


def _problems(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    found = error.errors(include_url=False)
    # What is wrong between settings is found by the model around them, which names the place.
    places = [(*one["loc"], *one.get("ctx", {}).get("place", ())) for one in found]
    for one, place in zip(found, places, strict=True):
        # A list whose entries are all wrong is reported by pydantic as too short as well.
        inner = any(len(other) > len(place) and other[: len(place)] == place for other in places)
        if not inner:
            yield place, describe(one, model)


def dump_config(config: ExamConfig) -> str:
    """The resolved config as YAML: defaults written out, runnable again, no secret.

    An agent's roles are left out where the user left them to the protocol, since for a central
    examiner saying nothing and saying "all" differ.
    """
    body = config.model_dump(mode="json", exclude_none=True)
    for written, agent in zip(body["agents"], config.agents, strict=True):
        if "roles" not in agent.model_fields_set:
            del written["roles"]
        written["options"] = agent.options
        empty = [key for key, value in written.items() if value in ({}, []) and key != "roles"]
        for name in empty:
            del written[name]
    return dump_yaml(body)


def dump_yaml(body: Json) -> str:
    """Plain values as YAML that reads back as the same values."""
    return yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Quotes text with line or control characters, which plain YAML would read back changed."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


class _Voice:
    """Says where a problem stands: the file's line, or who else set the value."""

    def __init__(self, path: Path | None, document: Document, origins: Mapping[Place, str]) -> None:
        self._path = path
        self._document = document
        self._origins = origins

    def stop_if(self, problems: Iterable[Problem]) -> None:
        found = list(problems)
        if found:
            raise self.error(found)

    def error(self, problems: Sequence[Problem]) -> ConfigError:
        placed = sorted(
            ((self._line(place), self._origin(place), text) for place, text in problems),
            key=lambda entry: (entry[1] is not None, entry[0] or 0),
        )
        said = list(dict.fromkeys(placed))  # an alias can repeat one problem
        rest = "".join(f"\n{self._where(line, origin)}{text}" for line, origin, text in said[1:])
        line, origin, text = said[0]
        if origin is not None:
            return ConfigError(f"{origin}: {text}{rest}")
        return ConfigError(text + rest, self._path, line)

    def _where(self, line: int | None, origin: str | None) -> str:
        if origin is not None:
            return f"{origin}: "
        if self._path is None:
            return ""
        return f"{self._path}:{line}: " if line else f"{self._path}: "

    def _line(self, place: Place) -> int | None:
        return self._document.line(place)

    def _origin(self, place: Place) -> str | None:
        for end in range(len(place), 0, -1):
            if place[:end] in self._origins:
                return self._origins[place[:end]]
        return None


def _resolve_paths(value: dict[str, Json], base: Path) -> dict[str, Json]:
    """A copy with absolute paths wherever a setting is a path; other values as they are."""
    changed = dict(value)
    _resolve(changed, "output", base)
    paths = (("questions", "file"), ("questions", "taxonomy"), ("judging", "rubric"))
    for section, key in paths:
        if isinstance(changed.get(section), dict):
            changed[section] = dict(changed[section])
            _resolve(changed[section], key, base)
    if isinstance(changed.get("prompts"), dict):
        changed["prompts"] = dict(changed["prompts"])
        for key in changed["prompts"]:
            _resolve(changed["prompts"], key, base)
    if isinstance(changed.get("agents"), list):
        changed["agents"] = [_with_model_path(agent, base) for agent in changed["agents"]]
    return changed


def _resolve(holder: dict[str, Json], key: str, base: Path) -> None:
    named = key == "taxonomy" and is_built_in(holder.get(key))
    if isinstance(holder.get(key), str) and holder[key] and not named:
        holder[key] = str(base / Path(holder[key]).expanduser())


def _with_model_path(agent: Json, base: Path) -> Json:
    if not isinstance(agent, dict) or not isinstance(agent.get("model"), str):
        return agent
    found = model_path(agent["model"])
    if found is None:
        return agent
    return {**agent, "model": found.moved(str(base / Path(found.path).expanduser()))}
