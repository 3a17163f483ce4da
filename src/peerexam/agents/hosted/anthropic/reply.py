"""Reading a reply of Anthropic's Messages API, and what it says when it does not answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from peerexam.agents.hosted.finish_reasons import ending_of, kept
from peerexam.agents.hosted.openai.reply import state_of
from peerexam.agents.hosted.rejections import Rejection, error_of
from peerexam.agents.hosted.usage import tokens
from peerexam.agents.thinking import split_thinking
from peerexam.calls import Completion, Usage
from peerexam.errors import CallError, ContextTooLongError, OverloadedError, QuotaExhaustedError

_FILTERED = re.compile(r"blocked by content filtering", re.IGNORECASE)
_CONTEXT = re.compile(r"prompt is too long|exceed context limit", re.IGNORECASE)
_OUT_OF_MONEY = re.compile(r"credit balance|(spend|usage) limits?\b", re.IGNORECASE)


def read_message(body: Any, latency: float, dropped: tuple[str, ...] = ()) -> Completion:
    """A completion from a reply's JSON.

    A refusal, an empty and a cut reply are completions with that state. A paused turn counts as
    cut. Redacted thinking has no words, and is left out.

    Args:
        body: The decoded JSON of an HTTP 200 that holds no error.
        latency: Seconds from sending to the last byte.
        dropped: Parameters that were left out.

    Raises:
        OverloadedError: There is no content in it, or it broke off with an error.
    """
    blocks = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(blocks, list):
        raise OverloadedError("the reply holds no content")
    reason = body.get("stop_reason")
    ending = ending_of(reason)
    if ending == "broken":
        raise OverloadedError(f"the reply broke off: {kept(reason)}")
    apart = _texts(blocks, "thinking")
    thinking, text, unclosed = split_thinking("".join(_texts(blocks, "text")), apart=bool(apart))
    thoughts = [*apart, *([thinking] if thinking else [])]
    usage = body.get("usage")
    return Completion(
        text=text or (_explanation(body) if ending == "refused" else ""),
        state=state_of(text, ending, unclosed),
        finish_reason=kept(reason),
        usage=_usage(usage if isinstance(usage, Mapping) else {}),
        latency=latency,
        thinking="\n\n".join(thoughts) or None,
        model=body["model"] if isinstance(body.get("model"), str) else None,
        dropped=dropped,
    )


def is_filtered(rejection: Rejection) -> bool:
    """Whether a content filter stopped the answer, which the API tells as a 400."""
    said = rejection.status == 400 and _FILTERED.search(rejection.message)
    return rejection.is_filtered or bool(said)


def failure_of(rejection: Rejection, model: str, redact: Callable[[str], str] = str) -> CallError:
    """The error of ours that a rejection is; for the arguments see `error_of`."""
    error = error_of(rejection, model, redact)
    if isinstance(error, QuotaExhaustedError):
        return error
    if rejection.status in (400, 403, 429) and _OUT_OF_MONEY.search(rejection.message):
        return QuotaExhaustedError(f"no quota left: {error}")
    if rejection.status in (400, 413) and _CONTEXT.search(rejection.message):
        return ContextTooLongError(str(error))
    return error


def _texts(blocks: list[Any], kind: str) -> list[str]:
    """The words of all blocks of a kind: a block's field has its kind's name."""
    return [
        block[kind]
        for block in blocks
        if isinstance(block, Mapping)
        and block.get("type") == kind
        and isinstance(block.get(kind), str)
    ]


def _explanation(body: Mapping[str, Any]) -> str:
    details = body.get("stop_details")
    words = details.get("explanation") if isinstance(details, Mapping) else None
    return words if isinstance(words, str) else ""


def _usage(usage: Mapping[str, Any]) -> Usage:
    """The API counts cached prompt tokens apart; here they are part of the prompt's."""
    fresh, read, written = (
        tokens(usage.get(name))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        completion_tokens=tokens(usage.get("output_tokens")),
        cached_tokens=read,
    )
