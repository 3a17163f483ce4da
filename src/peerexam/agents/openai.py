"""`openai/MODEL`: the OpenAI API, and every server that speaks it, through the official SDK.

Options (after `?`, or `options` in EXAM.yaml):

- `chat` (true): false for a base model; its text goes to the completions endpoint.
- `logprobs`, `json_schema`, `grammar` (false): what the server can do. `grammar` is llama.cpp's
  GBNF in an extra body field.
- `max_tokens_param`: `max_tokens` or `max_completion_tokens`; by default found out.
- `extra_body`: fields sent with every call. `headers`: headers sent with every call; no secrets.
- `timeout`: seconds for one attempt. `organization`: the OpenAI organisation.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlsplit, urlunsplit

import openai

from peerexam.agents.base import Agent, Feature, Provider
from peerexam.agents.openai_dialect import Dialect, refused_parameter
from peerexam.agents.openai_errors import Rejection, blot, error_of, read_rejection
from peerexam.agents.openai_reply import read_reply
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Json, Request
from peerexam.errors import (
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    MissingKeyError,
    OverloadedError,
    PermanentError,
    RefusedParameterError,
    SetupError,
)

DEFAULT_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"

_STREAM = "text/event-stream"
_NO_KEY = "none"  # sent to servers that want no key; the SDK insists on one
_SHORTEST_KEY = 8  # shorter ones are placeholders such as EMPTY
_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")
_SETTINGS = ("max_tokens_param", "extra_body", "headers", "timeout", "organization")
_FEATURES: dict[str, Feature] = {
    name: name for name in get_args(Feature) if name not in ("chat", "score")
}


@dataclass(frozen=True, slots=True)
class _Reply:
    body: Any
    latency: float


class OpenAIAgent(Provider):
    """One model at one OpenAI-compatible endpoint.

    Args:
        spec: The agent's model, endpoint and options.
        key: The key; it is kept out of the fingerprint and blotted out of every error.
        base_url: The endpoint.

    Raises:
        SetupError: An option is unknown or cannot be used.
    """

    def __init__(self, spec: AgentSpec, key: str, base_url: str) -> None:
        options = dict(spec.options)
        _check_options(options, key)
        super().__init__(spec.name, _fingerprint(spec.model, base_url, options), _features(options))
        self._model = spec.model
        self._secret = "" if key == _NO_KEY else key
        self._timeout: float | None = options.get("timeout")
        self._extra: dict[str, Any] = options.get("extra_body") or {}
        self._chat = options.get("chat", True) is not False
        limit = options.get("max_tokens_param")
        hosted = base_url.rstrip("/") == DEFAULT_URL
        self._dialect = Dialect(
            spec.model,
            limit_name=limit or ("max_completion_tokens" if hosted else "max_tokens"),
            limit_is_fixed=limit is not None,
            chat=self._chat,
        )
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=base_url,
            organization=options.get("organization"),
            default_headers=options.get("headers"),
            timeout=self._timeout if self._timeout is not None else openai.NOT_GIVEN,
            max_retries=0,  # the Retrying layer does that, once
        )

    def __repr__(self) -> str:
        return f"OpenAIAgent(name={self._name!r}, model={self._model!r})"

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        A parameter that the model refuses is renamed or left out and the request sent again, once
        for each parameter; what was left out is told in `Completion.dropped`. A request that was
        refused is never sent again as it was.

        Raises:
            RetryableError: Rate limit, overload, time-out, no connection, unreadable reply.
            PermanentError: Anything that would fail again.
        """
        self._check_request(request)
        while True:
            sent = self._dialect.body(request)
            reply = await self._send(sent)
            if isinstance(reply, _Reply):
                return read_reply(reply.body, reply.latency, self._dialect.dropped(request))
            if reply.is_filtered:
                return Completion(text="", state="filtered", finish_reason=reply.code or None)
            if not self._dialect.adapt(reply, sent, request):
                raise self._refusal(reply, sent)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, body: dict[str, Any]) -> _Reply | Rejection:
        """One HTTP call.

        Errors are raised outside of `except`, and so without a context: the SDK's own error holds
        the request with its Authorization header.
        """
        failure: CallError | None = None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                raw = await self._create()(**self._with_extra(body))
            return self._read(raw.http_response, time.perf_counter() - started)
        except (TimeoutError, openai.APITimeoutError):
            failure = CallTimeoutError(f"no reply from {self._model} in time")
        except openai.APIStatusError as error:
            return read_rejection(
                error.status_code, error.response.headers, error.body, self._secret
            )
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            words = blot(f"{type(cause).__name__}: {cause}", self._secret)[:300]
            failure = ConnectionFailedError(f"no connection to {self._host()}: {words}")
        except openai.OpenAIError as error:
            failure = PermanentError(blot(f"{type(error).__name__}: {error}", self._secret))
        raise failure

    def _read(self, response: Any, latency: float) -> _Reply | Rejection:
        text: str = response.text
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if body is None and response.headers.get("content-type", "").startswith(_STREAM):
            # Pieces of an answer are no answer, so they are not quoted either.
            raise OverloadedError(f"{self._model} sent a stream that nobody asked for")
        if body is None:
            start = blot(text, self._secret)[:200]
            raise OverloadedError(f"{self._model}'s reply is not JSON, it starts: {start!r}")
        if isinstance(body, dict) and body.get("error"):
            return read_rejection(200, response.headers, body, self._secret)
        return _Reply(body, latency)

    def _create(self) -> Any:
        client = self._client
        if self._chat:
            return client.chat.completions.with_raw_response.create
        return client.completions.with_raw_response.create

    def _with_extra(self, body: dict[str, Any]) -> dict[str, Any]:
        extra = {**self._extra, **body.get("extra_body", {})}
        return {**body, "extra_body": extra} if extra else body

    def _check_request(self, request: Request) -> None:
        form = request.sampling.form
        if request.continuation is not None:
            raise PermanentError(f"{self._name} gives no log-probabilities of a given text")
        if form is not None and form.kind not in self._features:
            raise RefusedParameterError(
                f"{self._name} cannot hold a reply to a {form.kind}: where its server can, set the "
                f"option {form.kind}: true",
                form.kind,
            )

    def _refusal(self, rejection: Rejection, sent: Mapping[str, Any]) -> CallError:
        error = error_of(rejection, self._model)
        if type(error) is PermanentError and rejection.status in (400, 422):
            name = refused_parameter(rejection, self._with_extra(dict(sent))) or rejection.param
            if name is not None:
                return RefusedParameterError(f"parameter {name} refused: {error}", name)
        return error

    def _host(self) -> str:
        return str(self._fingerprint["endpoint"])


