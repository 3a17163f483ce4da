"""Pairwise accuracy by its rules, the report card, people among each other, and peer rank."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Verdict
from peerexam.stats.core.tables import comparisons_from
from peerexam.stats.ranking.peer_rank import peer_rank
from peerexam.stats.trust.inter_annotator import cohen_kappa, fleiss_kappa, krippendorff_alpha
from peerexam.stats.trust.pair_accuracy import (
    JudgedPairs,
    majority,
    order_accuracy,
    pairwise_accuracy,
)
from peerexam.stats.trust.report_card import CallFacts, PairTraits, report_card

NONE = math.nan


def pairs(*rows: tuple[float, float, float], cluster: list[int] | None = None) -> JudgedPairs:
    """Rows of people's majority, the judge forward, the judge backward."""
    columns = np.array(rows, dtype=float).reshape(-1, 3).T
    places = np.arange(len(rows)) if cluster is None else np.array(cluster)
    return JudgedPairs(places, *columns)


EIGHT = pairs(
    (1, 1, 1),  # right in both orders
    (1, 0, 0),  # wrong in both
    (1, 1, 0),  # the orders disagree: a tie
    (0, 0.5, 0.5),  # a tie twice
    (0.5, 1, 1),  # people tie: left out
    (0, NONE, 0),  # one order is missing
    (0, NONE, NONE),  # both are
    (0, 0, 0),  # right
)


def test_accuracy_follows_its_rules() -> None:
    """By hand: of 5 judged pairs 2 right and 2 tied, 3 / 5; strictly 2 of 7."""
    found = pairwise_accuracy(EIGHT)
    assert found.accuracy.value == pytest.approx(3 / 5)
    assert (found.accuracy.n, found.accuracy.left_out) == (5, 2)
    assert found.strict.value == pytest.approx(2 / 7)
    assert (found.strict.n, found.human_ties, found.judge_ties) == (7, 1, 2)


def test_accuracy_order_by_order_takes_a_missing_verdict_for_wrong() -> None:
    """By hand: forward 1 + 0 + 1 + ½ + 0 + 0 + 1, backward 1 + 0 + 0 + ½ + 1 + 0 + 1, of 7."""
    found = order_accuracy(EIGHT)
    assert found.first_order.value == pytest.approx(3.5 / 7)
    assert found.swapped.value == pytest.approx(3.5 / 7)
    assert found.mean.value == pytest.approx(3.5 / 7)
    assert found.agreement.value == pytest.approx(5 / 7)  # alike where both are missing
    assert found.exact.value == pytest.approx(6 / 16)  # 2 + 1 of the third, 1 of the sixth, 2


def test_a_judge_that_ties_everything_is_not_sure_to_do_so_for_ever() -> None:
    found = pairwise_accuracy(pairs(*[(1, 0.5, 0.5)] * 8)).accuracy
    assert found.value == 0.5
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.3 < 0.7 < found.high


def test_nothing_to_judge_is_no_value_and_a_reason() -> None:
    found = pairwise_accuracy(pairs((0.5, 1, 1)))
    assert found.accuracy.value is None
    assert found.accuracy.reason
    assert found.human_ties == 1


def test_pairs_of_one_question_make_wider_intervals() -> None:
    rows = [(1.0, 1.0, 1.0)] * 30 + [(1.0, 0.0, 0.0)] * 10
    alone = pairwise_accuracy(pairs(*rows)).accuracy
    grouped = pairwise_accuracy(pairs(*rows, cluster=[n // 5 for n in range(40)])).accuracy
    assert alone.value == grouped.value == 0.75
    assert alone.low is not None
    assert grouped.low is not None
    assert grouped.low < alone.low


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, NONE])] * 3).map(tuple),
        min_size=1,
        max_size=20,
    )
)
def test_swapping_the_answers_changes_nothing(rows: list[tuple[float, float, float]]) -> None:
    one = pairs(*rows)
    other = JudgedPairs(one.cluster, 1 - one.human, 1 - one.backward, 1 - one.forward)
    there, back = pairwise_accuracy(one), pairwise_accuracy(other)
    assert there.accuracy.value == pytest.approx(back.accuracy.value)
    assert there.strict.value == pytest.approx(back.strict.value)
    if there.accuracy.value is not None and there.strict.value is not None:
        assert there.strict.value <= 1
        assert there.strict.value * there.strict.n <= there.accuracy.value * there.accuracy.n + 1e-9


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(StatisticsError, match="length"):
        JudgedPairs(np.arange(2), np.ones(2), np.ones(3), np.ones(2))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=9))
def test_the_majority_does_not_depend_on_who_is_named_first(votes: list[float]) -> None:
    found, mirrored = majority(votes), majority([1 - vote for vote in votes])
    assert found is not None
    assert mirrored is not None
    assert found == 1 - mirrored


def card_of(judged: JudgedPairs, longer: list[float]) -> dict[str, float | None]:
    size = len(judged.human)
    card = report_card(
        judged,
        PairTraits(
            np.arange(size) % 3, np.arange(size) % 3 + 1, np.array(longer), np.full(size, NONE)
        ),
        CallFacts(np.array([0, 1, 1]), np.array([0.002, 0.004, NONE]), np.array([1.0, 2.0, 3.0])),
        rng=np.random.default_rng(0),
    )
    names = [name for name in card.__dataclass_fields__ if name not in ("read", "asked")]
    return {name: getattr(card, name).value for name in names} | {"read": card.read}


