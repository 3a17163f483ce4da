"""Thinking text that a model writes in front of its answer, told apart from the answer."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPEN = re.compile(r"\s*(?:<(think|thinking|reasoning)>|\[(THINK)\])", re.IGNORECASE)
_CLOSE_ALONE = re.compile(r"</think>")


class Thought(NamedTuple):
    """A reply in its two parts.

    Attributes:
        thinking: What stood in leading thinking blocks; None where there is none.
        text: The answer.
        unclosed: The last block was never closed, so that the reply was cut while thinking.
    """

    thinking: str | None
    text: str
    unclosed: bool = False


def split_thinking(text: str) -> Thought:
    """Take leading thinking blocks off a reply.

    Only blocks in front of the answer are thinking: an answer may write about the tags. Some chat
    templates open the block in the prompt, so that the reply holds the closing tag alone; what
    stands before it is thinking too. A reply without thinking is returned as it came.

    >>> split_thinking("<think>2 and 2</think>Four.")
    Thought(thinking='2 and 2', text='Four.', unclosed=False)
    >>> split_thinking("<think>2 and").text
    ''
    """
    thoughts: list[str] = []
    rest = text
    while found := _OPEN.match(rest):
        name = found[1] or found[2]
        closing = f"[/{name}]" if found[2] else f"</{name}>"
        end = re.search(re.escape(closing), rest[found.end() :], re.IGNORECASE)
        if end is None:
            thoughts.append(rest[found.end() :].strip())
            return Thought("\n\n".join(thoughts), "", unclosed=True)
        thoughts.append(rest[found.end() : found.end() + end.start()].strip())
        rest = rest[found.end() + end.end() :].lstrip()
    if not thoughts and "<think>" not in text and (alone := _CLOSE_ALONE.search(text)):
        return Thought(text[: alone.start()].strip(), text[alone.end() :].lstrip())
    return Thought("\n\n".join(thoughts), rest) if thoughts else Thought(None, text)
