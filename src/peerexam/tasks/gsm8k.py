"""GSM8K: word problems of school mathematics, told right or wrong by the last number.

Extraction follows lm-evaluation-harness (`gsm8k.yaml`): its strict pattern where an answer has a
`####` line, else its flexible one. Numbers are compared as numbers, so that $46.00 is 46.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.benchmark_rows import Row, benchmark_rows, located, text_of
from peerexam.tasks.benchmark_task import BenchmarkTask, Item, with_own_ids

HUB = ("openai/gsm8k", "main", "test")
FILES = ("test.jsonl",)

_STRICT = re.compile(r"#### ?\$?(-?\$?[0-9.,]+)")
# The published solutions of OpenAI's own models end in such a line.
_LAST_LINE = re.compile(r"^A: ?\$?(-?\$?[0-9.,]+)", re.MULTILINE)
_FLEXIBLE = re.compile(r"-?[$0-9.,]{2,}|-?[0-9]+")
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def number_of(text: str) -> str | None:
    """A number in one spelling: no sign of currency, no grouping commas, no idle zeros.

    >>> number_of("$1,234.50."), number_of("046.00"), number_of(".,")
    ('1234.5', '46', None)
    """
    plain = text.replace(",", "").replace("$", "").rstrip(".")
    if not _NUMBER.fullmatch(plain):
        return None
    whole, _, fraction = plain.removeprefix("-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return f"-{value}" if plain.startswith("-") and value != "0" else value


def stated_answer(text: str) -> str | None:
    """The number behind the last `####`, or on the last line `A: …`; None where there is none."""
    for pattern in (_STRICT, _LAST_LINE):
        found = pattern.findall(text)
        if found:
            return number_of(found[-1])
    return None


def answer_span(text: str) -> tuple[int, int] | None:
    """Where in a text its answer's number stands: `stated_answer`'s, else the last number."""
    for pattern, group in ((_STRICT, 1), (_LAST_LINE, 1), (_FLEXIBLE, 0)):
        spans = [m.span(group) for m in pattern.finditer(text) if number_of(m.group(group))]
        if spans:
            return spans[-1]
    return None


def extract(text: str) -> str | None:
    """The number that a solution ends in, in one spelling.

    >>> extract("The total is 18, in the end, for everyone.")
    '18'
    """
    bare = without_calculator(text)
    span = answer_span(bare)
    return None if span is None else number_of(bare[span[0] : span[1]])


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
