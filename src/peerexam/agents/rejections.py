"""What a model server says when it does not answer, and which error of ours it is."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from peerexam.agents.wire import WireReply, unreadable
from peerexam.errors import (
    BadKeyError,
    CallError,
    CallTimeoutError,
    ContextTooLongError,
    OverloadedError,
    PermanentError,
    QuotaExhaustedError,
    RateLimitedError,
    RefusedParameterError,
    RetryableError,
    UnknownModelError,
)

_LONGEST_MESSAGE = 500
_CONTEXT = re.compile(
    r"context.?(length|size|window)|exceed_context|prompt is too long|input is too long"
    r"|too many (input )?tokens|max_new_tokens` must be",
    re.IGNORECASE,
)
_OUT_OF_MONEY = re.compile(r"insufficient.?(quota|funds|balance|credit)|billing", re.IGNORECASE)
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|model.{0,80}(does not exist|not found)", re.IGNORECASE
)
_FILTERED = re.compile(
    r"content_filter|content_policy_violation|ResponsibleAIPolicy|[Yy]our input was flagged"
)
_WORDS_TO_STATUS = (
    (re.compile(r"rate.?limit", re.IGNORECASE), 429),
    (re.compile(r"overload|server_error|timeout|unavailable|internal", re.IGNORECASE), 529),
    (re.compile(r"authentication|invalid_api_key", re.IGNORECASE), 401),
    (re.compile(r"permission", re.IGNORECASE), 403),
    (re.compile(r"invalid_request|unsupported|bad.?request", re.IGNORECASE), 400),
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """One error reply, read without trusting its shape.

    Attributes:
        status: The HTTP status, or the one that an error inside a 200 amounts to.
        message: What the server said, the key blotted out, at most 500 characters.
        code: The server's error code.
        kind: The server's error type.
        param: The parameter that it names.
        retry_after: Seconds that it asks to wait.
    """

    status: int
    message: str
    code: str = ""
    kind: str = ""
    param: str | None = None
    retry_after: float | None = None

    @property
    def words(self) -> str:
        """Code, type and message in one, to search in."""
        return f"{self.code} {self.kind} {self.message}"

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter stopped the prompt (Azure: a 400, OpenRouter: a 403)."""
        return self.status in (400, 403) and bool(_FILTERED.search(f"{self.code} {self.message}"))


def read_rejection(
    status: int, headers: Mapping[str, str], body: Any, blot: Callable[[str], str] = str
) -> Rejection:
    """Read an error reply.

    Args:
        status: The HTTP status; 200 where the error stands inside a reply.
        headers: The reply's headers.
        body: The decoded JSON, or the text.
        blot: Blots the key out of what the server says; see `blotter`.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    message, param = _message_and_parameter(error, fields)
    code, kind = _text(fields.get("code")), _text(fields.get("type"))
    if status < 300:
        status = _status_inside(code, f"{code} {kind} {message}")
    return Rejection(
        status=status,
        message=blot(message or f"HTTP status {status}")[:_LONGEST_MESSAGE],
        code=blot(code),
        kind=blot(kind),
        param=None if param is None else blot(param),
        retry_after=retry_after(headers),
    )


def rejection_in(
    reply: WireReply, body: Any, model: str, blot: Callable[[str], str]
) -> Rejection | None:
    """What a server said instead of answering, None where it answered.

    Args:
        reply: The whole reply.
        body: Its JSON, None where it is none.
        model: The model, for messages.
        blot: See `blotter`.

    Raises:
        OverloadedError: It is an answer by its status, and cannot be read.
    """
    if reply.status >= 300:
        said = reply.text if body is None else body
        return read_rejection(reply.status, reply.headers, said, blot)
    if body is None:
        raise unreadable(reply, model, blot(reply.text))
    if isinstance(body, dict) and body.get("error"):
        return read_rejection(200, reply.headers, body, blot)
    return None


def blotter(secrets: Sequence[str]) -> Callable[[str], str]:
    """Blots keys out of texts: servers repeat them in their messages, also in other spellings.

    Args:
        secrets: The longest first, so that no part of one is left standing.

    >>> blotter(["sk-1/2"])("bad key sk-1/2 or sk-1%2F2")
    'bad key [key] or [key]'
    """
    spellings = [
        spelling
        for secret in secrets
        for spelling in dict.fromkeys((secret, quote(secret), quote(secret, safe="")))
    ]

    def blot(text: str) -> str:
        for spelling in spellings:
            text = text.replace(spelling, "[key]")
        return text

    return blot


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After` (seconds or an HTTP date) or `retry-after-ms`, never < 0."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if not value:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            from email.utils import parsedate_to_datetime  # brings a whole mail library

            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def error_of(rejection: Rejection, model: str) -> CallError:
    """The error of ours that a rejection is."""
    message = f"{rejection.message} (HTTP {rejection.status}, model {model})"
    no_money = _OUT_OF_MONEY.search(f"{rejection.code} {rejection.kind}")
    if no_money or rejection.status == 402:
        return QuotaExhaustedError(f"no quota left: {message}")
    if _is_retryable(rejection.status):
        return _retryable(rejection.status)(message, rejection.retry_after)
    return _permanent(rejection)(message)


def naming(error: CallError, rejection: Rejection, parameter: str | None) -> CallError:
    """The error, as one of a refused parameter where one is known to be what was refused."""
    if parameter is None or type(error) is not PermanentError:
        return error
    if rejection.status not in (400, 422):
        return error
    return RefusedParameterError(f"parameter {parameter} refused: {error}", parameter)


def _is_retryable(status: int) -> bool:
    return status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505))


def _retryable(status: int) -> type[RetryableError]:
    special: dict[int, type[RetryableError]] = {
        408: CallTimeoutError,
        425: OverloadedError,
        429: RateLimitedError,
    }
    return special.get(status, OverloadedError)


def _permanent(rejection: Rejection) -> type[PermanentError]:
    if rejection.status in (401, 403):
        return BadKeyError
    if rejection.status in (400, 404, 422) and _UNKNOWN_MODEL.search(rejection.words):
        return UnknownModelError
    if rejection.status == 404:
        return UnknownModelError
    if rejection.status == 413 or _CONTEXT.search(rejection.words):
        return ContextTooLongError
    return PermanentError


def _status_inside(code: str, words: str) -> int:
    """What an error inside a 200 amounts to; unknown ones count as the server's own trouble."""
    if code.isdigit() and 400 <= int(code) < 600:
        return int(code)
    return next((status for words_of, status in _WORDS_TO_STATUS if words_of.search(words)), 500)


def _message_and_parameter(error: Any, fields: Mapping[str, Any]) -> tuple[str, str | None]:
    detail = fields.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], Mapping):
        place = detail[0].get("loc")  # FastAPI: {"detail": [{"loc": ["body", "seed"], "msg": …}]}
        named = _text(place[-1]) if isinstance(place, list) and place else None
        return f"{_text(detail[0].get('msg'))} ({named})", named
    if isinstance(error, str):
        return error.strip(), None
    message = _text(fields.get("message") or detail or fields.get("code") or fields.get("type"))
    param = fields.get("param")
    return message, param if isinstance(param, str) and param else None


def _text(value: Any) -> str:
    return "" if value is None else str(value)
