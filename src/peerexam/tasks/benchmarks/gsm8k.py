"""GSM8K: word problems of school mathematics, told right or wrong by the last number.

Extraction follows lm-evaluation-harness (`gsm8k.yaml`): its strict pattern where an answer has a
`####` line, else its flexible one. Numbers are compared as numbers, so that $46.00 is 46.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from peerexam.calls import LONGEST_REPLY
from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item, with_own_ids
from peerexam.tasks.benchmarks.rows import Row, benchmark_rows, located, text_of
from peerexam.tasks.consistency.numerals import plain_numbers

HUB = ("openai/gsm8k", "main", "test")
FILES = ("test.jsonl",)

# Dots and commas belong to the run of digits that they stand in; what they mean is seen afterwards.
_RUN = r"(?P<run>(?<![0-9.,])[0-9.,]++)"
_FRACTION = r"(?:[ ]?/[ ]?(?P<below>[0-9]{1,99}))?"
_TEN = r"(?:\\times|\\cdot|[×·xX*])"
_POWER = (
    r"(?:[eE](?P<power>[+-]?[0-9]{1,3})(?![0-9A-Za-z])"
    rf"|[ ]?{_TEN}[ ]?10\^\{{?(?P<ten>-?[0-9]{{1,3}})\}}?)?"
)
_MONEY = r"(?:\\?[$€£][ ]?)?"
_MIXED = r"(?:(?P<mixed>[0-9]{1,9})[ ](?=[0-9]{1,99}[ ]?/[ ]?[0-9]))?"
# Where an answer is stated, a sign and a group of three digits may stand apart.
_SPACED = r"(?P<run>[0-9]{1,3}(?:[ ][0-9]{3}(?![0-9]))+(?:\.[0-9]+)?|[0-9.,]++)"
_STATED = rf"{_MONEY}(?P<sign>[-+][ ]?)?{_MONEY}{_MIXED}{_SPACED}{_FRACTION}{_POWER}"
_STRICT = re.compile(rf"####[ ]?{_STATED}")
# The published solutions of OpenAI's own models end in such a line.
_LAST_LINE = re.compile(rf"^A:[ ]?{_STATED}", re.MULTILINE)
_BOXED = re.compile(rf"\\boxed[ ]?\{{[ ]?(?:\\text\{{)?[ ]?{_STATED}(?![^}}\n]{{0,80}}[0-9])")
_FLEXIBLE = re.compile(
    rf"(?P<sign>-|(?<=[=:(][ ])-[ ]|(?<= is )-[ ])?[$]?{_MIXED}{_RUN}{_FRACTION}{_POWER}"
)
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")
_LONGEST = 400
"""Characters of a number."""

_SPELLINGS = (
    (re.compile(r"(?P<whole>[0-9]*)(?P<point>(?:\.[0-9]*)?)"), ""),
    (re.compile(r"(?P<whole>[1-9][0-9]{0,2}(?:[, ][0-9]{3})+)(?P<point>(?:\.[0-9]*)?)"), ", "),
    (re.compile(r"(?P<whole>[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?P<point>(?:\.[0-9]*)?)"), ","),
    (re.compile(r"(?P<whole>[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?P<point>,[0-9]+)"), "."),
    (re.compile(r"(?P<whole>[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,})(?P<point>)"), "."),
    (re.compile(r"(?P<whole>[0-9]+)(?P<point>,[0-9]+)"), ""),
)
"""Plain; in groups of three, or of two as in India; as in Europe; with a decimal comma."""


def number_of(text: str) -> str | None:
    """A number in one spelling: no sign of currency, no grouping, no idle zeros.

    >>> number_of("$1,234.50."), number_of("046.00"), number_of("2.5e3"), number_of(".,")
    ('1234.5', '46', '2500', None)
    """
    found = re.fullmatch(rf"{_STATED}", plain_numbers(text))
    return None if found is None else _spelled(found)


def _spelled(found: re.Match[str]) -> str | None:
    run = found["run"].rstrip(".,")
    if len(found.group()) > _LONGEST:
        return None
    spelling = next((s for p, gap in _SPELLINGS if (s := _digits(p, gap, run))), None)
    if spelling is None:
        return None
    value = Fraction(spelling)
    if found["below"]:
        if not int(found["below"]):
            return None
        value = value / int(found["below"]) + int(found["mixed"] or 0)
    value *= Fraction(10) ** int(found["power"] or found["ten"] or 0)
    return spelled(-value if (found["sign"] or "").startswith("-") else value)


def _digits(pattern: re.Pattern[str], gaps: str, run: str) -> str | None:
    """The digits of a run in Python's spelling, if it is written so."""
    found = pattern.fullmatch(run)
    if not found or not run:
        return None
    whole = found["whole"].translate(dict.fromkeys(map(ord, gaps)))
    point = found["point"].replace(",", ".").rstrip(".")
    return f"{whole or '0'}{point}"


