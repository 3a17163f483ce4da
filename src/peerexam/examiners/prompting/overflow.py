"""Answers that are too long for a judge: it is left out by name, and nothing is cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from peerexam.errors import ContextTooLongError

Shown = Literal["question", "answer", "answers"]
"""A question to be classified, one answer to be marked, or two to be compared."""

_OPENINGS: Mapping[Shown, str] = {
    "question": "the question did not fit into ",
    "answer": "the answer did not fit into ",
    "answers": "the answers did not fit into ",
}


def overflow_reason(judge: str, shown: Shown, error: ContextTooLongError) -> str:
    """Why a judge gave no judgement: the reason of its record.

    >>> overflow_reason("j", "answers", ContextTooLongError("9000 tokens do not fit into 8192"))
    "the answers did not fit into j's context: 9000 tokens do not fit into 8192"
    """
    return f"{_OPENINGS[shown]}{judge}'s context: {error}"


def is_overflow(reason: str | None) -> bool:
    """Whether a record's reason is that of an overflow."""
    return reason is not None and reason.startswith(tuple(_OPENINGS.values()))
