"""Metrics and judges held against people: the rows of the examiner paper's Table 2 (§4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations

import numpy as np

from peerexam.protocols.studies.trust.columns import (
    Cell,
    PairKey,
    People,
    clusters,
    is_of_one_order,
    mark_scores,
    pair_traits,
    points_from_scores,
    scores_of,
    verdict_points,
)
from peerexam.records import Mark, Verdict
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.trust.correlation import rank_correlations
from peerexam.stats.trust.inter_annotator import cohen_kappa, fleiss_kappa, krippendorff_alpha
from peerexam.stats.trust.pair_accuracy import (
    JudgedPairs,
    majority,
    order_accuracy,
    pairwise_accuracy,
)
from peerexam.stats.trust.report_card import CallFacts, report_card
from peerexam.stats.trust.row import TrustReport, TrustRow, TwoPeople
from peerexam.tasks.metrics.text_metrics import Metric, text_metrics
from peerexam.tasks.trust.labels import HumanLabels

NO_SCORES = "it gave no scores, or people rated no answers"
_CHOICES = (1.0, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class CallCost:
    """What one verdict took; None where unknown."""

    question_id: str
    dollars: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Judgements:
    """What models said of the same answers.

    Attributes:
        marks: Of single answers.
        verdicts: On pairs, one an order.
        costs: By judge, what its verdicts took.
        source: Where they come from.
    """

    marks: Sequence[Mark] = ()
    verdicts: Sequence[Verdict] = ()
    costs: Mapping[str, Sequence[CallCost]] = field(default_factory=dict)
    source: str = "asked here"


def assess(
    labels: HumanLabels,
    judgements: Sequence[Judgements],
    metrics: Sequence[str] = (),
    *,
    seed: int = 0,
) -> TrustReport:
    """Hold text metrics and judges against what people said.

    Args:
        labels: What people said.
        judgements: Of models; a judge's name stands in one of them alone.
        metrics: Names from `tasks.text_metrics.METRICS`, where there are reference answers.
        seed: Of the intervals.

    Raises:
        SetupError: There is no such metric.
        MissingExtraError: The packages for one are not installed.
    """
    notes = list(labels.notes)
    if metrics and not labels.references:
        notes.append("there are no reference answers, so that no text metric can be computed")
    scored = _scored(labels, metrics) if labels.references else []
    people = People.of(labels)
    rng = _rng(seed, "people")
    rows = [
        row for group in _groups(labels) for row in _rows(labels, group, scored, judgements, seed)
    ]
    return TrustReport(
        labels.kind,
        tuple(rows),
        questions=len(labels.questions),
        rated=len(people.ratings),
        pairs=len(people.votes),
        votes=sum(map(len, people.votes.values())),
        kappa=fleiss_kappa(_vote_counts(people), clusters(q for q, _, _ in people.votes), rng=rng),
        alpha=krippendorff_alpha(
            [[score for _, score in given] for given in people.ratings.values()],
            clusters(q for q, _ in people.ratings),
            rng=rng,
        ),
        notes=tuple(notes),
        pairwise=tuple(_two_by_two(people, seed)) if labels.people_named else (),
    )


def _two_by_two(people: People, seed: int) -> Iterator[TwoPeople]:
    """Cohen's κ of every two people, in the order in which they come."""
    questions = clusters(q for q, _, _ in people.votes)
    for (one, its), (other, others) in combinations(people.choices().items(), 2):
        if bool((~np.isnan(its) & ~np.isnan(others)).any()):
            rng = _rng(seed, "two people", one, other)
            yield TwoPeople((one, other), cohen_kappa(its, others, questions, rng=rng))


def _groups(labels: HumanLabels) -> list[str | None]:
    if not labels.by_domain:
        return [None]
    return list(dict.fromkeys(question.domain for question in labels.questions))


def _scored(
    labels: HumanLabels, metrics: Sequence[str]
) -> list[tuple[Metric, Mapping[Cell, float]]]:
    cells = [a for a in labels.answers if a.question_id in labels.references]
    pairs = [(labels.references[a.question_id], a.text) for a in cells]
    return [
        (
            metric,
            {
                (a.question_id, a.examinee): score
                for a, score in zip(cells, metric.scores, strict=True)
                if score is not None
            },
        )
        for metric in text_metrics(pairs, metrics)
    ]


def _rows(
    labels: HumanLabels,
    group: str | None,
    scored: Sequence[tuple[Metric, Mapping[Cell, float]]],
    judgements: Sequence[Judgements],
    seed: int,
) -> Iterator[TrustRow]:
    study = _Study(labels, group, seed)
    for metric, scores in scored:
        yield study.metric(metric, scores)
    for part in judgements:
        verdicts = verdict_points(v for v in part.verdicts if v.question_id in study.inside)
        marks = mark_scores(m for m in part.marks if m.question_id in study.inside)
        for judge in dict.fromkeys([*verdicts, *marks]):
            given = (verdicts.get(judge, {}), marks.get(judge, {}), part.costs.get(judge, ()))
            yield study.judge(judge, *given, part.source)
    several = study.several()
    if several is not None:
        yield several


