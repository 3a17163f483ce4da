"""Dropping the thinking that some models write into their reply."""

from __future__ import annotations

from peerexam.agents.thinking import markers, split_thinking
from peerexam.calls import Completion


def without_thinking(reply: str) -> str | None:
    """A judge's reply without its thinking, whatever marks it: what stands behind the last mark.

    Closed blocks go; so does everything before a closing mark that nothing opened (servers that
    put the opening one into the prompt leave such replies), and before a mark that declares what
    follows to be the answer. Marks in quotes or in code blocks are talked about, and stay.

    Returns:
        What is left, or None where thinking was opened and never closed: then the model was cut
        while it still thought, and there is no answer at all.

    >>> without_thinking("<think>2? no, 1.</think>Verdict: Response 1")
    'Verdict: Response 1'
    >>> without_thinking("<think>Verdict: Response 1, or") is None
    True
    """
    kept: list[str] = []
    thinking = False
    start = 0
    for mark in markers(reply):
        if mark.quoted:
            continue
        if mark.kind != "open":
            if mark.kind == "final" or not thinking:
                kept.clear()
            thinking, start = False, mark.end
        elif not thinking:
            kept.append(reply[start : mark.start])
            thinking = True
    return None if thinking else "".join(kept) + reply[start:]


def answer_of(completion: Completion) -> str | None:
    """An examinee's answer without its thinking; None where the reply was cut while thinking.

    An answer may write about the marks, so only leading blocks go; where the provider gave the
    thinking apart, or an agent took it off, a lone closing mark is part of the answer.
    """
    found = split_thinking(completion.text, apart=completion.thinking is not None)
    return None if found.unclosed else found.text
