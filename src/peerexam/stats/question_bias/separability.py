"""How well a question's author can be told from its embedding: the number beside the picture.

The examiner paper (§4.4, Figure 6) shows by t-SNE that questions of one domain cluster, and that
within a domain those of different authors lie apart. A map can show clusters that are not there;
this is the number: the balanced accuracy of a regularised logistic regression that is tested on
questions it has not seen, beside what it reaches when the authors are dealt anew.

*Within a domain*: every vector is taken relative to the mean of its domain, and authors are dealt
anew only among the questions of one domain, so what authors chose to write about gains nothing.
*No leakage*: where there are three domains or more, whole domains are held out, so that what is
found is a hand that carries over to domains never seen; the subject alone cannot be learnt. With
fewer, single questions are held out, and the mean is that of the training questions alone. A
question that its author asked twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from peerexam.errors import StatisticsError
from peerexam.stats.core.cluster_ratio import check_settings, share_interval
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.core.mean_share import mean_share
from peerexam.stats.core.tables import Floats, Ints
from peerexam.stats.question_bias.linear_classifier import (
    Trial,
    one_thread,
    out_of_fold,
    principal_parts,
)
from peerexam.stats.question_bias.question_folds import (
    first_of_each,
    folds_by_class,
    folds_by_group,
)

FOLDS = 5
FEWEST = 5
"""Questions that an author, or a domain, must have to be told at all."""

MOST_DOMAINS = 20
"""Domains that are told apart at most; of more, so many are drawn."""

_DOMAINS_TO_HOLD_OUT = 3

HeldOut = Literal["domains", "questions"]


@dataclass(frozen=True, slots=True)
class Separability:
    """How well classes (authors, or domains) can be told.

    Attributes:
        accuracy: Balanced accuracy, the mean over classes of the share told right, 0 to 1. Its
            interval is over held-out domains (or questions) for the classifiers as trained; `p`
            is the share of deals that reach as much, the true one counted in. `n` counts what
            the interval is over.
        by_class: Share of each class's questions told right; `n` counts its questions.
        chance: What guessing reaches: 1 ÷ number of classes.
        null: Mean over the deals, and the range of nine in ten: p is below .05 where the accuracy
            lies above it. None where none were made.
        held_out: What was held out together.
        questions: On how many questions this rests.
        left_out: Questions left out, by reason.
    """

    accuracy: Estimate
    by_class: Mapping[str, Estimate] = field(default_factory=dict)
    chance: float | None = None
    null: tuple[float, float, float] | None = None
    held_out: HeldOut | None = None
    questions: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


def author_separability(
    vectors: Floats,
    authors: Sequence[str],
    domains: Sequence[str],
    *,
    seed: int,
    permutations: int = 199,
    confidence: float = 0.95,
) -> Separability:
    """Whether questions of one domain show who asked them.

    Left out are: an author's near-duplicates, authors with fewer than `FEWEST` questions or with
    all of them in one domain (where domains are held out), and domains with one author.

    Args:
        vectors: Shape n × d, rows of length 1.
        authors: Per row.
        domains: Per row.
        seed: Of folds and deals.
        permutations: How often authors are dealt anew within their domains.
        confidence: Of the intervals.

    Raises:
        StatisticsError: The columns have different lengths, or a setting makes no sense.
        MissingExtraError: scikit-learn is not installed.
    """
    names, domain, rows = _coded(vectors, authors, domains, permutations, confidence)
    author = names.codes
    kept = rows[first_of_each(vectors, author)]
    left_out = {"asked twice by one author": len(rows) - len(kept)}
    chosen = _comparable(author, domain, kept)
    left_out["author or domain with too little to compare"] = len(kept) - len(chosen)
    present = np.unique(author[chosen])
    if len(present) < 2:
        reason = (
            f"fewer than two authors have {FEWEST} questions in domains that they share with "
            "another"
        )
        return Separability(Estimate(None, reason=reason), left_out=left_out)
    rng = np.random.default_rng(seed)
    y, groups = np.searchsorted(present, author[chosen]), domain[chosen]
    if _enough_to_hold_out(groups):
        held_out: HeldOut = "domains"
        trial = Trial(
            principal_parts(_centred(vectors[chosen], groups)), folds_by_group(groups, FOLDS, rng)
        )
    else:
        held_out = "questions"
        trial = Trial(
            principal_parts(vectors[chosen]), folds_by_class(y, groups, FOLDS, rng), groups
        )
    units = groups if held_out == "domains" else np.arange(len(y), dtype=np.int64)
    with one_thread():
        found = _told(trial, y, [names.names[i] for i in present], units, confidence)
        deals = [_accuracy(trial, _dealt(y, groups, rng)) for _ in range(permutations)]
    return replace(_against(found, deals), held_out=held_out, left_out=left_out)


def domain_separability(
    vectors: Floats, domains: Sequence[str], *, seed: int, confidence: float = 0.95
) -> Separability:
    """Whether questions show their domain: the yardstick for `author_separability`.

    Single questions are held out, and near-duplicates of one domain count once. Of more than
    `MOST_DOMAINS` domains with `FEWEST` questions or more, so many are drawn by the seed.

    Raises:
        StatisticsError: The columns have different lengths, or a setting makes no sense.
        MissingExtraError: scikit-learn is not installed.
    """
    names, _, rows = _coded(vectors, domains, domains, 0, confidence)
    kept = rows[first_of_each(vectors, names.codes)]
    left_out = {"asked twice in one domain": len(rows) - len(kept)}
    present, sizes = np.unique(names.codes[kept], return_counts=True)
    present = present[sizes >= FEWEST]
    rng = np.random.default_rng(seed)
    if len(present) > MOST_DOMAINS:
        present = np.sort(rng.choice(present, MOST_DOMAINS, replace=False))
    chosen = kept[np.isin(names.codes[kept], present)]
    left_out["domain with too few questions, or not drawn"] = len(kept) - len(chosen)
    if len(present) < 2:
        reason = f"fewer than two domains have {FEWEST} questions"
        return Separability(Estimate(None, reason=reason), left_out=left_out)
    y = np.searchsorted(present, names.codes[chosen])
    folds = folds_by_class(y, np.zeros_like(y), FOLDS, rng)
    trial = Trial(principal_parts(vectors[chosen]), folds)
    units = np.arange(len(y), dtype=np.int64)
    with one_thread():
        found = _told(trial, y, [names.names[i] for i in present], units, confidence)
    return replace(found, held_out="questions", left_out=left_out)


@dataclass(frozen=True, slots=True)
class _Coded:
    names: list[str]
    codes: Ints


def _coded(
    vectors: Floats,
    classes: Sequence[str],
    domains: Sequence[str],
    permutations: int,
    confidence: float,
) -> tuple[_Coded, Ints, Ints]:
    """Names as numbers, in sorted order, and the rows' numbers."""
    check_settings(max(1, permutations), confidence)
    if vectors.ndim != 2 or not len(vectors) == len(classes) == len(domains):
        raise StatisticsError("there must be one vector, one author and one domain a question")
    codes = [
        np.unique(np.array(list(one), dtype=object), return_inverse=True)
        for one in (classes, domains)
    ]
    (names, code), (_, domain) = codes
    rows = np.arange(len(vectors), dtype=np.int64)
    return _Coded([str(one) for one in names], code.astype(np.int64)), domain.astype(np.int64), rows


