"""What can be seen of a reasoning step without knowing its task.

A classifier of steps must find mistakes in tasks that it never saw, so nothing here is named after
one. What is seen comes in views, each with more in it than the one before: the more a view holds,
the better it fits the tasks it was trained on, and the worse it may carry over to another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from peerexam.tasks.mistakes.step_claims import equalities, orders
from peerexam.tasks.mistakes.step_course import Course

Features = NDArray[np.float32]

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to points of length 1, as an `Encoder` of `tasks.embeddings` has it."""

_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r'"([^"<>]+)"')

_RULES = ("broken", "first")
_PLACE = ("claim", "course", "several", "second", "third", "place", "last")
_WORDING = ("held", "fresh", "said", "foreign", "length")
_MEANING = ("to_previous", "to_question", "to_past")

VIEWS: Mapping[str, tuple[str, ...]] = {
    "rules": _RULES,
    "place": _RULES + _PLACE,
    "wording": _RULES + _PLACE + _WORDING,
    "meaning": _RULES + _PLACE + _WORDING + _MEANING,
}
"""Columns by view: whether a claim or the course is broken; also where the step stands; also its
words; also its nearness to other texts by a sentence encoder."""

COLUMNS = VIEWS["meaning"]


def step_features(
    question: str, steps: Sequence[str], vectors: Mapping[str, Features] | None = None
) -> Features:
    """All columns of every step, each seen with those before it only, but for which is the last.

    Args:
        question: What the trace answers.
        steps: The whole trace.
        vectors: Points of the question and of every step by their text; without it the columns of
            meaning are 0.

    Returns:
        Shape steps × `len(COLUMNS)`; all values are finite.
    """
    rules = _rules(question, steps)
    rows = [
        one | _place(place, len(steps)) | words
        for place, (one, words) in enumerate(zip(rules, _wording(question, steps), strict=True))
    ]
    known = np.array(
        [[row[name] for name in VIEWS["wording"]] for row in rows], dtype=np.float32
    ).reshape(len(steps), len(VIEWS["wording"]))
    return np.hstack([known, _meaning(question, steps, vectors)])


def _rules(question: str, steps: Sequence[str]) -> list[dict[str, float]]:
    course, letters = Course.of(question), dict[str, float]()
    rows = []
    for step in steps:
        claims = equalities(step, letters) + orders(step)
        signs = course.follow(step).values()
        left = sum(signs)
        rows.append(
            {
                "broken": float(claims.broken > 0 or left > 0),
                "claim": float(claims.broken > 0),
                "course": float(left > 0),
                "several": float(claims.broken > 1 or left > 1),
                "held": float(claims.held > 0 and not claims.broken),
            }
        )
    return rows


def _place(place: int, steps: int) -> dict[str, float]:
    return {
        "first": float(place == 0),
        "second": float(place == 1),
        "third": float(place == 2),
        "place": math.log1p(place),
        "last": float(place == steps - 1),
    }


def _wording(question: str, steps: Sequence[str]) -> list[dict[str, float]]:
    seen = set(_WORD.findall(question))
    asked, said = set(question.split()), set[str]()
    shares: list[float] = []
    rows = []
    for step in steps:
        words, quoted = _WORD.findall(step), set(_QUOTED.findall(step))
        fresh = sum(word not in seen for word in words) / max(1, len(words))
        usual = sum(shares) / len(shares) if shares else 1.0
        rows.append(
            {
                "fresh": max(0.0, fresh - usual),
                "said": float(step in said),
                "foreign": float(len(quoted) > 2 and bool(quoted - asked)),
                "length": math.log1p(len(words)),
            }
        )
        shares.append(fresh)
        seen.update(words)
        said.add(step)
    return rows


def _meaning(
    question: str, steps: Sequence[str], vectors: Mapping[str, Features] | None
) -> Features:
    found = np.zeros((len(steps), len(_MEANING)), dtype=np.float32)
    if vectors is None or not steps:
        return found
    points = np.stack([vectors[step] for step in steps])
    found[:, 1] = points @ vectors[question]
    found[1:, 0] = np.sum(points[1:] * points[:-1], axis=1)
    past = np.cumsum(points, axis=0)[:-1]
    lengths = np.maximum(np.linalg.norm(past, axis=1), 1e-6)
    found[1:, 2] = np.sum(points[1:] * past, axis=1) / lengths
    return found
