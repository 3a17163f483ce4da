"""From a provider's name to the function that builds its agents.

Built-in providers are named here, other packages' by the entry point group `peerexam.agents`, and
a program's own by `register`. Provider modules are imported when an agent is built, not before.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerexam.agents.base import Agent
from peerexam.agents.spec import AgentSpec
from peerexam.errors import MissingExtraError, PeerexamError, SetupError, UnknownProviderError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "peerexam.agents"
"""Entry point group: `name = "module:factory"`."""

Factory = Callable[[AgentSpec], Agent]
"""Builds the agent of a spec; raises `SetupError` where it cannot."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A provider that comes with peerexam.

    Attributes:
        target: `module:factory`.
        package: The top-level module that its extra installs, None where it needs none.
        extra: The extra.
        key_variable: Environment variable that holds the key by default.
        runs_here: Nothing is sent or paid: answers come from this process or a file.
        checks: `module:function` that looks at a spec's options without loading anything; None
            where only building the agent tells.
    """

    target: str
    package: str | None = None
    extra: str | None = None
    key_variable: str | None = None
    runs_here: bool = False
    checks: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its package is there; nothing is imported to find out."""
        return self.package is None or importlib.util.find_spec(self.package) is not None

    @property
    def pip_command(self) -> str | None:
        """What installs its package."""
        return None if self.extra is None else f"pip install 'peerexam[{self.extra}]'"


BUILT_IN = {
    "openai": BuiltIn(
        "peerexam.agents.hosted.openai.provider:create",
        key_variable="OPENAI_API_KEY",
        checks="peerexam.agents.hosted.openai.provider:check",
    ),
    "anthropic": BuiltIn(
        "peerexam.agents.hosted.anthropic.provider:create",
        key_variable="ANTHROPIC_API_KEY",
        checks="peerexam.agents.hosted.anthropic.provider:check",
    ),
    "local": BuiltIn(
        "peerexam.agents.llamacpp.provider:create_local",
        "xllamacpp",
        "local",
        runs_here=True,
        checks="peerexam.agents.llamacpp.provider:check",
    ),
    "gguf": BuiltIn(
        "peerexam.agents.llamacpp.provider:create_gguf",
        "xllamacpp",
        "local",
        runs_here=True,
        checks="peerexam.agents.llamacpp.provider:check",
    ),
    "hf": BuiltIn(
        "peerexam.agents.hf.agent:create",
        "transformers",
        "hf",
        runs_here=True,
        checks="peerexam.agents.hf.options:check",
    ),
    "langchain": BuiltIn("peerexam.agents.langchain.agent:create", "langchain_core", "langchain"),
    "file": BuiltIn(
        "peerexam.agents.recorded:create", runs_here=True, checks="peerexam.agents.recorded:check"
    ),
}

