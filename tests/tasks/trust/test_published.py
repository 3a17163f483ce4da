"""What LLMBar and PRD report of the judgements that they ship, from their own files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from peerexam.protocols.studies.trust.columns import People, verdict_points
from peerexam.protocols.studies.trust.measures import Judgements, assess
from peerexam.stats.core.tables import Comparisons, comparisons_from
from peerexam.stats.ranking.peer_rank import peer_rank
from peerexam.stats.trust.inter_annotator import fleiss_kappa
from peerexam.stats.trust.pair_accuracy import order_accuracy
from peerexam.stats.trust.row import TrustRow
from peerexam.tasks.trust.labels import HumanLabels
from peerexam.tasks.trust.llmbar import read_llmbar
from peerexam.tasks.trust.prd_human import read_prd_human, read_prd_lfqa

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there"),
]

PUBLISHED = """\
GPT-4 Vanilla LLMBar/Natural 95.5 95.0
GPT-4 Vanilla LLMBar/Adversarial/Neighbor 78.7 93.3
GPT-4 Vanilla LLMBar/Adversarial/GPTInst 86.4 94.6
GPT-4 Vanilla LLMBar/Adversarial/GPTOut 77.7 93.6
GPT-4 Vanilla LLMBar/Adversarial/Manual 80.4 82.6
ChatGPT Vanilla LLMBar/Natural 81.5 71.0
ChatGPT Vanilla LLMBar/Adversarial/Neighbor 19.4 71.6
ChatGPT Vanilla LLMBar/Adversarial/GPTInst 26.6 62.0
ChatGPT Vanilla LLMBar/Adversarial/GPTOut 41.5 59.6
ChatGPT Vanilla LLMBar/Adversarial/Manual 34.8 52.2
GPT-4 Vanilla_NoRules Processed/MT-Bench 81.0 87.0
ChatGPT Vanilla_NoRules Processed/MT-Bench 71.2 57.5
LLaMA2 Vanilla_NoRules Processed/MT-Bench 72.0 67.0
PaLM2 Vanilla_NoRules Processed/MT-Bench 70.2 73.5
GPT-4 Vanilla_NoRules Processed/FairEval 72.7 69.7
ChatGPT Vanilla_NoRules Processed/FairEval 57.6 18.2
"""
"""Evaluator, method, data set, mean accuracy and agreement of the orders in per cent."""

WIN_RATES = {
    "gpt4": 0.821875,
    "claude": 0.6890625,
    "vicuna-13b": 0.3890625,
    "gpt35": 0.3140625,
    "bard": 0.2859375,
}
"""Of the majority of people, from PRD's notebook."""


@pytest.fixture(scope="module")
def prd() -> HumanLabels:
    return read_prd_human(SHARED / "prd_vicuna80")


@pytest.fixture(scope="module")
def reviews(prd: HumanLabels) -> Comparisons:
    agents = sorted({answer.examinee for answer in prd.answers})
    return comparisons_from(prd.verdicts, agents, sorted({v.judge for v in prd.verdicts}))


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, str], TrustRow]:
    labels = read_llmbar(SHARED / "llmbar")
    wanted = {f"{one.split()[0]} {one.split()[1]}" for one in PUBLISHED.splitlines()}
    verdicts = [verdict for verdict in labels.verdicts if verdict.judge in wanted]
    assert len({(v.judge, v.question_id.rpartition("/")[0]) for v in labels.verdicts}) == 499
    report = assess(labels, [Judgements(verdicts=verdicts)])
    return {(row.name, row.group or ""): row for row in report.rows}


@pytest.mark.parametrize("line", PUBLISHED.splitlines())
def test_llmbars_accuracies_and_agreements(
    cells: dict[tuple[str, str], TrustRow], line: str
) -> None:
    evaluator, method, dataset, accuracy, agreement = line.split()
    found = cells[f"{evaluator} {method}", dataset].orders
    assert found is not None
    assert found.mean.value is not None
    assert found.agreement.value is not None
    # 71.25 and 70.25 are printed as 71.2 and 70.2: to even.
    assert f"{100 * found.mean.value:.1f}" == accuracy
    assert f"{100 * found.agreement.value:.1f}" == agreement
    assert found.mean.low is not None
    assert found.mean.low < found.mean.value


def test_peer_rank_after_five_iterations(reviews: Comparisons) -> None:
    found = peer_rank(reviews)
    assert found.win_rates == pytest.approx(
        {
            "gpt4": 0.8020248859751706,
            "claude": 0.6849775818976092,
            "vicuna-13b": 0.3762490667521628,
            "gpt35": 0.3461644881503264,
            "bard": 0.2905839772247015,
        },
        abs=1e-12,
    )
    assert found.weights == pytest.approx(
        {
            "gpt4": 0.4884448687,
            "claude": 0.3766603906,
            "vicuna-13b": 0.0818133095,
            "gpt35": 0.0530814311,
            "bard": 0.0,
        },
        abs=1e-10,  # printed to ten places, cut and not rounded
    )


