"""Reading question lists and follow-up questions.

The prompts that they answer are `templates/questions*` and `templates/follow_up*`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from peerexam.calls import Json
from peerexam.examiners.reading.own_words import undecorated
from peerexam.examiners.reading.parsing import Unreadable, answer_part, json_value

_ITEM = re.compile(
    r"(?:[-*•+] )?(?:\*\*|__)? ?(?:\( ?(?P<round>[0-9]{1,3}) ?\)|(?:Q(?:uestion)? ?\#? ?)?"
    r"(?P<number>[0-9]{1,3}) ?(?:\*\*|__)? ?[.):：])(?![0-9])(?:\*\*|__)? ?(?P<text>\S.*)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[-*•+] (?P<text>\S.*)")
_ANSWERS = re.compile(
    r"(?:the )?(?:answers?|solutions?|antworten|lösungen|réponses?|respuestas?|soluciones|risposte"
    r"|respostas|antwoorden|ответы|答案|解答|الإجابات)(?: key)? ?[:：]?",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"(?:^|(?<=[?？؟]) )(?:\*\*|__)?(?:answer|a)(?:\*\*|__)? ?:.*", re.IGNORECASE)
_FOLLOW_UP = re.compile(
    r"(?:(?:the|my) )?(?:follow(?:ing)?(?:[ -]?up)? question|question) ?(?:is ?)?[:：=] ?",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(`{3,}+|~{3,}+)(?!.*`)")
# A name such as __init__ is no emphasis.
_BOLD = re.compile(r"(\*\*|(?<!\w)__(?!\w{1,99}__(?!\w)))(?=[^\s*_])([^*_\n]+)(?<=\S)\1")
_ITALIC = re.compile(r"(?<![\w*])\*(?![\s*])([^*\n]+)(?<!\s)\*(?![\w*])")
_CODE_SPAN = re.compile(r"(`[^`\n]+`)")
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
_STATES = re.compile(
    r"(?:the|an?|this|that|these|it|i|we|there|here|you)\b(?!.*[.!] \S)", re.IGNORECASE
)
_LONGEST = 4000
_FEWEST_WORDS = 3
_SURELY_WORDS = 5
"""Words of an item that is a question even without a full stop; a shorter one may be a heading."""

_LONGEST_STATEMENT = 12
"""Words of an English sentence that is taken for a statement by how it opens."""


def read_questions(reply: str, wanted: int | None = None) -> tuple[str, ...] | Unreadable:
    """The questions in an examiner's reply, in order.

    Only a number at the start of a line opens an item ("1.", "1)", "**1.**", "1:", "Q1:"), so
    numbers inside a question belong to it. What stands in the numbered list is a question by its
    place, in whatever language; headings and single words are none. A code block belongs to the
    item above it, as it stands, and so does what goes on below it where nothing was asked yet.
    Where the numbers begin anew below other words (an answer key does), in bullets and in plain
    lines only what asks is read. A reply may also be a JSON list. Opening and closing words and
    answers are no items, and the cut comes after they are gone.

    Args:
        reply: The examiner's text.
        wanted: Cut to so many; None keeps all.
    """
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    body = json_value(text)
    found = _from_json(body) if body is not None else _from_lines(text)
    if not found:
        return Unreadable("there is no numbered question, one to a line")
    return tuple(found[:wanted])


def read_follow_up(reply: str) -> str | Unreadable:
    """The question after "follow question:", or the one question that the whole reply is."""
    text = answer_part(reply)
    if isinstance(text, Unreadable):
        return text
    lines = [line for line in (" ".join(raw.split()) for raw in text.split("\n")) if line]
    for at, line in enumerate(lines):
        plain = undecorated(line)
        label = _FOLLOW_UP.match(plain)
        if label:
            rest = plain[label.end() :] or (lines[at + 1] if at + 1 < len(lines) else "")
            return _asked(rest, labelled=True)
    if len(lines) == 1:
        return _asked(lines[0], labelled=False)
    return Unreadable("there is no line that begins with 'follow question:'")


def is_question(text: str) -> bool:
    """Whether a line asks something: by a question mark, or by how it opens.

    Texts that are not in Latin script are trusted, since their ways to ask are not known here.
    """
    if not _has_size(text):
        return False
    if any(mark in text for mark in _ASKS):
        return bool(re.search(r"\w", text))
    if _OPENING.match(text):
        return len(text.split()) >= 3 and not text.endswith(":")
    return sum(ord(letter) > 0x2FF for letter in text) > len(text) / 2


def is_whole(text: str) -> bool:
    """Whether a question that stands last in a reply that was cut has come to its end.

    Behind a code block something may have been asked that is missing, unless it was asked before.
    """
    words = text.partition("\n")[0]
    return words.endswith(_ASKS) if text.endswith(("```", "~~~")) else text.endswith(_ENDS)


def _has_size(text: str) -> bool:
    return 8 <= len(text.encode("utf-8", "surrogatepass")) <= _LONGEST


def _is_item(text: str) -> bool:
    """Whether an item of the list is a question, its place in the list given: no heading, no word.

    A text with neither a full stop nor a question mark must be long enough to be no heading.
    """
    if is_question(text):
        return True
    words = len(text.split())
    if not _has_size(text) or text.endswith((":", "：")) or words < _FEWEST_WORDS:
        return False
    if words <= _LONGEST_STATEMENT and _STATES.match(text):
        return False
    return text.endswith((*_ENDS, "```", "~~~")) or words >= _SURELY_WORDS


def _asked(text: str, *, labelled: bool) -> str | Unreadable:
    question = _cleaned(text.strip("[]<>"))
    asks = _is_item(question) if labelled else is_question(question)
    return question if asks else Unreadable("the follow-up is not a question")


def _cleaned(text: str) -> str:
    """A question's words on one line, without emphasis, quotes round them, and an answer."""
    plain = _ANSWER.sub("", " ".join(text.split())).lstrip("# ")
    pieces = _CODE_SPAN.split(plain)
    pieces[::2] = [_ITALIC.sub(r"\1", _BOLD.sub(r"\2", piece)) for piece in pieces[::2]]
    plain = "".join(pieces)
    for mark in ("**", "__"):
        # One of a pair may be left, where it opened before the number.
        plain = plain if plain.count(mark) != 1 else plain.removeprefix(mark).removesuffix(mark)
    return plain.strip().strip('"“”').strip()