_registered: dict[str, Factory] = {}


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What is known of a provider without importing it.

    Attributes:
        name: As in `name/model`.
        source: `built in`, `registered`, or the distribution whose entry point it is.
        installed: Whether the packages it needs are there (True where that is not known).
        install: The pip command that installs them, None where none is needed.
        key_variable: Environment variable that holds its key by default.
        key_set: Whether that is set; None where there is no such variable.
    """

    name: str
    source: str
    installed: bool = True
    install: str | None = None
    key_variable: str | None = None
    key_set: bool | None = None


def register(provider: str, factory: Factory | None = None) -> Callable[[Factory], Factory]:
    """Add a provider from a program of one's own, by a call or as a decorator.

    It comes before a built-in one of the same name; registering a name again replaces it.

    >>> @register("echo")
    ... def create(spec: AgentSpec) -> Agent: ...
    >>> "echo" in [info.name for info in installed_providers()]
    True
    >>> unregister("echo")

    Raises:
        SetupError: The name cannot stand before the slash of a model name.
    """
    if not provider.replace("-", "").replace("_", "").isalnum() or not provider.islower():
        raise SetupError(f"'{provider}' is no provider name: use lower-case letters, digits, - _")

    def add(made: Factory) -> Factory:
        _registered[provider] = made
        return made

    if factory is not None:
        add(factory)
    return add


def unregister(provider: str) -> None:
    """Take back a `register`; a name that is not registered does no harm."""
    _registered.pop(provider, None)


def create_agent(spec: AgentSpec) -> Agent:
    """Build the bare agent of a spec; `stack.assemble` puts the layers round it.

    Raises:
        UnknownProviderError: Nobody provides it; the message lists who is there.
        MissingExtraError: Its packages are not installed; the message has the pip command.
        SetupError: The provider cannot build this agent.
    """
    factory = _registered.get(spec.provider)
    built_in = BUILT_IN.get(spec.provider)
    if factory is None and built_in is not None:
        factory = _load_built_in(spec.provider, built_in)
    if factory is None:
        factory = _from_a_package(spec.provider)
    return factory(spec)


def check_options(spec: AgentSpec) -> None:
    """Look at the options of a spec without building its agent, where its provider can.

    Raises:
        SetupError: One is unknown, or has a value that it cannot have.
    """
    built_in = BUILT_IN.get(spec.provider)
    if spec.provider in _registered or built_in is None or built_in.checks is None:
        return
    module, _, name = built_in.checks.partition(":")
    getattr(importlib.import_module(module), name)(spec)


def runs_here(provider: str) -> bool:
    """Whether a provider's answers cost nothing and need no time limit for one attempt."""
    return provider not in _registered and provider in BUILT_IN and BUILT_IN[provider].runs_here


def installed_providers() -> list[ProviderInfo]:
    """Every provider by name, without importing any."""
    found = {
        entry.name: ProviderInfo(entry.name, entry.dist.name if entry.dist else "entry point")
        for entry in _entry_points()
    }
    found |= {name: _of_built_in(name, built_in) for name, built_in in BUILT_IN.items()}
    found |= {name: ProviderInfo(name, "registered") for name in _registered}
    return [found[name] for name in sorted(found)]


def _of_built_in(name: str, built_in: BuiltIn) -> ProviderInfo:
    variable = built_in.key_variable
    return ProviderInfo(
        name,
        "built in",
        installed=built_in.is_installed,
        install=built_in.pip_command,
        key_variable=variable,
        key_set=None if variable is None else bool(os.environ.get(variable, "").strip()),
    )


def _entry_points() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points  # 3 MB, and a run's own providers are built in

    return tuple(entry_points(group=GROUP))


def _load_built_in(provider: str, built_in: BuiltIn) -> Factory:
    if not built_in.is_installed:
        raise MissingExtraError(
            f"provider '{provider}' needs the package {built_in.package}: {built_in.pip_command}"
        )
    module, _, name = built_in.target.partition(":")
    factory: Factory = getattr(importlib.import_module(module), name)
    return factory


def _from_a_package(provider: str) -> Factory:
    """Its factory; what goes wrong inside of it is told as the package's fault and not as ours."""
    load = _load_entry_point(provider)

    def create(spec: AgentSpec) -> Agent:
        try:
            return load(spec)
        except PeerexamError:
            raise
        except Exception as error:
            raise SetupError(
                f"agent '{spec.name}': provider '{provider}', which comes from a package, cannot "
                f"make '{spec.model}': {type(error).__name__}: {error}"
            ) from error

    return create


def _load_entry_point(provider: str) -> Factory:
    found = [entry for entry in _entry_points() if entry.name == provider]
    if not found:
        names = ", ".join(info.name for info in installed_providers())
        hint = " ('sim' participants are built by the exam, not as text agents)" * (
            provider == "sim"
        )
        raise UnknownProviderError(f"no provider '{provider}'{hint}; installed are: {names}")
    try:
        factory: Factory = found[0].load()
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"provider '{provider}' needs the package {error.name}: pip install {error.name}"
        ) from error
    except (ImportError, AttributeError) as error:
        raise SetupError(f"provider '{provider}' ({found[0].value}) fails: {error}") from error
    return factory
