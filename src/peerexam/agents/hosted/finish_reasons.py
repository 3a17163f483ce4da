"""Why a reply ended: the words of all servers, put into a few meanings.

Servers that speak one API still say why a reply ended in words of their own, in either case. A
word that nobody knows is no reason to throw an answer away, but it is told and kept by its name.
"""

from __future__ import annotations

import re
from typing import Any, Literal

Ending = Literal["whole", "truncated", "filtered", "refused", "broken", "unknown"]
"""`broken` is half a text because of the server's own trouble: the call may be asked again."""

LONGEST = 100
"""Characters of a reason that are kept."""

_WORDS: dict[Ending, str] = {
    "whole": "stop end_turn stop_sequence stop_token eos eos_token end_of_text eod complete "
    "completed end finished done finish success succeeded normal natural tool_calls tool_call "
    "tool_use function_call",
    "truncated": "length max_length max_tokens max_token max_output_tokens max_completion_tokens "
    "max_new_tokens max_tokens_reached token_limit length_limit model_length "
    "model_context_window_exceeded context_length context_length_exceeded context_window "
    "context_window_exceeded error_limit pause_turn incomplete truncated",
    "filtered": "content_filter content_filtered content_filtering content_policy "
    "content_policy_violation safety blocked blocklist block prohibited_content spii recitation "
    "image_safety image_prohibited_content language guardrail_intervened guardrails error_toxic "
    "moderation moderated sensitive censored model_armor",
    "refused": "refusal refused",
    "broken": "error abort aborted cancel cancelled canceled timeout timed_out time_limit "
    "insufficient_system_resource malformed_function_call malformed_response "
    "malformed_model_output malformed_tool_use engine_error server_error internal_error failed "
    "failure",
}
_JOINTS = re.compile(r"[-_.\s]+")
_MEANING: dict[str, Ending] = {
    word.replace("_", ""): ending for ending, words in _WORDS.items() for word in words.split()
}


def ending_of(reason: Any) -> Ending:
    """What a finish reason means; one that is not there leaves the reply whole.

    >>> [ending_of(reason) for reason in ("MAX_TOKENS", "maxTokens", "SAFETY", None, "odd")]
    ['truncated', 'truncated', 'filtered', 'whole', 'unknown']
    """
    if reason is None or reason == "":
        return "whole"
    if not isinstance(reason, str):
        return "unknown"
    word = _JOINTS.sub("", reason[:LONGEST].lower())
    for prefix in ("finishreason", "stopreason"):
        word = word.removeprefix(prefix)
    return _MEANING.get(word, "unknown")


def kept(reason: Any) -> str | None:
    """The reason as a completion keeps it, None where there is none or it is no text."""
    return reason[:LONGEST] if isinstance(reason, str) and reason else None
