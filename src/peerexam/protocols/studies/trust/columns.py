"""Human labels and judgements as columns that `stats.trust` can hold against each other."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.records import Mark, Verdict
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.trust.pair_accuracy import JudgedPairs, majority
from peerexam.stats.trust.report_card import MIN_DIFFERENCE, PairTraits
from peerexam.tasks.trust.labels import HumanLabels

Cell = tuple[str, str]
"""A question's id and who answered it."""

PairKey = tuple[str, str, str]
"""A question's id and two who answered it, in the order in which people's points are kept."""

_LIST = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)


@dataclass(frozen=True)
class People:
    """What people said, pooled by answer and by pair.

    Attributes:
        ratings: Everybody's scores of an answer, with who gave them.
        votes: Everybody's points of a pair's first answer, with who gave them.
    """

    ratings: Mapping[Cell, Sequence[tuple[str, float]]]
    votes: Mapping[PairKey, Sequence[tuple[str, float]]]

    @classmethod
    def of(cls, labels: HumanLabels, group: str | None = None) -> People:
        """Those of all questions, or of one domain."""
        inside = {q.id for q in labels.questions if group is None or q.domain == group}
        ratings: dict[Cell, list[tuple[str, float]]] = defaultdict(list)
        for rating in labels.ratings:
            if rating.question_id in inside:
                cell = (rating.question_id, rating.examinee)
                ratings[cell].append((rating.annotator, rating.overall))
        votes: dict[PairKey, list[tuple[str, float]]] = {}
        for one in labels.preferences:
            if one.question_id not in inside:
                continue
            key, mirrored = (one.question_id, one.a, one.b), (one.question_id, one.b, one.a)
            if mirrored in votes:
                votes[mirrored].append((one.annotator, 1.0 - one.points))
            else:
                votes.setdefault(key, []).append((one.annotator, one.points))
        return cls(ratings, votes)

    @property
    def mean_rating(self) -> Floats:
        """Shape answers."""
        return _floats(
            sum(score for _, score in given) / len(given) for given in self.ratings.values()
        )

    @property
    def majority(self) -> Floats:
        """Shape pairs."""
        found = (majority([points for _, points in given]) for given in self.votes.values())
        return _floats(math.nan if one is None else one for one in found)

    def judged(self, points: Mapping[PairKey, float]) -> JudgedPairs:
        """The pairs with somebody's points of the answer shown first, by question and order."""
        forward = [points.get(key, math.nan) for key in self.votes]
        backward = [1.0 - points.get((q, b, a), math.nan) for q, a, b in self.votes]
        one, other = _floats(forward), _floats(backward)
        if is_of_one_order(points):
            one = other = np.where(np.isnan(one), other, one)
        return JudgedPairs(clusters(q for q, _, _ in self.votes), self.majority, one, other)

    def choices(self) -> dict[str, Floats]:
        """By person, points of each pair's first answer; NaN where the person said nothing."""
        found: dict[str, Floats] = {}
        for row, given in enumerate(self.votes.values()):
            for who, points in given:
                found.setdefault(who, np.full(len(self.votes), np.nan))[row] = points
        return found


def is_of_one_order(points: Mapping[PairKey, float]) -> bool:
    """Whether there are verdicts, and none of them has its mirror: no pair was judged twice."""
    return bool(points) and not any((q, b, a) in points for q, a, b in points)


def clusters(questions: Iterable[str]) -> Ints:
    """Question ids as numbers from 0, in the order in which they come."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(one, len(seen)) for one in questions], dtype=np.int64)


def verdict_points(verdicts: Iterable[Verdict]) -> dict[str, dict[PairKey, float]]:
    """By judge, the points of the answer shown first; the mean where a pair was asked again."""
    found: dict[str, dict[PairKey, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        cells = found[verdict.judge]
        points = verdict.points_of_first
        if points is not None and verdict.state == "ok":
            cells[verdict.question_id, verdict.first, verdict.second].append(points)
    return {
        judge: {key: sum(given) / len(given) for key, given in cells.items()}
        for judge, cells in found.items()
    }


def mark_scores(marks: Iterable[Mark]) -> dict[str, dict[Cell, float]]:
    """By judge, the overall mark of every answer that has one."""
    found: dict[str, dict[Cell, float]] = defaultdict(dict)
    for mark in marks:
        cells = found[mark.judge]
        if mark.overall is not None and mark.state == "ok":
            cells[mark.question_id, mark.examinee] = float(mark.overall)
    return dict(found)


def points_from_scores(
    scores: Mapping[Cell, float], pairs: Iterable[PairKey]
) -> dict[PairKey, float]:
    """The choices that scores come to, in both orders; equal scores tie."""
    found: dict[PairKey, float] = {}
    for question, a, b in pairs:
        one, other = scores.get((question, a)), scores.get((question, b))
        if one is not None and other is not None:
            points = 0.5 if one == other else float(one > other)
            found[question, a, b], found[question, b, a] = points, 1.0 - points
    return found


def scores_of(scores: Mapping[Cell, float], cells: Iterable[Cell]) -> Floats:
    """Shape cells, NaN where there is no score."""
    return _floats(scores.get(cell, math.nan) for cell in cells)


def pair_traits(labels: HumanLabels, pairs: Sequence[PairKey]) -> PairTraits:
    """Length and lists of the answers of each pair; nothing where a text is not there."""
    texts = {(a.question_id, a.examinee): a.text for a in labels.answers}
    names: dict[str, int] = {}
    for _, a, b in pairs:
        names.setdefault(a, len(names))
        names.setdefault(b, len(names))
    longer, listed = [], []
    for question, a, b in pairs:
        one, other = texts.get((question, a)), texts.get((question, b))
        if one is None or other is None:
            longer.append(math.nan)
            listed.append(math.nan)
            continue
        difference = len(one) - len(other)
        longer.append(float(difference > 0) if abs(difference) > MIN_DIFFERENCE else math.nan)
        lists = holds_list(one), holds_list(other)
        listed.append(float(lists[0]) if lists[0] != lists[1] else math.nan)
    return PairTraits(
        np.array([names[a] for _, a, _ in pairs], dtype=np.int64),
        np.array([names[b] for _, _, b in pairs], dtype=np.int64),
        _floats(longer),
        _floats(listed),
    )


def holds_list(text: str) -> bool:
    r"""Whether a line starts with a bullet, or with a number and a full stop or bracket.

    >>> holds_list("Three things:\n- one"), holds_list("1.5 is a number"), holds_list("1. one")
    (True, False, True)
    """
    return _LIST.search(text) is not None


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)
