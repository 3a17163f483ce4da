"""The lines of a reply in which its writer speaks for itself.

What somebody else wrote is left out: repeated sections of the prompt, quoted lines, code blocks,
and elements such as `<blockquote>`, `<pre>` and any whose name is not known to be mere form. Every
step goes over the text once, so the time grows with its length alone.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from peerexam.examiners.prompting.delimiters import without_blocks

_OPENS_CODE = re.compile(r"(`{3,}+|~{3,}+)(.*)")
_EMPHASIS = re.compile(r"\*++|`++|(?<!\w)_++|(?<!_)_++(?!\w)")
_HEADING = re.compile(r"#{1,6}\s")
_LATEX = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|mathbf|mathrm|emph|underline)\s{0,9}\{([^{}]*)\}"
)
_NESTED = 3
_MATHS = re.compile(r"\$|\\[()\[\]]")
_DIGIT = re.compile(r"(?![0-9])\d")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_TAG = re.compile(r"<(?P<shut>/?)(?P<name>[A-Za-z][\w:-]{0,40})(?:\s[^<>]{0,200})?/?>")
_FORM = frozenset(
    {
        "answer",
        "assessment",
        "b",
        "big",
        "center",
        "choice",
        "decision",
        "em",
        "evaluation",
        "final",
        "final-answer",
        "final_answer",
        "final_verdict",
        "font",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "i",
        "judgement",
        "judgment",
        "label",
        "mark",
        "marks",
        "output",
        "rating",
        "ratings",
        "reply",
        "response",
        "result",
        "score",
        "scores",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "u",
        "verdict",
        "winner",
    }
)  # fmt: skip
"""Elements that are mere form, or say that what is in them is the writer's answer."""

_BREAKS = frozenset(
    {
        "body",
        "br",
        "div",
        "hr",
        "html",
        "li",
        "ol",
        "p",
        "section",
        "table",
        "tbody",
        "td",
        "th",
        "tr",
        "ul",
    }
)  # fmt: skip
_SAYS_WHAT = frozenset(["verdict", "winner", "decision", "judgment", "judgement"])
_ORNAMENTS = dict.fromkeys(map(ord, "✅✔☑🏆🥇🏅🎖👑⭐🌟✨🎯👉➡▶🤝⚖📊📝🔍💡\ufe0f"))
_REPORTS = re.compile(
    r"\b(?:says|said|writes|wrote|ends|ended|contains|contained|reads|states|stated|claims|claimed"
    r"|quotes|quoted|concludes|concluded|includes|included|appends|appended|adds|added|instructs"
    r"|tells|told|demands|orders)\b",
    re.IGNORECASE,
)
_NO_REPORT = re.compile(r"\bI\b|\bthat (?:being )?said\b", re.IGNORECASE)
_QUOTES = frozenset(["blockquote", "pre", "code", "q", "cite", "samp", "textarea", "xmp"])
_INDENT = 4


def own_lines(text: str) -> list[str]:
    """The writer's own lines, without decoration; those of others are blank.

    A reply that is one code block from end to end is its writer's own. Where a quotation is opened
    and never closed, nobody knows whose words the others are, so there are no lines at all. A line
    below one that reports ("The second response ends with:") is no own one.
    """
    whole = whole_block(text)
    written = without_blocks(text if whole is None else whole).split("\n")
    outside = _outside(written)
    if outside is not None:
        _drop_reported(outside, written)
    shown = None if outside is None else _without_elements("\n".join(outside))
    if shown is None:
        return []
    lines = shown.split("\n")
    filled = sum(1 for line in lines if line.strip())
    return [plain("" if filled > 1 and _is_code_span(line) else line) for line in lines]


def _drop_reported(lines: list[str], written: list[str]) -> None:
    """Empty the first line with words below each that reports what somebody wrote, but for tags.

    Args:
        lines: Those in code blocks and quotations are blank.
        written: As they were.
    """
    reports = False
    for at, line in enumerate(lines):
        if reports and any(map(str.isalnum, _TAG.sub("", written[at]))):
            reports = False
            lines[at] = "".join(tag.group() for tag in _TAG.finditer(line))
        elif line.rstrip(" \t\r*_").endswith((":", "：")):
            reports = _REPORTS.search(line) is not None and not _NO_REPORT.search(line)


def whole_block(text: str) -> str | None:
    r"""What stands in the one code block that the whole text is; None where it is none.

    >>> whole_block("~~~json\n{}\n~~~")
    '{}'
    """
    lines = text.strip().split("\n")
    opening = _OPENS_CODE.fullmatch(lines[0].rstrip())
    if opening is None:
        return None
    mark, info = opening.groups()
    if len(lines) == 1:
        inside = info.removesuffix(mark)
        return inside if info.endswith(mark) and "`" not in inside else None
    ends = [n for n, line in enumerate(lines) if n and _closes(line, mark)]
    if "`" in info or (ends and ends[0] != len(lines) - 1):
        return None
    return "\n".join(lines[1 : ends[0] if ends else len(lines)])


class ClosingBlock(NamedTuple):
    """A code block with which a text ends.

    Attributes:
        inside: Its lines.
        lead: The line that leads up to it, undecorated.
        apart: A blank line stands between them.
    """

    inside: str
    lead: str
    apart: bool


