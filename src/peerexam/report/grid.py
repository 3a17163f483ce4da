"""A table for a terminal: as wide as it is, or fitted into the columns that there are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from peerexam.report.inert import width_of
from peerexam.report.numbers import MISSING

_GAP = "  "
_LEAST = 12
"""Columns that a key keeps, however little room there is."""

_NOTHING = frozenset({"", "-", MISSING})


@dataclass(frozen=True, slots=True)
class _Column:
    """Lines of the head and of every cell."""

    head: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    is_right: bool

    @property
    def width(self) -> int:
        return max(width_of(line) for cell in (self.head, *self.cells) for line in cell)


def grid(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Collection[int] = (),
    *,
    width: int | None = None,
    keys: Sequence[int] = (0,),
) -> str:
    """A table, with a rule under its head.

    Where it is wider than the terminal, columns in which nothing stands are left out, and heads
    are broken between their words; what then still does not fit goes on in a second table, which
    repeats the keys. No word is broken.

    >>> print(grid(("agent", "win rate %"), [("a", "50")], {1}))
    agent  win rate %
    -----  ----------
    a              50

    Args:
        heads: Of the columns.
        rows: Printable cells, as many a row as there are heads.
        right: Columns that stand to the right.
        width: Columns of the terminal; None where nobody knows, as in a file.
        keys: The columns that say what a row is about.
    """
    columns = [
        _Column((head,), tuple((row[at],) for row in rows), at in right)
        for at, head in enumerate(heads)
    ]
    if not rows or width is None or _total(columns) <= width:
        return _drawn(columns)
    subject = _subject([columns[at] for at in keys], width * 2 // 3)
    room = width - _total(subject) - len(_GAP)
    parts: list[list[_Column]] = [[]]
    for at, column in enumerate(columns):
        if at in keys:
            parts[0].append(subject[keys.index(at)])
        elif any(cell[0] not in _NOTHING for cell in column.cells):
            narrow = _narrowed(column, room)
            if at > max(keys) and _total([*parts[-1], narrow]) > width:
                parts.append(list(subject))
            parts[-1].append(narrow)
    return "\n\n".join(map(_drawn, parts))


def _subject(keys: list[_Column], room: int) -> list[_Column]:
    """The keys, the widest of them on several lines where they leave no room beside them."""
    keys = [_narrowed(column, room) for column in keys]
    excess = _total(keys) - room
    if excess > 0:
        widest = max(range(len(keys)), key=lambda at: keys[at].width)
        keys[widest] = _narrowed(keys[widest], max(keys[widest].width - excess, _LEAST))
    return keys


def _narrowed(column: _Column, room: int) -> _Column:
    """With its head, and where it is wider than the room its cells, on several lines."""
    cells = column.cells
    if max(width_of(line) for cell in cells for line in cell) > room:
        cells = tuple(tuple(wrap(" ".join(cell), room)) for cell in cells)
    widest = max([width_of(line) for cell in cells for line in cell] or [0])
    return replace(column, head=tuple(wrap(column.head[0], widest)), cells=cells)


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _drawn(columns: Sequence[_Column]) -> str:
    rows = [[column.head for column in columns]]
    rows += [list(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    head, *body = (_row(cells, columns) for cells in rows)
    rule = _GAP.join("-" * column.width for column in columns)
    return "\n".join([*head, rule, *(line for lines in body for line in lines)])


def _row(cells: Sequence[tuple[str, ...]], columns: Sequence[_Column]) -> list[str]:
    lines = []
    for at in range(max(map(len, cells))):
        texts = [cell[at] if at < len(cell) else "" for cell in cells]
        padded = map(_padded, texts, columns)
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _padded(text: str, column: _Column) -> str:
    space = " " * (column.width - width_of(text))
    return space + text if column.is_right else text + space


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """A line as lines of at most so many columns, broken between words; a longer word overflows.

    >>> wrap("- one two three", 9, "  ")
    ['- one two', '  three']

    Args:
        text: Without newlines; spaces within a line are kept as they are.
        width: Columns.
        indent: Put in front of every line but the first.
    """
    first, *words = text.split(" ")
    lines, line = [], first
    for word in words:
        longer = f"{line} {word}"
        if line.strip() and width_of(longer) > width:
            lines.append(line)
            line = indent + word
        else:
            line = longer
    return [*lines, line]
