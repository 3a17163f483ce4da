"""Thinking text that a model writes into its reply, and the answer that stands behind it.

Every family of models marks its thinking in its own way, and servers that do not know the way let
the marks through. Known here are tags that are called think, thought, reasoning and the like, in
any brackets (`<think>`, `<seed:think>`, `[THINK]`, `◁think▷`, `<|START_THINKING|>`,
`<|begin_of_thought|>`), channels (`<|channel|>analysis<|message|>`, also with the special tokens
stripped, and `<|channel>thought`), and lines such as `...done thinking.`
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["open", "close", "final"]

_NAME = r"(?:[a-z0-9]{1,20}[:_-])?(?:think|thinking|thought|thoughts|reasoning|cot)"
_MARKER = re.compile(
    rf"<(?P<shut>/?){_NAME}(?:\s[^<>\n]{{0,80}})?>"
    rf"|\[(?P<shut2>/?){_NAME}\]|◁(?P<shut3>/?){_NAME}▷"
    r"|<[|｜]channel[|｜]?>[ \t]{0,8}(?P<channel>[a-z]{0,20})[^<>\n]{0,80}"
    r"(?:<[|｜]constrain[|｜]>[^<>\n]{0,80})?(?:<[|｜]message[|｜]>)?"
    r"|<channel[|｜]>(?P<unchannel>)"
    r"|<[|｜](?P<token>/?[a-z][a-z0-9_▁-]{0,38})[|｜]>"
    r"|<unused9(?P<unused>[45])>(?:thought\n)?",
    re.IGNORECASE,
)
_GLUED = re.compile(r"assistant(final|analysis|commentary)")
_SPACED = re.compile(r"assistant\s{0,4}(final|analysis|commentary)")
_BARE_CHANNEL = re.compile(r"\s*+analysis(?:[ \t]*+\n|(?=[A-Z\"'“]))")
_OPENS_PLAIN = re.compile(
    r"\s*+(?:Thinking\.\.\.[ \t]*+\n|Here(?: is|'s) my thought process:|#{1,6} Thinking[ \t]*+\n)"
)
_ENDS_PLAIN = re.compile(
    r"^(?:\.\.\.done thinking\.|Here(?: is|'s) my response:|#{1,6} Final Response[ \t]*+$)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)([^\n]*+)$", re.MULTILINE)
_QUOTES = frozenset("`'\"“”‘’")
_THINKS = re.compile(r"think|thought|reason|inner", re.IGNORECASE)
_ANSWERS = re.compile(r"response|solution|answer", re.IGNORECASE)
_ENDS = re.compile(r"^(?:/|end|eo)|[_-](?:end|suffix)$", re.IGNORECASE)
CONTROL_TOKEN = re.compile(
    r"<[|｜][^\s|｜<>](?:[^|｜<>\n]{0,38}[^\s|｜<>])?[|｜]>|</?(?:s|bos|eos|eot|pad)>"
    r"|<(?:start|end)_of_turn>|<\|?turn\|?>|\[/?INST\]",
    re.IGNORECASE,
)
"""A special token of a chat template that a server let through as text."""


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


class Marker(NamedTuple):
    """A mark between thinking and answer.

    Attributes:
        kind: What follows: thinking (`open`), something else (`close`), or what the mark itself
            declares to be the answer (`final`).
        start: Where it begins.
        end: Where what follows it begins.
        quoted: It stands in quotes or in a code block, so it is talked about and not used.
    """

    kind: Kind
    start: int
    end: int
    quoted: bool = False


def split_thinking(text: str, *, apart: bool = False) -> Thought:
    """Take leading thinking blocks off a reply.

    Only blocks in front of the answer are thinking: an answer may write about the marks. Some chat
    templates open the block in the prompt, so that the reply holds the closing mark alone; what
    stands before it is thinking too, unless it stands in quotes or in a code block. A reply without
    thinking is returned as it came.

    Args:
        text: The reply.
        apart: The provider gave the thinking apart; then a lone closing mark is the answer's own.

    >>> split_thinking("<think>2 and 2</think>Four.")
    Thought(thinking='2 and 2', text='Four.', unclosed=False)
    >>> split_thinking("<think>2 and").text
    ''
    """
    found = markers(text)
    ends = _closings(found)
    thoughts: list[str] = []
    at = n = 0
    while n < len(found) and found[n].kind != "close" and not text[at : found[n].start].strip():
        if found[n].kind == "final":
            return _answered(thoughts, text[found[n].end :])
        closing = ends[n]
        if closing is None:
            return Thought(
                "\n\n".join([*thoughts, text[found[n].end :].strip()]), "", unclosed=True
            )
        thoughts.append(text[found[n].end : found[closing].start].strip())
        at = found[closing].end
        if found[closing].kind == "final":
            return _answered(thoughts, text[at:])
        n = closing + 1
    if thoughts:
        return Thought("\n\n".join(thoughts), text[at:].lstrip())
    used = next((marker for marker in found if not marker.quoted), None)
    if apart or used is None or used.kind == "open":
        return Thought(None, text)
    return Thought(text[: used.start].strip(), text[used.end :].lstrip())


def _answered(thoughts: Sequence[str], rest: str) -> Thought:
    """A reply whose answer was declared, without the token that ends it."""
    return Thought("\n\n".join(thoughts) or None, without_end_tokens(rest.lstrip()))


def _closings(found: Sequence[Marker]) -> list[int | None]:
    """For each mark which later one ends its block: the next that does, if need be a quoted one."""
    ends: list[int | None] = []
    used = quoted = None
    for n in range(len(found) - 1, -1, -1):
        ends.append(quoted if used is None else used)
        if found[n].kind != "open":
            used, quoted = (used, n) if found[n].quoted else (n, quoted)
    return ends[::-1]


def without_end_tokens(text: str) -> str:
    """A text without the special tokens that it ends with.

    >>> without_end_tokens("Paris.<|im_end|>")
    'Paris.'
    """
    end = len(text)
    for token in reversed(list(CONTROL_TOKEN.finditer(text))):
        if text[token.end() : end].strip():
            break
        end = token.start()
    return text if end == len(text) else text[:end].rstrip()


def markers(text: str) -> list[Marker]:
    """Every mark of thinking in a text, in order; steps grow with its length alone."""
    found: list[Marker] = []
    if any(bracket in text for bracket in "<[◁"):  # every reply is searched, and few have one
        found += (
            Marker(kind, match.start(), match.end())
            for match in _MARKER.finditer(text)
            if (kind := _kind(match)) is not None
        )
    found += _without_tokens(text)
    if not found:
        return found
    found.sort(key=lambda marker: marker.start)
    code = _code_blocks(text)
    starts = [start for start, _ in code]

    def quoted(marker: Marker) -> bool:
        around = text[marker.start - 1 : marker.start], text[marker.end : marker.end + 1]
        if all(one in _QUOTES for one in around if one) and all(around):
            return True
        block = bisect_right(starts, marker.start) - 1
        return block >= 0 and marker.start < code[block][1]

    return [marker._replace(quoted=quoted(marker)) for marker in found]


def _kind(match: re.Match[str]) -> Kind | None:
    channel, token, unused = match["channel"], match["token"], match["unused"]
    if channel is not None:
        return "final" if channel.lower() == "final" else "open"
    if token is not None:
        return _kind_of_token(token)
    if match["unchannel"] is not None or unused == "5":
        return "close"
    shut = match["shut"] or match["shut2"] or match["shut3"]
    return "close" if shut else "open"


def _kind_of_token(token: str) -> Kind | None:
    ends = _ENDS.search(token) is not None
    if _THINKS.search(token):
        return "close" if ends else "open"
    return "final" if _ANSWERS.search(token) and not ends else None


def _without_tokens(text: str) -> list[Marker]:
    """Marks in plain words: what is left of channels, and the lines that some servers write."""
    found: list[Marker] = []
    bare = _BARE_CHANNEL.match(text)
    if "assistant" in text:
        found += (
            Marker("final" if word[1] == "final" else "open", word.start(), word.end())
            for word in (_SPACED if bare else _GLUED).finditer(text)
        )
    plain = _OPENS_PLAIN.match(text)
    if plain is not None:
        found += (Marker("final", *line.span()) for line in _ENDS_PLAIN.finditer(text))
    opening = bare or plain
    # A heading alone opens nothing: a reply may well have a part that is called so.
    if opening is not None and (found or not opening.group().lstrip().startswith("#")):
        found.append(Marker("open", *opening.span()))
    return found


def _code_blocks(text: str) -> list[tuple[int, int]]:
    """From where to where fenced code blocks reach; one that is never closed is none."""
    blocks: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence if fence[1][0] == "~" or "`" not in fence[2] else None
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            blocks.append((opened.start(), fence.end()))
            opened = None
    return blocks
