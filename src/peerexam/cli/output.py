"""Results to standard output, everything else to standard error, keys to neither."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from typing import TextIO

from peerexam.agents.redaction import Redactor, secrets_in
from peerexam.calls import Json
from peerexam.printable import escaped_json
from peerexam.printable import plain as plain

_OPENING = re.compile(r"│ |\s*(?:- )?")
"""What a line begins with that its further lines stand behind."""


def redact(text: str) -> str:
    """A text without the values of any variable whose name ends like a key's.

    Providers may quote a key in an error; this is the last door before the screen.
    """
    return Redactor(secrets_in(os.environ))(text)


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
    _write(sys.stdout, _fitted(plain(redact(text)), sys.stdout) + "\n")


def say_json(value: Json) -> None:
    """A result for programs: sorted keys, no NaN.

    It is the same value whatever it holds: what could steer a terminal, and what the output's
    encoding cannot write, stand by their escapes.
    """
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(_encoding(sys.stdout))
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False)
    _write(sys.stdout, escaped_json(redact(text)) + "\n")


def note(text: str) -> None:
    """Something beside the result, as `say` prints it."""
    _write(sys.stderr, _fitted(plain(redact(text)), sys.stderr) + "\n")
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
    encoding = _encoding(stream)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]


def _encoding(stream: object) -> str:
    return getattr(stream, "encoding", None) or "utf-8"
