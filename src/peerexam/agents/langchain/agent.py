"""`langchain/PROVIDER:MODEL`: any LangChain chat model, by name or by handing over the object.

The name is what LangChain's `init_chat_model` takes, as in `langchain/openai:gpt-4o-mini`. Options
(after `?`, or `options` in EXAM.yaml) go to the integration's class; those of ours are

- `logprobs`, `json_schema` (false): what the model's server can do.
- `allow_plain_http` (false): send the key to another machine over plain HTTP.

What a request asks for is put into the integration's own fields, so that each gets it under the
name it knows (`max_output_tokens`, `num_predict`). A parameter that it has no field for, or that
the server refuses, is left out and told in `Completion.dropped`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableBinding

from peerexam.agents.base import Agent, Feature, Provider
from peerexam.agents.hosted.anthropic.reply import failure_of, is_filtered
from peerexam.agents.hosted.openai.dialect import Dialect
from peerexam.agents.hosted.rejections import Rejection, naming, refused_parameter
from peerexam.agents.langchain.building import build
from peerexam.agents.langchain.chat_model import PeerexamChatModel, completion_in
from peerexam.agents.langchain.clients import OpenModel, open_model
from peerexam.agents.langchain.errors import read_failure
from peerexam.agents.langchain.identity import identity_of, model_name, secrets_of
from peerexam.agents.langchain.reply import read_broken_off, read_result
from peerexam.agents.redaction import Redactor, is_secret
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Request
from peerexam.errors import (
    CallError,
    OverloadedError,
    PeerexamError,
    SetupError,
)

_HINTS = {"json_schema": "where its server can, set the option json_schema: true"}
_FIELDS = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": (
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "num_predict",
        "max_new_tokens",
    ),
    "seed": ("seed", "random_seed"),
    "logprobs": ("logprobs",),
    "top_logprobs": ("top_logprobs",),
}
"""Our parameters, and the fields in which integrations take them."""

_MESSAGES: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


class LangChainAgent(Provider):
    """One LangChain chat model.

    Args:
        name: Who it is in the exam.
        model: The chat model. It is not changed: copies of it are asked.
        bound: Keyword arguments sent with every call, as `model.bind` does. What a request asks
            for comes before them.
        features: What it can do beyond `chat`.
    """

    def __init__(
        self,
        name: str,
        model: BaseChatModel,
        *,
        bound: Mapping[str, Any] | None = None,
        features: Iterable[Feature] = (),
    ) -> None:
        super().__init__(name, identity_of(model, bound), ("chat", *features))
        self._chat = model
        self._bound = dict(bound or {})
        self._redactor = Redactor(filter(is_secret, secrets_of(model)))
        self._model = model_name(model)
        self._dialect = Dialect(self._model, limit_name="max_tokens", limit_is_fixed=True)
        self._open: OpenModel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"LangChainAgent(name={self._name!r}, model={self._model!r})"

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises:
            RetryableError: Rate limit, overload, time-out, no connection, unreadable reply.
            PermanentError: Anything that would fail again.
        """
        self.refuse_unclaimed(request, _HINTS)
        failure: CallError
        try:
            return self._redactor.completion(await self._answered(request))
        except CallError as error:
            failure = self._redactor.error(error)
        raise failure

    async def _answered(self, request: Request) -> Completion:
        while True:
            sent = self._dialect.body(request)
            reply = await self._ask(request, sent)
            if isinstance(reply, Completion):
                return reply
            if reply.is_filtered or is_filtered(reply):
                return Completion("", "filtered", finish_reason=reply.code or reply.kind or None)
            if not self._dialect.adapt(reply, sent, request):
                raise self._refusal(reply, sent)

    async def close(self) -> None:
        """Close the connections that are the agent's own."""
        if self._open is not None:
            await self._open.close()
        self._open = self._loop = None

    async def _ask(self, request: Request, sent: Mapping[str, Any]) -> Completion | Rejection:
        """One call.

        Errors are raised outside of `except`, and so without a context: the SDK's own error holds
        the request with its key.
        """
        model, arguments = self._put(request, sent)
        messages = [_MESSAGES[turn["role"]](turn["content"]) for turn in sent["messages"]]
        failure: Rejection | CallError | Completion | None = None
        result: LLMResult | None = None
        left_out = self._left_out(request)
        started = time.perf_counter()
        try:
            result = await model.agenerate([messages], stop=sent.get("stop"), **arguments)
        except PeerexamError:
            raise
        except Exception as error:  # whatever the SDK below raises; what it is, is read from it
            latency = time.perf_counter() - started
            failure = _what_failed(error, self._model, latency, left_out, self._redactor)
        if isinstance(failure, CallError):
            raise failure
        if failure is not None or result is None:
            return cast(Rejection | Completion, failure)
        if isinstance(model, PeerexamChatModel):
            return completion_in(result)
        latency = time.perf_counter() - started
        try:
            return read_result(result, latency, left_out)
        except CallError:
            raise
        except Exception as error:  # a reply's own fault, since reading it depends on nothing else
            reason = type(error).__name__
        raise OverloadedError(f"{self._model}'s reply cannot be read ({reason})")

    def _put(
        self, request: Request, sent: Mapping[str, Any]
    ) -> tuple[BaseChatModel, dict[str, Any]]:
        """The model with the sampling in its fields, and what goes with the call."""
        fields = {
            field: sent[name]
            for name, places in _FIELDS.items()
            if name in sent and (field := self._field(places)) is not None
        }
        refused = self._dialect.dropped(request)
        fields |= {field: None for name in refused if (field := self._field(_FIELDS[name]))}
        taken = {place for name in _FIELDS if name in sent for place in _FIELDS[name]}
        arguments = {name: value for name, value in self._bound.items() if name not in taken}
        if "stop" in sent:
            arguments.pop("stop", None)
        if "response_format" in sent:
            arguments["response_format"] = sent["response_format"]
        return self._opened().model_copy(update=fields), arguments

    def _field(self, places: Iterable[str]) -> str | None:
        return next((place for place in places if place in type(self._chat).model_fields), None)

    def _opened(self) -> BaseChatModel:
        """The copy to be asked; its connections belong to the event loop that is running."""
        loop = asyncio.get_running_loop()
        if self._open is None or self._loop is not loop:
            self._open, self._loop = open_model(self._chat), loop
        return self._open.model

    def _left_out(self, request: Request) -> tuple[str, ...]:
        refused = self._dialect.dropped(request)
        return tuple(
            name
            for name, places in _FIELDS.items()
            if getattr(request.sampling, name, None) is not None
            and (name in refused or self._field(places) is None)
        )

    def _refusal(self, rejection: Rejection, sent: Mapping[str, Any]) -> CallError:
        name = refused_parameter(rejection, sent) or rejection.param
        return naming(failure_of(rejection, self._model, self._redactor), rejection, name)


