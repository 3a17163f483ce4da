"""What the environment and the command line change in a config before it is checked.

`limits.concurrency=8` names a setting by its path. A list's entry is named by its place, counted
from 0, or by its `name`: `agents.smol.temperature=0.5`. Values are read as YAML, so `[a, b]`,
`true` and `null` mean what they mean in the file.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from peerexam.calls import Json
from peerexam.errors import ConfigError
from peerexam.protocols.config.parsing import Place

VARIABLES = {"PEEREXAM_SEED": "seed", "PEEREXAM_OUTPUT": "output"}
"""Environment variables with a name of their own, and the setting that each one is."""

ANY_SETTING = "PEEREXAM_SET__"
"""`PEEREXAM_SET__limits__concurrency=8` is `limits.concurrency=8`."""


@dataclass(frozen=True, slots=True)
class Override:
    """One setting from outside the file.

    Attributes:
        origin: How the user wrote it, for error messages; it holds no value.
        path: Keys from the root.
        value: Read as YAML.
    """

    origin: str
    path: tuple[str, ...]
    value: Json


def from_environment(environ: Mapping[str, str]) -> list[Override]:
    """The settings in the environment, in the order of their names.

    Raises:
        ConfigError: A value is not readable.
    """
    found = []
    for name in sorted(environ):
        if name in VARIABLES:
            path: tuple[str, ...] = (VARIABLES[name],)
        elif name.startswith(ANY_SETTING) and len(name) > len(ANY_SETTING):
            path = tuple(name.removeprefix(ANY_SETTING).split("__"))
        else:
            continue
        found.append(Override(name, path, _read(environ[name], name)))
    return found


def from_flags(settings: Sequence[str]) -> list[Override]:
    """The settings of `--set key.path=value`, in the order given.

    Raises:
        ConfigError: One has no key or no value, or is not readable.
    """
    found = []
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals or not all(path.split(".")):
            raise ConfigError(f"--set {path}: write it as key.path=value, as in seed=1")
        found.append(
            Override(f"--set {path}", tuple(path.split(".")), _read(value, f"--set {path}"))
        )
    return found


def _read(text: str, origin: str) -> Json:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        raise ConfigError(f"{origin}: the value is not readable; put it in quotes") from None


def apply(value: Json, overrides: Sequence[Override]) -> tuple[Json, dict[Place, str]]:
    """A copy of a config with the overrides set, and who set what.

    Raises:
        ConfigError: An override goes through something that has no parts.
    """
    changed = copy.deepcopy(value)
    origins: dict[Place, str] = {}
    for override in overrides:
        origins[_set(changed, override)] = override.origin
    return changed, origins


def _set(value: Json, override: Override) -> Place:
    place: list[str | int] = []
    rest = list(override.path)
    while True:
        key, used = _next_key(value, rest, override)
        place.append(key)
        rest = rest[used:]
        if not rest:
            value[key] = override.value
            return tuple(place)
        if isinstance(value, dict) and value.get(key) is None:
            value[key] = {}
        value = value[key]


def _next_key(value: Json, rest: Sequence[str], override: Override) -> tuple[str | int, int]:
    """The key or index that the rest of a path starts with, and how many parts of it that is."""
    if isinstance(value, dict):
        return rest[0], 1
    if not isinstance(value, list):
        raise ConfigError(f"{override.origin}: there is no '{rest[0]}' within a single value")
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in value]
    for used in range(len(rest), 0, -1):  # a name may hold dots; the longest that fits is meant
        if ".".join(rest[:used]) in names:
            return names.index(".".join(rest[:used])), used
    if rest[0].isdecimal() and int(rest[0]) < len(value):
        return int(rest[0]), 1
    known = ", ".join(str(name) for name in names if name is not None)
    raise ConfigError(
        f"{override.origin}: no entry '{rest[0]}' in the list"
        + (f"; it has {known}" if known else f"; it has {len(value)}, counted from 0")
    )
