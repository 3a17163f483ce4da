"""Whole tables of simulated verdicts at once, for proofs that need hundreds of exams.

The chances are those of the simulated participants (`win_probability`), drawn for all questions and
pairs together and without records in between.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from peerexam.examiners.simulated.spec import Floats, SimSpec, win_probability
from peerexam.stats.core.tables import Comparisons


def sample_comparisons(
    participants: Mapping[str, SimSpec], questions: int, rng: np.random.Generator
) -> tuple[Comparisons, dict[str, str]]:
    """Let every participant judge every pair of answers in both orders, own answers included.

    Args:
        participants: Name to what is planted; all are authors (in turn), examinees and judges.
        questions: How many questions.
        rng: Where all randomness comes from.

    Returns:
        The verdicts, and question id to the name of its author.
    """
    names = tuple(participants)
    specs = tuple(participants.values())
    size = len(names)
    author = np.arange(questions) % size
    noise = np.array([spec.noise for spec in specs])
    ability = np.array([spec.ability for spec in specs])
    quality = ability + noise * rng.standard_normal((questions, size))
    length = rng.random((questions, size))
    home = np.where(
        author[:, None] == np.arange(size), [spec.home_advantage for spec in specs], 0.0
    )
    first, second = np.nonzero(~np.eye(size, dtype=np.bool_))
    points = np.stack(
        [
            _points(
                spec,
                quality[:, first] - quality[:, second],
                (first == judge).astype(np.float64) - (second == judge),
                np.sign(length[:, first] - length[:, second]),
                home[:, first] - home[:, second],
                rng,
            )
            for judge, spec in enumerate(specs)
        ],
        axis=1,
    )
    ids = tuple(f"q{number + 1}" for number in range(questions))
    shape = points.shape  # questions × judges × ordered pairs
    table = Comparisons(
        agents=names,
        judges=names,
        questions=ids,
        question=np.broadcast_to(np.arange(questions)[:, None, None], shape).ravel(),
        judge=np.broadcast_to(np.arange(size)[:, None], shape).ravel(),
        first=np.broadcast_to(first, shape).ravel(),
        second=np.broadcast_to(second, shape).ravel(),
        points=points.ravel(),
        cluster=np.arange(questions),
    )
    return table, {name: names[place] for name, place in zip(ids, author, strict=True)}


def _points(
    judge: SimSpec,
    gap: Floats,
    own: Floats,
    longer: Floats,
    home: Floats,
    rng: np.random.Generator,
) -> Floats:
    """One judge's points of the first-shown answer (questions × ordered pairs)."""
    chance = win_probability(judge, gap, own=own, longer=longer, home=home)
    points = (rng.random(chance.shape) < chance).astype(np.float64)
    points[rng.random(chance.shape) < judge.error_rate] = np.nan
    return points
