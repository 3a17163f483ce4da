"""`openai/MODEL`: the OpenAI API, and every server that speaks it.

Options (after `?`, or `options` in EXAM.yaml):

- `client` (`lean`): `sdk` calls through the official SDK instead of pyreqwest.
- `chat` (true): false for a base model; its text goes to the completions endpoint.
- `logprobs`, `json_schema`, `grammar` (false): what the server can do. `grammar` is llama.cpp's
  GBNF in an extra body field.
- `max_tokens_param`: `max_tokens` or `max_completion_tokens`; by default found out.
- `extra_body`: fields sent with every call. `headers`: headers sent with every call; no secrets.
- `allow_plain_http` (false): send the key to another machine over plain HTTP.
- `timeout`: seconds for one attempt. `organization`: the OpenAI organisation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, get_args

from peerexam.agents.base import Agent, Feature
from peerexam.agents.hosted.agent import HostedAgent
from peerexam.agents.hosted.endpoint import (
    Home,
    address,
    check_options,
    checked_url,
    endpoint_of,
    key_of,
    secrets_of,
    without_login,
)
from peerexam.agents.hosted.openai.dialect import Dialect
from peerexam.agents.hosted.openai.reply import read_reply
from peerexam.agents.hosted.rejections import Rejection, error_of
from peerexam.agents.hosted.transport.base import Wire
from peerexam.agents.redaction import Redactor
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Json, Request
from peerexam.errors import CallError, SetupError

DEFAULT_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
HOME = Home(KEY_VARIABLE, (URL_VARIABLE,), "api.openai.com")

_FEATURES: dict[str, Feature] = {
    name: name for name in get_args(Feature) if name not in ("chat", "score")
}
_HINTS = {
    kind: f"where its server can, set the option {kind}: true"
    for kind in ("grammar", "json_schema")
}
_OPTIONS = (
    "chat",
    *_FEATURES,
    "client",
    "max_tokens_param",
    "extra_body",
    "headers",
    "timeout",
    "organization",
    "allow_plain_http",
)


class OpenAIAgent(HostedAgent):
    """One model at one OpenAI-compatible endpoint.

    Args:
        spec: The agent's model, endpoint and options.
        key: The key, empty where the server wants none; it is kept out of the fingerprint and
            redacted from every completion and error.
        base_url: The endpoint.
        keyless: See `HostedAgent`.

    Raises:
        SetupError: An option is unknown or cannot be used.
        MissingExtraError: `client` is `sdk` and the SDK is not installed.
    """

    def __init__(self, spec: AgentSpec, key: str, base_url: str, keyless: str = "") -> None:
        options = dict(spec.options)
        check(spec, key)
        limit = options.get("max_tokens_param")
        redactor = Redactor(secrets_of(key, base_url))
        chat = options.get("chat", True) is not False
        hosted = base_url.rstrip("/") == DEFAULT_URL
        connect = _sdk if options.get("client") == "sdk" else _lean
        super().__init__(
            spec.name,
            _fingerprint(spec.model, base_url, options),
            _features(options),
            model=spec.model,
            dialect=Dialect(
                spec.model,
                limit_name=limit or ("max_completion_tokens" if hosted else "max_tokens"),
                limit_is_fixed=limit is not None,
                chat=chat,
            ),
            wire=connect(spec, key, base_url, chat, redactor),
            redactor=redactor,
            extra=options.get("extra_body") or {},
            keyless=keyless,
        )

    def _check(self, request: Request) -> None:
        self.refuse_unclaimed(request, _HINTS)

    def _read(self, body: Any, latency: float, request: Request) -> Completion:
        return read_reply(body, latency, self._dialect.dropped(request))

    def _filtered(self, rejection: Rejection) -> Completion | None:
        if not rejection.is_filtered:
            return None
        return Completion("", "filtered", finish_reason=rejection.code or None)

    def _error(self, rejection: Rejection) -> CallError:
        return error_of(rejection, self._model, self._redactor)


def check(spec: AgentSpec, key: str = "") -> None:
    """Look at an agent's options, without a connection.

    Args:
        spec: The agent.
        key: Its key, which no option may hold.

    Raises:
        SetupError: An option is unknown or cannot be used.
    """
    check_options("openai", spec.options, _OPTIONS, key)
    if spec.options.get("max_tokens_param") not in (None, "max_tokens", "max_completion_tokens"):
        raise SetupError("max_tokens_param is max_tokens or max_completion_tokens")


def create(spec: AgentSpec) -> Agent:
    """Build the agent of a spec.

    The endpoint is the spec's, else `OPENAI_BASE_URL`, else the hosted API. The key comes from the
    variable that the spec names, else from `OPENAI_API_KEY` where the endpoint is one that this is
    for: see `key_of`.

    Raises:
        MissingKeyError: The variable that should hold the key is not set.
        MissingExtraError: `client` is `sdk` and the SDK is not installed.
        SetupError: The endpoint or an option cannot be used.
    """
    base_url = checked_url(spec, spec.base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL)
    key = key_of(spec, HOME, base_url)
    return OpenAIAgent(spec, key.value, base_url, key.unsent)


def _lean(spec: AgentSpec, key: str, base_url: str, chat: bool, redactor: Redactor) -> Wire:
    from peerexam.agents.hosted.transport.reqwest import ReqwestWire

    url, login = without_login(base_url)
    headers = {**_headers(spec), **login, **({"Authorization": f"Bearer {key}"} if key else {})}
    if spec.options.get("organization"):
        headers["OpenAI-Organization"] = str(spec.options["organization"])
    path = "/chat/completions" if chat else "/completions"
    timeout = spec.options.get("timeout")
    return ReqwestWire(
        address(url, path), headers, who=spec.model, timeout=timeout, redact=redactor
    )


def _sdk(spec: AgentSpec, key: str, base_url: str, chat: bool, redactor: Redactor) -> Wire:
    from peerexam.agents.hosted.transport.sdk import SdkWire

    url, login = without_login(base_url)
    return SdkWire(
        spec,
        "openai",
        "chat.completions" if chat else "completions",
        url,
        {**_headers(spec), **({} if key else login)},
        key=key,
        redact=redactor,
        organization=spec.options.get("organization"),
    )


def _headers(spec: AgentSpec) -> dict[str, str]:
    return {str(name): str(value) for name, value in (spec.options.get("headers") or {}).items()}


def _features(options: Mapping[str, Json]) -> frozenset[Feature]:
    found: set[Feature] = {kind for name, kind in _FEATURES.items() if options.get(name) is True}
    if options.get("chat", True) is not False:
        found.add("chat")
    return frozenset(found)


def _fingerprint(model: str, base_url: str, options: Mapping[str, Json]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "provider": "openai",
        "model": model,
        "endpoint": endpoint_of(base_url),
    }
    if options.get("chat", True) is False:
        body["chat"] = False
    for name in ("extra_body", "headers"):
        if options.get(name):
            body[name] = options[name]
    return body
