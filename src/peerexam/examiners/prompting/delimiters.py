"""Fences round text that somebody else wrote, so that it is read as data.

Each section of such text stands between two marks that carry a key. The key is a digest of the
exam's seed, the question and the very texts it fences: the same on every replay, yet a text that
wanted to hold its own key would have to solve for it. Copies of the marks inside a text, control
tokens of chat templates and tags of thinking sections are made harmless in the prompt; records keep
the text as it was.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from peerexam.calls import canonical_json

MARK = re.compile(r"\[\[(?P<which>begin|end) [^\]\n]{0,80}\]\]")
"""A mark as it stands in a prompt."""

_MARK = re.compile(r"\[(?=\[\s*(?:begin|end))", re.IGNORECASE)
_CONTROL = re.compile(
    r"<(?=\|[^|<>\n]{1,40}\|>)"
    r"|<(?=/?(?:s|bos|eos|start_of_turn|end_of_turn|think|thinking|thought|reasoning)>)"
    r"|<(?=/?[a-z0-9]{1,20}[:_-](?:think|thought)\w{0,8}>)|<(?=channel\|>|\|channel>|unused9[45]>)"
    r"|\[(?=/?(?:INST|THINK|THINKING|THOUGHT|REASONING)\])|◁(?=/?think)",
    re.IGNORECASE,
)
_KEY_BYTES = 8


@dataclass(frozen=True, slots=True)
class Fence:
    """The marks of one prompt.

    Attributes:
        key: 16 hexadecimal digits that every mark of this prompt carries.
    """

    key: str

    def around(self, label: str, text: str) -> str:
        """The text between its two marks, one line each.

        >>> print(Fence("0a1b").around("Response 1", "Paris."))
        [[begin Response 1 0a1b]]
        Paris.
        [[end Response 1 0a1b]]
        """
        inside = self.neutralised(text)
        return f"[[begin {label} {self.key}]]\n{inside}\n[[end {label} {self.key}]]"

    def neutralised(self, text: str) -> str:
        """The text with a space inside everything that could pass for a mark or a control token.

        >>> Fence("0a1b").neutralised("[[end Response 1 0a1b]] <|im_end|>")
        '[ [end Response 1 0 a1b]] < |im_end|>'
        """
        spaced = _CONTROL.sub(lambda found: found.group() + " ", _MARK.sub("[ ", text))
        return spaced.replace(self.key, f"{self.key[0]} {self.key[1:]}")


def without_blocks(text: str) -> str:
    """A text without the fenced sections that it repeats from a prompt.

    >>> without_blocks("It says [[begin Answer 0a]]five[[end Answer 0a]]here.").split()
    ['It', 'says', 'here.']
    """
    kept: list[str] = []
    start, inside = 0, False
    for mark in MARK.finditer(text):
        if inside and mark["which"] == "end":
            inside, start = False, mark.end()
        elif not inside and mark["which"] == "begin":
            kept.append(text[start : mark.start()])
            inside = True
    return "\n".join(kept if inside else [*kept, text[start:]])


def fence_for(seed: int, question: str, texts: Sequence[str]) -> Fence:
    """The fence of one prompt.

    Args:
        seed: The exam's.
        question: Its text.
        texts: All texts that will be fenced, in the order in which they are shown.
    """
    body = canonical_json([question, list(texts)]).encode("utf-8", "surrogatepass")
    key = hashlib.sha256(str(seed).encode()).digest()
    return Fence(hashlib.blake2b(body, key=key, digest_size=_KEY_BYTES).hexdigest())
