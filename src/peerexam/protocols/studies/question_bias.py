"""Whether questions show who asked them, and how evenly they lie (examiner paper, §4.4, Figure 6).

The result is one JSON object: what the page draws, what `--json` prints, and what is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.protocols.standings.as_json import estimate_json, plain
from peerexam.records import Question
from peerexam.stats.question_bias.separability import (
    Separability,
    author_separability,
    domain_separability,
)
from peerexam.stats.question_bias.uniformity import spread
from peerexam.tasks.question_bias import FEWEST, PER_SET, check_map, flat_map, sample_questions

PERMUTATIONS = 199
"""Deals of the authors; the smallest p-value is then 0.005."""

UNKNOWN = "(no author)"
"""Whose questions are that have none."""

_SHOWN = 300
"""Characters of a question that are kept with its point."""


class Encodes(Protocol):
    """What is asked of an encoder; `tasks.embeddings.Encoder` is one."""

    @property
    def name(self) -> str:
        """As it was asked for."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape texts × dimensions, rows of length 1."""


def question_bias(
    name: str,
    questions: Sequence[Question],
    encoder: Encodes,
    *,
    beside: Mapping[str, Sequence[Question]] | None = None,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
    per_set: int = PER_SET,
) -> dict[str, Json]:
    """Map questions, and measure what the map seems to show.

    Args:
        name: Of the questions' set.
        questions: First-round ones count; of more than `per_set`, so many are drawn.
        encoder: Where the questions are put in space.
        beside: Other sets by name, drawn alike: shown, and measured for evenness.
        seed: Of draws, folds, deals and maps.
        permutations: How often authors are dealt anew.
        per_set: Questions of one set at most.

    Returns:
        `sets` (evenness of each), `authors` and `domains` (separability in the first set, see
        `stats.separability`) and `maps` (points of the plane, or the reason that there are none).

    Raises:
        SetupError: A set holds no first-round question, or two sets have one name.
        MissingExtraError: scikit-learn is not installed.
    """
    check_map()
    whole = _whole(name, questions, beside or {})
    sets = {one: sample_questions(held, per_set, seed) for one, held in whole.items()}
    vectors = {one: encoder.encode([q.text for q in held]) for one, held in sets.items()}
    maps: list[Json] = [_map("authors", {name: sets[name]}, vectors[name], seed)]
    if len(sets) > 1:
        maps.append(_map("sets", sets, np.concatenate(list(vectors.values())), seed))
    by = _authors(sets[name], vectors[name], seed, permutations)
    domains = [question.domain for question in sets[name]]
    about = domain_separability(vectors[name].astype(np.float64), domains, seed=seed)
    body: dict[str, Json] = {
        "encoder": encoder.name,
        "seed": seed,
        "name": name,
        "permutations": permutations,
        "sets": [_set(one, whole[one], held, vectors[one], seed) for one, held in sets.items()],
        "authors": _separability(by),
        "domains": _separability(about),
        "maps": maps,
    }
    ready: dict[str, Json] = plain(body)
    return ready


def _whole(
    name: str, questions: Sequence[Question], beside: Mapping[str, Sequence[Question]]
) -> dict[str, Sequence[Question]]:
    if name in beside:
        raise SetupError(f"two sets of questions are called '{name}': rename one of the files")
    whole = {name: questions, **beside}
    for one, held in whole.items():
        if not any(question.round == 1 for question in held):
            raise SetupError(f"'{one}' holds no question of the first round")
    return whole


def _authors(
    questions: Sequence[Question], vectors: NDArray[np.float32], seed: int, permutations: int
) -> Separability:
    """Only questions whose author is known can be told by it."""
    known = [at for at, question in enumerate(questions) if question.author is not None]
    return author_separability(
        vectors[known].astype(np.float64),
        [questions[at].author or UNKNOWN for at in known],
        [questions[at].domain for at in known],
        seed=seed,
        permutations=permutations,
    )


def _set(
    name: str,
    whole: Sequence[Question],
    drawn: Sequence[Question],
    vectors: NDArray[np.float32],
    seed: int,
) -> dict[str, Json]:
    found = spread(vectors.astype(np.float64), rng=np.random.default_rng(seed))
    return {
        "name": name,
        "questions": sum(question.round == 1 for question in whole),
        "drawn": len(drawn),
        "follow_ups_left_out": sum(question.round > 1 for question in whole),
        "authors": dict(Counter(question.author or UNKNOWN for question in drawn)),
        "domains": len({question.domain for question in drawn}),
        "distance": estimate_json(found.distance),
        "uniformity": estimate_json(found.uniformity),
    }


def _separability(found: Separability) -> dict[str, Json]:
    null = found.null
    return {
        # p tests the deals: the interval, of classifiers as trained, is not its other side.
        "accuracy": estimate_json(replace(found.accuracy, p=None)),
        "chance": found.chance,
        "null": None
        if null is None
        else {"mean": null[0], "low": null[1], "high": null[2], "p": found.accuracy.p},
        "held_out": found.held_out,
        "questions": found.questions,
        "left_out": dict(found.left_out),
        "by_class": {name: estimate_json(one) for name, one in found.by_class.items()},
    }


def _map(
    by: str, sets: Mapping[str, Sequence[Question]], vectors: NDArray[np.float32], seed: int
) -> dict[str, Json]:
    points = flat_map(vectors, seed)
    if points is None:
        reason = f"a map needs {FEWEST} questions that are not all alike"
        return {"by": by, "reason": reason, "points": []}
    asked = [(one, question) for one, held in sets.items() for question in held]
    return {
        "by": by,
        "reason": None,
        "points": [
            {
                "x": float(x),
                "y": float(y),
                "set": one,
                "id": question.id,
                "author": question.author or UNKNOWN,
                "domain": question.domain,
                "text": question.text[:_SHOWN],
            }
            for (x, y), (one, question) in zip(points, asked, strict=True)
        ],
    }
