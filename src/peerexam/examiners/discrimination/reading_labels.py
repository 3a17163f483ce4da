"""Reading which of several labelled answers a reply chooses (`templates/choose*`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from peerexam.examiners.reading.own_words import own_lines
from peerexam.examiners.reading.parsing import Unreadable, answer_part

_CUE = re.compile(
    r"(?:\b(?:choice|answer|option|response|candidate|label|pick|conclusion)\b\s*(?:is|are)?\s*[:：=]"
    r"|\b(?:choice|answer|option|one|pick)\s+is\b"
    r"|\bI(?:\s+would)?\s+(?:choose|pick|select|prefer|go\s+with)\b)\s*",
    re.IGNORECASE,
)
_NOUN = r"(?:the\s+)?(?:(?:answer|option|response|candidate|choice|label|number|no\.?|#)\s*)?"
_DOUBT = re.compile(r"\b(?:not|neither|none|nor|no)\b|n['’]t\b", re.IGNORECASE)
_OTHER = r"(?:\s*(?:,|/|&|\band\b|\bor\b)\s*(?:answer|option|response)?\s*[\[(\"']?)"
_OPENS = re.compile(r"(?:final\s+|my\s+)?(?:choice|answer)\s*[:：]\s*", re.IGNORECASE)


def read_label(reply: str, labels: Sequence[str]) -> str | Unreadable:
    """The label that a reply names last, after a cue ("Choice:", "the answer is"), or alone.

    A label counts as a word of its own, never as the start of one; a line that holds nothing but a
    label counts if it is the last. Where the last cue is followed by several labels, by a doubt, or
    by a label that was not offered, there is no choice. Case counts for letters.

    >>> read_label("A careful reading rules out B. Answer: (D)", "ABCD")
    'D'
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    lines = [line for line in own_lines(text) if line]
    if not lines:
        return Unreadable("the reply is empty")
    alone = re.fullmatch(_token(labels) + r"[\s.!]*", lines[-1], re.IGNORECASE)
    if alone and alone["label"] in labels:
        return alone["label"]
    for line in reversed(lines):
        cues = list(_CUE.finditer(line))
        if cues:
            return _after_cue(line[cues[-1].end() :], labels)
    return Unreadable("no answer is named after 'Choice:', or alone on the last line")


def read_verbatim(reply: str) -> str | Unreadable:
    """The text that a reply chooses: what follows its last `Choice:`, or all of it."""
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    lines = text.strip().split("\n")
    for at in range(len(lines) - 1, -1, -1):
        opening = _OPENS.match(lines[at].strip("*_ "))
        if opening and lines[at].strip("*_ ").lower().startswith(("choice", "final choice", "my")):
            rest = [lines[at].strip("*_ ")[opening.end() :], *lines[at + 1 :]]
            return "\n".join(rest).strip() or Unreadable("nothing follows 'Choice:'")
    return text.strip()


def _token(labels: Sequence[str]) -> str:
    """A label, with what may stand round it: (2), [2], "2", Answer 2."""
    kind = r"[0-9]{1,6}" if all(label.isdigit() for label in labels) else r"[A-Za-z]"
    return rf"{_NOUN}[\[(\"'“]*(?P<label>{kind})(?![A-Za-z0-9_]|\.[0-9])[\])\"'”]*"


def _after_cue(rest: str, labels: Sequence[str]) -> str | Unreadable:
    token = _token(labels)
    found = re.match(token, rest, re.IGNORECASE)
    if found is None:
        return Unreadable(f"'{rest[:80]}' names none of the answers")
    if found["label"] not in labels:
        return Unreadable(f"there is no answer '{found['label'][:20]}'")
    behind = rest[found.end() :]
    several = re.match(_OTHER + token.replace("?P<label>", ""), behind, re.IGNORECASE)
    if re.match(r"\s*[0-9]", behind):
        return Unreadable(f"'{rest[:80]}' goes on with another number")
    sentence = re.split(r"[.!?](?:\s|$)|\bbecause\b|\bsince\b", behind)[0]
    if several or _DOUBT.search(sentence):
        return Unreadable(f"'{rest[:80]}' leaves open which answer is meant")
    return found["label"]
