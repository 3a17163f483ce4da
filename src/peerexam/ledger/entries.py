"""Ledger entries: what one call leaves on disk, and how it is read back."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from peerexam.calls import (
    Call,
    Completion,
    Json,
    completion_from_json,
    completion_to_json,
    encoded,
)
from peerexam.fast_json import decode, encode
from peerexam.ledger.base import Failure, Outcome

_LARGEST = 2**53  # more tokens than anyone was ever billed, and their sums fit into 64 bits


@dataclass(slots=True)
class Entry:
    """A call and its outcome, ready to be stored; texts are JSON in bytes.

    Attributes:
        call: Who asked what.
        created: Seconds since 1970.
        outcome: What is to be stored.
        body: The outcome as JSON.
    """

    call: Call
    created: float
    outcome: Outcome
    body: bytes

    @property
    def usage(self) -> tuple[int | None, int | None, float | None]:
        """Prompt tokens, completion tokens and cost, for the columns that totals rest on."""
        if isinstance(self.outcome, Failure):
            return None, None, None
        used = self.outcome.usage
        return _count(used.prompt_tokens), _count(used.completion_tokens), self.outcome.cost


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One entry as an audit reads it.

    Attributes:
        key: The request key.
        agent: The name of the agent that asked first.
        fingerprint: That agent's.
        request: The request as `request_to_json` has it.
        outcome: The completion, or why there is none.
        created: Seconds since 1970.
    """

    key: str
    agent: str
    fingerprint: dict[str, Json]
    request: dict[str, Json]
    outcome: Outcome
    created: float


def entry_of(call: Call, outcome: Outcome) -> Entry:
    """Encode an outcome.

    Raises:
        ValueError: It holds NaN or an infinity.
    """
    if isinstance(outcome, Failure):
        return Entry(call, time.time(), outcome, encoded([outcome.kind, outcome.message]))
    return Entry(call, time.time(), outcome, encode(completion_to_json(outcome), encoded))


def stored_call(
    key: str,
    agent: bytes,
    fingerprint: bytes,
    request: bytes,
    completion: bytes | None,
    failure: bytes | None,
    created: float,
) -> StoredCall:
    """Decode one stored call, of which one of `completion` and `failure` is None."""
    outcome = failure_of(failure) if failure is not None else completion_of(key, completion or b"")
    name = agent.decode("utf-8", "surrogatepass")
    return StoredCall(key, name, json.loads(fingerprint), json.loads(request), outcome, created)


def completion_of(key: str, body: bytes) -> Completion:
    """Decode a stored completion."""
    return completion_from_json(decode(body), key)


def failure_of(body: bytes) -> Failure:
    """Decode a stored failure."""
    return Failure(*json.loads(body))


def _count(tokens: int | None) -> int | None:
    # A provider's nonsense must not make a paid answer unstorable; the body keeps it as it came.
    return tokens if tokens is not None and 0 <= tokens <= _LARGEST else None
