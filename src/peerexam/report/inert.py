"""Untrusted text made harmless for the program that opens it: spreadsheets, terminals, Markdown."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

_FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")
_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")

Cell = str | int | float | None


def csv_cell(value: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula.

    Text that starts with `=`, `+`, `-`, `@` (also in their full-width forms), a tab or a line end
    gets an apostrophe in front, which spreadsheets show as text. Numbers stay numbers, the
    negative ones too.

    >>> csv_cell("=1+1"), csv_cell("-5 degrees"), csv_cell(-0.5), csv_cell("A-1")
    ("'=1+1", "'-5 degrees", -0.5, 'A-1')
    """
    if isinstance(value, str) and value.startswith(_FORMULA_SIGNS):
        return f"'{value}"
    return value


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A CSV file with inert cells, as RFC 4180 has it; a missing value is an empty cell."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([csv_cell(name) for name in head])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(markdown_text("a|b *c*"))
    a\|b \*c\*
    >>> print(markdown_text("<b>"))
    &lt;b&gt;
    """
    flat = " ".join(printable(text).split())
    escaped = _MARKDOWN.sub(r"\\\1", flat.replace("&", "&amp;"))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def printable(text: str) -> str:
    r"""Text without control characters, which could steer a terminal or turn its direction.

    >>> print(printable("a\x1b[31mb"))
    a�[31mb
    """
    return "".join(
        "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char
        for char in text
    )


def width_of(text: str) -> int:
    """Columns that text takes in a terminal: wide characters two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
