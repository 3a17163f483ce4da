"""What a LangChain call raised, and which error of ours it is.

LangChain passes on what the SDK below it raises, and there are dozens of SDKs. So errors are read
by what they carry (a status, a response, a body), by the names of their classes where they carry
nothing, and by LangChain's own classes; no SDK is imported for it.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core import exceptions as langchain

from peerexam.agents.hosted.rejections import Rejection, read_rejection
from peerexam.agents.hosted.transport.base import causes_in, unconnected
from peerexam.errors import (
    BadKeyError,
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    ContextTooLongError,
    OverloadedError,
    PermanentError,
    RateLimitedError,
    UnknownModelError,
)

Redactor = Callable[[str], str]

_LONGEST = 300
_DEEPEST = 8  # causes followed
_OF_LANGCHAIN: tuple[tuple[type[Exception], type[CallError]], ...] = (
    (langchain.ContextOverflowError, ContextTooLongError),
    (langchain.ModelAuthenticationError, BadKeyError),
    (langchain.ModelPermissionDeniedError, BadKeyError),
    (langchain.ModelNotFoundError, UnknownModelError),
    (langchain.ModelRateLimitError, RateLimitedError),
    (langchain.ModelTimeoutError, CallTimeoutError),
    (langchain.ModelConnectionError, ConnectionFailedError),
    (langchain.ModelAPIError, OverloadedError),
)
_TIMED_OUT = frozenset(
    {
        "TimeoutError",
        "TimeoutException",  # httpx
        "APITimeoutError",
        "Timeout",  # requests
        "ConnectTimeoutError",  # botocore
        "ReadTimeoutError",
        "DeadlineExceeded",  # Google
    }
)
_NO_CONNECTION = frozenset(
    {
        "ConnectionError",
        "APIConnectionError",
        "TransportError",  # httpx
        "ClientConnectionError",  # aiohttp
        "ClientPayloadError",
        "HTTPClientError",  # botocore
        "gaierror",
    }
)
_READS_A_REPLY = frozenset(
    {
        "_create_chat_result",
        "_format_output",
        "_aparse",
        "_construct_lc_result_from_responses_api",
        "_response_to_result",
        "_parse_response",
        "_convert_dict_to_message",
    }
)
"""Functions of LangChain's integrations that turn a reply into a message. What is raised in them
is about a reply that is not what it should be."""


def read_failure(error: Exception, model: str, redactor: Redactor) -> Rejection | CallError:
    """What the integration raised: an error reply to be read further, or an error of ours.

    Args:
        error: What was raised.
        model: The model's name, for the message.
        redactor: Redacts keys in texts.
    """
    links = list(_links(error))
    told = next((link for link in links if _status(link) is not None), None)
    status = None if told is None else _status(told)
    if told is not None and status is not None and status >= 400:
        rejection = read_rejection(status, _headers(told), _body(told))
        if isinstance(error, langchain.ContextOverflowError):  # in whatever words
            return ContextTooLongError(
                f"{redactor(rejection.message)[:_LONGEST]} (HTTP {status}, model {model})"
            )
        return rejection
    known = _known(error, links, model, redactor)
    if known is not None:
        return known
    if isinstance(error, ValueError) and error.args and isinstance(error.args[0], Mapping):
        return read_rejection(200, {}, {"error": error.args[0]})  # an error inside a 200
    if told is not None or _is_about_the_reply(error):
        return OverloadedError(f"{model}'s reply cannot be read: {_unread(error, redactor)}")
    return PermanentError(_words(error, model, redactor))


def _known(
    error: Exception, links: Sequence[BaseException], model: str, redactor: Redactor
) -> CallError | None:
    """The error of ours for what never came to a reply; None where it did, or nobody knows."""
    refused = next((link for link in links if isinstance(link, PermanentError)), None)
    if refused is not None:  # a redirect, by `sdk.http_client`
        return PermanentError(redactor(str(refused)))
    kind = _by_class(links)
    if kind is CallTimeoutError:
        return CallTimeoutError(f"no reply from {model} in time")
    if kind is ConnectionFailedError:
        return unconnected(_words(links[-1], model, redactor), causes_in(error))
    return None if kind is None else kind(_words(links[-1], model, redactor))


def _by_class(links: Sequence[BaseException]) -> type[CallError] | None:
    """The error of ours that the classes of an error and its causes stand for."""
    names = {kind.__name__ for link in links for kind in type(link).__mro__}
    if names & _TIMED_OUT:
        return CallTimeoutError
    if names & _NO_CONNECTION:
        return ConnectionFailedError
    return next((ours for theirs, ours in _OF_LANGCHAIN if isinstance(links[0], theirs)), None)


def _links(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, the nearest first."""
    link: BaseException | None = error
    for _ in range(_DEEPEST):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error carries."""
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    candidates = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None,  # botocore
        getattr(error, "code", None),  # Google's
    ]
    for value in candidates:
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return int(value)
    return None


def _headers(error: BaseException) -> dict[str, str]:
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    if isinstance(metadata, Mapping):
        found = metadata.get("HTTPHeaders")
    else:
        found = getattr(response, "headers", None) or getattr(error, "headers", None)
    if not isinstance(found, Mapping):
        return {}
    return {str(name).lower(): str(value) for name, value in found.items()}


def _body(error: BaseException) -> Any:
    """What the server said: the decoded JSON where the error holds it, else the error's words."""
    for place in ("body", "details"):
        value = getattr(error, place, None)
        if isinstance(value, Mapping | list) or (isinstance(value, str) and value):
            return value[0] if isinstance(value, list) and value else value
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        inner = response.get("Error")
        if isinstance(inner, Mapping):
            return {"code": inner.get("Code"), "message": inner.get("Message")}
    return _decoded(response) or str(error)


def _decoded(response: Any) -> Any:
    try:
        text = response.text
    except Exception:  # no response, or one that was never read: whatever its SDK raises for that
        return None
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_about_the_reply(error: Exception) -> bool:
    frames = {frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)}
    return isinstance(error, json.JSONDecodeError) or bool(frames & _READS_A_REPLY)


def _unread(error: Exception, redactor: Redactor) -> str:
    words = str(error)
    # Pieces of an answer are no answer, so they are not quoted.
    quoted = "" if "data:" in words else f": {redactor(words)[:_LONGEST]}"
    return f"{type(error).__name__}{quoted}"


def _words(error: BaseException, model: str, redactor: Redactor) -> str:
    return f"{model}: {type(error).__name__}: {redactor(str(error))[:_LONGEST]}"