def create(spec: AgentSpec) -> Agent:
    """Build the agent of a spec.

    The endpoint is the spec's, else `OPENAI_BASE_URL`, else the hosted API. The key comes from the
    variable that the spec names, else from `OPENAI_API_KEY`. An endpoint of one's own needs no key
    unless the spec names a variable.

    Raises:
        MissingKeyError: The variable that should hold the key is not set.
        SetupError: The endpoint or an option cannot be used.
    """
    base_url = spec.base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(
            f"agent '{spec.name}': the endpoint must be a URL as in http://127.0.0.1:8000/v1"
        )
    return OpenAIAgent(spec, _key(spec, base_url), base_url)


def _key(spec: AgentSpec, base_url: str) -> str:
    variable = spec.api_key_env or KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise MissingKeyError(f"{variable} holds characters that no key has: set it again")
    if key:
        return key
    if spec.api_key_env is None and base_url.rstrip("/") != DEFAULT_URL:
        return _NO_KEY
    raise MissingKeyError(
        f"agent '{spec.name}' needs a key: set the environment variable {variable}, or name "
        "another one with api_key_env"
    )


def _features(options: Mapping[str, Json]) -> frozenset[Feature]:
    found: set[Feature] = {kind for name, kind in _FEATURES.items() if options.get(name) is True}
    if options.get("chat", True) is not False:
        found.add("chat")
    return frozenset(found)


def _check_options(options: Mapping[str, Json], key: str) -> None:
    known = ("chat", *_FEATURES, *_SETTINGS)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise SetupError(
            f"provider openai has no option '{unknown[0]}'; it has {', '.join(known)}. Fields for "
            "the server go into extra_body"
        )
    limit = options.get("max_tokens_param")
    if limit not in (None, "max_tokens", "max_completion_tokens"):
        raise SetupError("max_tokens_param is max_tokens or max_completion_tokens")
    timeout = options.get("timeout")
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise SetupError("timeout is a number of seconds, more than 0")
    for name in ("extra_body", "headers"):
        if not isinstance(options.get(name) or {}, dict):
            raise SetupError(f"{name} is a mapping of names to values")
    _check_secrets(options, key)


def _check_secrets(options: Mapping[str, Json], key: str) -> None:
    """Options are written to the run's folder, so a key in them is refused."""
    for header in options.get("headers") or {}:
        if any(word in str(header).lower() for word in _SECRET_HEADERS):
            raise SetupError(
                f"header '{header}' may hold a secret, and options are written to disk: name the "
                "key's environment variable with api_key_env instead"
            )
    if len(key) >= _SHORTEST_KEY and key in json.dumps(options, ensure_ascii=False, default=str):
        raise SetupError("the options hold the key itself, and options are written to disk")


def _fingerprint(model: str, base_url: str, options: Mapping[str, Json]) -> dict[str, Json]:
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]  # user:password@ is a secret
    endpoint = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    body: dict[str, Json] = {"provider": "openai", "model": model, "endpoint": endpoint}
    if options.get("chat", True) is False:
        body["chat"] = False
    for name in ("extra_body", "headers"):
        if options.get(name):
            body[name] = options[name]
    return body
