"""What all readers of replies share: the unreadable outcome, and what of a reply to look at.

Readers never guess and never raise. What they cannot read is an `Unreadable` with its reason, so
that the model can be told and asked again, and the report can count it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from peerexam.agents.thinking import CONTROL_TOKEN, without_end_tokens
from peerexam.calls import LONGEST_REPLY, Json
from peerexam.examiners.reading.own_words import ClosingBlock, closing_block, whole_block
from peerexam.examiners.reading.thinking import without_thinking

_OPENS_TURN = re.compile(
    rf"\s*+(?:(?:{CONTROL_TOKEN.pattern})\s*+(?:(?:assistant|model)\b\s*+)?)+", re.IGNORECASE
)
_QUOTES = frozenset("`'\"“”‘’")
_ANNOUNCING = frozenset(
    {
        "above",
        "analysis",
        "and",
        "are",
        "as",
        "assessment",
        "based",
        "below",
        "comparison",
        "conclusion",
        "criteria",
        "decision",
        "evaluation",
        "final",
        "following",
        "follows",
        "format",
        "give",
        "here",
        "i",
        "in",
        "is",
        "it",
        "json",
        "judgement",
        "judgment",
        "mark",
        "marks",
        "my",
        "object",
        "on",
        "overall",
        "rate",
        "rating",
        "ratings",
        "s",
        "score",
        "scores",
        "so",
        "the",
        "therefore",
        "thus",
        "verdict",
        "verdicts",
        "would",
    }
)  # fmt: skip
"""Words of a line that leads up to the writer's own JSON, and to nobody else's."""

_POINTS_AT_IT = re.compile(
    r"\b(?:json|object|blocks?|code|snippet|verdicts?|decisions?|winner|marks?|scores?|ratings?"
    r"|lines?|words?|texts?|quot\w+|follow\w*|below|this|these|so|itself|instruct\w*|inject\w*"
    r"|claim\w*|output\w*|print\w*|append\w*|end(?:s|ed|ing)|wrote|writes|written|said|says|reads"
    r"|cannot|unable|undecided|unsure|not|no|neither)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of a sentence that may speak of the JSON below it, or takes no side."""

_WORD = re.compile(r"[^\W_]+")
_LONGEST_LEAD = 80
# A whole string at a time, so that only commas outside of strings are seen.
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply, or a part of it, that could not be read.

    Attributes:
        reason: What is wrong, in words that can be told to the model that wrote it.
    """

    reason: str


def answer_part(reply: str) -> str | Unreadable:
    """The reply without its thinking and without the tokens that end a turn.

    Unreadable where nothing is left, where a special token stands in the middle (it is not known
    which part is the answer then), and where the reply is longer than `LONGEST_REPLY`.
    """
    if len(reply) > LONGEST_REPLY:
        return Unreadable(f"the reply is longer than {LONGEST_REPLY:,} characters")
    left = without_thinking(reply)
    if left is None:
        return Unreadable("the reply ends inside its thinking section")
    left = without_end_tokens(left)
    if opening := _OPENS_TURN.match(left):
        left = left[opening.end() :]
    if not left.strip():
        return Unreadable("the reply is empty")
    token = next((t for t in CONTROL_TOKEN.finditer(left) if not _is_quoted(t, left)), None)
    if token is not None:
        return Unreadable(f"the special token {token.group()} stands in the middle of the reply")
    return left


def _is_quoted(token: re.Match[str], text: str) -> bool:
    around = text[max(0, token.start() - 1) : token.start()], text[token.end() : token.end() + 1]
    return all(one in _QUOTES for one in around)


def json_object(text: str) -> dict[str, Json] | None:
    """The JSON object that the whole text is, a code block around it allowed; else None."""
    value = json_value(text)
    return value if isinstance(value, dict) else None


def closing_json_object(text: str) -> dict[str, Json] | None:
    """The JSON object in a code block with which the text ends; else None.

    It is the writer's own where the line above says so ("Here is my verdict:"), or where a blank
    line parts it from a finished sentence that does not speak of it; what an answer "ended with" is
    no verdict.
    """
    found = closing_block(text)
    value = _loads(found.inside) if found is not None and _is_own(found) else None
    return value if isinstance(value, dict) else None


def _is_own(block: ClosingBlock) -> bool:
    lead = block.lead
    if block.apart and lead.endswith((".", "!")):
        return _POINTS_AT_IT.search(lead) is None
    words = set(_WORD.findall(lead.lower())) if len(lead) <= _LONGEST_LEAD else set()
    return bool(words) and words <= _ANNOUNCING


def json_value(text: str) -> Json:
    """The JSON value that the whole text is, a code block around it allowed; else None."""
    whole = whole_block(text)
    return _loads(text if whole is None else whole)


def _loads(text: str) -> Json:
    """A value; one comma too many at the end of a list or an object does no harm."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _DECODER.decode(_LAST_COMMA.sub(lambda found: found[1] or "", text))
    except (ValueError, RecursionError):
        return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise ValueError("a key stands twice")
    return body


# Made once: `json.loads` with an option makes a decoder for every reply.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats)
