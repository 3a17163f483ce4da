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
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters but tab and newline; bidirectional and invisible ones; half surrogates."""


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
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # Such characters stand in JSON's strings alone, where an escape means the same.
    say(_STEERING.sub(lambda found: json.dumps(found[0])[1:-1], text))


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
    r"""Text from outside without what steers a terminal, turns its direction or hides in it.

    >>> plain("a\x1b[2Jb")
    'a�[2Jb'
    """
    return _STEERING.sub("\ufffd", text)