def spelled(value: Fraction) -> str:
    """A value as a decimal without idle zeros, or as a fraction where it has no end.

    >>> spelled(Fraction(1, 4)), spelled(Fraction(-1, 3))
    ('0.25', '-1/3')
    """
    rest, places = value.denominator, 0
    for prime in (2, 5):
        times = 0
        while rest % prime == 0:
            rest, times = rest // prime, times + 1
        places = max(places, times)
    if rest > 1 or not places:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


class Found(NamedTuple):
    """A solution's answer.

    Attributes:
        number: In one spelling.
        start: Where it begins in the text that was looked at.
        end: Where it ends.
    """

    number: str
    start: int
    end: int


def answer_in(text: str) -> Found | None:
    """A text's answer; the text has plain numbers.

    The number behind the last `####`, on the last line `A: …` or in the last box, else the last.
    """
    for pattern in (_STRICT, _LAST_LINE, _BOXED, _FLEXIBLE):
        for match in reversed(list(pattern.finditer(text))):
            number = _spelled(match)
            if number is not None:
                return Found(number, _start(match), match.end())
    return None


def _start(match: re.Match[str]) -> int:
    """Where a number begins; where it is not stated, its sign of currency belongs to it."""
    if match.re is _FLEXIBLE:
        return match.start()
    return match.start("sign" if match["sign"] else "mixed" if match["mixed"] else "run")


def extract(text: str) -> str | None:
    """The number that a solution ends in, in one spelling; None where there is none to be read.

    >>> extract("The total is 18, in the end, for everyone.")
    '18'
    """
    if len(text) > LONGEST_REPLY:
        return None
    found = answer_in(plain_numbers(without_calculator(text)))
    return found.number if found else None


def without_calculator(text: str) -> str:
    """A solution without its `<<…>>` calculator marks.

    >>> without_calculator("2+3=<<2+3=5>>5")
    '2+3=5'
    """
    return _CALCULATOR.sub("", text).strip()


def score(text: str, item: Item) -> float:
    """1 where the number is the right one, else 0."""
    found = extract(text)
    return float(found is not None and found == number_of(item.gold[0]))


def read(path: Path | None) -> tuple[Item, ...]:
    """The items of `test.jsonl`, of its folder, or of the hub.

    Raises:
        RecordFileError: A row lacks its question or a readable answer.
        SetupError: There are no rows.
    """
    place = located(path, FILES)
    items = tuple(with_own_ids(_items(benchmark_rows(place, *HUB), place)))
    if not items:
        raise SetupError(f"{path or HUB[0]} holds no question of GSM8K")
    return items


def _items(rows: Iterator[Row], path: Path | None) -> Iterator[Item]:
    for line, row in rows:
        answer = text_of(row, "answer" if "answer" in row else "ground_truth", path, line)
        gold = extract(answer)
        if gold is None:
            raise RecordFileError("the answer has no number", path or Path("hub"), line)
        question = text_of(row, "question", path, line).strip()
        yield Item(f"gsm8k-{line}", question, (gold,))


GSM8K = BenchmarkTask(
    name="gsm8k",
    shots=2,
    scale=(0.0, 1.0),
    unit="share",
    max_tokens=256,
    stop=("Question:", "</s>", "<|im_end|>"),
    judges=(),
    read=read,
    extract=extract,
    score=score,
    shown=without_calculator,
)
