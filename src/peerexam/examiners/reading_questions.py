"""Reading question lists and follow-up questions.

The prompts that they answer are `templates/questions*` and `templates/follow_up*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from peerexam.calls import Json
from peerexam.examiners.parsing import Unreadable, answer_part, json_value, undecorated

_ITEM = re.compile(
    r"\s*(?:[-*•+]\s+)?(?:\*\*|__)?\s*(?:\(\s*[0-9]{1,3}\s*\)|(?:Q(?:uestion)?\s*\#?\s*)?[0-9]{1,3}"
    r"\s*(?:\*\*|__)?\s*[.):：])(?![0-9])\s*(?P<text>\S.*)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*[-*•+]\s+(?P<text>\S.*)")
_ANSWERS = re.compile(r"(?:the\s+)?answers?(?:\s+key)?\s*:?", re.IGNORECASE)
_ANSWER = re.compile(r"(?:^|(?<=[?？؟])\s+)(?:\*\*|__)?(?:answer|a)(?:\*\*|__)?\s*:.*", re.I | re.S)
_FOLLOW_UP = re.compile(
    r"(?:(?:the|my)\s+)?(?:follow(?:ing)?(?:[\s-]*up)?\s+question|question)\s*(?:is\s*)?[:：=]\s*",
    re.IGNORECASE,
)
_ENDS = ("?", "？", "؟", ".", "!", "。")
_ASKS = ("?", "？", "؟")
_OPENING = re.compile(
    r"(?:in|at|on|by|to|from|for|with|of|under)?\s*(?:what|which|when|where|who|whom|whose|why|how"
    r"|explain|describe|compare|contrast|discuss|define|name|list|analy[sz]e|evaluate|outline"
    r"|identify|give|state|summari[sz]e|derive|prove|calculate|compute|show|design|assess|propose"
    r"|provide|examine|explore|critique|critically|illustrate|distinguish|differentiate|justify"
    r"|suppose|consider|imagine|given|is|are|was|were|do|does|did|can|could|would|should)\b",
    re.IGNORECASE,
)
_LONGEST = 4000


def read_questions(reply: str, wanted: int | None = None) -> tuple[str, ...] | Unreadable:
    """The questions in an examiner's reply, in order.

    Only a number at the start of a line opens an item ("1.", "1)", "**1.**", "1:", "Q1:"), so
    numbers inside a question belong to it. Without numbered items, bullets that ask, or two and
    more lines that end with a question mark, are read; a reply may also be a JSON list. Opening
    and closing words, answers and headings are no items, and the cut comes after they are gone.

    Args:
        reply: The examiner's text.
        wanted: Cut to so many; None keeps all.
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    body = json_value(text)
    found = _from_json(body) if body is not None else _from_lines(text)
    questions = tuple(one for one in (_cleaned(item) for item in found) if is_question(one))
    if not questions:
        return Unreadable("there is no numbered question, one to a line")
    return questions[:wanted]


def read_follow_up(reply: str) -> str | Unreadable:
    """The question after "follow question:", or the one question that the whole reply is."""
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    lines = [line for line in (undecorated(raw) for raw in text.split("\n")) if line]
    for at, line in enumerate(lines):
        label = _FOLLOW_UP.match(line)
        if label:
            rest = line[label.end() :] or (lines[at + 1] if at + 1 < len(lines) else "")
            return _asked(rest)
    if len(lines) == 1:
        return _asked(lines[0])
    return Unreadable("there is no line that begins with 'follow question:'")


def is_question(text: str) -> bool:
    """Whether a line asks something: by a question mark, or by how it opens.

    Texts that are not in Latin script are trusted, since their ways to ask are not known here.
    """
    if not 8 <= len(text.encode("utf-8", "surrogatepass")) <= _LONGEST:
        return False
    if any(mark in text for mark in _ASKS):
        return bool(re.search(r"\w", text))
    if _OPENING.match(text):
        return len(text.split()) >= 3 and not text.endswith(":")
    return sum(ord(letter) > 0x2FF for letter in text) > len(text) / 2


def _asked(text: str) -> str | Unreadable:
    question = _cleaned(text.strip("[]<>"))
    return question if is_question(question) else Unreadable("the follow-up is not a question")


def _cleaned(item: str) -> str:
    plain = undecorated(_ANSWER.sub("", item))
    return " ".join(plain.strip('"“”').split())


def _from_json(body: Json) -> list[str]:
    if isinstance(body, dict):
        body = next((value for value in body.values() if isinstance(value, list)), [])
    if not isinstance(body, list):
        return []
    items = (one.get("question") if isinstance(one, dict) else one for one in body)
    return [item for item in items if isinstance(item, str)]


def _from_lines(text: str) -> list[str]:
    lines = [" ".join(line.split()) for line in text.split("\n")]
    numbered = list(_items(lines))
    if numbered:
        return numbered
    bullets = [found["text"] for found in map(_BULLET.fullmatch, lines) if found]
    if bullets:
        return bullets
    asking = [line for line in lines if undecorated(line).endswith(_ASKS)]
    return asking if len(asking) > 1 else []


def _items(lines: list[str]) -> Iterator[str]:
    """Numbered items; a line right below an unfinished one goes on with it."""
    current: str | None = None
    for line in lines:
        found = _ITEM.fullmatch(line)
        plain = undecorated(line)
        if found:
            if current is not None:
                yield current
            current = found["text"]
        elif _ANSWERS.fullmatch(plain):
            break
        elif current is not None:
            if plain and not undecorated(current).endswith(_ENDS):
                current = f"{current} {plain}"
            else:
                yield current
                current = None
    if current is not None:
        yield current
