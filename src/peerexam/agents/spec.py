"""An agent as it is written down: `provider/model?option=value`, and its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from peerexam.calls import Json
from peerexam.errors import SetupError

_PROVIDER = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What a provider needs in order to build an agent.

    Attributes:
        name: Who it is in the exam.
        provider: The part of the model name before the first slash.
        model: The rest, its slashes kept, without `@url` and `?options`.
        base_url: Endpoint, from `@url` or the setting; None means the provider's default.
        api_key_env: Name of the environment variable that holds the key; None means the
            provider's default. The key itself is never part of a spec.
        options: Everything after `?`, and the provider's own settings from EXAM.yaml.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)


def parse_model(text: str) -> tuple[str, str, str | None, dict[str, Json]]:
    """Split `provider/model@http://host?option=value` into its four parts.

    Option values are read as JSON scalars where they are one (`0.7`, `true`, `null`), and as text
    otherwise. An `@` starts an endpoint only before `http://` or `https://`.

    >>> parse_model("openai/org/m:1@http://127.0.0.1:8000/v1?temperature=0.5")
    ('openai', 'org/m:1', 'http://127.0.0.1:8000/v1', {'temperature': 0.5})

    Raises:
        SetupError: There is no provider, or no model.
    """
    head, _, query = text.partition("?")
    provider, slash, model = head.partition("/")
    base_url = None
    found = re.search(r"@(https?://.*)$", model)
    if found:
        model, base_url = model[: found.start()], found.group(1)
    elif re.search(r"@[\w.-]+:\d+(/|$)|@[\w.+-]+:/", model):
        raise SetupError(
            f"'{text}' names an endpoint without http:// or https://: write provider/model@http://…"
        )
    if not slash or not _PROVIDER.fullmatch(provider) or not model:
        raise SetupError(
            f"'{text}' is not a model name: write provider/model, as in openai/gpt-4o-mini, "
            "local/smollm2 or file/answers.jsonl"
        )
    if model != model.strip():
        raise SetupError(f"'{text}' has a blank before or after the model's name: remove it")
    pairs = parse_qsl(query, keep_blank_values=True)
    names = [name for name, _ in pairs]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None or "" in names:
        which = f"gives option {twice} twice: keep one" if twice else "has an option without a name"
        raise SetupError(f"'{text}' {which}")
    return provider, model, base_url, {key: _scalar(value) for key, value in pairs}


_HOST_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NOT_IN_A_URL = re.compile(r"[\s\\\x00-\x1f\x7f]")


def endpoint_problem(url: str) -> str | None:
    """Why a text cannot be an endpoint's URL, None where it can; the text is not repeated.

    >>> endpoint_problem("http://127.0.0.1:8000/v1")
    >>> endpoint_problem("localhost:8000")
    'it begins with neither http:// nor https://'
    """
    if _NOT_IN_A_URL.search(url):
        return "it has a blank, a backslash or a control character"
    if not url.lower().startswith(("http://", "https://")):
        return "it begins with neither http:// nor https://"
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return "its host or port is none (ports are 1 to 65535, and IPv6 stands in brackets)"
    if port == 0:
        return "its port is 0"
    if parts.fragment:
        return "it has a part after #, which no server gets"
    return None if _is_host(parts.netloc, host) else "it names no host"


def _is_host(netloc: str, host: str) -> bool:
    if ":" in host:  # urlsplit has looked at what stands in brackets
        return "[" in netloc
    try:
        ascii_host = host.encode("idna").decode("ascii")
    except UnicodeError:
        return False
    labels = ascii_host.removesuffix(".").split(".")
    return all(_HOST_LABEL.fullmatch(label) for label in labels)


def _scalar(text: str) -> Json:
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if number == number and abs(number) != float("inf") else text
    return text
