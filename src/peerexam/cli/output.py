"""Results to standard output, everything else to standard error, keys to neither."""

from __future__ import annotations

import json
import os
import sys
import traceback

from peerexam.agents.blotting import Blot, secrets_in
from peerexam.calls import Json
from peerexam.printable import escaped_json
from peerexam.printable import plain as plain


def redact(text: str) -> str:
    """A text without the values of any variable whose name ends like a key's.

    Providers may quote a key in an error; this is the last door before the screen.
    """
    return Blot(secrets_in(os.environ))(text)


def say(text: str) -> None:
    """A result."""
    _write(sys.stdout, plain(redact(text)) + "\n")


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
    """Something beside the result."""
    _write(sys.stderr, plain(redact(text)) + "\n")
    sys.stderr.flush()


def note_traceback(error: BaseException) -> None:
    """Where an error came from, for `--debug`."""
    note("".join(traceback.format_exception(error)).rstrip())


def _write(stream: object, text: str) -> None:
    """Model text may hold what the terminal's encoding (or none) can write."""
    encoding = _encoding(stream)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]


def _encoding(stream: object) -> str:
    return getattr(stream, "encoding", None) or "utf-8"
