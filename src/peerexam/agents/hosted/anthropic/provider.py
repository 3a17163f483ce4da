"""`anthropic/MODEL`: Anthropic's Messages API, and every server that speaks it.

Options (after `?`, or `options` in EXAM.yaml):

- `client` (`lean`): `sdk` calls through the official SDK instead of pyreqwest.
- `thinking`: a budget in tokens (1024 or more), `adaptive`, false, or the API's own mapping. A
  budget comes on top of the answer's limit. Thinking models draw at temperature 1, so another
  temperature is left out and told as dropped.
- `default_max_tokens` (4096): the limit where a request has none, since the API insists on one.
- `version` (`2023-06-01`): the header `anthropic-version`. From `2026-10-21` on, the API takes no
  temperature; roles ask for 0, so the older one is the default.
- `betas`: beta names, a list or separated by commas.
- `cache` (false): mark the system prompt for the prompt cache.
- `json_schema` (false): the model can hold a reply to a JSON schema.
- `extra_body`: fields sent with every call (`top_k`, …). `headers`: headers sent with every call;
  no secrets. `timeout`: seconds for one attempt.
- `allow_plain_http` (false): send the key to another machine over plain HTTP.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from peerexam.agents.base import Agent, Feature
from peerexam.agents.hosted.agent import HostedAgent
from peerexam.agents.hosted.anthropic.dialect import MessagesDialect, cut_at_blank_stops
from peerexam.agents.hosted.anthropic.reply import failure_of, is_filtered, read_message
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
from peerexam.agents.hosted.rejections import Rejection
from peerexam.agents.hosted.transport.base import Wire
from peerexam.agents.redaction import Redactor
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Json, Request
from peerexam.errors import (
    CallError,
    RefusedParameterError,
    SetupError,
)

DEFAULT_URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"
HOME = Home(KEY_VARIABLE, (URL_VARIABLE,), "api.anthropic.com")
DEFAULT_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096

_LEAST_BUDGET = 1024
_HINTS = {"json_schema": "where the model can, set the option json_schema: true"}
_OPTIONS = (
    "client",
    "thinking",
    "default_max_tokens",
    "version",
    "betas",
    "cache",
    "json_schema",
    "extra_body",
    "headers",
    "timeout",
    "allow_plain_http",
)
_DECIDING = ("default_max_tokens", "version", "betas", "thinking", "extra_body", "headers")


class AnthropicAgent(HostedAgent):
    """One model at one endpoint that speaks the Messages API.

    Args:
        spec: The agent's model, endpoint and options.
        key: The key, empty where the server wants none; it is kept out of the fingerprint and
            redacted from every completion and error.
        base_url: The endpoint, without `/v1`.
        keyless: See `HostedAgent`.

    Raises:
        SetupError: An option is unknown or cannot be used.
        MissingExtraError: `client` is `sdk` and the SDK is not installed.
    """

    def __init__(self, spec: AgentSpec, key: str, base_url: str, keyless: str = "") -> None:
        options = dict(spec.options)
        check(spec, key)
        features: set[Feature] = {"chat"}
        if options.get("json_schema") is True:
            features.add("json_schema")
        redactor = Redactor(secrets_of(key, base_url))
        connect = _sdk if options.get("client") == "sdk" else _lean
        super().__init__(
            spec.name,
            _fingerprint(spec.model, base_url, options),
            features,
            model=spec.model,
            dialect=MessagesDialect(
                spec.model,
                version=_version(options),
                default_max_tokens=_limit(options),
                thinking=_thinking(options.get("thinking")),
                cache=options.get("cache") is True,
            ),
            wire=connect(spec, key, base_url, redactor),
            redactor=redactor,
            extra=options.get("extra_body") or {},
            keyless=keyless,
        )

    def _check(self, request: Request) -> None:
        if request.continuation is None and request.sampling.top_logprobs is not None:
            raise RefusedParameterError(
                f"{self._name} gives no log-probabilities: the API has none", "top_logprobs"
            )
        self.refuse_unclaimed(request, _HINTS)

    def _read(self, body: Any, latency: float, request: Request) -> Completion:
        found = read_message(body, latency, self._dialect.dropped(request))
        text, was_cut = cut_at_blank_stops(found.text, request.sampling.stop)
        if not was_cut or found.state not in ("ok", "truncated"):
            return found
        return replace(found, text=text, state="ok" if text.strip() else "empty")

    def _filtered(self, rejection: Rejection) -> Completion | None:
        if not is_filtered(rejection):
            return None
        return Completion("", "filtered", finish_reason=rejection.kind or None)

    def _error(self, rejection: Rejection) -> CallError:
        return failure_of(rejection, self._model, self._redactor)


def check(spec: AgentSpec, key: str = "") -> None:
    """Look at an agent's options, without a connection.

    Args:
        spec: The agent.
        key: Its key, which no option may hold.

    Raises:
        SetupError: An option is unknown or cannot be used.
    """
    check_options("anthropic", spec.options, _OPTIONS, key)
    _limit(spec.options)
    _thinking(spec.options.get("thinking"))


def create(spec: AgentSpec) -> Agent:
    """Build the agent of a spec.

    The endpoint is the spec's, else `ANTHROPIC_BASE_URL`, else the hosted API; a `/v1` at its end
    may be there or not. The key comes from the variable that the spec names, else from
    `ANTHROPIC_API_KEY` where the endpoint is one that this is for: see `key_of`.

    Raises:
        MissingKeyError: The variable that should hold the key is not set.
        MissingExtraError: `client` is `sdk` and the SDK is not installed.
        SetupError: The endpoint or an option cannot be used.
    """
    url = checked_url(spec, spec.base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL)
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/v1")
    base_url = urlunsplit(parts._replace(path=path))
    key = key_of(spec, HOME, base_url)
    return AnthropicAgent(spec, key.value, base_url, key.unsent)


def _lean(spec: AgentSpec, key: str, base_url: str, redactor: Redactor) -> Wire:
    from peerexam.agents.hosted.transport.reqwest import ReqwestWire

    url, login = without_login(base_url)
    headers = {**_headers(spec), **login, **({"x-api-key": key} if key else {})}
    timeout = spec.options.get("timeout")
    return ReqwestWire(
        address(url, "/v1/messages"), headers, who=spec.model, timeout=timeout, redact=redactor
    )


def _sdk(spec: AgentSpec, key: str, base_url: str, redactor: Redactor) -> Wire:
    from peerexam.agents.hosted.transport.sdk import SdkWire

    url, login = without_login(base_url)
    if login and key:
        login["x-api-key"] = key  # the SDK's own place for the key is taken by the login
    headers = {**_headers(spec), **login}
    return SdkWire(spec, "anthropic", "messages", url, headers, key=key, redact=redactor)


def _headers(spec: AgentSpec) -> dict[str, str]:
    headers = {"anthropic-version": _version(spec.options)}
    betas = spec.options.get("betas")
    if betas:
        headers["anthropic-beta"] = betas if isinstance(betas, str) else ",".join(betas)
    own = spec.options.get("headers") or {}
    return headers | {str(name): str(value) for name, value in own.items()}


def _version(options: Mapping[str, Json]) -> str:
    return str(options.get("version", DEFAULT_VERSION))


def _limit(options: Mapping[str, Json]) -> int:
    limit = options.get("default_max_tokens", DEFAULT_MAX_TOKENS)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise SetupError("default_max_tokens is a number of tokens, 1 or more")
    return limit


def _thinking(option: Json) -> Mapping[str, Json] | None:
    if option is None or isinstance(option, dict):
        return option
    if option is False:
        return {"type": "disabled"}
    if option == "adaptive":
        return {"type": "adaptive"}
    if isinstance(option, int) and option is not True and option >= _LEAST_BUDGET:
        return {"type": "enabled", "budget_tokens": option}
    raise SetupError(
        f"thinking is a budget of {_LEAST_BUDGET} tokens or more, adaptive, false, or the API's "
        "own mapping"
    )


def _fingerprint(model: str, base_url: str, options: Mapping[str, Json]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "provider": "anthropic",
        "model": model,
        "endpoint": endpoint_of(base_url),
    }
    return body | {
        name: options[name] for name in _DECIDING if options.get(name) not in (None, "", {}, [])
    }
