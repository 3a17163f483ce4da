"""Any agent as a LangChain chat model, so that it can stand in someone's chain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from pydantic import Field, SkipValidation

from peerexam.agents.base import Agent
from peerexam.agents.langchain.background_loop import CHAINS
from peerexam.agents.pricing.token_estimate import tokens_of
from peerexam.calls import (
    Completion,
    Form,
    Json,
    Message,
    Request,
    Role,
    Sampling,
    Usage,
    canonical_json,
    completion_from_json,
    completion_to_json,
)
from peerexam.errors import PermanentError, RefusedParameterError

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_NO_WORDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_IGNORED = frozenset({"stream", "run_id"})
_OWN = "peerexam"  # in `response_metadata`: the whole completion


class PeerexamChatModel(BaseChatModel):
    """A LangChain chat model whose answers an agent gives.

    All calls are made on one event loop in a thread of their own, so that `invoke`, `batch`,
    `ainvoke` and `abatch` may be mixed, also inside of a running loop. A message carries

    - `content`: the answer; thinking is in `additional_kwargs["reasoning_content"]`, and the words
      of a refusal in `additional_kwargs["refusal"]` too;
    - `usage_metadata`: tokens, where the agent knows them;
    - `response_metadata`: `state` (ok, refused, filtered, truncated, empty), `finish_reason`,
      `model_name`, `dropped` (parameters left out), `logprobs`, and under `peerexam` the whole
      completion as JSON, with its ledger key.

    A call that failed raises the agent's `CallError`. Chains that retry may retry
    `peerexam.errors.RetryableError`.

    Attributes:
        agent: Who answers.
        temperature: How tokens are drawn, as for the next three; None leaves it to the agent.
        top_p: Nucleus.
        max_tokens: Upper limit on the reply's tokens.
        seed: For agents that can be seeded.
        top_logprobs: Ask for each token's log-probability and so many alternatives.
    """

    agent: SkipValidation[Any] = Field(repr=False)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_logprobs: int | None = None

    def close(self) -> None:
        """Close the agent, from a plain function."""
        CHAINS.run(self.agent.close())

    async def aclose(self) -> None:
        """Close the agent."""
        await CHAINS.arun(self.agent.close())

    def get_num_tokens(self, text: str) -> int:
        """Tokens of a text, estimated by its bytes."""
        return tokens_of(text)

    @property
    def _llm_type(self) -> str:
        return "peerexam"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        sampling = {name: getattr(self, name) for name in _FIELDS}
        return {"fingerprint": dict(self.agent.fingerprint), **sampling}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs)
        return _result(CHAINS.run(self.agent.complete(request)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs)
        return _result(await CHAINS.arun(self.agent.complete(request)))

    def _request(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: Mapping[str, Any]
    ) -> Request:
        given = {name: value for name, value in kwargs.items() if name not in _IGNORED}
        sampling: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        for name in _LIMITS:
            if name in given:
                sampling["max_tokens"] = given.pop(name)
        sampling |= {name: given.pop(name) for name in _FIELDS if name in given}
        if given.pop("logprobs", None) and sampling["top_logprobs"] is None:
            sampling["top_logprobs"] = 0
        draw = given.pop("draw", 0)
        form = _form(given.pop("response_format", None))
        for name, value in given.items():
            if value is not None:
                raise RefusedParameterError(f"a peerexam agent takes no '{name}'", name)
        return Request(
            tuple(_turn(message) for message in messages),
            Sampling(stop=tuple(stop or ()), form=form, **sampling),
            draw=draw,
        )


_FIELDS = ("temperature", "top_p", "max_tokens", "seed", "top_logprobs")


def as_chat_model(
    agent: Agent,
    *,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> PeerexamChatModel:
    """An agent as a LangChain chat model.

    What is given here is the default of every call; `bind` and the call's own keywords come
    before it. The layers round an agent come along: `stack.assemble` gives one
    that retries, keeps to limits, and answers from a ledger.

    Args:
        agent: Who answers.
        temperature: None leaves it to the agent, as for the others.
        top_p: Nucleus.
        max_tokens: Upper limit on the reply's tokens.
        seed: For agents that can be seeded.
    """
    return PeerexamChatModel(
        agent=agent, temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed
    )


def completion_in(result: LLMResult) -> Completion:
    """The completion that a `PeerexamChatModel` put into its message."""
    generation = result.generations[0][0]
    if not isinstance(generation, ChatGeneration):
        raise TypeError("this result is not a chat model's")
    told: Mapping[str, Json] = generation.message.response_metadata[_OWN]
    return completion_from_json(told, str(told.get("call", "")))


def _result(completion: Completion) -> ChatResult:
    extra: dict[str, Any] = {}
    if completion.thinking is not None:
        extra["reasoning_content"] = completion.thinking
    if completion.state == "refused":
        extra["refusal"] = completion.text
    metadata: dict[str, Any] = {
        "model_provider": "peerexam",
        "model_name": completion.model,
        "finish_reason": completion.finish_reason,
        "state": completion.state,
        "dropped": list(completion.dropped),
        _OWN: completion_to_json(completion) | {"call": completion.call},
    }
    if completion.logprobs is not None:
        entries = [{"token": one.token, "logprob": one.logprob} for one in completion.logprobs]
        metadata["logprobs"] = {"content": entries}
    message = AIMessage(
        content=completion.text,
        additional_kwargs=extra,
        response_metadata=metadata,
        usage_metadata=_usage(completion.usage),
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage(usage: Usage) -> UsageMetadata | None:
    """LangChain's usage has no "unknown", so that an unknown one is left out whole."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    told = UsageMetadata(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        total_tokens=usage.total,
    )
    if usage.cached_tokens is not None:
        told["input_token_details"] = InputTokenDetails(cache_read=usage.cached_tokens)
    return told


def _turn(message: BaseMessage) -> Message:
    kind = str(getattr(message, "role", message.type))  # a ChatMessage says its role
    role = _ROLES.get(kind)
    if role is None or getattr(message, "tool_calls", None):
        what = f"a {kind} message" if role is None else "an ai message with tool calls"
        raise PermanentError(
            f"a peerexam agent takes {what} in no conversation: send system, human and ai "
            "messages of text"
        )
    return Message(role, _text(message.content, kind))


def _text(content: str | Sequence[Any], kind: str) -> str:
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content:
        words = block.get("text") if isinstance(block, Mapping) else block
        if isinstance(words, str):
            parts.append(words)
        elif not isinstance(block, Mapping) or block.get("type") not in _NO_WORDS:
            what = block.get("type") if isinstance(block, Mapping) else type(block).__name__
            raise PermanentError(
                f"a peerexam agent takes text, and the {kind} message holds a part '{what}'"
            )
    return "".join(parts)


def _form(response_format: Any) -> Form | None:
    """The form that OpenAI's `response_format` names; LangChain's integrations take the same."""
    if response_format is None:
        return None
    described = response_format.get("json_schema") if isinstance(response_format, Mapping) else None
    schema = described.get("schema") if isinstance(described, Mapping) else None
    if not isinstance(schema, Mapping):
        raise RefusedParameterError(
            "a peerexam agent takes response_format as {'type': 'json_schema', 'json_schema': "
            "{'schema': …}}",
            "response_format",
        )
    try:
        return Form("json_schema", canonical_json(json.loads(json.dumps(dict(schema)))))
    except (TypeError, ValueError):
        raise RefusedParameterError("the schema is no JSON", "response_format") from None
