"""Reading what a LangChain chat model returns, whoever's integration wrote it.

Every integration has words of its own for why a reply ended and a place of its own for thinking.
They are put into the one shape that `openai_reply` reads, so that the states mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from peerexam.agents.hosted.openai.reply import read_reply
from peerexam.calls import Completion
from peerexam.errors import OverloadedError

_REASON_PLACES = ("finish_reason", "stop_reason", "stopReason", "done_reason", "finishReason")


def read_result(
    result: LLMResult,
    latency: float,
    dropped: tuple[str, ...] = (),
) -> Completion:
    """A completion from what `agenerate` returned for one prompt.

    Args:
        result: The result; what counts is the first generation of the first prompt.
        latency: Seconds that the call took.
        dropped: Parameters that were left out.

    Raises:
        OverloadedError: There is no generation in it, or it broke off with an error.
    """
    if not result.generations or not result.generations[0]:
        raise OverloadedError("the reply holds no choices")
    message = getattr(result.generations[0][0], "message", None)
    if not isinstance(message, BaseMessage):
        raise OverloadedError("the reply holds no message")
    return _read_message(message, latency, dropped)


def read_broken_off(
    error: Exception, latency: float, dropped: tuple[str, ...] = ()
) -> Completion | None:
    """The completion behind an error that is one: None where it is an error.

    OpenAI's SDK raises for a reply that was to be JSON and was cut or filtered; the first of the
    two errors holds the reply. For the other arguments see `read_result`.
    """
    if type(error).__name__ == "ContentFilterFinishReasonError":
        return Completion("", "filtered", "content_filter", latency=latency, dropped=dropped)
    dump = getattr(getattr(error, "completion", None), "model_dump", None)
    if type(error).__name__ != "LengthFinishReasonError" or not callable(dump):
        return None
    return read_reply(dump(), latency, dropped)


def _read_message(message: BaseMessage, latency: float, dropped: tuple[str, ...]) -> Completion:
    metadata = message.response_metadata
    extra = message.additional_kwargs
    text, thinking, refusal = _content(message.content)
    body = {
        "choices": [
            {
                "error": metadata.get("error"),
                "finish_reason": _reason(metadata),
                "message": {
                    "content": text,
                    "refusal": refusal or extra.get("refusal"),
                    "reasoning_content": thinking or extra.get("reasoning_content"),
                },
                "logprobs": _logprobs(metadata.get("logprobs")),
            }
        ],
        "usage": _usage(message, metadata),
        "model": metadata.get("model_name") or metadata.get("model"),
    }
    return read_reply(body, latency, dropped)


def _reason(metadata: Mapping[str, Any]) -> str | None:
    """Why the reply ended, in the provider's own word."""
    incomplete = metadata.get("incomplete_details")  # OpenAI's responses API
    if isinstance(incomplete, Mapping) and isinstance(incomplete.get("reason"), str):
        return str(incomplete["reason"])
    if metadata.get("status") == "failed":
        return "error"
    for place in _REASON_PLACES:
        value = metadata.get(place)
        word = getattr(value, "name", value)  # Google's is an enum
        if isinstance(word, str) and word:
            return word
    feedback = metadata.get("prompt_feedback")  # Google's, where the prompt was stopped
    if isinstance(feedback, Mapping) and feedback.get("block_reason"):
        return "content_filter"
    return None


def _content(content: Any) -> tuple[str, str | None, str | None]:
    """Text, thinking and refusal of a message's content: text, or a list of blocks."""
    if isinstance(content, str):
        return content, None, None
    parts: dict[str, list[str]] = {"text": [], "thinking": [], "refusal": []}
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            parts["text"].append(block)
        elif isinstance(block, Mapping):
            kind = str(block.get("type"))
            place = "thinking" if kind in ("thinking", "reasoning", "reasoning_content") else kind
            parts.get(place, []).append(_text_of(block))
    thinking = "\n\n".join(part for part in parts["thinking"] if part)
    return "".join(parts["text"]), thinking or None, "".join(parts["refusal"]) or None


def _text_of(block: Mapping[str, Any]) -> str:
    """The words of one block: under its type, or in a list of summaries."""
    for place in ("text", "thinking", "reasoning", "refusal"):
        value = block.get(place)
        if isinstance(value, str):
            return value
    inner = block.get("reasoning_content")  # Bedrock's
    if isinstance(inner, Mapping):
        return _text_of(inner)
    summaries = block.get("summary")  # OpenAI's responses API
    if isinstance(summaries, list):
        return "\n\n".join(_text_of(part) for part in summaries if isinstance(part, Mapping))
    return ""


def _usage(message: BaseMessage, metadata: Mapping[str, Any]) -> dict[str, Any]:
    told = metadata.get("token_usage")
    cost = told.get("cost") if isinstance(told, Mapping) else None  # OpenRouter's
    usage: Mapping[str, Any] = getattr(message, "usage_metadata", None) or {}
    counts = (usage.get("input_tokens"), usage.get("output_tokens"))
    if not any(counts):
        return {"cost": cost}  # an integration that was told nothing says 0
    details = usage.get("input_token_details") or {}
    written = usage.get("output_token_details") or {}
    return {
        "prompt_tokens": counts[0],
        "completion_tokens": counts[1],
        "total_tokens": usage.get("total_tokens"),
        "prompt_tokens_details": {"cached_tokens": details.get("cache_read")},
        "completion_tokens_details": {"reasoning_tokens": written.get("reasoning")},
        "cost": cost,
    }


def _logprobs(found: Any) -> Any:
    return {"content": found} if isinstance(found, list) else found
