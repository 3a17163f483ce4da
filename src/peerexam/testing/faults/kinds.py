"""The faults that the server can show, by name, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """One thing that can go wrong between a client and a provider.

    `docs/faults.md` says for each what peerexam does about it.
    """

    RATE_LIMIT_SECONDS = "rate-limit-seconds"
    """429, `Retry-After` in seconds."""
    RATE_LIMIT_DATE = "rate-limit-date"
    """429, `Retry-After` as an HTTP date."""
    RATE_LIMIT_MS = "rate-limit-ms"
    """429, `retry-after-ms` in milliseconds."""
    RATE_LIMIT_FAR = "rate-limit-far"
    """429, `Retry-After` further away than any deadline."""
    QUOTA_EXHAUSTED = "quota-exhausted"
    """No money left: OpenAI's 429 `insufficient_quota`, Anthropic's 400 about the balance."""

    SERVER_ERROR = "server-error-500"
    BAD_GATEWAY = "bad-gateway-502"
    """502 with a proxy's HTML page."""
    UNAVAILABLE = "unavailable-503"
    OVERLOADED = "overloaded-529"

    CONNECTION_REFUSED = "connection-refused"
    """No server listens. No request can bring it about: see `FaultServer.stop_listening`."""
    RESET_BEFORE_ANSWER = "reset-before-answer"
    RESET_MID_BODY = "reset-mid-body"
    CLOSED_MID_BODY = "closed-mid-body"
    """The connection is closed in order before the promised bytes have come."""
    HANG = "hang"
    """Nothing ever comes."""
    DRIP_TOO_SLOW = "drip-too-slow"
    """Bytes keep coming, so slowly that no read times out and the reply never ends."""
    DRIP_IN_TIME = "drip-in-time"
    """Bytes come slowly, and all arrive."""

    TRUNCATED_JSON = "truncated-json"
    """200; the JSON ends in the middle, the HTTP message does not."""
    MALFORMED_JSON = "malformed-json"
    HTML_PAGE = "html-with-200"
    """200 with a web page: a captive portal, a wrong path."""
    EMPTY_CHOICES = "empty-choices"
    """200 without an answer in it: `choices: []`, `content` missing."""
    OVERLOAD_IN_200 = "overload-in-200"
    """200 whose body is an error object."""
    HALF_ANSWER_IN_200 = "half-answer-in-200"
    """200 with the start of an answer and an error object beside it."""
    UNASKED_STREAM = "unasked-stream"
    """200 with server-sent events: the start of an answer, then an overload."""
    USAGE_MISSING = "usage-missing"

    NULL_CONTENT = "null-content"
    """An answer that is null, or has no text block, and no reason for it."""
    CUT_OFF = "cut-off"
    """The length limit was reached."""
    CONTENT_FILTER = "content-filter"
    """OpenAI's finish reason `content_filter`; Anthropic's 400 about blocked output."""
    CONTENT_FILTER_400 = "content-filter-400"
    """The prompt was blocked, reported as Azure does."""
    REFUSAL = "refusal"

    CONTEXT_TOO_LONG = "context-too-long"
    BAD_KEY = "bad-key-401"
    FORBIDDEN = "forbidden-403"
    UNKNOWN_MODEL = "unknown-model-404"
    REFUSED_TEMPERATURE = "refused-temperature"
    """400 that names a parameter which can be left out."""
    REFUSED_MAX_TOKENS = "refused-max-tokens"
    """400 about the length limit: OpenAI wants another name, Anthropic a smaller number."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The numbers in the faults.

    Attributes:
        retry_after: Seconds in the rate limits' headers.
        far_retry_after: Seconds in `RATE_LIMIT_FAR`'s header.
        drip: Seconds over which `DRIP_IN_TIME` spreads its body.
        slow_drip: Seconds over which `DRIP_TOO_SLOW` does.
        echo_key: Every error text repeats the key that was sent, and the path with its query, as
            careless servers do.
    """

    retry_after: float = 2.0
    far_retry_after: float = 86_400.0
    drip: float = 0.05
    slow_drip: float = 60.0
    echo_key: bool = False
