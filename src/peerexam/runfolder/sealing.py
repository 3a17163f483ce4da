"""The seal of an exam: a hash over its questions, fixed before any answer is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from uuid import NAMESPACE_OID, uuid5

from peerexam.calls import Json, canonical_json


def seal_of(bodies: Iterable[Mapping[str, Json]]) -> str:
    """SHA-256 over questions as they are written, follow-ups left out, in their order.

    It is taken over what stands in a line and not over the record made of it, so that a file
    keeps its seal when records get further fields.

    >>> seal_of([{"id": "a", "round": 1}]) == seal_of([{"round": 1, "id": "a"}, {"round": 2}])
    True

    Args:
        bodies: The objects in the lines of a `questions.jsonl`.
    """
    digest = hashlib.sha256()
    for body in bodies:
        if body.get("round", 1) == 1:
            line = canonical_json(dict(body)) + "\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def canary_of(questions_hash: str) -> str:
    """A GUID that belongs to these questions, to find them again in a training corpus.

    >>> canary_of("00") == canary_of("00") != canary_of("01")
    True
    """
    return str(uuid5(NAMESPACE_OID, f"peerexam canary {questions_hash}"))
