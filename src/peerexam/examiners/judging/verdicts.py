"""Reading a judge's verdict. The prompts it belongs to are `templates/compare*`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from peerexam.calls import Json
from peerexam.examiners.reading.own_words import own_lines, plain
from peerexam.examiners.reading.parsing import (
    Unreadable,
    answer_part,
    closing_json_object,
    json_object,
)
from peerexam.examiners.reading.remarks import agrees
from peerexam.records import Winner

_NAMES = (
    r"(?:verdict|winner|decision|judge?ment|choice|conclusion|final answer"
    r"|(?:better|best|preferred)\s+(?:response|answer))"
)
_LABEL = re.compile(
    rf"(?:[-*•]\s*)?(?:(?:the|my|final|overall)\s+)*{_NAMES}"
    r"\s*(?:(?:is\s*)?[:：=]|\bis\b|[–—]|\s-\s|$)\s*",
    re.IGNORECASE,
)
# In the middle of a line only where a sentence ends before it.
_LATER_LABEL = re.compile(
    rf"(?<=[.!?;])\s(?:(?:the|my|so|thus|therefore,?|final|overall)\s){{0,3}}{_NAMES}\s?[:：=]\s?",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]{0,2000}\"|“[^”]{0,2000}”")
_CHOICE = re.compile(
    r"[\[(\"'“‘<{]*\s*(?:the\s+)?(?:(?:response|answer)\s*\#?\s*(?P<number>[12]|one|two)"
    r"|(?P<tie>(?:it\s+is\s+|it['’]s\s+)?(?:a\s+)?(?:tie|draw)|tied|equal))\b(?!['’]s\b)"
    r"(?:\s*[\])\"'”’>}]+)?",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\s+(?:is|was|wins)(?:\s+(?:clearly|slightly|much|far|the|better|best|superior|stronger"
    r"|winner|response|answer|one))*(?:\s+(?:than|over)\s+(?:the\s+)?response\s*[12])?",
    re.IGNORECASE,
)
_KEYS = ("verdict", "winner", "choice", "decision")
_NUMBERS: dict[str, Winner] = {"1": "first", "one": "first", "2": "second", "two": "second"}


def read_verdict(reply: str, *, ties: bool = True) -> Winner | Unreadable:
    """Which response a judge's reply declares better.

    Read, in this order: a reply that is a JSON object with a verdict; the lines that open with
    "Verdict:" or a synonym, and the same behind a sentence of the last line; a JSON object in a
    code block at the end, if it is the judge's own; a reply that is nothing but a choice. What the
    reasoning says about the responses is never read. Where two verdicts contradict each other, or
    the last of them cannot be read, there is none.

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
    declared = list(_declared(lines))
    if declared and declared[-1]:
        return _agreed(declared, ties)
    closing = closing_json_object(text)
    if closing is not None:
        return _from_json(closing, ties)
    if declared:
        return _agreed(declared, ties)
    if len(lines) == 1:
        return _offered(_bare(lines[0]), ties, lines[0])
    return Unreadable("there is no line that begins with 'Verdict:'")


def _declared(lines: Sequence[str]) -> Iterator[str]:
    """What each verdict line says; where it says nothing, the line after it."""
    for at, line in enumerate(lines):
        label = _LABEL.match(line)
        if label:
            yield line[label.end() :] or "".join(lines[at + 1 : at + 2])
        elif at == len(lines) - 1:
            later = list(_LATER_LABEL.finditer(_QUOTED.sub(_blanked, line)))
            if later:
                yield line[later[-1].end() :]


def _blanked(quoted: re.Match[str]) -> str:
    return " " * len(quoted.group())


def _agreed(declared: Sequence[str], ties: bool) -> Winner | Unreadable:
    """What the last of them says, if none before it says something else."""
    winners = [_conclusion(text) for text in declared]
    if winners[-1] is not None and len({*winners} - {None}) > 1:
        return Unreadable("two lines that begin with 'Verdict:' contradict each other")
    return _offered(winners[-1], ties, declared[-1])


def _winner(choice: re.Match[str]) -> Winner:
    number = choice["number"]
    return "tie" if number is None else _NUMBERS[number.lower()]


def _conclusion(text: str) -> Winner | None:
    """The choice with which the text opens, unless what follows it leaves any doubt."""
    choice = _CHOICE.match(text)
    if choice is None:
        return None
    better = _BETTER.match(text, choice.end())
    rest = text[better.end() if better else choice.end() :]
    winner = _consistent(choice, better)
    if winner is None or not rest.strip(" .!*\"'”’"):
        return winner
    return winner if agrees(rest, winner) else None


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
    text = f"Response {value}" if str(value).strip() in ("1", "2") else plain(str(value))
    return _offered(_bare(text), ties, text)


def _offered(winner: Winner | None, ties: bool, text: str) -> Winner | Unreadable:
    if winner is None:
        return Unreadable(f"'{text[:80]}' is not one of the choices offered")
    if winner == "tie" and not ties:
        return Unreadable("a tie was not offered")
    return winner
