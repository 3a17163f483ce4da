r"""Numbers as models write them, and when two of them are the same number.

`1,000`, `1000` and `1000.0` are one number, and so are `7/2` and `3.5`. A decimal with two places
or more, trailing zeros not counted, may stand for what it was rounded or cut from: `0.33` is the
same as `1/3` and as `0.3333`, `0.67` and `0.66` both as `2/3`, but `0.3` is not, and `0.33` is not
`0.34`. Whole numbers are never taken for rounded.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from peerexam.calls import LONGEST_REPLY

_PLACES = 2
_LONGEST = 400
_DIGITS = r"(?:\d{1,3}(?:,\d{2,3}){0,40},\d{3}(?!\d)|\d+)"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>-\s?)?(?:(?P<mixed>\d{{1,9}})\s(?=\d+\s?/))?(?P<whole>{_DIGITS})"
    rf"(?:(?P<point>\.\d+)|\s?/\s?(?P<below>-?{_DIGITS}))?"
    r"(?:[eE](?P<power>[+-]?\d{1,3})|\s?(?:\\times|\\cdot|[×·xX])\s?10\s?\^\s?\{?(?P<ten>-?\d{1,3})\}?)?"
    r"(?![\d]|\.\d|[A-Za-z])",
    re.ASCII,
)
_LEADS = re.compile(
    r"(?:=|≈|\bequals|\bis|\bbe|\banswer\b|\bvalue\b|\bresult\b)\s{0,9}(?:about|approximately)?"
    r"\s{0,9}:?\s{0,9}(?=[-\d])",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"\\[dt]?frac\s{0,9}\{\s{0,9}(-?\d{1,99})\s{0,9}\}\s{0,9}\{\s{0,9}(-?\d{1,99})\s{0,9}\}"
)
_BOXED = re.compile(r"\\boxed\s{0,9}\{([^{}]*)\}")
_TEX_GROUPING = re.compile(r"(?<=\d)(?:\{,\}|\\[,!;]\s?|\{\\,\})(?=\d)")
# The Swiss apostrophe, and the spaces that do not break a line; only before three digits.
_GROUPING = re.compile(r"(?<=\d)['’\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_SIGNS = str.maketrans(dict.fromkeys("$€£¥*`", " "))
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
# Behind a digit a dash parts two numbers (3–5), where a minus sign takes one from the other.
_MINUS = re.compile("[−﹣－‐‑⁻]|(?<![0-9])(?<![0-9] )[–‒]")


def plain_numbers(text: str) -> str:
    r"""A text with its numbers in the usual characters: signs, digit groups, fractions, digits.

    >>> plain_numbers(r"−3{,}500 and 1’000 and \frac{1}{4}")
    '-3,500 and 1,000 and  1/4 '
    """
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
        text = _MINUS.sub("-", text)
    return _GROUPING.sub(",", _TEX_GROUPING.sub(",", _FRACTION.sub(r" \1/\2 ", text)))


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number and how it was written.

    Attributes:
        value: What it is.
        text: Digits without separators: `-3`, `0.25` or `7/2`.
        places: Digits after the point, trailing zeros left out; 0 where it is exact as it stands.
    """

    value: Fraction
    text: str
    places: int = 0

    @property
    def operand(self) -> str:
        """As it may stand in a larger expression."""
        return f"({self.text})" if not self.text.replace(".", "").isdigit() else self.text


def read_numeral(text: str) -> Numeral | str:
    r"""The one number that a text gives as its answer.

    That is the number in it; where there are several, the one after the last `=`, "is", "answer:"
    and the like, if nothing but that number stands there; and else the one that stands alone on
    the last line.

    Returns:
        The number, or why none was read. It never guesses among several.

    >>> read_numeral("(2*3)+4 = 6 + 4 = 10").value, read_numeral("It is **1,000.0**.").text
    (Fraction(10, 1), '1000.0')
    >>> read_numeral("2*3 and 4*5")
    'it holds several numbers, and none is marked as the answer'
    """
    if len(text) > LONGEST_REPLY:
        return "it is too long"
    plain = _BOXED.sub(r" = \1 ", plain_numbers(text)).translate(_SIGNS)
    found = list(_NUMBER.finditer(plain))
    if not found:
        return "it holds no number"
    if len(found) == 1:
        return _numeral(found[0])
    leads = list(_LEADS.finditer(plain))
    if leads:
        marked = [each for each in found if each.start() >= leads[-1].end()]
        if len(marked) == 1:
            return _numeral(marked[0])
    lines = [line.strip().rstrip(".") for line in plain.splitlines() if line.strip()]
    alone = _NUMBER.fullmatch(lines[-1])
    if alone and not leads:
        return _numeral(alone)
    return "it holds several numbers, and none is marked as the answer"


def _numeral(found: re.Match[str]) -> Numeral | str:
    if len(found.group()) > _LONGEST:
        return "its number is too long"
    sign = "-" if found["sign"] else ""
    whole, below = found["whole"].replace(",", ""), (found["below"] or "").replace(",", "")
    if below:
        if not int(below):
            return "it divides by zero"
        above = int(whole) + int(found["mixed"] or 0) * int(below)
        return Numeral(Fraction(int(f"{sign}{above}"), int(below)), f"{sign}{above}/{below}")
    text = f"{sign}{whole}{found['point'] or ''}"
    value = Fraction(text)
    power = found["power"] or found["ten"]
    if power:
        value *= Fraction(10) ** int(power)
        return Numeral(value, str(value))
    return Numeral(value, text, len((found["point"] or ".")[1:].rstrip("0")))


def same_number(one: Numeral, other: Numeral) -> bool:
    """Whether two numerals stand for one number, by the rule at the head of this module."""
    if one.value == other.value:
        return True
    return _shortens(one, other.value) or _shortens(other, one.value)


def is_number(numeral: Numeral, value: Fraction) -> bool:
    """Whether a numeral stands for a value."""
    return numeral.value == value or _shortens(numeral, value)


def _shortens(numeral: Numeral, value: Fraction) -> bool:
    """Whether it is the value rounded, or cut off, at its own places."""
    if numeral.places < _PLACES or "/" in numeral.text:
        return False
    scale = 10**numeral.places
    written, scaled = abs(numeral.value) * scale, abs(value) * scale
    if (numeral.value < 0) != (value < 0):
        return False
    return int(written) in (int(scaled), int(scaled + Fraction(1, 2)))
