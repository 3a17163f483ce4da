"""From a model name to LangChain's chat model, with errors that say what to fix."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from peerexam.agents.hosted.endpoint import Home, checked_url, endpoint_of, key_of, named_url
from peerexam.agents.langchain.identity import secrets_of
from peerexam.agents.redaction import Redactor, is_secret
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json
from peerexam.errors import MissingExtraError, MissingKeyError, SetupError

_OURS = {
    "api_key": "name the environment variable that holds the key with api_key_env",
    "base_url": "write the endpoint after the model, as in langchain/openai:m@http://…",
    "max_retries": "set how often a call is tried with attempts",
    "cache": "answers are kept in the ledger",
    "model": "write it after langchain/",
}
_NO_HOST = "its own endpoint"  # nobody knows it, but the integration
_HOMES = {
    "openai": Home("OPENAI_API_KEY", ("OPENAI_API_BASE", "OPENAI_BASE_URL"), "api.openai.com"),
    "anthropic": Home(
        "ANTHROPIC_API_KEY", ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"), "api.anthropic.com"
    ),
}
_NO_KEY = "none"  # given where a server wants no key; the SDKs insist on one
_MISSING_KEY = re.compile(
    r"api[_ -]?key|credential|did not find .*key|authentication", re.IGNORECASE
)


def build(spec: AgentSpec, options: Mapping[str, Json]) -> BaseChatModel:
    """The chat model of a spec.

    Args:
        spec: Its model is what `init_chat_model` takes, `provider:model`.
        options: Arguments for the integration's class.

    Raises:
        MissingExtraError: The integration's package, or LangChain's own, is not installed.
        MissingKeyError: There is no key.
        SetupError: An option is not known, or cannot be used.
    """
    _refuse_ours(spec, options)
    arguments: dict[str, Any] = dict(options)
    if spec.base_url is not None:
        arguments["base_url"] = checked_url(spec, spec.base_url)
    home = _home_of(spec)
    url = spec.base_url or named_url(home)
    if url is None:
        if spec.api_key_env is not None:
            arguments["api_key"] = key_of(spec, home, f"https://{home.host}").value
        return _with_key(spec, arguments)
    # The integration would take its own variable's key, whatever endpoint is named.
    key = key_of(spec, home, checked_url(spec, url)).value
    try:
        return _with_key(spec, arguments | {"api_key": key or _NO_KEY})
    except _NoSuchArgument:
        if spec.api_key_env is not None:
            raise
    model = _with_key(spec, arguments)
    if any(map(is_secret, secrets_of(model))):
        raise SetupError(
            f"agent '{spec.name}': {type(model).__name__} takes no api_key, so it cannot be kept "
            f"from sending its own to {endpoint_of(url)}: take that variable out of the environment"
        )
    return model


def _refuse_ours(spec: AgentSpec, options: Mapping[str, Json]) -> None:
    for name, hint in _OURS.items():
        if name in options:
            raise SetupError(f"agent '{spec.name}': {name} is no option: {hint}")


class _NoSuchArgument(SetupError):
    """The integration takes no `api_key`."""


def _home_of(spec: AgentSpec) -> Home:
    """Where the integration's own key may go: to the endpoint that its own variables name.

    Their names begin with the integration's (`OPENAI_API_BASE`, `AZURE_OPENAI_ENDPOINT`).
    """
    provider = spec.model.partition(":")[0]
    if provider in _HOMES:
        return _HOMES[provider]
    start = re.sub(r"[^A-Z0-9]+", "_", provider.upper())
    urls = tuple(f"{start}_{end}" for end in ("BASE_URL", "API_BASE", "API_URL", "ENDPOINT"))
    return Home(f"{start}_API_KEY", urls, _NO_HOST)


def _with_key(spec: AgentSpec, arguments: Mapping[str, Any]) -> BaseChatModel:
    model = _made(spec, arguments)
    variable = _lacks_key(model)  # some integrations miss it only when they are asked
    if variable is not None:
        raise _missing_key(spec, variable)
    return model


def _made(spec: AgentSpec, arguments: Mapping[str, Any]) -> BaseChatModel:
    # Some integrations hand retries to their client when they are made, so 0 is given then; one
    # that has no such argument may warn of it, and is made again without.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)WARNING! max_retries is not default")
        model = _called(spec, {"max_retries": 0, **arguments})
    known = _argument_names(type(model))
    for name in arguments:
        if name not in known:
            kind = _NoSuchArgument if name == "api_key" else SetupError
            raise kind(_unknown(spec, name, type(model).__name__, known))
    return model if "max_retries" in known else _called(spec, arguments)


def _called(spec: AgentSpec, arguments: Mapping[str, Any]) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError:
        raise MissingExtraError(
            "provider 'langchain' needs the package langchain: pip install 'peerexam[langchain]'"
        ) from None
    failure: SetupError | None = None
    made: Any = None
    try:
        made = init_chat_model(spec.model, **arguments)
    except ImportError as error:  # it names the package and the pip command
        failure = MissingExtraError(f"agent '{spec.name}': {error}")
    except Exception as error:  # pydantic's, the SDK's, LangChain's own: all are about the set-up
        failure = _set_up(spec, error, arguments)
    if failure is not None:
        raise failure  # outside of `except`: pydantic's error holds the arguments, the key too
    if not isinstance(made, BaseChatModel):
        raise SetupError(f"agent '{spec.name}': '{spec.model}' is no LangChain chat model")
    return made


def _set_up(spec: AgentSpec, error: Exception, arguments: Mapping[str, Any]) -> SetupError:
    given = [str(arguments[name]) for name in ("api_key", "base_url") if name in arguments]
    words = Redactor(filter(is_secret, given))(str(error))
    if "api_key" not in arguments and _MISSING_KEY.search(words):
        return _missing_key(spec, _variable_in(words))
    line = " ".join(words.split())
    line = f"{line[:500]}…" if len(line) > 500 else line.removesuffix(".")
    return SetupError(
        f"agent '{spec.name}': LangChain cannot make '{spec.model}': {line}. A model is named "
        "provider:model, as in langchain/openai:gpt-4o-mini"
    )


def _variable_in(words: str) -> str | None:
    """The environment variable that an integration's complaint names."""
    found = re.search(r"\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_(API_)?(KEY|TOKEN)\b", words)
    return found[0] if found else None


def _missing_key(spec: AgentSpec, variable: str | None) -> MissingKeyError:
    which = "its integration's environment variable" if variable is None else f"{variable}"
    return MissingKeyError(
        f"agent '{spec.name}' needs a key: set {which}, or name another variable with api_key_env"
    )


def _lacks_key(model: BaseChatModel) -> str | None:
    """The variable for a key that the model holds an empty text for."""
    for field, variable in model.lc_secrets.items():
        value = getattr(model, field, None)
        if isinstance(value, SecretStr) and not value.get_secret_value():
            return variable
    return None


def _argument_names(kind: type[BaseChatModel]) -> set[str]:
    aliases = {field.alias for field in kind.model_fields.values() if field.alias is not None}
    return set(kind.model_fields) | aliases


def _unknown(spec: AgentSpec, name: str, kind: str, known: set[str]) -> str:
    if name == "api_key":
        return f"agent '{spec.name}': {kind} takes no api_key, so api_key_env cannot be used"
    if name == "base_url":
        return f"agent '{spec.name}': {kind} takes no endpoint; leave out @http://…"
    near = ", ".join(sorted(known - set(BaseChatModel.model_fields)))
    return f"agent '{spec.name}': {kind} has no option '{name}'; it has {near}"