def _comparable(author: Ints, domain: Ints, rows: Ints) -> Ints:
    """The rows of authors that can be told, in domains with two of them or more."""
    while True:
        a, d = author[rows], domain[rows]
        pairs = np.unique(np.stack([a, d], axis=1), axis=0)
        shared = np.flatnonzero(np.bincount(pairs[:, 1], minlength=1) >= 2)
        enough = np.bincount(a, minlength=1) >= FEWEST
        if _enough_to_hold_out(shared):
            enough &= np.bincount(pairs[:, 0], minlength=1) >= 2
        left = rows[np.isin(d, shared) & enough[a]] if len(rows) else rows
        if len(left) == len(rows):
            return rows
        rows = left


def _enough_to_hold_out(domains: Ints) -> bool:
    return len(np.unique(domains)) >= _DOMAINS_TO_HOLD_OUT


def _centred(vectors: Floats, groups: Ints) -> Floats:
    """Vectors relative to the mean of their group."""
    size = int(groups.max()) + 1
    sums = np.zeros((size, vectors.shape[1]))
    np.add.at(sums, groups, vectors)
    counts = np.maximum(np.bincount(groups, minlength=size), 1)
    return np.asarray(vectors - (sums / counts[:, None])[groups], dtype=np.float64)


def _dealt(y: Ints, groups: Ints, rng: np.random.Generator) -> Ints:
    """Classes dealt anew among the rows of each group."""
    by_group = np.argsort(groups, kind="stable")
    shuffled = np.lexsort((rng.random(len(y)), groups))
    dealt = np.empty_like(y)
    dealt[by_group] = y[shuffled]
    return dealt


def _told(
    trial: Trial, y: Ints, names: Sequence[str], units: Ints, confidence: float
) -> Separability:
    right = (out_of_fold(trial, y) == y).astype(np.float64)
    _, unit = np.unique(units, return_inverse=True)
    shape = (int(unit.max()) + 1, len(names))
    won, of = np.zeros(shape), np.zeros(shape)
    np.add.at(won, (unit, y), right)
    np.add.at(of, (unit, y), 1.0)
    return Separability(
        accuracy=mean_share(won, of, confidence=confidence),
        by_class={name: _share(won[:, at], of[:, at], confidence) for at, name in enumerate(names)},
        chance=1 / len(names),
        questions=len(y),
    )


def _share(won: Floats, of: Floats, confidence: float) -> Estimate:
    low, high = share_interval(won, of, confidence) or (None, None)
    method = "share told right, cluster-robust Wilson interval"
    return Estimate(float(won.sum() / of.sum()), low, high, n=int(of.sum()), method=method)


def _accuracy(trial: Trial, y: Ints) -> float:
    right = out_of_fold(trial, y) == y
    return float((np.bincount(y, right) / np.bincount(y)).mean())


def _against(found: Separability, deals: Sequence[float]) -> Separability:
    value = found.accuracy.value
    if not deals or value is None:
        return found
    null = np.array(deals)
    p = (1 + int((null >= value - 1e-12).sum())) / (1 + len(null))
    # So many reach the upper end that p is below .05 exactly where the value lies above it.
    beyond = -(-(1 + len(null)) // 20) - 1
    ends = np.sort(null)
    low, high = (ends[beyond - 1], ends[-beyond]) if beyond else (0.0, 1.0)
    return replace(
        found,
        accuracy=replace(found.accuracy, p=p),
        null=(float(null.mean()), float(low), float(high)),
    )
