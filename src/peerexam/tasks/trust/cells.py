"""Reading the cells of an annotation file: ratings, rankings, correctness."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from peerexam.records import DIMENSIONS

Order = tuple[tuple[int, ...], ...]
"""Numbers of answers, the best first, those that are as good as each other together."""

NOTHING = ("", "null", "none", "n/a", "na")
"""What a cell without a judgement holds, in lower case."""

_WRONG = ("false", "0", "no", "n", "incorrect", "wrong")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SCALE = (1.0, 5.0)


def is_wrong(text: str) -> bool:
    """Whether a cell of correctness says that the reference answer is wrong."""
    return text.strip().lower() in _WRONG


def parse_ranking(text: str, answers: int) -> Order | None:
    """The order that a ranking cell gives.

    >>> parse_ranking("2>3=1", 3)
    ((2,), (3, 1))
    >>> parse_ranking("NULL", 3) is None
    True

    Args:
        text: The cell.
        answers: How many answers there are; each must be named once.

    Raises:
        ValueError: It is no such order; the message says why.
    """
    if text.strip().lower() in NOTHING:
        return None
    parts = [group.split("=") for group in text.replace("＞", ">").replace("＝", "=").split(">")]
    named = [part.strip() for group in parts for part in group]
    strange = [part for part in named if not re.fullmatch("[0-9]{1,3}", part)]
    if strange:
        raise ValueError(f"'{text[:80]}' is no ranking such as 2>3=1, or NULL")
    counts = Counter(int(part) for part in named)
    for number, count in counts.items():
        if not 1 <= number <= answers:
            raise ValueError(f"'{text[:80]}' ranks an answer {number}, and there are {answers}")
        if count > 1:
            raise ValueError(f"'{text[:80]}' ranks answer {number} twice")
    missing = sorted(set(range(1, answers + 1)) - set(counts))
    if missing:
        raise ValueError(f"'{text[:80]}' leaves out answer {missing[0]}")
    return tuple(tuple(int(part) for part in group) for group in parts)


def parse_rating(text: str) -> tuple[float, Mapping[str, float]] | None:
    """The overall score of a rating cell, and its dimensions where it has them.

    >>> parse_rating("4")
    (4.0, {})
    >>> parse_rating("3, 3, 2, 1, 4")[0]
    4.0

    Raises:
        ValueError: It is neither one score nor five; the message says why.
    """
    if text.strip().lower() in NOTHING:
        return None
    numbers = [float(number) for number in _NUMBER.findall(text)]
    left = _NUMBER.sub("", text).strip(" ,;/|[]()\t\n")
    if len(numbers) not in (1, 1 + len(DIMENSIONS)) or re.search(r"[^\s,;/|]", left):
        raise ValueError(
            f"'{text[:80]}' is no rating: write the overall score, or the four dimensions and then "
            "the overall score, or NULL"
        )
    *scores, overall = numbers
    if not _SCALE[0] <= overall <= _SCALE[1]:
        raise ValueError(f"an overall score runs from 1 to 5, not {overall:g}")
    if any(not 1 <= score <= 3 for score in scores):
        raise ValueError(f"'{text[:80]}': a dimension runs from 1 to 3")
    return overall, dict(zip(DIMENSIONS, scores, strict=False))
