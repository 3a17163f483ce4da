"""Numbers as people read them. A missing value is a dash, never a zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from peerexam.calls import Json

MISSING = "–"
MINUS = "−"


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with a fixed count of decimals.

    >>> decimal(0.125), decimal(-0.5, 1), decimal(None)
    ('0.12', '−0.5', '–')
    """
    if value is None:
        return MISSING
    return _proper(f"{value:.{digits}f}")


def percent(share: float | None, digits: int = 0) -> str:
    """A share (0..1) in per cent, without the sign.

    >>> percent(0.625, 1), percent(None)
    ('62.5', '–')
    """
    return decimal(None if share is None else 100 * share, digits)


def signed(value: float | None, digits: int = 2) -> str:
    """A number that always shows its sign.

    >>> signed(0.14), signed(-0.14), signed(0.0)
    ('+0.14', '−0.14', '0.00')
    """
    text = decimal(value, digits)
    is_up = value is not None and value > 0 and text.strip("0.") != ""
    return f"+{text}" if is_up else text


def points(share: float | None) -> str:
    """A difference of shares in percentage points, signed.

    >>> points(0.14)
    '+14.0'
    """
    return signed(None if share is None else 100 * share, 1)


def span(low: str, high: str) -> str:
    """An interval from two numbers that are already text.

    >>> span("−3", "4"), span("–", "–")
    ('[−3, 4]', '–')
    """
    return MISSING if MISSING in (low, high) else f"[{low}, {high}]"


def interval(one: Mapping[str, Json], number: Callable[[float | None], str] = percent) -> str:
    """The interval of an estimate as it was stored, in per cent or as `number` writes it.

    >>> interval({"low": 0.25, "high": 0.5}), interval({"low": None, "high": None})
    ('[25, 50]', '–')
    """
    return span(number(one.get("low")), number(one.get("high")))


def probability(p: float | None) -> str:
    """A p-value, never printed as 0, nor as 0.050 where it is below that.

    >>> probability(0.0312), probability(0.00001), probability(0.04996), probability(None)
    ('0.031', '< 0.001', '< 0.05', '–')
    """
    if p is None:
        return MISSING
    if p < 0.001:
        return "< 0.001"
    text = f"{p:.3f}"
    return "< 0.05" if text == "0.050" and p < 0.05 else text


def rank_interval(low: int, high: int) -> str:
    """The ranks that an agent's interval allows.

    >>> rank_interval(1, 3), rank_interval(2, 2)
    ('1–3', '2')
    """
    return str(low) if low == high else f"{low}–{high}"


def ratio(count: int | None, of: int | None) -> str:
    """So many of so many.

    >>> ratio(3, 40), ratio(None, None)
    ('3 / 40', '–')
    """
    return MISSING if count is None or of is None else f"{count} / {of}"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Names as a sentence lists them.

    >>> listed(["A", "B", "C"]), listed(["A"]), listed([])
    ('A, B and C', 'A', 'nobody')
    """
    if not names:
        return "nobody"
    head, last = names[:-1], names[-1]
    return f"{', '.join(head)} and {last}" if head else last


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "judge"), counted(3, "judge")
    ('1 judge', '3 judges')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _proper(text: str) -> str:
    if text.startswith("-"):
        bare = text[1:]
        return MINUS + bare if bare.strip("0.") else bare
    return text