class _Block(NamedTuple):
    """A line with its spaces made single (empty for a blank one), or a whole code block."""

    kind: Literal["line", "code", "cut"]
    text: str


def _blocks(text: str) -> Iterator[_Block]:
    """Lines and code blocks in order; a code block that is never closed ends them as `cut`."""
    opened: list[str] = []
    mark = ""
    for line in text.split("\n"):
        bare = line.strip()
        if opened:
            opened.append(line)
            if bare.startswith(mark) and not bare.strip(mark[0]):
                yield _Block("code", textwrap.dedent("\n".join(opened)).strip())
                opened = []
        elif fence := _FENCE.match(bare):
            opened, mark = [line], fence[1]
        else:
            yield _Block("line", " ".join(bare.split()))
    if opened:
        yield _Block("cut", "")


@dataclass(slots=True)
class _Item:
    """An item of the list in the making.

    Attributes:
        number: As it is written.
        again: It belongs to a list that began anew.
        parts: Its lines and code blocks.
        asks: It asks something already.
        leads: One of its lines leads up to something, by a colon.
        ends: Its last line is a whole sentence.
        rests: A blank line follows it, so that no other line belongs to it.
        size: Characters that it has.
    """

    number: int
    again: bool
    parts: list[_Block] = field(default_factory=list)
    asks: bool = False
    leads: bool = False
    ends: bool = False
    rests: bool = False
    size: int = 0

    def add(self, block: _Block) -> None:
        """Add a line or a code block."""
        self.parts.append(block)
        self.size += len(block.text)
        self.rests = False
        if block.kind == "line":
            self.asks = self.asks or any(mark in block.text for mark in _ASKS)
            end = undecorated(block.text[-_LONGEST:])
            self.ends = end.endswith(_ENDS)
            self.leads = self.leads or end.endswith((":", "："))

    def takes(self, block: _Block) -> bool:
        """Take in what goes on with the item; false where the block does not."""
        after_code = self.parts[-1].kind == "code"
        if block.kind == "code":
            self.add(block)
        elif not block.text:
            waits = self.parts[-1].text.endswith((":", "：")) or (after_code and not self.ends)
            self.rests = self.rests or not waits
        elif self.size <= _LONGEST and self._goes_on(block.text):
            self.add(block)
        else:
            return False
        return True

    def _goes_on(self, line: str) -> bool:
        """Whether a line belongs to it: it is no end yet, or nothing was asked before the line."""
        if self.rests:
            return self.leads and not self.asks and line.endswith(_ASKS)
        return not self.ends or (not self.asks and is_question(line))

    @property
    def question(self) -> str:
        """Its text: code blocks on lines of their own, all other lines as one."""
        pieces: list[str] = []
        words: list[str] = []
        for part in self.parts:
            if part.kind == "code":
                pieces += (_cleaned(" ".join(words)), part.text)
                words = []
            else:
                words.append(part.text)
        return "\n".join(filter(None, [*pieces, _cleaned(" ".join(words))]))


def _items(text: str) -> Iterator[_Item]:
    """The numbered items of a list."""
    current: _Item | None = None
    last, apart, again = 0, False, False
    for block in _blocks(text):
        found = _ITEM.fullmatch(block.text) if block.kind == "line" else None
        if found:
            if current is not None:
                yield current
            number = int(found["round"] or found["number"])
            again = again or (apart and number <= last)
            current = _Item(number, again)
            current.add(_Block("line", found["text"]))
            last, apart = number, False
        elif block.kind == "cut":
            return
        elif block.kind == "line" and _ANSWERS.fullmatch(undecorated(block.text)):
            break
        elif current is not None and not current.takes(block):
            yield current
            current = None
            apart = True
    if current is not None:
        yield current


def _from_json(body: Json) -> list[str]:
    if isinstance(body, dict):
        body = next((value for value in body.values() if isinstance(value, list)), [])
    if not isinstance(body, list):
        return []
    entries = (one.get("question") if isinstance(one, dict) else one for one in body)
    texts = (_as_item(entry).question for entry in entries if isinstance(entry, str))
    return [text for text in texts if _is_item(text)]


def _as_item(text: str) -> _Item:
    item = _Item(0, again=False)
    for block in _blocks(text):
        item.add(block)
    return item


def _from_lines(text: str) -> list[str]:
    items = [(item.question, item.again) for item in _items(text)]
    if items:
        return [one for one, again in items if (is_question(one) if again else _is_item(one))]
    lines = [" ".join(line.split()) for line in text.split("\n")]
    bullets = [_cleaned(found["text"]) for found in map(_BULLET.fullmatch, lines) if found]
    if bullets:
        asking = [one for one in bullets if is_question(one)]
        return asking or [one for one in bullets if _is_item(one) and one.endswith(_ENDS)]
    asking = [_cleaned(line) for line in lines if undecorated(line).endswith(_ASKS)]
    return [one for one in asking if is_question(one)] if len(asking) > 1 else []
