"""Telling authors within a domain: found where planted, not found where not, and no leakage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import StatisticsError
from peerexam.stats.question_bias.question_folds import (
    first_of_each,
    folds_by_class,
    folds_by_group,
)
from peerexam.stats.question_bias.separability import author_separability, domain_separability

pytest.importorskip("sklearn")

World = tuple[np.ndarray, list[str], list[str]]


def world(
    shift: float, *, domains: int = 4, authors: int = 2, each: int = 6, seed: int = 0
) -> World:
    """Questions round the middle of their domain, an author's all moved by the same `shift`."""
    rng = np.random.default_rng(seed)
    middle, hand = rng.normal(size=(domains, 24)), rng.normal(size=(authors, 24))
    vectors, by, about = [], [], []
    for d in range(domains):
        for a in range(authors):
            for _ in range(each):
                vectors.append(1.5 * middle[d] + shift * hand[a] + rng.normal(size=24))
                by.append(f"author {a}")
                about.append(f"domain {d}")
    found = np.array(vectors)
    return found / np.linalg.norm(found, axis=1, keepdims=True), by, about


def test_a_planted_hand_is_found_in_domains_never_seen() -> None:
    found = author_separability(*world(1.5), seed=1, permutations=39)
    assert found.held_out == "domains"
    assert found.accuracy.value is not None
    assert found.accuracy.value > 0.9
    assert found.accuracy.p == 1 / 40  # no deal of 39 reaches it
    assert found.null is not None
    assert found.null[1] < 0.5 < found.null[2] + 0.1
    assert found.accuracy.n == 4  # domains
    assert found.questions == 48
    assert {name: one.n for name, one in found.by_class.items()} == {"author 0": 24, "author 1": 24}


@pytest.mark.parametrize("deals", [19, 39, 59, 99])
def test_p_is_small_exactly_where_the_accuracy_lies_above_the_deals(deals: int) -> None:
    small = 0
    for seed, shift in enumerate((0.0, 0.1, 0.2, 0.3, 0.4, 0.6)):
        found = author_separability(*world(shift, each=5, seed=seed), seed=1, permutations=deals)
        assert found.null is not None
        assert found.accuracy.p is not None
        assert found.accuracy.value is not None
        assert (found.accuracy.p < 0.05) == (found.accuracy.value > found.null[2] + 1e-12)
        small += found.accuracy.p < 0.05
    assert (small > 0) == (deals > 19)  # of 19 deals no p is below 1/20


def test_the_accuracy_is_the_mean_of_the_authors_shares() -> None:
    found = author_separability(*world(0.4, authors=3), seed=1, permutations=1)
    shares = [one.value for one in found.by_class.values() if one.value is not None]
    assert found.accuracy.value == pytest.approx(sum(shares) / 3)
    assert found.chance == pytest.approx(1 / 3)


def test_without_a_hand_the_p_values_are_those_of_chance() -> None:
    ps = [
        author_separability(*world(0.0, each=5, seed=i), seed=i, permutations=19).accuracy.p
        for i in range(12)
    ]
    # Uniform on 0.05 … 1: twelve values have their mean in 0.25 … 0.8 in all but 1 of 500 cases.
    assert 0.25 < float(np.mean([p or 0 for p in ps])) < 0.8


def test_an_author_with_a_domain_of_its_own_is_not_told_by_the_subject() -> None:
    # Every author writes in one domain only: the subject gives the author away, the hand does not.
    vectors, _, about = world(0.0, domains=4, authors=1, each=12)
    found = author_separability(vectors, [d[-1] for d in about], about, seed=1, permutations=1)
    assert found.accuracy.value is None
    assert "fewer than two authors" in (found.accuracy.reason or "")


def test_one_domain_holds_out_single_questions() -> None:
    found = author_separability(*world(1.5, domains=1, each=20), seed=1, permutations=19)
    assert found.held_out == "questions"
    assert found.accuracy.value is not None
    assert found.accuracy.value > 0.85
    assert found.accuracy.n == 40


def test_a_question_that_its_author_asked_again_does_not_give_it_away() -> None:
    rng = np.random.default_rng(3)
    once = rng.normal(size=(40, 24))
    once /= np.linalg.norm(once, axis=1, keepdims=True)
    authors = [f"a{i % 2}" for i in range(40)] * 3
    found = author_separability(
        np.tile(once, (3, 1)),
        authors,
        ["d"] * 120,
        seed=0,
        permutations=19,
    )
    assert found.left_out["asked twice by one author"] == 80
    assert found.questions == 40
    assert found.accuracy.p is not None
    assert found.accuracy.p > 0.05


def test_too_few_questions_give_a_reason_and_no_number() -> None:
    sized: World
    for sized in (world(1.0, each=1, domains=2), (np.zeros((0, 24)), [], [])):
        found = author_separability(*sized, seed=0)
        assert found.accuracy.value is None
        assert found.accuracy.reason


def test_the_same_seed_gives_the_same_result() -> None:
    first = author_separability(*world(0.3), seed=7, permutations=5)
    assert first == author_separability(*world(0.3), seed=7, permutations=5)


def test_domains_are_told_by_their_subjects() -> None:
    vectors, _, about = world(0.0)
    found = domain_separability(vectors, about, seed=1)
    assert found.accuracy.value == pytest.approx(1.0)
    assert found.chance == 0.25
    assert domain_separability(vectors, ["d"] * len(about), seed=1).accuracy.value is None


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(StatisticsError, match="one author"):
        author_separability(np.eye(3), ["a"], ["d"] * 3, seed=0)


def test_of_near_duplicates_of_one_kind_the_first_is_kept() -> None:
    # cos 18° is 0.951 and cos 36° 0.809; the bound is 0.95.
    angle = np.deg2rad([0, 18, 36, 0])
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert first_of_each(rows, np.array([0, 0, 0, 1])).tolist() == [0, 2, 3]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_a_group_is_in_one_fold(groups: list[int], folds: int, seed: int) -> None:
    fold = folds_by_group(np.array(groups), folds, np.random.default_rng(seed))
    assert all(
        len({f for f, g in zip(fold, groups, strict=True) if g == one}) == 1 for one in groups
    )
    assert set(fold.tolist()) == set(range(min(folds, len(set(groups)))))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 99))
def test_every_fold_has_its_part_of_every_class(classes: list[int], folds: int, seed: int) -> None:
    y = np.array(classes)
    fold = folds_by_class(y, np.zeros_like(y), folds, np.random.default_rng(seed))
    for one in set(classes):
        counts = np.bincount(fold[y == one], minlength=folds)
        assert counts.max() - counts.min() <= 1
