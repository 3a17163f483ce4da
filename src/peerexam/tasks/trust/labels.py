"""What people said of answers: ratings and preferences, whatever layout they came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from peerexam.records import Answer, Question, Verdict


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's score of one answer.

    Attributes:
        annotator: Who; `annotator` where the source names nobody.
        overall: 1 to 5 in the paper's layout; higher is better.
        scores: The dimensions, where the source has them.
    """

    question_id: str
    examinee: str
    annotator: str
    overall: float
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preference:
    """One person's choice between two answers.

    Attributes:
        points: Of `a`: 1 better, ½ as good, 0 worse.
    """

    question_id: str
    a: str
    b: str
    annotator: str
    points: float


@dataclass(frozen=True, slots=True)
class HumanLabels:
    """A set of human judgements, and judgements of models that were shipped with it.

    Attributes:
        kind: The layout it was read from.
        questions: Each once; their ids are unique.
        answers: One a (question, examinee).
        references: Question id to its reference answer, where there is one.
        ratings: Of single answers.
        preferences: Between two answers to one question.
        verdicts: Of models, shipped with the human judgements; one an order.
        by_domain: Whether the questions' domains are data sets, each reported by itself.
        notes: What was left out or needs saying, one sentence each.
        people_named: Whether an annotator's name is one person's on all questions; where it only
            numbers the votes of a pair, no two people can be compared.
    """

    kind: str
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    references: Mapping[str, str] = field(default_factory=dict)
    ratings: tuple[Rating, ...] = ()
    preferences: tuple[Preference, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    by_domain: bool = False
    notes: tuple[str, ...] = ()
    people_named: bool = True
