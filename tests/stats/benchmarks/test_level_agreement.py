from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.records import Level, LevelVote
from peerexam.stats.benchmarks.level_agreement import LEVELS, LevelAgreement, level_agreement


def votes(name: str, levels: list[Level | None]) -> list[LevelVote]:
    return [
        LevelVote(f"q{at}", name, level, "ok" if level else "unparsed")
        for at, level in enumerate(levels)
    ]


def pair(one: list[Level | None], other: list[Level | None]) -> LevelAgreement:
    (found,) = level_agreement([*votes("one", one), *votes("other", other)])
    return found


def of_table(table: list[list[int]]) -> LevelAgreement:
    cells = [
        (LEVELS[i], LEVELS[j])
        for i, row in enumerate(table)
        for j, count in enumerate(row)
        for _ in range(count)
    ]
    return pair([a for a, _ in cells], [b for _, b in cells])


def test_share_kappa_and_table_are_those_of_a_hand_calculation() -> None:
    # Rows the first's, columns the second's: p_o = (20 + 15 + 12) / 60. Row sums are 25, 20, 15,
    # column sums 24, 21, 15: p_e = (25 · 24 + 20 · 21 + 15 · 15) / 60².
    found = of_table([[20, 4, 1], [3, 15, 2], [1, 2, 12]])
    assert found.table == ((20, 4, 1), (3, 15, 2), (1, 2, 12))
    assert found.share.value == pytest.approx(47 / 60)
    chance = (25 * 24 + 20 * 21 + 15 * 15) / 3600
    assert found.kappa.value == pytest.approx((47 / 60 - chance) / (1 - chance))
    assert found.kappa.n == found.share.n == 60


def test_kappas_interval_is_near_the_textbooks() -> None:
    # Fleiss, Cohen and Everitt (1969): SE² = p_o (1 − p_o) ÷ (n (1 − p_e)²), roughly.
    found = of_table([[40, 5, 5], [5, 40, 5], [5, 5, 40]])
    error = math.sqrt(0.8 * 0.2 / 150) / (1 - 1 / 3)
    assert found.kappa.value == pytest.approx(0.7)
    assert found.kappa.low == pytest.approx(0.7 - 1.96 * error, abs=0.02)
    assert found.kappa.high == pytest.approx(0.7 + 1.96 * error, abs=0.02)


def test_a_question_that_one_did_not_classify_is_left_out_and_counted() -> None:
    found = pair(["analysis", None, "analysis", "memorization"], ["analysis", "analysis", None])
    assert (found.share.value, found.share.n, found.share.left_out) == (1.0, 1, 3)


def test_no_shared_question_gives_a_reason_and_no_number() -> None:
    found = pair([None, "analysis"], ["analysis", None])
    for estimate in (found.share, found.kappa):
        assert (estimate.value, estimate.n) == (None, 0)
        assert estimate.reason == "no question that both classified"


def test_kappa_is_undefined_where_both_know_one_level_only() -> None:
    found = pair(["analysis"] * 5, ["analysis"] * 5)
    assert found.share.value == 1.0
    assert found.kappa.value is None
    assert found.kappa.reason == "both gave every question the same one level"


def test_full_agreement_on_few_questions_is_not_called_certain() -> None:
    found = pair(["analysis", "memorization"] * 3, ["analysis", "memorization"] * 3)
    assert found.kappa.value == 1.0
    # Wilson's interval of 6 of 6 begins at 6 / (6 + 1.96²) = 0.6097; beyond a chance of a half.
    assert found.kappa.low == pytest.approx((0.6097 - 0.5) / 0.5, abs=1e-3)
    assert found.kappa.high == 1.0


def test_one_disputed_question_gives_a_kappa_without_an_interval() -> None:
    found = pair(["analysis"], ["memorization"])
    # No common level, so chance is 0, and so is the share.
    assert (found.kappa.value, found.kappa.low, found.kappa.high) == (0.0, None, None)


def test_three_classifiers_make_three_pairs_in_their_order() -> None:
    levels: list[Level | None] = ["analysis", "memorization"]
    found = level_agreement([*votes("c", levels), *votes("a", levels), *votes("b", levels)])
    assert [(one.first, one.second) for one in found] == [("c", "a"), ("c", "b"), ("a", "b")]


def test_one_classifier_or_none_has_nobody_to_agree_with() -> None:
    assert level_agreement([]) == ()
    assert level_agreement(votes("a", ["analysis"])) == ()


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(StatisticsError, match="rounds"):
        level_agreement([], rounds=0)


@given(st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(LEVELS)), min_size=2))
def test_kappa_is_sklearns_and_lies_in_its_interval(pairs: list[tuple[Level, Level]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = pair(list(one), list(other))
    if found.kappa.value is None:
        assert len({*one, *other}) == 1
        return
    expected = metrics.cohen_kappa_score(one, other, labels=list(LEVELS))
    assert found.kappa.value == pytest.approx(expected)
    assert found.kappa.low is not None
    assert found.kappa.high is not None
    assert -1 <= found.kappa.low <= found.kappa.high <= 1
    assert np.sum(found.table) == len(pairs)


def test_the_same_votes_and_seed_give_the_same_interval() -> None:
    table = [[5, 2, 1], [1, 6, 0], [2, 1, 3]]
    assert of_table(table) == of_table(table)
