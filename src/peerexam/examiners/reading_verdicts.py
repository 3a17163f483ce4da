"""Reading a judge's verdict. The prompts it belongs to are `templates/compare*`."""

from __future__ import annotations

import re

from peerexam.calls import Json
from peerexam.examiners.parsing import (
    Unreadable,
    answer_part,
    closing_json_object,
    json_object,
    own_lines,
    undecorated,
)
from peerexam.records import Winner

_LABEL = re.compile(
    r"(?:[-*•]\s*)?(?:(?:the|my|final|overall)\s+)*"
    r"(?:verdict|winner|decision|judge?ment|choice|conclusion|final answer"
    r"|(?:better|best|preferred)\s+(?:response|answer))"
    r"\s*(?:(?:is\s*)?[:：=]|\bis\b|[–—]|\s-\s|$)\s*",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"[\[(\"'“‘<{]*\s*(?:the\s+)?(?:(?:response|answer)\s*\#?\s*(?P<number>[12]|one|two)"
    r"|(?P<tie>(?:it\s+is\s+|it['’]s\s+)?(?:a\s+)?(?:tie|draw)|tied|equal))\b"
    r"(?:\s*[\])\"'”’>}]+)?",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\s+(?:is|was|wins)(?:\s+(?:clearly|slightly|much|far|the|better|best|superior|stronger"
    r"|winner|response|answer|one))*(?:\s+(?:than|over)\s+(?:the\s+)?response\s*[12])?",
    re.IGNORECASE,
)
_REASON = re.compile(r"\s*(?:[.,;:!(–—]|\s-\s|because\b|since\b)", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:not|no|nor|never|neither|none|wait|but|however|actually|instead|unless|if|or|maybe"
    r"|perhaps|rather|tie|tied|equal|draw|both|correction|sorry|response|answer\s*[12])\b|n['’]t\b",
    re.IGNORECASE,
)
_KEYS = ("verdict", "winner", "choice", "decision")
_NUMBERS: dict[str, Winner] = {"1": "first", "one": "first", "2": "second", "two": "second"}


def read_verdict(reply: str, *, ties: bool = True) -> Winner | Unreadable:
    """Which response a judge's reply declares better.

    Read, in this order: a reply that is a JSON object with a verdict; the last line that opens
    with "Verdict:" or a synonym; a JSON object in a code block at the end; a reply that is nothing
    but a choice. What the reasoning says about the responses is never read.

    Args:
        reply: The judge's text.
        ties: Whether a tie was offered.

    Returns:
        `first` for Response 1, `second` for Response 2, `tie`, or why there is none.
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    body = json_object(text)
    if body is not None:
        return _from_json(body, ties)
    lines = [line for line in own_lines(text) if line]
    declared = _declared(lines)
    if declared is not None:
        return _offered(_conclusion(declared), ties, declared)
    closing = closing_json_object(text)
    if closing is not None:
        return _from_json(closing, ties)
    if len(lines) == 1:
        return _offered(_bare(lines[0]), ties, lines[0])
    return Unreadable("there is no line that begins with 'Verdict:'")


def _declared(lines: list[str]) -> str | None:
    """What the last verdict line says; where it says nothing, the line after it."""
    for at in range(len(lines) - 1, -1, -1):
        label = _LABEL.match(lines[at])
        if label:
            rest = lines[at][label.end() :]
            following = lines[at + 1] if at + 1 < len(lines) else ""
            return rest or following
    return None


def _winner(choice: re.Match[str]) -> Winner:
    number = choice["number"]
    return "tie" if number is None else _NUMBERS[number.lower()]


def _conclusion(text: str) -> Winner | None:
    """The choice with which the text opens, unless what follows it leaves any doubt."""
    choice = _CHOICE.match(text)
    if choice is None:
        return None
    at = choice.end()
    better = _BETTER.match(text, at)
    rest = text[better.end() if better else at :]
    if not rest.strip(" .!*\"'”’"):
        return _consistent(choice, better)
    if not _REASON.match(rest) or _DOUBT.search(rest):
        return None
    return _consistent(choice, better)


def _consistent(choice: re.Match[str], better: re.Match[str] | None) -> Winner | None:
    """None for "Response 1 is better than Response 1" and for a bare "Response 1 is"."""
    winner = _winner(choice)
    if better is None:
        return winner
    words = better.group().lower()
    rival = re.search(r"response\s*([12])$", words)
    if rival and _NUMBERS[rival.group(1)] == winner:
        return None
    claims = re.search(r"\b(?:wins|better|best|superior|stronger|winner)\b", words)
    return winner if claims else None


def _bare(line: str) -> Winner | None:
    """The choice that the whole line is, or plainly calls better."""
    choice = _CHOICE.match(line)
    if choice is None:
        return None
    better = _BETTER.match(line, choice.end())
    rest = line[better.end() if better else choice.end() :]
    return None if rest.strip(" .!*\"'”’") else _consistent(choice, better)


def _from_json(body: dict[str, Json], ties: bool) -> Winner | Unreadable:
    found = [value for key, value in body.items() if key.strip().lower() in _KEYS]
    if len(found) != 1:
        return Unreadable("the JSON object has no single key 'verdict'")
    value = found[0]
    if isinstance(value, bool) or not isinstance(value, str | int):
        return Unreadable("the verdict in the JSON object is not a text")
    text = f"Response {value}" if str(value).strip() in ("1", "2") else undecorated(str(value))
    return _offered(_bare(text), ties, text)


def _offered(winner: Winner | None, ties: bool, text: str) -> Winner | Unreadable:
    if winner is None:
        return Unreadable(f"'{text[:80]}' is not one of the choices offered")
    if winner == "tie" and not ties:
        return Unreadable("a tie was not offered")
    return winner
