"""How far a run's records are complete, so that a resumed run need not make them again.

A checkpoint says: under this set-up, so many questions are complete, their records are these first
bytes of each file, and these calls in the ledger are behind some of them. It is believed only where
the files still have those bytes (by their digest), the set-up is the same, and its own digest says
that nobody else has written in it; otherwise the run replays everything from the ledger. So it
may be stale, lost, mangled or written out of step with the files: nothing rests on it but time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from peerexam.calls import Json, canonical_json

_MOST_CALLS = 128


@dataclass(frozen=True, slots=True)
class Prefix:
    """The start of a file: its length in bytes, and their digest."""

    place: int = 0
    digest: str = ""


@dataclass(slots=True)
class Checkpoint:
    """Questions of the first round whose records stand, in order and without a gap.

    Attributes:
        setup: Digest of everything that decides the records beside the ledger.
        whole: How many questions are complete, none with a failed call behind it.
        follow_ups: Follow-ups that were due after them, generated or not.
        lost_follow_ups: Those that could not be generated.
        marks: By kind of record, what of its file belongs to them.
        calls: Some of the calls behind the records, spread over the questions.
        last_call: One behind the last of them.
    """

    setup: str
    whole: int = 0
    follow_ups: int = 0
    lost_follow_ups: int = 0
    marks: dict[str, Prefix] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    last_call: str | None = None
    stride: int = 1

    def count(self, call: str | None, follow_ups: int, lost_follow_ups: int) -> None:
        """One more question is complete.

        Args:
            call: One of the calls behind its records; None where no model was asked.
            follow_ups: Due after it.
            lost_follow_ups: Of these, not generated.
        """
        if call is not None:
            self.last_call = call
            if self.whole % self.stride == 0:
                self.calls.append(call)
            if len(self.calls) > _MOST_CALLS:
                del self.calls[1::2]
                self.stride *= 2
        self.whole += 1
        self.follow_ups += follow_ups
        self.lost_follow_ups += lost_follow_ups

    def sample(self) -> list[str]:
        """Calls that the ledger must hold, if it is the one behind the records."""
        return [*self.calls, *([] if self.last_call is None else [self.last_call])]

    def write(self, path: Path) -> None:
        """Replace the file in one step; not synced, since it is only believed where it is true."""
        draft = path.with_name(f"{path.name}.part")
        body = asdict(self)
        draft.write_text(json.dumps({"digest": _digest(body), **body}), encoding="utf-8")
        os.replace(draft, path)


def read_checkpoint(path: Path, setup: str) -> Checkpoint:
    """What stands under a set-up; where that is nothing, an empty checkpoint to begin with."""
    try:
        held = json.loads(path.read_bytes())
        if held.pop("digest") != _digest(held) or held["setup"] != setup:
            return Checkpoint(setup)
        return _from_json(held)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Checkpoint(setup)


def _digest(body: Mapping[str, Json]) -> str:
    return hashlib.blake2b(canonical_json(dict(body)).encode(), digest_size=16).hexdigest()


def _from_json(held: Mapping[str, Json]) -> Checkpoint:
    marks = {
        kind: Prefix(int(at["place"]), str(at["digest"])) for kind, at in held["marks"].items()
    }
    return Checkpoint(**{**held, "marks": marks})
