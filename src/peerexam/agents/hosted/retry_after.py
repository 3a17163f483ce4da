"""How long a provider asks to wait, in whichever of a dozen places it says so."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = r"(\d{1,12}(?:\.\d{1,12})?)\s{0,2}"
_UNIT = (
    r"(milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
    r"(?![a-z])"
)
_DURATION = re.compile(rf"{_PART}{_UNIT}", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:try(?:ing)?\s(?:it\s|your request\s|this request\s)?again|retry(?:ing)?|wait(?:ing)?"
    r"|available(?: again)?|resets?|retry[-_ ]?(?:after|delay))"
    r"(?:\s(?:your request|this request|the request))?"
    r"[\s:=\"']{1,5}(?:(?:in|after|for|at least|about|approximately|another)\s){0,3}~?"
    r"((?:\d{1,12}(?:\.\d{1,12})?\s{0,2}[a-z]{0,12}[,.\s]{0,2}(?:and\s)?){1,4})",
    re.IGNORECASE,
)
_LONGEST_SEARCHED = 20_000
_FIELDS = {
    "retryafterms": 0.001,
    "retryafterseconds": 1.0,
    "retryafter": 1.0,
    "retrydelay": 1.0,
    "estimatedtime": 1.0,  # Hugging Face: a model that is being loaded
}
_RESET = re.compile(r"(?:x-|anthropic-)?rate-?limit-(?:.*-)?reset(?:-.*)?(?<!-ms)")
_COMBINED = re.compile(r"\b(?:reset|t)=(\d{1,12})")  # the header RateLimit of the IETF's drafts
_EPOCH = 1e9
"""More seconds than this are a moment since 1970, and 1000 times as much one in milliseconds."""


def wait_asked_for(
    status: int, headers: Mapping[str, str], error: Any, message: str
) -> float | None:
    """Seconds that an error reply asks to wait, None where it does not say.

    `Retry-After` (seconds or an HTTP date) and `retry-after-ms` come first, then what the error
    object holds (`retryDelay` in its details, `retry_after`), then the message's own words ("try
    again in 40s"), and for a 429 the headers that say when a limit is reset.

    Args:
        status: The HTTP status.
        headers: The reply's headers.
        error: The error object.
        message: Its words.

    Returns:
        Seconds, never negative, never infinite.
    """
    found = retry_after(headers)
    if found is None:
        found = _in_fields(error)
    if found is None:
        found = _in_words(message)
    if found is None and status == 429:
        found = _until_reset(headers)
    if found is None and isinstance(error, Mapping):
        metadata = error.get("metadata")  # OpenRouter hands on the headers of whoever answered
        inner = metadata.get("headers") if isinstance(metadata, Mapping) else None
        if isinstance(inner, Mapping):
            theirs = {str(name).lower(): str(value)[:200] for name, value in inner.items()}
            found = retry_after(theirs)
            found = _until_reset(theirs) if found is None and status == 429 else found
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After` (seconds or an HTTP date) or `retry-after-ms`, never < 0."""
    names = (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0))
    for name, scale in names:
        value = headers.get(name)
        if not value:
            continue
        seconds = _number(value)
        found = _from_now(value) if seconds is None else seconds * scale
        found = seconds_in(value) if found is None and ":" not in value else found
        if found is not None:
            return found
    return None


def seconds_in(text: str) -> float | None:
    """The seconds of a duration such as `40s`, `6m0s`, `1.5 seconds`, `120ms` or `40`.

    >>> seconds_in("6m0s"), seconds_in("120ms"), seconds_in("1 minute and 5 seconds")
    (360.0, 0.12, 65.0)
    >>> seconds_in("soon") is None
    True
    """
    text = text.strip()[:100]
    if (plain := _number(text.rstrip(". "))) is not None:
        return plain
    spread = re.sub(r"(?<=[a-zA-Z])(?=\d)", " ", text)  # 6m0s
    parts = [float(n) * _unit(unit) for n, unit in _DURATION.findall(spread)]
    return _usable(sum(parts)) if parts else None


def _unit(word: str) -> float:
    word = word.lower()
    return _UNITS["ms"] if word.startswith(("ms", "milli")) else _UNITS[word[0]]


def _number(text: str) -> float | None:
    try:
        return _usable(float(text))
    except ValueError:
        return None


def _usable(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _from_now(date: str) -> float | None:
    """Seconds until an HTTP date or an RFC 3339 one."""
    from datetime import datetime
    from email.utils import parsedate_to_datetime  # brings a whole mail library

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return _usable(read(date.strip()).timestamp() - time.time())
        except (ValueError, OverflowError, OSError, IndexError, TypeError):
            continue
    return None


def _in_fields(error: Any) -> float | None:
    """From the error object, its `details` and its `metadata`."""
    for place in _places(error):
        named = {re.sub("[-_]", "", str(name)[:40]).lower(): part for name, part in place.items()}
        for name, scale in _FIELDS.items():
            found = _scaled(named.get(name), scale)
            if found is not None:
                return found
    return None


def _places(error: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(error, Mapping):
        return
    yield error
    for name in ("details", "detail", "metadata"):
        inner = error.get(name)
        for part in inner[:20] if isinstance(inner, list) else [inner]:
            if isinstance(part, Mapping):
                yield part


def _scaled(value: Any, scale: float) -> float | None:
    if isinstance(value, Mapping):  # protobuf's Duration
        value = value.get("seconds")
    if isinstance(value, str):
        plain = _number(value)
        return seconds_in(value) if plain is None else plain * scale
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e12:
        return None
    return _usable(value * scale)


def _in_words(message: str) -> float | None:
    found = _ASKED.search(message[:_LONGEST_SEARCHED])
    if found is None or message[found.end() : found.end() + 1] == ":":  # a time of day
        return None
    return seconds_in(found[1].strip(" ,."))


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Until the limit is lifted that was reached; where none says that it was, until all are."""
    known = [
        (seconds, headers.get(name.replace("reset", "remaining")))
        for name in map(str.lower, headers)
        if _RESET.fullmatch(name[:100]) and (value := headers.get(name))
        if (seconds := _moment(value)) is not None
    ]
    if not known and (combined := _COMBINED.search(headers.get("ratelimit", "")[:1000])):
        return float(combined[1])
    return _longest([s for s, left in known if left in (None, "0")] or [s for s, _ in known])


def _longest(waits: Sequence[float]) -> float | None:
    return max(waits, default=None)


def _moment(value: str) -> float | None:
    """A reset as a duration, or as a moment in seconds or milliseconds since 1970."""
    seconds = seconds_in(value)
    if "-" in value or seconds is None:
        return _from_now(value)
    if seconds < _EPOCH:
        return seconds
    return max(0.0, (seconds / 1000 if seconds > 1000 * _EPOCH else seconds) - time.time())