def closing_block(text: str) -> ClosingBlock | None:
    """The code block with which a text ends; None where it ends otherwise."""
    lines = text.strip().split("\n")
    opened: tuple[int, str] | None = None
    for n, line in enumerate(lines):
        if opened is None:
            opening = _OPENS_CODE.fullmatch(line.strip())
            opened = (n, opening[1]) if opening and "`" not in opening[2] else None
        elif _closes(line, opened[1]):
            if n == len(lines) - 1:
                first = opened[0]
                before = (one for one in reversed(lines[:first]) if one.strip())
                apart = first > 0 and not lines[first - 1].strip()
                return ClosingBlock("\n".join(lines[first + 1 : n]), plain(next(before, "")), apart)
            opened = None
    return None


def _closes(line: str, mark: str) -> bool:
    line = line.strip()
    return line.startswith(mark) and not line.strip(mark[0])


def _outside(lines: list[str]) -> list[str] | None:
    """The lines, those in code blocks and quotations blank; None where a block is never closed."""
    kept: list[str] = []
    mark: str | None = None
    held = False
    indented = all(map(_is_indented, filter(str.strip, lines)))
    blank = code = False
    for line in lines:
        bare = line.strip()
        code = bool(bare) and not indented and (blank or code) and _is_indented(line)
        blank = not bare
        if mark is not None:
            closed = bare.startswith(mark) and _closes(bare, mark)
            held = held or (bool(bare) and not closed)
            mark = None if closed else mark
        elif bare.startswith(("```", "~~~")) and (opening := _OPENS_CODE.fullmatch(bare)):
            mark, held = (None if _is_one_line(opening) else opening[1]), False
        elif not code and not bare.startswith(">"):
            kept.append(line)
            continue
        kept.append("")
    return None if mark is not None and held else kept


def _is_one_line(opening: re.Match[str]) -> bool:
    """Whether a block of code opens and ends on one line."""
    return opening[1][0] == "`" and "`" in opening[2]


def _is_indented(line: str) -> bool:
    if line[:1] not in (" ", "\t"):
        return False
    head = line[: len(line) - len(line.lstrip(" \t"))]
    return len(head.expandtabs(_INDENT)) >= _INDENT and bool(line.strip())


def _is_code_span(line: str) -> bool:
    bare = line.strip().rstrip(".!") if "`" in line else ""
    return len(bare) > 1 and bare[0] == "`" == bare[-1] and "`" not in bare.strip("`")


def _without_elements(text: str) -> str | None:
    """The text without the elements that quote, and without the tags of those that are form.

    None where one that quotes is opened and never closed.
    """
    tags = list(_TAG.finditer(text))
    last_shut = {tag["name"].lower(): tag.start() for tag in tags if tag["shut"]}
    kept: list[str] = []
    start, inside, depth = 0, "", 0
    for tag in tags:
        name, shut = tag["name"].lower(), bool(tag["shut"])
        if inside:
            depth += (-1 if shut else 1) if name == inside else 0
            if not depth:
                inside, start = "", tag.end()
        elif name in _FORM or name in _BREAKS:
            kept += (text[start : tag.start()], _instead(name, shut))
            start = tag.end()
        elif not shut and _opens(text, tag, name, last_shut.get(name, -1)):
            kept.append(text[start : tag.start()])
            inside, depth = name, 1
    return None if inside else "".join([*kept, text[start:]])


def _instead(name: str, shut: bool) -> str:
    if name in _SAYS_WHAT:
        return "\n" if shut else f"\n{name}: "
    return "\n" if name in _BREAKS else ""


def _opens(text: str, tag: re.Match[str], name: str, last_shut: int) -> bool:
    """Whether a tag opens an element: it is closed, or it begins a line and what it opens is cut.

    A tag in passing ("a List<String> is used") opens nothing.
    """
    if last_shut > tag.start():
        return True
    begins = text[max(0, tag.start() - 200) : tag.start()].rpartition("\n")[2].strip() == ""
    ends = text[tag.end() : tag.end() + 200].partition("\n")[0].strip() == ""
    return begins and (name in _QUOTES or ends)


def plain(line: str) -> str:
    r"""A line without decoration, and in plain characters: what a reader looks at.

    Emphasis, code marks, heading signs, `\boxed{…}` and invisible characters go; wide letters and
    the digits of all scripts become the usual ones.

    >>> plain("## **Score:** ９")
    'Score: 9'
    """
    if not line:
        return line
    if not line.isascii():
        line = line.translate(_WIDE).translate(_ORNAMENTS)
        line = "".join(one for one in line if one.isascii() or unicodedata.category(one) != "Cf")
        line = _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), line)
    if "\\" in line:
        for _ in range(_NESTED):
            line = _LATEX.sub(r"\1", line)
        line = _MATHS.sub("", line)
    return undecorated(line)


def undecorated(line: str) -> str:
    """A line without emphasis, code marks and heading signs, its spaces made single.

    >>> undecorated("## **Score:** _9_")
    'Score: 9'
    """
    line = line.strip()
    if heading := _HEADING.match(line):
        line = line[heading.end() :]
    return " ".join(_EMPHASIS.sub("", line).split())
