"""Questions in two dimensions, near each other where they ask about the same (t-SNE).

The picture of the examiner paper's Figure 6. Distances on such a map mean little, and the sizes
of clusters nothing: what is to be concluded stands in `stats.separability` and `stats.uniformity`.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerexam.errors import MissingExtraError
from peerexam.records import Question

PERPLEXITY = 30.0
"""How many neighbours a point minds; fewer where there are few points."""

FEWEST = 5
"""Points that make a map."""

PER_SET = 1000
"""Questions that are drawn of a data set at most, as in the paper."""


def sample_questions(
    questions: Sequence[Question], most: int = PER_SET, seed: int = 0
) -> list[Question]:
    """First-round questions, of more than `most` a draw that only id and seed decide.

    Returns:
        In the order in which they came.
    """
    first = [question for question in questions if question.round == 1]
    if len(first) <= most:
        return first
    drawn = {one.id for one in sorted(first, key=lambda one: _ticket(one.id, seed))[:most]}
    return [one for one in first if one.id in drawn]


def _ticket(name: str, seed: int) -> bytes:
    text = f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).digest()


def flat_map(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float64] | None:
    """Points of the plane for vectors.

    Args:
        vectors: Shape n × d.
        seed: Of the descent.

    Returns:
        Shape n × 2, about zero; None where there are fewer than `FEWEST` points, or all are one.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    tsne = _tsne()
    if len(vectors) < FEWEST or float(np.ptp(vectors, axis=0).max()) < 1e-6:
        return None
    made = tsne(
        n_components=2,
        perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3),
        init="pca",
        random_state=seed,
        n_jobs=1,
    )
    return np.asarray(made.fit_transform(np.asarray(vectors, dtype=np.float32)), dtype=np.float64)


def check_map() -> None:
    """Refuse to begin where the package that draws the map is missing.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise MissingExtraError(
            "a map of questions needs the package scikit-learn: pip install 'peerexam[embed]'"
        )


def _tsne() -> Any:
    check_map()
    from sklearn.manifold import TSNE

    return TSNE
