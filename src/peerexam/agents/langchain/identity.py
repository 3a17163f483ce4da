"""What a LangChain chat model is, told without its secrets.

LangChain's own `_identifying_params` leaves out what decides an answer (the endpoint, headers,
beta features) and holds what does not (timeouts), so that the fields are read here one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, SecretBytes, SecretStr

from peerexam.agents.hosted.endpoint import endpoint_of
from peerexam.agents.redaction import Redactor
from peerexam.calls import Json

_NO_PART_OF_THE_ANSWER = frozenset(
    {
        *("cache", "callbacks", "custom_get_token_ids", "metadata", "name", "profile", "tags"),
        *("max_retries", "rate_limiter", "verbose", "include_response_headers"),
        *("timeout", "request_timeout", "default_request_timeout", "stream_chunk_timeout"),
        *("streaming", "stream_usage", "disable_streaming"),
    }
)
_SECRET_WORDS = re.compile(
    r"(api|access|private|secret|subscription)[_-]?key|secret|password|passwd|credential"
    r"|authori[sz]ation|(auth|access|bearer|session|id)[_-]?token|cookie|signature",
    re.IGNORECASE,
)
_SECRET_IN_HEADERS = re.compile(r"auth|key|token|secret|cookie|password|sig|code", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)
_SHORTEST_SECRET = 8  # shorter ones are placeholders such as EMPTY
_DEEPEST = 6


def identity_of(model: BaseChatModel, bound: Mapping[str, Any] | None = None) -> dict[str, Json]:
    """The fingerprint of a chat model: class, model name, and the fields that are set.

    Secrets (`SecretStr`, headers and entries named like one, user and query of a URL) are left
    out, and so are limits on time and retries, which decide no answer. What JSON cannot write
    stands there by its type.

    Args:
        model: The chat model.
        bound: Keyword arguments that are bound to it.
    """
    clean = _Cleaner(secrets_of(model))
    fields = {name: value for name, value in _set_fields(model) if not _is_secret(name)}
    body: dict[str, Json] = {
        "provider": "langchain",
        "class": _type_name(model),
        "model": model_name(model),
        "fields": clean.mapping(fields),
    }
    return body | {"bound": clean.mapping(bound)} if bound else body


def model_name(model: BaseChatModel) -> str:
    """The model's name at its provider, or its class where it has none."""
    for field in ("model_name", "model", "model_id", "deployment_name"):
        value = getattr(model, field, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def secrets_of(model: BaseChatModel) -> tuple[str, ...]:
    """Every secret that a chat model is known to hold, the longest first.

    These are its `SecretStr` fields, the keys of its SDK's clients, the passwords in its URLs and
    the values of headers named like a secret. Placeholders of under eight characters are none.
    """
    found = {secret.strip() for secret in _secrets(dict(vars(model)), _DEEPEST)}
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True))


def _set_fields(model: BaseModel) -> Iterator[tuple[str, Any]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name, None)
        if field.exclude or name in _NO_PART_OF_THE_ANSWER or value is None:
            continue
        if value != field.get_default(call_default_factory=False) and value not in ({}, [], ()):
            yield name, value


class _Cleaner:
    """Turns values into JSON without the secrets."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._redactor = Redactor(secrets)

    def mapping(self, values: Mapping[Any, Any], depth: int = 0) -> dict[str, Json]:
        """Entries named like a secret and entries that are one are left out."""
        return {
            self._redactor(str(name)): self.value(value, depth + 1, str(name))
            for name, value in values.items()
            if not _is_secret(str(name)) and not isinstance(value, SecretStr | SecretBytes)
        }

    def value(self, value: Any, depth: int, name: str = "") -> Json:
        """Any value; what is nested too deep or is no JSON stands there by its type."""
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if value - value == 0 else str(value)  # NaN and infinities as text
        if isinstance(value, str):
            return self._redactor(endpoint_of(value) if _URL.match(value) else value)
        if depth < _DEEPEST:
            return self._container(value, depth, name)
        return _type_name(value)

    def _container(self, value: Any, depth: int, name: str) -> Json:
        if isinstance(value, Mapping):
            return self.mapping(_public_headers(value) if _is_headers(name) else value, depth)
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value]
        told = getattr(value, "fingerprint", None)
        if isinstance(told, Mapping):  # an agent of ours inside of a chat model
            return self.mapping(told, depth)
        if isinstance(value, BaseModel):
            fields = dict(_set_fields(value))
            return {"class": _type_name(value), **self.mapping(fields, depth)}
        return _type_name(value)


def _secrets(value: Any, depth: int, name: str = "") -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, str):
        yield from _secrets_in_text(value, name)
    elif callable(getattr(value, "with_options", None)):  # an SDK's client
        for attribute in ("api_key", "auth_token"):
            yield from _secrets(getattr(value, attribute, None), 0, "api_key")
    elif depth:
        for key, inner in _inside(value, name):
            yield from _secrets(inner, depth - 1, key)


def _inside(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What a container holds, each under the name that says whether it is a secret."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield ("authorization" if _is_headers(name) and _in_headers(key) else str(key)), inner
    elif isinstance(value, list | tuple):
        yield from (("", inner) for inner in value)
    elif isinstance(value, BaseModel):
        yield from vars(value).items()


def _secrets_in_text(text: str, name: str) -> Iterator[str]:
    if _is_secret(name):
        yield text
        yield text.removeprefix("Bearer ").removeprefix("Basic ")
    elif _URL.match(text):
        login = urlsplit(text).netloc.rpartition("@")[0]
        yield from (login, unquote(login.partition(":")[2]))


def _is_secret(name: str) -> bool:
    return bool(_SECRET_WORDS.search(name))


def _is_headers(name: str) -> bool:
    return name.endswith(("headers", "query"))


def _in_headers(name: Any) -> bool:
    return bool(_SECRET_IN_HEADERS.search(str(name)))


def _public_headers(headers: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: value for name, value in headers.items() if not _in_headers(name)}


def _type_name(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
