"""Writing one JSONL file so that a replayed run leaves the same bytes as an undisturbed one."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from types import TracebackType

from peerexam.calls import Json
from peerexam.fast_json import encode
from peerexam.records import Question, Record, to_json
from peerexam.runfolder.checkpoint import Prefix
from peerexam.runfolder.jsonl import parse_line, warn_of_torn_tail
from peerexam.runfolder.refusals import refusals

FLUSH_EVERY = 0.1
"""Seconds of writing after which what is buffered goes to the file."""

_BLOCK = 1 << 20
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def record_line(record: Record) -> bytes:
    r"""A record as the bytes of one line, keys in the order of its fields, newline included.

    Non-ASCII text is kept readable. A lone surrogate, which UTF-8 cannot hold, becomes its JSON
    escape, so that the file stays valid for every reader.

    Raises:
        ValueError: A value is NaN or an infinity.
    """
    # A question has a float, which the two encoders may spell differently.
    body = to_json(record)
    return (_strictly(body) if isinstance(record, Question) else encode(body, _strictly)) + b"\n"


def _strictly(body: dict[str, Json]) -> bytes:
    # For a surrogate, and nothing else fails to encode, Python's escape is the one JSON knows.
    return _ENCODER.encode(body).encode("utf-8", "backslashreplace")


class RecordWriter:
    """Writes one file of records, over what an earlier run left there.

    Every record is compared with the line that stands in its place. As long as they are equal
    nothing is written; at the first difference the file is cut there and written on. So a resumed
    run, which emits the same records in the same order, ends with the same bytes, and until a line
    is replaced it stays readable. A last line that was cut off in mid-write is dropped on opening,
    with a `TornTailWarning`.

    As a context manager it closes with `truncate=True` after success and keeps the old lines after
    an exception.

    Args:
        path: The file; it is created where it is missing. Its folder must exist.
        before_change: Called before lines that stand in the file are replaced, cut off or added to.
    """

    def __init__(self, path: Path, before_change: Callable[[], None] | None = None) -> None:
        self.path = path
        self._before_change = before_change
        with refusals(path):
            path.touch()
            # Closed in close(): the file lives as long as the writer.
            self._file: BufferedRandom = path.open("r+b")
        self._replaying = True
        self._place = 0
        self._digest = hashlib.blake2b(digest_size=16)
        self._ahead = (self.mark(), self._digest)
        self._flushed_at = time.monotonic()
        _drop_torn_tail(self._file, path)

    def emit(self, record: Record) -> None:
        """Put the next record in its place.

        Raises:
            ValueError: A value is NaN or an infinity, or the writer is closed.
        """
        line = record_line(record)
        self._digest.update(line)
        if self._replaying:
            standing = self._file.readline()
            if standing == line:
                self._place += len(line)
                return
            self._cut()
            self._replaying = False
        with refusals(self.path):
            self._file.write(line)
        self._place += len(line)
        if time.monotonic() - self._flushed_at >= FLUSH_EVERY:
            self.flush()

    def _cut(self) -> None:
        if self._before_change is not None:
            self._before_change()
        self._file.seek(self._place)
        self._file.truncate()

    def mark(self) -> Prefix:
        """What has been emitted so far, as bytes of the file."""
        return Prefix(self._place, self._digest.hexdigest())

    def reaches(self, mark: Prefix) -> bool:
        """Whether the file still begins with what a mark was set behind."""
        digest, left = self._digest.copy(), mark.place - self._place
        while self._replaying and left > 0 and (block := self._file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
        self._file.seek(self._place)
        self._ahead = (mark, digest)
        return self._replaying and left == 0 and digest.hexdigest() == mark.digest

    def skip_to(self, mark: Prefix) -> None:
        """Take everything up to a mark as emitted.

        Raises:
            ValueError: It is not the mark that the file was last found to reach.
        """
        found, digest = self._ahead
        if found != mark or digest.hexdigest() != mark.digest:
            raise ValueError(f"{self.path} was not found to reach byte {mark.place}")
        self._digest, self._place = digest, mark.place
        self._file.seek(self._place)

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        with refusals(self.path):
            self._file.flush()
        self._flushed_at = time.monotonic()

    def close(self, truncate: bool = False) -> None:
        """Flush, sync to disk, and close. More than once does no harm.

        Args:
            truncate: Cut off the lines of an earlier run that stand beyond the last record.
        """
        if self._file.closed:
            return
        try:
            if truncate and self._replaying and self._file.read(1):
                self._cut()
            self.flush()
            with refusals(self.path):
                os.fsync(self._file.fileno())
        finally:
            with suppress(OSError):  # it tries to flush once more, and fails as it has
                self._file.close()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(truncate=kind is None)


def _drop_torn_tail(file: BufferedRandom, path: Path) -> None:
    """Leave the file with whole lines only, and at its start."""
    start, tail = _last_line(file)
    if tail:
        try:
            parse_line(tail)
        except ValueError:
            file.seek(0)
            number = sum(1 for _ in file)
            file.truncate(start)
            warn_of_torn_tail(path, number)
        else:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
            file.flush()
    file.seek(0)


def _last_line(file: BufferedRandom, block: int = 65536) -> tuple[int, bytes]:
    """Where the text after the last newline starts, and that text."""
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end:
        start = max(0, end - block)
        file.seek(start)
        piece = file.read(end - start)
        cut = piece.rfind(b"\n")
        if cut >= 0:
            return start + cut + 1, piece[cut + 1 :] + tail
        tail, end = piece + tail, start
    return 0, tail
