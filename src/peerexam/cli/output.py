"""Results to standard output, everything else to standard error, keys to neither."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from typing import TextIO

from peerexam.calls import Json

_HOLDS_A_KEY = re.compile(r"(?i)(?:key|token|secret|password)$")
_SHORTEST_KEY = 8
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters but tab and newline; bidirectional and invisible ones; half surrogates."""


_OPENING = re.compile(r"│ |\s*(?:- )?")
"""What a line begins with that its further lines stand behind."""


def redact(text: str) -> str:
    """A text without the values of any variable whose name ends like a key's.

    Providers may quote a key in an error; this is the last door before the screen.
    """
    for name, value in os.environ.items():
        if _HOLDS_A_KEY.search(name) and len(value) >= _SHORTEST_KEY:
            text = text.replace(value, f"<{name}>")
    return text


def columns() -> int | None:
    """How wide the terminal is that results are printed to; None where they go elsewhere."""
    return _columns(sys.stdout)


def _columns(stream: TextIO) -> int | None:
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError, AttributeError):  # no terminal, or not even a file
        return None


def say(text: str) -> None:
    """A result; on a terminal its lines are broken between words, elsewhere not at all."""
    _write(sys.stdout, _fitted(redact(text), sys.stdout) + "\n")


def say_json(value: Json) -> None:
    """A result for programs: sorted keys, no NaN."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # Such characters stand in JSON's strings alone, where an escape means the same.
    text = _STEERING.sub(lambda found: json.dumps(found[0])[1:-1], text)
    _write(sys.stdout, redact(text) + "\n")


def note(text: str) -> None:
    """Something beside the result, as `say` prints it."""
    _write(sys.stderr, _fitted(redact(text), sys.stderr) + "\n")
    sys.stderr.flush()


def _fitted(text: str, stream: TextIO) -> str:
    width = _columns(stream)
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width and line.isascii():
        return [line]
    from peerexam.report.grid import wrap
    from peerexam.report.inert import width_of

    # A command is to be copied whole, so the terminal breaks it.
    if width_of(line) <= width or line.lstrip().startswith("peerexam "):
        return [line]
    found = _OPENING.match(line)
    opening = found[0] if found else ""
    return wrap(line, width, opening if opening.startswith("│") else " " * len(opening))


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
