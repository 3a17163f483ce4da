"""Agents named on the command line: a model, or a file with an `agents:` list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from peerexam.agents.spec import parse_model
from peerexam.errors import ConfigError
from peerexam.protocols.config.loading import load_agents
from peerexam.protocols.config.messages import describe
from peerexam.protocols.config.models import AgentConfig

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def read_agents(given: Sequence[str], name: str | None = None) -> list[AgentConfig]:
    """The agents of several arguments, in their order.

    Args:
        given: Models (`provider/model`), or paths of files.
        name: Name of the agent, for a model; by default the last part of the model's name.

    Raises:
        SetupError: One is neither, a file is wrong, or two agents share a name.
    """
    agents: list[AgentConfig] = []
    for text in given:
        path = Path(text)
        if path.suffix.lower() in (".yaml", ".yml", ".json", ".toml") or path.is_file():
            agents.extend(load_agents(path))
        else:
            agents.append(_agent(name or _name_of(text), text))
    names = [agent.name for agent in agents]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise ConfigError(f"two agents are called '{twice[0]}': give one another name")
    return agents


def _agent(name: str, model: str) -> AgentConfig:
    try:
        return AgentConfig(name=name, model=model)
    except ValidationError as error:
        said = [describe(one, AgentConfig) for one in error.errors(include_url=False)]
        raise ConfigError("\n".join(said)) from None


def _name_of(model: str) -> str:
    last = parse_model(model)[1].rstrip("/").rsplit("/", 1)[-1]
    return _NOT_IN_A_NAME.sub("-", last).strip("-")[:100] or "agent"