def test_win_rates_with_gpt_4_as_the_only_reviewer(prd: HumanLabels) -> None:
    verdicts = [verdict for verdict in prd.verdicts if verdict.judge == "gpt4"]
    alone = comparisons_from(verdicts, sorted(WIN_RATES), ["gpt4"])
    assert peer_rank(alone, iterations=1).win_rates == pytest.approx(
        {
            "gpt4": 0.85625,
            "claude": 0.70859375,
            "vicuna-13b": 0.3484375,
            "gpt35": 0.3421875,
            "bard": 0.24453125,
        },
        abs=1e-12,
    )


def test_win_rates_by_the_majority_of_people(prd: HumanLabels) -> None:
    people = People.of(prd)
    points: dict[str, list[float]] = {name: [] for name in WIN_RATES}
    for (_, a, b), won in zip(people.votes, people.majority, strict=True):
        points[a].append(float(won))
        points[b].append(1 - float(won))
    assert {name: float(np.mean(won)) for name, won in points.items()} == pytest.approx(WIN_RATES)
    assert len(people.votes) == 800


def verdict_table(verdicts: Iterable[float]) -> list[list[float]]:
    return [[float(points == kind) for kind in (1.0, 0.5, 0.0)] for points in verdicts]


@pytest.mark.parametrize(
    ("judge", "agreement", "kappa"),
    [("gpt4", 0.6425, 0.40629), ("claude", 0.606875, 0.31944), ("gpt35", 0.620625, 0.38738)],
)
def test_reviewers_agreement_with_the_majority_of_people(
    prd: HumanLabels, judge: str, agreement: float, kappa: float
) -> None:
    people = People.of(prd)
    judged = people.judged(verdict_points(prd.verdicts)[judge])
    assert order_accuracy(judged).exact.value == pytest.approx(agreement, abs=1e-12)
    assert kappa_with_people(judged.human, judged.forward, judged.backward) == kappa


def test_agreement_of_the_weighted_majority_of_reviewers(
    prd: HumanLabels, reviews: Comparisons
) -> None:
    people, weights = People.of(prd), peer_rank(reviews).weights
    judged = {name: people.judged(one) for name, one in verdict_points(prd.verdicts).items()}

    def vote(side: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        balance = sum(weights[name] * (getattr(one, side) - 0.5) for name, one in judged.items())
        balance = np.where(np.abs(balance) < 1e-12, 0.0, balance)
        return np.asarray(np.sign(balance) / 2 + 0.5, dtype=np.float64)

    forward, backward = vote("forward"), vote("backward")
    same = [(one == people.majority).mean() for one in (forward, backward)]
    assert np.mean(same) == pytest.approx(0.673125, abs=1e-12)
    assert kappa_with_people(people.majority, forward, backward) == 0.40996


def kappa_with_people(
    human: np.ndarray[tuple[int], np.dtype[np.float64]],
    forward: np.ndarray[tuple[int], np.dtype[np.float64]],
    backward: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> float:
    """Fleiss' kappa of two voices over both orders, as the notebook doubles people's votes."""
    people = verdict_table([*human, *(1 - human)])
    judge = verdict_table([*forward, *(1 - backward)])
    votes = np.array(people) + np.array(judge)
    found = fleiss_kappa(votes, np.arange(len(votes)), rounds=10, rng=np.random.default_rng(0))
    assert found.value is not None
    return round(found.value, 5)


def test_votes_without_names_are_not_taken_for_the_same_people(prd: HumanLabels) -> None:
    # "voter 1" of one pair need not be that of another; Fleiss' kappa needs no identities.
    found = assess(prd, [], metrics=())
    assert found.pairwise == ()
    assert found.kappa.value is not None
    assert any("voters have no names" in note for note in found.notes)


def test_order_effects_of_prds_reviewers(prd: HumanLabels) -> None:
    """Verdicts alike after swapping, and preference for the first, over all pairs."""
    published = {
        "gpt35": 0.6913, "gpt4": 0.6887, "claude": 0.5487, "vicuna-13b": 0.3738, "bard": 0.3688,
    }  # fmt: skip
    for judge, alike in published.items():
        pairs = People.of(prd).judged(verdict_points(prd.verdicts)[judge])
        same = float((pairs.forward == pairs.backward).mean())
        assert same == pytest.approx(alike, abs=6e-5)


def test_experts_choices_between_long_answers() -> None:
    labels = read_prd_lfqa(SHARED / "prd_lfqa")
    assert len(labels.questions) == 140
    points = [preference.points for preference in labels.preferences]
    assert (points.count(1.0), points.count(0.0)) == (140, 120)
