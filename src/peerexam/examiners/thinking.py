"""Dropping the thinking section that some models write into their reply."""

from __future__ import annotations

import re

# A tag in quotes or backticks is talked about, not used.
_TAG = re.compile(r"(?<![`'\"“])<(/?)(think|thinking|thought|reasoning)>(?![`'\"”])", re.IGNORECASE)


def without_thinking(reply: str) -> str | None:
    """The reply without its thinking.

    Closed blocks go; so does everything before a closing tag that nothing opened (servers that
    put the opening tag into the prompt leave such replies).

    Returns:
        What is left, or None where a block was opened and never closed: then the model was cut
        while it still thought, and there is no answer at all.

    >>> without_thinking("<think>2? no, 1.</think>Verdict: Response 1")
    'Verdict: Response 1'
    >>> without_thinking("<think>Verdict: Response 1, or") is None
    True
    """
    kept: list[str] = []
    thinking = False
    start = 0
    for tag in _TAG.finditer(reply):
        closes = bool(tag.group(1))
        if not closes and not thinking:
            kept.append(reply[start : tag.start()])
            thinking = True
        elif closes:
            if not thinking:
                kept.clear()
            thinking = False
            start = tag.end()
    if thinking:
        return None
    kept.append(reply[start:])
    return "".join(kept)
