"""What a study of trust says: a row for every metric and judge, and what people agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peerexam.stats.core.estimate import Estimate
from peerexam.stats.trust.pair_accuracy import Accuracy, OrderAccuracy
from peerexam.stats.trust.report_card import ReportCard

Kind = Literal["metric", "judge", "people"]
"""A text metric, a model that judged, or people held against each other."""


@dataclass(frozen=True, slots=True)
class TrustRow:
    """One row of the examiner paper's Table 2, with what else is known of the judge.

    Attributes:
        name: The metric or judge.
        kind: Which of them it is.
        group: The data set within the source, where its data sets are reported one by one.
        spearman: ρ of its scores of answers with people's; `n` answers.
        kendall: τ-b of the same.
        accuracy: Of its choices between two answers.
        orders: The same order by order; None for what sees no order.
        card: None for a metric and for people.
        own_pairs: How many pairs hold an answer of the judge itself.
        signature: What exactly was computed, or where the judgements come from.
    """

    name: str
    kind: Kind
    group: str | None
    spearman: Estimate
    kendall: Estimate
    accuracy: Accuracy
    orders: OrderAccuracy | None = None
    card: ReportCard | None = None
    own_pairs: int = 0
    signature: str = ""


@dataclass(frozen=True, slots=True)
class TwoPeople:
    """How far two people agree with each other.

    Attributes:
        people: Who.
        kappa: Cohen's κ of their choices between two answers; `n` pairs that both judged.
    """

    people: tuple[str, str]
    kappa: Estimate


@dataclass(frozen=True, slots=True)
class TrustReport:
    """A whole study.

    Attributes:
        source: The layout of the human judgements.
        rows: Metrics, then judges, then people, group by group.
        questions: How many there are.
        rated: Answers that somebody rated.
        pairs: Pairs that somebody compared.
        votes: Comparisons by people.
        kappa: Fleiss' κ of people's choices.
        alpha: Krippendorff's α of people's ratings.
        pairwise: Cohen's κ of the choices of every two people that are named.
        notes: What was left out or needs saying.
    """

    source: str
    rows: tuple[TrustRow, ...]
    questions: int
    rated: int
    pairs: int
    votes: int
    kappa: Estimate
    alpha: Estimate
    notes: tuple[str, ...]
    pairwise: tuple[TwoPeople, ...] = ()
