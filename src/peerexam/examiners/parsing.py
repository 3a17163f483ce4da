"""What all readers of replies share: the unreadable outcome, and what of a reply to look at.

Readers never guess and never raise. What they cannot read is an `Unreadable` with its reason, so
that the model can be told and asked again, and the report can count it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from peerexam.calls import Json
from peerexam.examiners.fence import BLOCK
from peerexam.examiners.thinking import without_thinking

_OPENS_CODE = re.compile(r"\s*```[^`]*")
_CLOSES_CODE = re.compile(r"\s*```\s*")
_WHOLE_CODE = re.compile(r"\s*```[^\n`]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_CLOSING_CODE = re.compile(r"```(?:json)?[ \t]*\n([^`]*)\n?[ \t]*```\s*\Z", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)")
_HEADING = re.compile(r"^\s*#{1,6}\s+")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply, or a part of it, that could not be read.

    Attributes:
        reason: What is wrong, in words that can be told to the model that wrote it.
    """

    reason: str


def answer_part(reply: str) -> str | Unreadable:
    """The reply without its thinking; unreadable where nothing is left."""
    left = without_thinking(reply)
    if left is None:
        return Unreadable("the reply ends inside its thinking section")
    if not left.strip():
        return Unreadable("the reply is empty")
    return left


def own_lines(text: str) -> list[str]:
    """The lines in which the writer speaks for itself, without markdown decoration.

    Block quotes, code blocks and repeated sections of the prompt are what somebody else wrote, so
    they are left out; a reply that is one code block from end to end is unwrapped.
    """
    whole = _WHOLE_CODE.fullmatch(text)
    if whole and "```" not in whole.group(1):
        text = whole.group(1)
    lines = _without_code(BLOCK.sub("\n", text).split("\n"))
    return [undecorated(line) for line in lines if not line.lstrip().startswith(">")]


def _without_code(lines: list[str]) -> list[str]:
    """The lines outside closed code blocks; a block that is never closed is none."""
    kept: list[str] = []
    opened: int | None = None
    for line in lines:
        if opened is not None and _CLOSES_CODE.fullmatch(line):
            del kept[opened:]
            opened = None
            continue
        if opened is None and _OPENS_CODE.fullmatch(line):
            opened = len(kept)
        kept.append(line)
    return kept


def undecorated(line: str) -> str:
    """A line without emphasis, code marks and heading signs, its spaces made single.

    >>> undecorated("## **Score:** _9_")
    'Score: 9'
    """
    return " ".join(_EMPHASIS.sub("", _HEADING.sub("", line)).split())


def json_object(text: str) -> dict[str, Json] | None:
    """The JSON object that the whole text is, a code block around it allowed; else None."""
    whole = _WHOLE_CODE.fullmatch(text)
    value = _loads(whole.group(1) if whole else text)
    return value if isinstance(value, dict) else None


def closing_json_object(text: str) -> dict[str, Json] | None:
    """The JSON object in a code block with which the text ends; else None."""
    last = _CLOSING_CODE.search(text)
    value = _loads(last.group(1)) if last else None
    return value if isinstance(value, dict) else None


def json_value(text: str) -> Json:
    """The JSON value that the whole text is, a code block around it allowed; else None."""
    whole = _WHOLE_CODE.fullmatch(text)
    return _loads(whole.group(1) if whole else text)


def _loads(text: str) -> Json:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise ValueError("a key stands twice")
    return body


# Made once: `json.loads` with an option makes a decoder for every reply.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats)
