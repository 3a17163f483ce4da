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
from peerexam.ledger.base import Failure

_LARGEST = 2**63 - 1  # of SQLite's integers


@dataclass(frozen=True, slots=True)
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
    outcome: Completion | Failure
    body: bytes

    @property
    def usage(self) -> tuple[int | None, int | None, float | None]:
        """Prompt tokens, completion tokens and cost, for the columns that totals read."""
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
    outcome: Completion | Failure
    created: float


def entry_of(call: Call, outcome: Completion | Failure) -> Entry:
    """Encode an outcome.

    Raises:
        ValueError: It holds NaN or an infinity.
    """
    if isinstance(outcome, Failure):
        body: Json = [outcome.kind, outcome.message]
    else:
        body = completion_to_json(outcome)
    return Entry(call, time.time(), outcome, encoded(body))


def completion_of(key: str, body: str) -> Completion:
    """Decode a stored completion."""
    return completion_from_json(json.loads(body), key)


def failure_of(body: str) -> Failure:
    """Decode a stored failure."""
    return Failure(*json.loads(body))


def _count(tokens: int | None) -> int | None:
    # A provider's nonsense must not make a paid answer unstorable; the body keeps it as it came.
    return tokens if tokens is not None and 0 <= tokens <= _LARGEST else None
