"""Claims that a reasoning step makes about plain values, checked by rule: equalities and orders.

Nothing here knows a task. An equality is an equality wherever it stands: `7 - 28 = -21` holds and
`8 * 3 = 25` does not; a letter that was set equal to a number stands for it in later steps. An
order is a chain of `<` between quoted words or numbers: words by the alphabet.

Text is read with a grammar of four operations and brackets, and is never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_TOKEN = re.compile(r"\d+(?:\.\d+)?|\b[A-Z]\b|[-+*/()\[\]×]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGNS = (["+"], ["-"], ["*"], ["/"], ["×"])
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|\$")
_LONGEST = 60
"""Tokens of an expression that are looked at."""

_LONGEST_STEP, _LONGEST_OPERAND = 10_000, 1_000
"""Characters of a step and of an operand that are looked at; no step of the data has a tenth."""

_LAST_OPERAND = re.compile(r'((?:\(\d+\)\s*)?(?:\[[^\[\]<>]*\]|"[^"<>]*")|\d+(?:\.\d+)?)\s*$')
_FIRST_OPERAND = re.compile(r'\s*((?:\(\d+\)\s*)?(?:\[[^\[\]<>]*\]|"[^"<>]*")|\d+(?:\.\d+)?)')
_QUOTED = re.compile(r'"([^"]*)"')
_RANK = re.compile(r"\((\d+)\)")


@dataclass(frozen=True, slots=True)
class Claims:
    """How many claims hold and how many do not."""

    held: int = 0
    broken: int = 0

    def __add__(self, other: Claims) -> Claims:
        return Claims(self.held + other.held, self.broken + other.broken)


def equalities(step: str, known: MutableMapping[str, float]) -> Claims:
    """Check the equalities of a step.

    Args:
        step: Its text.
        known: What letters stand for; letters that the step defines are added.

    >>> equalities("B = 8 + 2 = 10, and 3 * B = 31", {})
    Claims(held=1, broken=1)
    """
    found = Claims()
    step = step[:_LONGEST_STEP]
    parts = _GROUPING.sub("", step).replace("==", "=").split("=")
    for before, after in pairwise(parts):
        found += _equality(_last_tokens(before), _first_tokens(after), known)
    return found


def orders(step: str) -> Claims:
    """Check the chains of `<` and `>` between quoted words or numbers.

    >>> orders('(1) "ant" < (3) ["cow" ? "cat"] < (2) "bee"')
    Claims(held=1, broken=1)
    """
    held = broken = 0
    step = step[:_LONGEST_STEP]
    for place, sign in ((m.start(), m.group()) for m in re.finditer("[<>]", step)):
        left = _LAST_OPERAND.search(step[max(0, place - _LONGEST_OPERAND) : place])
        right = _FIRST_OPERAND.match(step, place + 1)
        if left is None or right is None:
            continue
        small, large = (left, right) if sign == "<" else (right, left)
        if _in_order(small.group(1), large.group(1)):
            held += 1
        else:
            broken += 1
    return Claims(held, broken)


def _in_order(small: str, large: str) -> bool:
    before, after = _QUOTED.findall(small), _QUOTED.findall(large)
    if bool(before) != bool(after):
        return True  # a word and a number: nothing is claimed that could be checked
    if not before:
        return float(small) < float(large)
    ranks = [int(m.group(1)) for m in map(_RANK.match, (small, large)) if m is not None]
    return max(before) <= min(after) and (len(ranks) < 2 or ranks[0] < ranks[1])


def _equality(left: list[str], right: list[str], known: MutableMapping[str, float]) -> Claims:
    ends = (end for end in range(len(right), 0, -1) if right[end : end + 1] not in _SIGNS)
    second = _longest((right[:end] for end in ends), known)
    if second is None:
        return Claims()
    # A part behind a sign is no whole: of "X + 3 = 5" with X unknown, nothing can be said.
    starts = [at for at in range(len(left)) if _begins(left, at)]
    first = _longest((left[start:] for start in starts), known)
    if first is None:
        if starts and starts[-1] == len(left) - 1 and left[-1].isalpha():
            known[left[-1]] = second
        return Claims()
    return Claims(1, 0) if abs(first - second) < 1e-6 * max(1.0, abs(first)) else Claims(0, 1)


def _begins(tokens: Sequence[str], at: int) -> bool:
    """Whether an expression may begin here: at the start, in a bracket, or on its own."""
    if at == 0 or tokens[at - 1] in "([":
        return True
    return [tokens[at - 1]] not in _SIGNS and [tokens[at]] not in _SIGNS


def _longest(runs: Iterable[list[str]], known: MutableMapping[str, float]) -> float | None:
    """The value of the first run that is a whole expression; runs come longest first."""
    for run in runs:
        value = _value(run, known)
        if value is not None:
            return value
    return None


def _last_tokens(text: str) -> list[str]:
    """The arithmetic that a text ends on."""
    found = list(_TOKEN.finditer(text))[-_LONGEST:]
    end, taken = len(text.rstrip(" \"'")), []
    for match in reversed(found):
        if text[match.end() : end].strip():
            break
        taken.append(match.group())
        end = match.start()
    return taken[::-1]


def _first_tokens(text: str) -> list[str]:
    """The arithmetic that a text begins with."""
    end, taken = 0, []
    for match in _TOKEN.finditer(text):
        if text[end : match.start()].strip(" \"'"):
            break
        taken.append(match.group())
        end = match.end()
        if len(taken) == _LONGEST:
            break
    return taken


def _value(tokens: Sequence[str], known: MutableMapping[str, float]) -> float | None:
    """What an expression comes to; None where it is none or a letter is not known."""
    reader = _Reader(tokens, known)
    try:
        value = reader.sum()
    except (ValueError, ZeroDivisionError, RecursionError, OverflowError):
        return None
    return value if reader.at == len(tokens) else None


class _Reader:
    """Recursive descent over tokens."""

    def __init__(self, tokens: Sequence[str], known: MutableMapping[str, float]) -> None:
        self.tokens = tokens
        self.known = known
        self.at = 0

    def sum(self) -> float:
        signs: dict[str, Callable[[float, float], float]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
        }
        return self._chain(signs, self.product)

    def product(self) -> float:
        signs: dict[str, Callable[[float, float], float]] = {
            "*": lambda a, b: a * b,
            "×": lambda a, b: a * b,
            "/": lambda a, b: a / b,
        }
        return self._chain(signs, self.factor)

    def factor(self) -> float:
        token = self._next()
        if token in "+-":
            return self.factor() * (1 if token == "+" else -1)
        if token in "([":
            value = self.sum()
            if self._next() != {"(": ")", "[": "]"}[token]:
                raise ValueError("a bracket is not closed")
            return value
        if token in self.known:
            return self.known[token]
        if _NUMBER.fullmatch(token):
            return float(token)
        raise ValueError(token)

    def _chain(
        self, signs: dict[str, Callable[[float, float], float]], part: Callable[[], float]
    ) -> float:
        value = part()
        while self.at < len(self.tokens) and self.tokens[self.at] in signs:
            sign = signs[self._next()]
            value = sign(value, part())
        return value

    def _next(self) -> str:
        if self.at == len(self.tokens):
            raise ValueError("the expression breaks off")
        self.at += 1
        return self.tokens[self.at - 1]
