"""How much the sources that one author wrote differ from each other.

Paper 004 finds that authors whose sources are alike show more self-bias, and measures likeness by
the type-token ratio and by chrF@K between sources. The text at hand does not define chrF@K; here
it is the chrF of a source with the K other sources of its author that are most like it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peerexam.errors import MissingExtraError
from peerexam.tasks.metrics.overlap import words_of

NEIGHBOURS = 5
MOST_SOURCES = 100
"""Sources of an author that are compared with each other, since pairs grow with the square."""


@dataclass(frozen=True, slots=True)
class SourceDiversity:
    """Of one author's sources.

    Attributes:
        author: Whose.
        sources: How many, and their words all together.
        type_token_ratio: Different words ÷ words, 0..1; longer texts repeat more.
        type_token_ratio_equal: The same of as many words (drawn by source) for every author.
        chrf: chrF@K a source that was compared, 0..100, the higher the more alike.
        k: K, smaller where there are few sources.
        reason: Why there is no chrF.
    """

    author: str
    sources: int
    words: int
    type_token_ratio: float | None
    type_token_ratio_equal: float | None
    chrf: tuple[float, ...]
    k: int
    reason: str | None


def source_diversity(
    sources: Mapping[str, Sequence[str]], *, seed: int = 0, k: int = NEIGHBOURS
) -> list[SourceDiversity]:
    """Measure each author's sources.

    Args:
        sources: Author to the texts that it wrote.
        seed: Draws the order of sources for what is measured on a part of them.
        k: Nearest other sources that chrF is averaged over.
    """
    shuffled = {
        author: [texts[at] for at in np.random.default_rng(seed).permutation(len(texts))]
        for author, texts in sources.items()
    }
    worded = {
        author: [word for text in texts for word in words_of(text)]
        for author, texts in shuffled.items()
    }
    least = min(map(len, worded.values()), default=0)
    found = []
    for author, texts in shuffled.items():
        words = worded[author]
        try:
            chrf, reason = chrf_at_k(texts[:MOST_SOURCES], k), None
            if not chrf:
                reason = "one source has no other to be like"
        except MissingExtraError as error:
            chrf, reason = (), str(error)
        ratio = len(set(words)) / len(words) if words else None
        equal = len(set(words[:least])) / least if least else None
        found.append(
            SourceDiversity(
                author,
                len(texts),
                len(words),
                ratio,
                equal,
                chrf,
                min(k, max(len(texts[:MOST_SOURCES]) - 1, 0)),
                reason,
            )
        )
    return found


def chrf_at_k(texts: Sequence[str], k: int = NEIGHBOURS) -> tuple[float, ...]:
    """Mean chrF of each text with the k others that it has most in common with; none for one text.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise MissingExtraError("chrF needs sacrebleu: pip install 'peerexam[metrics]'") from error
    if len(texts) < 2:
        return ()
    metric = CHRF()
    values = np.full((len(texts), len(texts)), -1.0)
    for at, text in enumerate(texts):
        for other, reference in enumerate(texts):
            if other != at:
                values[at, other] = metric.sentence_score(text, [reference]).score
    nearest = np.sort(values, axis=1)[:, ::-1][:, : min(k, len(texts) - 1)]
    return tuple(nearest.mean(axis=1).tolist())