def test_a_judge_that_takes_the_first_place_shows_it_on_its_card() -> None:
    judged = pairs(*[(1, 1, 0), (0, 1, 0), (1, 1, 0), (0, 1, 0)])
    card = card_of(judged, [1, 1, NONE, 0])
    assert card["prefer_first"] == 1.0
    assert card["variance"] == 1.0
    assert card["human_agreement"] == card["bias"] == 0.5
    assert card["prefer_longer"] == 0.5  # each answer won once
    assert card["people_prefer_longer"] == pytest.approx(2 / 3)  # of (1, 1), (0, 1), (0, 0)
    assert card["prefer_lists"] is None
    assert card["price"] == pytest.approx(3.0)
    assert card["time"] == pytest.approx(2000)
    assert card["read"] == 8


def test_a_judge_that_agrees_with_people_has_no_bias_and_no_variance() -> None:
    judged = pairs(*[(1, 1, 1), (0, 0, 0), (1, 1, 1), (1, 1, 1)])
    card = card_of(judged, [NONE] * 4)
    assert card["human_agreement"] == 1
    assert card["bias"] == card["variance"] == 0
    assert card["prefer_first"] == 0.5
    assert card["spearman"] == pytest.approx(1)
    assert card["pearson"] == pytest.approx(1)


def test_fleiss_kappa_of_the_textbook() -> None:
    """Fleiss (1971)'s table as Wikipedia gives it: 10 items, 14 raters, kappa 0.210."""
    votes = np.array(
        [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ],
        dtype=float,
    )
    found = fleiss_kappa(votes, np.arange(10), rng=np.random.default_rng(0))
    assert found.value == pytest.approx(0.210, abs=5e-4)
    assert found.low is not None
    assert found.low < 0.21
    assert found.n == 10


def test_krippendorffs_alpha_of_the_textbook() -> None:
    """Krippendorff (2011), data C with missing values: 0.849 on an interval scale."""
    columns = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
    units = [[x for x in unit if not math.isnan(x)] for unit in zip(*columns, strict=True)]
    found = krippendorff_alpha(units, np.arange(12), rng=np.random.default_rng(0))
    assert found.value == pytest.approx(0.849, abs=5e-4)
    assert (found.n, found.left_out) == (11, 1)


def test_people_who_always_say_the_same_have_no_kappa() -> None:
    votes = np.array([[3.0, 0.0], [3.0, 0.0]])
    found = fleiss_kappa(votes, np.arange(2), rng=np.random.default_rng(0))
    assert found.value is None
    assert found.reason


def test_peer_rank_of_three_by_hand() -> None:
    """a beats b and c, b beats c, before all three judges: rates 1, ½, 0, weights ⅔, ⅓, 0."""
    winners = [("a", "b"), ("a", "c"), ("b", "c")]
    verdicts = [
        Verdict("q", judge, first, second, "first") for judge in "abc" for first, second in winners
    ]
    found = peer_rank(comparisons_from(verdicts, "abc", "abc"), iterations=1)
    assert found.win_rates == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert found.weights == pytest.approx({"a": 2 / 3, "b": 1 / 3, "c": 0.0})
    again = peer_rank(comparisons_from(verdicts, "abc", "abc"))
    assert again.win_rates == pytest.approx(found.win_rates)  # they agree, so weights do nothing
    with pytest.raises(StatisticsError):
        peer_rank(comparisons_from([], "abc", "abc"))


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2, st.integers(0, 9)),
        min_size=2,
        max_size=40,
    )
)
def test_kappa_of_two_people_and_macro_f1_are_those_of_scikit_learn(
    rows: list[tuple[float, float, int]],
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    one, other, cluster = (np.array(part) for part in zip(*rows, strict=True))
    labels = [(2 * part).astype(int) for part in (one, other)]
    rng = np.random.default_rng(0)
    found = cohen_kappa(one, other, cluster, rng=rng, rounds=20)
    if len(set(one) | set(other)) == 1:
        assert found.value is None  # beyond chance means nothing where nothing else is ever said
    else:
        assert found.value == pytest.approx(metrics.cohen_kappa_score(*labels))
    same = pairwise_accuracy(JudgedPairs(cluster, one, other, other), rounds=20)
    assert same.macro_f1.value == pytest.approx(metrics.f1_score(*labels, average="macro"))
    assert same.three_classes.value == pytest.approx(metrics.accuracy_score(*labels))


def test_kappa_of_two_people_as_cohen_has_it() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: agreement 0.7, by chance 0.5 · 0.6 + 0.5 · 0.4.
    one = np.repeat([1.0, 1.0, 0.0, 0.0], [20, 5, 10, 15])
    other = np.repeat([1.0, 0.0, 1.0, 0.0], [20, 5, 10, 15])
    found = cohen_kappa(one, other, np.arange(50), rng=np.random.default_rng(0))
    assert found.value == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert found.low is not None
    assert found.high is not None
    # Its standard error is √(0.7 · 0.3 ÷ (50 · 0.25)) = 0.13 (Cohen 1960).
    assert found.low == pytest.approx(0.4 - 1.96 * 0.13, abs=0.06)
    assert found.high == pytest.approx(0.4 + 1.96 * 0.13, abs=0.06)
    gaps = np.where(np.arange(50) < 3, np.nan, other)
    assert cohen_kappa(one, gaps, np.arange(50), rng=np.random.default_rng(0)).left_out == 3


def test_ties_are_a_class_where_classes_are_counted() -> None:
    # People: first, second, tie, tie; the judge: first, tie, tie, nothing. Two of three alike.
    # F1: first 1, second 0, tie 2 · 1 ÷ (1 + 2) = 2/3; their mean is 5/9.
    found = pairwise_accuracy(pairs((1, 1, 1), (0, 0.5, 0.5), (0.5, 0.5, 0.5), (0.5, NONE, NONE)))
    assert found.three_classes.value == pytest.approx(2 / 3)
    assert found.macro_f1.value == pytest.approx(5 / 9)
    assert found.macro_f1.left_out == 1
