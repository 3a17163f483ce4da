"""What a data set's card says of its questions, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from peerexam.calls import Json
from peerexam.records import LevelVote, Question
from peerexam.report.numbers import percent, span
from peerexam.stats.benchmarks.level_agreement import level_agreement
from peerexam.stats.benchmarks.question_profile import QuestionProfile, question_profile
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.proportions import wilson

MOST_DOMAINS = 30
"""First-level domains that a card lists by name."""

_MIN_AGREEMENT = 0.5
"""Below this agreement a question is inconsistent, unless its manifest says otherwise."""


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """How far two classifiers agree, as text."""

    first: str
    second: str
    share: str
    kappa: str
    n: int


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """First-round questions in numbers.

    Attributes:
        profile: By word, domain, level and group.
        authors: By author; the user's own have none.
        agreement: How far every two classifiers of levels agree.
        references: How many questions have their author's answer.
        checked: Of how many of them it was seen whether the author says it again.
        inconsistent: How many of these are marked, as text with its interval.
        min_agreement: Below which share they are.
    """

    profile: QuestionProfile
    authors: Mapping[str, int]
    agreement: tuple[AgreementRow, ...]
    references: int
    checked: int
    inconsistent: str
    min_agreement: float


def question_figures(
    questions: Iterable[Question], votes: Iterable[LevelVote], manifest: Mapping[str, Json]
) -> QuestionFigures:
    """Count the first-round questions of a data set.

    Args:
        questions: All of them; follow-ups do not count.
        votes: What classifiers said of their levels.
        manifest: Of the data set; its seed fixes the bootstrap.
    """
    authors: Counter[str] = Counter()
    agreed: list[float] = []
    references = 0

    def first_round() -> Iterator[Question]:
        nonlocal references
        for question in questions:
            if question.round == 1:
                authors[question.author or "(the exam's own file)"] += 1
                references += question.reference is not None
                if question.reference_agreement is not None:
                    agreed.append(question.reference_agreement)
                yield question

    profile = question_profile(first_round())
    least = _least(manifest)
    return QuestionFigures(
        profile,
        dict(sorted(authors.items())),
        tuple(_agreement(votes, int(manifest.get("seed") or 0))),
        references,
        len(agreed),
        _share(sum(one < least for one in agreed), len(agreed)),
        least,
    )


def _least(manifest: Mapping[str, Json]) -> float:
    settings = (manifest.get("setting") or {}).get("references") or {}
    return float(settings.get("min_agreement", _MIN_AGREEMENT))


def _agreement(votes: Iterable[LevelVote], seed: int) -> Iterator[AgreementRow]:
    for pair in level_agreement(votes, seed=seed):
        yield AgreementRow(
            pair.first, pair.second, _text(pair.share), _text(pair.kappa), pair.share.n
        )


def _text(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"– ({estimate.reason})"
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = " " + span(f"{estimate.low:.2f}", f"{estimate.high:.2f}")
    return f"{estimate.value:.2f}{interval}"


def _share(count: int, of: int) -> str:
    interval = wilson(count, of)
    if interval is None:
        return "0"
    low, high = (percent(end, 1) for end in interval)
    return f"{count} ({percent(count / of, 1)} %, 95 % interval {low} to {high})"