def _what_failed(
    error: Exception, model: str, latency: float, left_out: tuple[str, ...], redactor: Redactor
) -> Rejection | CallError | Completion:
    try:
        return read_broken_off(error, latency, left_out) or read_failure(error, model, redactor)
    except CallError as ours:
        return ours
    except Exception as unread:  # what an error carries is the server's, too
        reason = type(unread).__name__
    return OverloadedError(f"{model}'s reply cannot be read ({type(error).__name__}, {reason})")


def from_langchain(
    model: BaseChatModel | RunnableBinding[Any, Any],
    name: str | None = None,
    *,
    logprobs: bool = False,
    json_schema: bool = False,
) -> LangChainAgent:
    """An agent from a chat model that is there already, one with `.bind(…)` included.

    Sampling that a role asks for comes before the object's own; an agent's own temperature is set
    in the exam's config.

    Args:
        model: The chat model.
        name: Who it is; the model's name by default.
        logprobs: Its server gives log-probabilities.
        json_schema: Its server can hold a reply to a JSON schema (`response_format`).

    Raises:
        SetupError: It is no chat model.
    """
    bound: Mapping[str, Any] = {}
    chat: object = model
    if isinstance(model, RunnableBinding):
        chat, bound = model.bound, model.kwargs
    if not isinstance(chat, BaseChatModel):
        raise SetupError(
            f"{type(chat).__name__} is no LangChain chat model: hand over the chat model itself; "
            "for a chain, write FunctionAgent(name, fn) with a function that invokes it"
        )
    flags: dict[Feature, bool] = {"logprobs": logprobs, "json_schema": json_schema}
    features = [feature for feature, given in flags.items() if given]
    return LangChainAgent(name or model_name(chat), chat, bound=bound, features=features)


def create(spec: AgentSpec) -> Agent:
    """Build the agent of a spec.

    The key comes from the variable that the spec names, else from the one that the integration
    reads by itself, where the endpoint is one that this is for: see `hosted.key_of`.

    Raises:
        MissingExtraError: The integration's package is not installed.
        MissingKeyError: There is no key.
        SetupError: The integration cannot be built with these options.
    """
    options = dict(spec.options)
    options.pop("allow_plain_http", None)  # read by `key_of`
    flags = {name: bool(options.pop(name, False)) for name in ("logprobs", "json_schema")}
    model = build(spec, options)
    _check_secrets(model, options, spec.name)
    return from_langchain(model, spec.name, **flags)


def _check_secrets(model: BaseChatModel, options: Mapping[str, Any], name: str) -> None:
    """Options are written to the run's folder, so a secret in them is refused."""
    written = json.dumps(options, ensure_ascii=False, default=str)
    if any(json.dumps(secret)[1:-1] in written for secret in secrets_of(model)):
        raise SetupError(
            f"agent '{name}': its options hold a secret, and options are written to disk: name the "
            "key's environment variable with api_key_env instead"
        )
