"""Reading a chat completion, whoever's server wrote it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from peerexam.agents.hosted.finish_reasons import Ending, ending_of, kept
from peerexam.agents.hosted.usage import dollars, tokens
from peerexam.agents.thinking import split_thinking
from peerexam.calls import Completion, State, TokenLogprob, Usage
from peerexam.errors import OverloadedError

LEAST_LOGPROB = -9999.0
"""What the OpenAI API writes for a token too unlikely to have a number."""

_LONGEST_NAME = 200


def read_reply(body: Any, latency: float, dropped: tuple[str, ...] = ()) -> Completion:
    """A completion from a reply's JSON.

    A refusal, a filtered, an empty and a cut reply are completions with that state.

    Args:
        body: The decoded JSON of an HTTP 200 that holds no error.
        latency: Seconds from sending to the last byte.
        dropped: Parameters that were left out.

    Raises:
        OverloadedError: There is no choice in it, or the choice broke off with an error; what
            text there is, is half an answer and is thrown away.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise OverloadedError("the reply holds no choices")
    choice: Mapping[str, Any] = choices[0]
    finish = choice.get("finish_reason")
    ending = ending_of(finish)
    if choice.get("error") or ending == "broken":
        raise OverloadedError(f"the reply broke off: {_reason(choice.get('error') or finish)}")
    message = choice.get("message")
    message = message if isinstance(message, dict) else {"content": choice.get("text")}
    content, thought_apart = _content(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    thinking, text, unclosed = split_thinking(content, apart=bool(reasoning or thought_apart))
    refusal = message.get("refusal")
    state = state_of(text, ending, unclosed)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        text=text or (refusal if isinstance(refusal, str) else ""),
        state="refused" if _is_text(refusal) and ending != "filtered" else state,
        finish_reason=kept(finish),
        usage=_usage(usage),
        latency=latency,
        thinking=_joined(reasoning, thought_apart, thinking),
        logprobs=_logprobs(choice.get("logprobs")),
        model=body["model"][:_LONGEST_NAME] if isinstance(body.get("model"), str) else None,
        dropped=dropped,
        cost=dollars(usage.get("cost")),
    )


def state_of(text: str, ending: Ending, unclosed: bool) -> State:
    """The state of a reply.

    Args:
        text: The answer, its thinking taken off.
        ending: Why it ended.
        unclosed: It ended within its thinking.
    """
    if ending == "filtered" or ending == "refused":
        return ending
    if ending == "truncated" or unclosed:
        return "truncated"
    return "ok" if text.strip() else "empty"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _content(content: Any) -> tuple[str, str | None]:
    """Text and thinking of a message's content, which may be null, text, or a list of parts."""
    if isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        return "", None
    parts = [part for part in content if isinstance(part, dict)]
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    thoughts = [_content(part["thinking"])[0] for part in parts if "thinking" in part]
    return text, "".join(thoughts) or None


def _joined(*parts: Any) -> str | None:
    return "\n\n".join(part for part in parts if isinstance(part, str) and part) or None


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt_tokens=tokens(usage.get("prompt_tokens")),
        completion_tokens=_written(usage),
        cached_tokens=tokens(usage.get("prompt_cache_hit_tokens") if cached is None else cached),
    )


def _written(usage: Mapping[str, Any]) -> int | None:
    """Tokens that the model wrote, its thinking included, as they are billed.

    Some servers count thinking apart from the completion: then the total is more than prompt and
    completion, or the thinking is more than the completion that should hold it.
    """
    prompt, answer, total = (
        tokens(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    details = usage.get("completion_tokens_details")
    inner = details.get("reasoning_tokens") if isinstance(details, dict) else None
    thought = tokens(usage.get("reasoning_tokens") if inner is None else inner) or 0
    if prompt is not None and total is not None and total > prompt + (answer or 0):
        return total - prompt
    return answer + thought if answer is not None and thought > answer else answer


def _logprobs(found: Any) -> tuple[TokenLogprob, ...] | None:
    if not isinstance(found, dict):
        return None
    content = found.get("content")
    if isinstance(content, list):
        pairs = [(e.get("token"), e.get("logprob")) for e in content if isinstance(e, dict)]
    elif isinstance(found.get("tokens"), list) and isinstance(found.get("token_logprobs"), list):
        pairs = list(zip(found["tokens"], found["token_logprobs"], strict=False))
    else:
        return None
    return tuple(
        TokenLogprob(token if isinstance(token, str) else "", _logprob(value))
        for token, value in pairs
    )


def _logprob(value: Any) -> float:
    # Not isfinite: that cannot take 10**400, which JSON can hold.
    known = isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return float(value) if known else LEAST_LOGPROB


def _reason(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) and message else "no reason given"
