"""What the server sends for each fault."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from peerexam.testing.faults.kinds import Conditions, Fault
from peerexam.testing.faults.wording import HALF, Dialect, answer, error, page, stream

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server does with one request.

    Attributes:
        body: Sent as JSON where it is a dict or list, as text or bytes otherwise.
        status: HTTP status.
        headers: Added to `content-type` and `content-length`, or in their place.
        delay: Seconds before anything is sent.
        drip: Seconds over which the body is spread.
        sent: The part of the body that is really sent, 1 is all; the length that is promised
            stays. What happens then is `reset` or an orderly close.
        reset: The connection ends with a TCP reset: before the answer where `sent` is 0.
        hang: Nothing is ever sent.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    sent: float = 1.0
    reset: bool = False
    hang: bool = False

    def encoded(self) -> tuple[bytes, bytes]:
        """The head and the body as bytes."""
        body = self.body
        kind = JSON_TYPE if isinstance(body, dict | list) else "text/plain"
        if isinstance(body, dict | list):
            body = json.dumps(body, ensure_ascii=False)
        data = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
        headers = {"content-type": kind, "content-length": str(len(data)), **self.headers}
        lines = [f"HTTP/1.1 {self.status} X", *(f"{n}: {v}" for n, v in headers.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1", "replace"), data


def reply_for(
    fault: Fault, dialect: Dialect, conditions: Conditions | None = None, secrets: str = ""
) -> Reply:
    """What a fault looks like in one API's words.

    Args:
        fault: The fault.
        dialect: Whose words.
        conditions: The numbers in it.
        secrets: What the client sent that may be secret, for `Conditions.echo_key`.

    Raises:
        ValueError: No reply is that fault: no server listens.
    """
    conditions = conditions or Conditions()
    made = _MAKERS.get(fault)
    if made is None:
        raise ValueError(f"{fault} comes before any request: call stop_listening() on the server")
    echo = f" (you sent {secrets})" if conditions.echo_key and secrets else ""
    return made(_Context(dialect, conditions, echo))


@dataclass(frozen=True, slots=True)
class _Context:
    """What a maker of replies may need to know."""

    dialect: Dialect
    conditions: Conditions
    echo: str

    def answer(self, text: str | None, finish: str | None = None, **message: Any) -> dict[str, Any]:
        return answer(self.dialect, text, finish, **message)

    def error(
        self, kind: str, words: str, code: str | None = None, param: str | None = None
    ) -> dict[str, Any]:
        return error(self.dialect, kind, words + self.echo, code, param)

    @property
    def is_anthropic(self) -> bool:
        return self.dialect == "anthropic"


_Maker = Callable[[_Context], Reply]


def _rate_limit(headers: Callable[[Conditions], Mapping[str, str]]) -> _Maker:
    def made(context: _Context) -> Reply:
        kind = "rate_limit_error" if context.is_anthropic else "requests"
        body = context.error(kind, "Rate limit reached.", "rate_limit_exceeded")
        return Reply(body, 429, headers(context.conditions))

    return made


def _date_after(seconds: float) -> str:
    return formatdate(math.ceil(time.time() + seconds), usegmt=True)


def _quota(context: _Context) -> Reply:
    if context.is_anthropic:
        words = (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
            "Billing to upgrade or purchase credits."
        )
        return Reply(context.error("invalid_request_error", words), 400)
    words = "You exceeded your current quota, please check your plan and billing details."
    return Reply(context.error("insufficient_quota", words, "insufficient_quota"), 429)


def _failure(status: int, openai: str, anthropic: str, words: str) -> _Maker:
    def made(context: _Context) -> Reply:
        return Reply(context.error(anthropic if context.is_anthropic else openai, words), status)

    return made


def _overload_in_200(context: _Context) -> Reply:
    return Reply(context.error("overloaded_error", "Overloaded"))


def _half_answer(context: _Context) -> Reply:
    return Reply(context.answer(HALF) | context.error("overloaded_error", "Overloaded"))


def _truncated(context: _Context) -> Reply:
    text = json.dumps(context.answer("The capital is Paris." + context.echo))
    return Reply(text[: 2 * len(text) // 3], headers={"content-type": JSON_TYPE})


def _malformed(context: _Context) -> Reply:
    return Reply(f'{{"text": [}}{context.echo}', headers={"content-type": JSON_TYPE})


def _empty(context: _Context) -> Reply:
    body = context.answer("")
    return Reply(body | {"content": None} if context.is_anthropic else body | {"choices": []})


def _cut_off(context: _Context) -> Reply:
    return Reply(context.answer(None, "max_tokens" if context.is_anthropic else "length"))


def _filtered(context: _Context) -> Reply:
    return _filtered_400(context) if context.is_anthropic else Reply(context.answer(None, _FILTER))


def _filtered_400(context: _Context) -> Reply:
    if context.is_anthropic:
        words = "Output blocked by content filtering policy"
        return Reply(context.error("invalid_request_error", words), 400)
    words = "The response was filtered due to the prompt triggering the content policy."
    return Reply(context.error("", words, _FILTER, "prompt"), 400)


def _refusal(context: _Context) -> Reply:
    if context.is_anthropic:
        return Reply(context.answer("I must", "refusal"))
    return Reply(context.answer(None, refusal="I cannot help with that."))


def _too_long(context: _Context) -> Reply:
    if context.is_anthropic:
        words = "prompt is too long: 208310 tokens > 200000 maximum"
        return Reply(context.error("invalid_request_error", words), 400)
    words = "This model's maximum context length is 8192 tokens, and your messages have 9001."
    return Reply(
        context.error("invalid_request_error", words, "context_length_exceeded", "messages"), 400
    )


def _bad_key(context: _Context) -> Reply:
    if context.is_anthropic:
        return Reply(context.error("authentication_error", "invalid x-api-key"), 401)
    words = "Incorrect API key provided."
    return Reply(context.error("invalid_request_error", words, "invalid_api_key"), 401)


def _unknown_model(context: _Context) -> Reply:
    if context.is_anthropic:
        return Reply(context.error("not_found_error", "model: no-such-model"), 404)
    words = "The model `no-such-model` does not exist or you do not have access to it."
    return Reply(context.error("invalid_request_error", words, "model_not_found"), 404)


def _no_temperature(context: _Context) -> Reply:
    if context.is_anthropic:
        words = "`temperature` is deprecated for this model."
        return Reply(context.error("invalid_request_error", words), 400)
    words = "Unsupported value: 'temperature' does not support 0 with this model."
    return Reply(
        context.error("invalid_request_error", words, "unsupported_value", "temperature"), 400
    )


def _no_max_tokens(context: _Context) -> Reply:
    if context.is_anthropic:
        words = "max_tokens: 50 > 16, which is the maximum allowed number of output tokens"
        return Reply(context.error("invalid_request_error", words), 400)
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    return Reply(
        context.error("invalid_request_error", words, "unsupported_parameter", "max_tokens"), 400
    )


def _usage_missing(context: _Context) -> Reply:
    body = context.answer("The capital is Paris.")
    del body["usage"]
    return Reply(body)


def _drip(seconds: Callable[[Conditions], float]) -> _Maker:
    return lambda context: Reply(
        context.answer("The capital is Paris."), drip=seconds(context.conditions)
    )


def _broken_off(sent: float, reset: bool) -> _Maker:
    return lambda context: Reply(context.answer("The capital is Paris."), sent=sent, reset=reset)


_FILTER = "content_filter"

_MAKERS: Mapping[Fault, _Maker] = {
    Fault.RATE_LIMIT_SECONDS: _rate_limit(lambda c: {"retry-after": f"{c.retry_after:g}"}),
    Fault.RATE_LIMIT_DATE: _rate_limit(lambda c: {"retry-after": _date_after(c.retry_after)}),
    Fault.RATE_LIMIT_MS: _rate_limit(lambda c: {"retry-after-ms": f"{c.retry_after * 1000:g}"}),
    Fault.RATE_LIMIT_FAR: _rate_limit(lambda c: {"retry-after": f"{c.far_retry_after:g}"}),
    Fault.QUOTA_EXHAUSTED: _quota,
    Fault.SERVER_ERROR: _failure(500, "server_error", "api_error", "Internal server error"),
    Fault.BAD_GATEWAY: lambda context: Reply(
        page("502 Bad Gateway", context.echo), 502, {"content-type": "text/html"}
    ),
    Fault.UNAVAILABLE: _failure(503, "server_error", "api_error", "Service unavailable"),
    Fault.OVERLOADED: _failure(529, "overloaded_error", "overloaded_error", "Overloaded"),
    Fault.RESET_BEFORE_ANSWER: _broken_off(0.0, reset=True),
    Fault.RESET_MID_BODY: _broken_off(0.5, reset=True),
    Fault.CLOSED_MID_BODY: _broken_off(0.5, reset=False),
    Fault.HANG: lambda context: Reply(hang=True),
    Fault.DRIP_TOO_SLOW: _drip(lambda conditions: conditions.slow_drip),
    Fault.DRIP_IN_TIME: _drip(lambda conditions: conditions.drip),
    Fault.TRUNCATED_JSON: _truncated,
    Fault.MALFORMED_JSON: _malformed,
    Fault.HTML_PAGE: lambda context: Reply(
        page("Please log in", context.echo), headers={"content-type": "text/html"}
    ),
    Fault.EMPTY_CHOICES: _empty,
    Fault.OVERLOAD_IN_200: _overload_in_200,
    Fault.HALF_ANSWER_IN_200: _half_answer,
    Fault.UNASKED_STREAM: lambda context: Reply(
        stream(context.dialect, context.echo), headers={"content-type": "text/event-stream"}
    ),
    Fault.USAGE_MISSING: _usage_missing,
    Fault.NULL_CONTENT: lambda context: Reply(context.answer(None)),
    Fault.CUT_OFF: _cut_off,
    Fault.CONTENT_FILTER: _filtered,
    Fault.CONTENT_FILTER_400: _filtered_400,
    Fault.REFUSAL: _refusal,
    Fault.CONTEXT_TOO_LONG: _too_long,
    Fault.BAD_KEY: _bad_key,
    Fault.FORBIDDEN: _failure(
        403, "permission_error", "permission_error", "You have no access to this model."
    ),
    Fault.UNKNOWN_MODEL: _unknown_model,
    Fault.REFUSED_TEMPERATURE: _no_temperature,
    Fault.REFUSED_MAX_TOKENS: _no_max_tokens,
}
