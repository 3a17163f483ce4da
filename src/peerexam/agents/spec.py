"""An agent as it is written down: `provider/model?option=value`, and its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

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
    pairs = parse_qsl(query, keep_blank_values=True)
    return provider, model, base_url, {key: _scalar(value) for key, value in pairs}


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
