"""What a model server says when it does not answer, and which error of ours it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from peerexam.agents.hosted.retry_after import wait_asked_for
from peerexam.agents.hosted.transport.base import WireReply, unreadable
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
_LONGEST_READ = 100_000
_LONGEST_WORD = 200
_DEEPEST = 4
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

    Its texts are the server's own, so that they can be matched; who shows or keeps one redacts keys
    in it first.

    Attributes:
        status: The HTTP status, or the one that an error inside a 200 amounts to.
        message: What the server said.
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


def read_rejection(status: int, headers: Mapping[str, str], body: Any) -> Rejection:
    """Read an error reply.

    Args:
        status: The HTTP status; 200 where the error stands inside a reply.
        headers: The reply's headers.
        body: The decoded JSON, or the text.
    """
    error = _error_in(body)
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    message, param = _message_and_parameter(error, fields)
    code, kind = (_text(fields.get(name))[:_LONGEST_WORD] for name in ("code", "type"))
    kind = kind or _text(fields.get("status"))[:_LONGEST_WORD]  # Google's RESOURCE_EXHAUSTED
    if status < 300:
        status = _status_inside(code, f"{code} {kind} {message}")
    return Rejection(
        status=status,
        message=message or f"HTTP status {status}",
        code=code,
        kind=kind,
        param=param,
        retry_after=wait_asked_for(status, headers, error, message),
    )


def rejection_in(
    reply: WireReply, body: Any, model: str, redact: Callable[[str], str]
) -> Rejection | None:
    """What a server said instead of answering, None where it answered.

    Args:
        reply: The whole reply.
        body: Its JSON, None where it is none.
        model: The model, for messages.
        redact: Redacts keys in what is quoted.

    Raises:
        OverloadedError: It is an answer by its status, and cannot be read.
    """
    if reply.status >= 300:
        said = reply.text if body is None else body
        return read_rejection(reply.status, reply.headers, said)
    if body is None:
        raise unreadable(reply, model, redact(reply.text[:_LONGEST_READ]))
    return read_rejection(200, reply.headers, body) if _tells_of_an_error(body) else None


def error_of(rejection: Rejection, model: str, redact: Callable[[str], str] = str) -> CallError:
    """The error of ours that a rejection is.

    Args:
        rejection: What the server said.
        model: The model, for the message.
        redact: Redacts keys in the message, which is cut after that at 500 characters.
    """
    said = redact(rejection.message)[:_LONGEST_MESSAGE]
    message = f"{said} (HTTP {rejection.status}, model {model})"
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
    if re.fullmatch(r"[45][0-9][0-9]", code):
        return int(code)
    return next((status for words_of, status in _WORDS_TO_STATUS if words_of.search(words)), 500)


def _tells_of_an_error(body: Any) -> bool:
    """Whether an HTTP 200 holds an error, bare or in a list."""
    if isinstance(body, list):
        return any(isinstance(part, Mapping) and part.get("error") for part in body)
    return isinstance(body, Mapping) and bool(body.get("error"))


def _error_in(body: Any) -> Any:
    """The error itself: under `error` or `errors`, in a list, or the body as it is."""
    found = body
    for _ in range(_DEEPEST):
        inner: Any = None
        if isinstance(found, list):
            objects = [part for part in found if isinstance(part, Mapping)]
            inner = next((part for part in objects if part.get("error")), None)
            inner = inner or next(iter(objects or found), "")
        elif isinstance(found, Mapping):
            inner = found.get("error") or found.get("errors")
            if isinstance(inner, str):  # {"error": KIND, "message": …}, or the words alone
                return {"type" if found.get("message") else "message": inner, **found}
        if not inner:
            break
        found = inner
    return found


def _message_and_parameter(error: Any, fields: Mapping[str, Any]) -> tuple[str, str | None]:
    detail = fields.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], Mapping):
        place = detail[0].get("loc")  # FastAPI: {"detail": [{"loc": ["body", "seed"], "msg": …}]}
        named = _text(place[-1]) if isinstance(place, list) and place else None
        return f"{_text(detail[0].get('msg'))} ({named})", named
    if isinstance(error, str):
        return error.strip()[:_LONGEST_READ], None
    message = _text(fields.get("message") or detail or fields.get("code") or fields.get("type"))
    metadata = fields.get("metadata")  # OpenRouter: "Provider returned error", and what it was
    if isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"[:_LONGEST_READ]
    param = fields.get("param")
    return message, param if isinstance(param, str) and param else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value[:_LONGEST_READ]
    try:
        return "" if value is None else str(value)[:_LONGEST_READ]
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list in a list in …
        return ""


def refused_parameter(rejection: Rejection, sent: Mapping[str, Any]) -> str | None:
    """The parameter of ours that a refusal names, by its `param` or in its words."""
    names = [name for name in sent if name not in ("messages", "prompt", "model")]
    if rejection.param is not None:
        param = rejection.param.split(".")[-1] if rejection.param not in names else rejection.param
        return param if param in names else None
    places = {
        name: found.start()
        for name in names
        if (found := re.search(rf"\b{re.escape(name)}\b", rejection.message))
    }
    return min(places, key=places.__getitem__) if places else None