class _Study:
    """One group of questions."""

    def __init__(self, labels: HumanLabels, group: str | None, seed: int) -> None:
        self._group = group
        self._seed = seed
        self.inside = {q.id for q in labels.questions if group is None or q.domain == group}
        self._people = People.of(labels, group)
        self._traits = pair_traits(labels, list(self._people.votes))

    def metric(self, metric: Metric, scores: Mapping[Cell, float]) -> TrustRow:
        """A metric chooses the answer with the higher score."""
        pairs = self._people.judged(points_from_scores(scores, self._people.votes))
        rho, tau = self._correlations(metric.name, scores)
        return TrustRow(
            metric.name,
            "metric",
            self._group,
            rho,
            tau,
            pairwise_accuracy(pairs),
            signature=metric.signature,
        )

    def judge(
        self,
        name: str,
        points: Mapping[PairKey, float],
        scores: Mapping[Cell, float],
        costs: Sequence[CallCost],
        source: str,
    ) -> TrustRow:
        """A judge chooses by its verdicts in both orders."""
        pairs = self._people.judged(points)
        rho, tau = self._correlations(name, scores)
        own_pairs = sum(name in (a, b) for _, a, b in self._people.votes)
        if is_of_one_order(points):
            # What place does to it cannot be known, and one verdict a pair is all there is.
            accuracy, said = pairwise_accuracy(pairs), f"{source}; one order a pair"
            return TrustRow(
                name, "judge", self._group, rho, tau, accuracy, own_pairs=own_pairs, signature=said
            )
        rng = _rng(self._seed, name, self._group or "")
        return TrustRow(
            name,
            "judge",
            self._group,
            rho,
            tau,
            pairwise_accuracy(pairs),
            order_accuracy(pairs),
            report_card(pairs, self._traits, self._facts(costs), rng=rng),
            own_pairs=own_pairs,
            signature=source,
        )

    def several(self) -> TrustRow | None:
        """Every person against the others, where several judged the same things."""
        votes, ratings = self._people.votes, self._people.ratings
        if all(len(given) < 2 for given in (*votes.values(), *ratings.values())):
            return None
        pair_rows = [
            (q, majority(_rest(given, place)), points)
            for (q, _, _), given in votes.items()
            for place, (_, points) in enumerate(given)
            if len(given) > 1
        ]
        own = np.array([points for _, _, points in pair_rows], dtype=np.float64)
        others = np.array([math.nan if m is None else m for _, m, _ in pair_rows], dtype=np.float64)
        pairs = JudgedPairs(clusters(q for q, _, _ in pair_rows), others, own, own)
        rho, tau = self._each_with_the_rest()
        return TrustRow(
            "one person, by the others",
            "people",
            self._group,
            rho,
            tau,
            pairwise_accuracy(pairs),
            signature="each person against the majority, and the mean, of the others",
        )

    def _each_with_the_rest(self) -> tuple[Estimate, Estimate]:
        rows = [
            (q, sum(rest) / len(rest), score)
            for (q, _), given in self._people.ratings.items()
            for place, (_, score) in enumerate(given)
            if (rest := _rest(given, place))
        ]
        if not rows:
            return _nothing(), _nothing()
        return rank_correlations(
            np.array([mean for _, mean, _ in rows]),
            np.array([score for _, _, score in rows]),
            clusters(q for q, _, _ in rows),
            rng=_rng(self._seed, "people", self._group or ""),
        )

    def _correlations(self, name: str, scores: Mapping[Cell, float]) -> tuple[Estimate, Estimate]:
        cells = list(self._people.ratings)
        if not cells or not scores:
            return _nothing(), _nothing()
        return rank_correlations(
            self._people.mean_rating,
            scores_of(scores, cells),
            clusters(q for q, _ in cells),
            rng=_rng(self._seed, name, self._group or ""),
        )

    def _facts(self, costs: Sequence[CallCost]) -> CallFacts:
        held = [one for one in costs if one.question_id in self.inside]
        return CallFacts(
            clusters(one.question_id for one in held),
            np.array([_nan(one.dollars) for one in held], dtype=np.float64),
            np.array([_nan(one.seconds) for one in held], dtype=np.float64),
        )


def _rest(given: Sequence[tuple[str, float]], place: int) -> list[float]:
    return [points for other, (_, points) in enumerate(given) if other != place]


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _nothing() -> Estimate:
    return Estimate(None, reason=NO_SCORES)


def _vote_counts(people: People) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    counts = np.zeros((len(people.votes), len(_CHOICES)))
    for row, given in enumerate(people.votes.values()):
        for _, points in given:
            counts[row, _CHOICES.index(points)] += 1
    return counts


def _rng(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for every row, whatever other rows there are."""
    text = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return np.random.default_rng(
        [seed & (2**63 - 1), int.from_bytes(blake2b(text, digest_size=8).digest())]
    )
