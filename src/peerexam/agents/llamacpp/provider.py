"""`local/NAME` and `gguf/PATH`: from a spec to an agent on an embedded engine.

Options (after `?`, or under `options:`): `context` (tokens of one prompt and reply together,
default 2048), `slots` (requests decoded together, 8), `threads` (physical cores), `chat` (false:
plain completion of weights that could chat), `top_k` and `min_p` (no limit).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from peerexam.agents.llamacpp.agent import Drawing, LlamaAgent
from peerexam.agents.llamacpp.engine import EngineSettings, default_threads
from peerexam.agents.local.weights import locate
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json
from peerexam.errors import SetupError

_MOST = 16_777_216
"""More tokens, slots or threads are a slip: no model and no machine has them."""

OPTIONS = ("chat", "context", "min_p", "slots", "threads", "top_k")


def create_local(spec: AgentSpec) -> LlamaAgent:
    """Build the agent of `local/NAME`: weights that a package of the index carries.

    Raises:
        SetupError: No weights have this name, they are not installed, or an option is wrong.
    """
    return _create(spec, locate(spec.model))


def create_gguf(spec: AgentSpec) -> LlamaAgent:
    """Build the agent of `gguf/PATH`: any GGUF file. A path from the root is `gguf//path`.

    Raises:
        SetupError: The file cannot be read or is no GGUF file, or an option is wrong.
    """
    return _create(spec, Path(spec.model).expanduser())


def engine_settings(weights: Path, options: Mapping[str, Json]) -> EngineSettings:
    """Engine settings from an agent's options.

    Raises:
        SetupError: An option has a value it cannot have.
    """
    return EngineSettings(
        weights.resolve(),
        context=_whole(options, "context", 2048, least=64),
        slots=_whole(options, "slots", 8, least=1),
        threads=_whole(options, "threads", default_threads(), least=1),
    )


def check(spec: AgentSpec) -> None:
    """Look at an agent's options, without its weights.

    Raises:
        SetupError: An option is unknown or has a value that it cannot have.
    """
    unknown = sorted(set(spec.options) - set(OPTIONS))
    if unknown:
        raise SetupError(
            f"agent '{spec.name}': {spec.provider}/ has no option '{unknown[0]}'; "
            f"it has {', '.join(OPTIONS)}"
        )
    chat = spec.options.get("chat")
    if chat not in (None, True, False):
        raise SetupError(f"option chat is true or false, not {chat!r}")
    engine_settings(Path(), spec.options)
    _drawing(spec.options)


def _create(spec: AgentSpec, weights: Path) -> LlamaAgent:
    check(spec)
    settings = engine_settings(weights, spec.options)
    chat: bool | None = spec.options.get("chat")
    return LlamaAgent(spec.name, settings, _drawing(spec.options), chat=chat)


def _drawing(options: Mapping[str, Json]) -> Drawing:
    return Drawing(top_k=_whole(options, "top_k", 0, least=0), min_p=_share(options, "min_p"))


def _whole(options: Mapping[str, Json], name: str, default: int, *, least: int) -> int:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise SetupError(
            f"option {name} is a whole number of at least {least} and at most {_MOST:,}, not "
            f"{value!r}"
        )
    return value


def _share(options: Mapping[str, Json], name: str) -> float:
    value = options.get(name, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SetupError(f"option {name} is a number from 0 to 1, not {value!r}")
    return float(value)
