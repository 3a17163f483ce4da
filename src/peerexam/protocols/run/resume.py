"""Taking over the records that an earlier session of the same run left.

Resume is replay. But where set-up, ledger and records are what they were, going over a question
again can only make the records that stand, so whole questions without a failed call are taken as
they are, from the first one on up to the first that is not. Everything behind is replayed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from peerexam.calls import Completion, calls_of
from peerexam.ledger.base import Ledger
from peerexam.protocols.exam.examination import QuestionRecords
from peerexam.runfolder import RecordWriter
from peerexam.runfolder.checkpoint import Checkpoint, read_checkpoint

WRITE_EVERY = 2.0
"""Seconds of examining after which the checkpoint is written again."""


@dataclass(slots=True)
class Resume:
    """The records of a run's whole questions, as far as they stand.

    Args:
        path: The checkpoint's file.
        setup: Digest of the set-up, as `setup_digest` gives it.
        ledger: Where the calls behind the records must be.
    """

    path: Path
    setup: str
    ledger: Ledger
    _at: Checkpoint = field(init=False)
    _ended: bool = field(init=False, default=False)
    _written: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._at = Checkpoint(self.setup)
        self._written = time.monotonic()

    async def take_over(self, writers: Mapping[str, RecordWriter]) -> Checkpoint:
        """Let the writers go on behind what stands; says what that is."""
        found = read_checkpoint(self.path, self.setup)
        if await self._is_true(found, writers):
            for kind, mark in found.marks.items():
                writers[kind].skip_to(mark)
            self._at = found
        return self._at

    async def _is_true(self, found: Checkpoint, writers: Mapping[str, RecordWriter]) -> bool:
        if not found.whole or found.marks.keys() != writers.keys():
            return False
        if not all(writers[kind].reaches(mark) for kind, mark in found.marks.items()):
            return False
        for call in found.sample():
            if not isinstance(await self.ledger.find(call), Completion):
                return False
        return True

    def note(self, records: QuestionRecords | None, writers: Mapping[str, RecordWriter]) -> None:
        """A question's records are written, or (None) it could not be examined."""
        self._ended = self._ended or records is None or not _is_clean(records)
        if self._ended or records is None:
            return
        parts = list(records.walk())
        lost = sum(part.lost_follow_ups for part in parts)
        due = lost + sum(len(part.follow_ups) for part in parts)
        self._at.count(_last_call(parts), due, lost)
        self._at.marks = {kind: writer.mark() for kind, writer in writers.items()}
        if time.monotonic() - self._written >= WRITE_EVERY:
            self.keep(writers)

    def keep(self, writers: Mapping[str, RecordWriter]) -> None:
        """Write the checkpoint, the records first."""
        for writer in writers.values():
            writer.flush()
        self._at.write(self.path)
        self._written = time.monotonic()


def _is_clean(records: QuestionRecords) -> bool:
    """Whether another session could not do better: no call behind it failed."""
    return not any(
        part.failed_follow_ups
        or any(
            one.state == "error"
            for kind in (part.answers, part.marks, part.verdicts)
            for one in kind
        )
        for part in records.walk()
    )


def _last_call(parts: Iterable[QuestionRecords]) -> str | None:
    """One of the calls behind a question's records, None where no model was asked."""
    calls = (
        calls_of(one.call)
        for part in parts
        for kind in (part.verdicts, part.marks, part.answers)
        for one in kind
    )
    return next((keys[-1] for keys in calls if keys), None)
