"""Results to standard output, everything else to standard error, keys to neither."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback

from peerexam.calls import Json

_HOLDS_A_KEY = re.compile(r"(?i)(?:key|token|secret|password)$")
_SHORTEST_KEY = 8


def redact(text: str) -> str:
    """A text without the values of any variable whose name ends like a key's.

    Providers may quote a key in an error; this is the last door before the screen.
    """
    for name, value in os.environ.items():
        if _HOLDS_A_KEY.search(name) and len(value) >= _SHORTEST_KEY:
            text = text.replace(value, f"<{name}>")
    return text


def say(text: str) -> None:
    """A result."""
    _write(sys.stdout, redact(text) + "\n")


def say_json(value: Json) -> None:
    """A result for programs: sorted keys, no NaN."""
    say(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    """Something beside the result."""
    _write(sys.stderr, redact(text) + "\n")
    sys.stderr.flush()


def note_traceback(error: BaseException) -> None:
    """Where an error came from, for `--debug`."""
    note("".join(traceback.format_exception(error)).rstrip())


def _write(stream: object, text: str) -> None:
    """Model text may hold what the terminal's encoding (or none) can write."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]


def plain(text: str) -> str:
    r"""Text from outside without control characters, so that it cannot steer the terminal.

    >>> plain("a\x1b[2Jb")
    'a�[2Jb'
    """
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)
