r"""Text from outside made fit to be printed, and the log that it may be written to.

Servers, models and files may hold what steers a terminal (escape sequences, a carriage return) or
turns a line round (bidirectional controls). None of it reaches a screen or a log as it is.
"""

from __future__ import annotations

import logging
import re

_STEERING = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\xad\u200b\u2060-\u2065\ufeff"  # invisible characters that hide in a word
    "\ud800-\udfff"  # half surrogates, which no encoding writes
    "\u2028\u2029"  # line ends that only some know
    "\u206a-\u206f\ufff9-\ufffb"  # deprecated format controls, interlinear annotations
    "\U000e0000-\U000e007f"  # tags, which no screen shows
)
_STEERS = re.compile(f"[{_STEERING}]")


def plain(text: str) -> str:
    r"""A text without what could steer a terminal, one replacement character for each.

    >>> plain("a\x1b[2Jb\u202ec")
    'a�[2Jb�c'
    """
    return _STEERS.sub("\ufffd", text)


def escaped_json(text: str) -> str:
    r"""JSON text of the same value, in which such characters stand by their escapes.

    >>> escaped_json('"a\u202eb"')
    '"a\\u202eb"'
    """
    return _STEERS.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class _Plain(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = plain(record.getMessage()), ()
        return True


log = logging.getLogger("peerexam")
"""Where every module of ours writes."""

if not any(isinstance(one, _Plain) for one in log.filters):
    log.addFilter(_Plain())
