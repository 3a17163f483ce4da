"""TriviaQA without context: exact match with any alias, after the official normalisation."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item, with_own_ids
from peerexam.tasks.benchmarks.rows import Row, benchmark_rows, text_of, texts_of

HUB = ("mandarjoshi/trivia_qa", "rc.nocontext", "validation")
FILES = ("web-dev.json", "wikipedia-dev.json")
"""The official files whose questions make up the validation split, in this order."""

_PUNCTUATION = frozenset(string.punctuation + "‘’´`")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_CUE = re.compile(r"(?:the )?answer\s*+:\s*+", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def normalised(text: str) -> str:
    """As TriviaQA's own evaluation has it: lower case, no punctuation, no articles, single spaces.

    Of a text that is nothing but those ("The The"), its lower case.

    >>> normalised("the ADA  Lovelace.")
    'ada lovelace'
    """
    lower = text.replace("_", " ").lower()
    parted = "".join(" " if char in _PUNCTUATION else char for char in lower)
    return " ".join(_ARTICLES.sub(" ", parted).split()) or " ".join(lower.split())


def extract(text: str) -> str | None:
    """The answer's first line, normalised; None where there is nothing in it.

    >>> extract("Answer: Ada Lovelace.")
    'ada lovelace'
    """
    first = text.strip().split("\n", 1)[0]
    return normalised(_CUE.sub("", first, count=1) if _CUE.match(first) else first) or None


def score(text: str, item: Item) -> float:
    """1 where the whole answer is one of the aliases, else 0; a part is never enough."""
    found = extract(text)
    return float(found is not None and any(found == normalised(one) for one in item.gold))


def read(path: Path | None) -> tuple[Item, ...]:
    """The items of a file, of a folder, or of the hub.

    Read are the official JSON (`Data`), lists of `{qid, question, gold_answer, aliases}`, and rows
    of the hub (`answer.aliases`).

    Raises:
        RecordFileError: A row lacks its question or its answer.
        SetupError: There are no rows.
    """
    found = (_items(benchmark_rows(place, *HUB), place) for place in _places(path))
    items = tuple(with_own_ids(chain.from_iterable(found)))
    if not items:
        raise SetupError(f"{path or HUB[0]} holds no question of TriviaQA")
    return items


def _places(path: Path | None) -> list[Path | None]:
    """What to read: of a folder both official files, where it has them."""
    if path is None or not path.is_dir():
        return [path]
    for folder in (path, path / "qa"):
        held: list[Path | None] = [folder / name for name in FILES if (folder / name).is_file()]
        if held:
            return held
    return [path]


def _items(rows: Iterator[Row], path: Path | None) -> Iterator[Item]:
    for line, row in rows:
        official = "Question" in row
        question = text_of(row, "Question" if official else "question", path, line).strip()
        gold = tuple(dict.fromkeys(one for one in _gold(row, path, line) if one.strip()))
        if not gold:
            raise RecordFileError("the question has no answer", path or Path("hub"), line)
        ids = (row.get(key) for key in ("QuestionId", "question_id", "qid"))
        id_ = next((str(one) for one in ids if one), f"triviaqa-{line}")
        yield Item(id_, question, gold)


def _gold(row: Mapping[str, Json], path: Path | None, line: int) -> tuple[str, ...]:
    """The answer first, then its aliases."""
    answer = row.get("Answer", row.get("answer"))
    if isinstance(answer, dict):
        keys = ("Value", "Aliases") if "Value" in answer else ("value", "aliases")
        return (text_of(answer, keys[0], path, line), *texts_of(answer, keys[1], path, line))
    return (text_of(row, "gold_answer", path, line), *texts_of(row, "aliases", path, line))


TRIVIAQA = BenchmarkTask(
    name="triviaqa",
    shots=2,
    scale=(0.0, 1.0),
    unit="share",
    max_tokens=32,
    stop=("\n", ".", ","),
    judges=(),
    read=read,
    extract=extract,
    score=score,
)
