"""Metrics of answers against a reference text (examiner paper, Table 2).

Each takes pairs of reference and candidate and gives a score from 0 to 1 a pair (a cosine may be
negative). A candidate without anything that the metric counts scores 0, since it has nothing in
common with the reference; where the reference has nothing, or the metric does not know its
script, there is no score (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from peerexam.errors import MissingExtraError, SetupError
from peerexam.tasks.metrics.embeddings import MINILM, check_encoder
from peerexam.tasks.metrics.encoder_metrics import bertscore, embedding_similarity
from peerexam.tasks.metrics.rouge import rouge, words

Pair = tuple[str, str]
"""Reference and candidate."""

METRICS = ("rouge", "bleu", "bertscore", "embedding")
"""What may be asked for; `rouge` is three metrics in one."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric's scores.

    Attributes:
        name: As in the paper's table.
        scores: One a pair, None where there is none.
        signature: What exactly was computed, to quote beside the number.
    """

    name: str
    scores: Sequence[float | None]
    signature: str


def check_metrics(names: Sequence[str]) -> None:
    """Refuse metrics that do not exist or cannot be had here, before anything is computed.

    Raises:
        SetupError: There is no such metric, or no weights for it.
        MissingExtraError: The packages for it are not installed.
    """
    for name in names:
        if name not in METRICS:
            raise SetupError(f"no metric '{name}': choose from {', '.join(METRICS)}, or none")
    if "rouge" in names:
        rouge("a", "a")
    if "bleu" in names:
        _bleu("13a")
    if "bertscore" in names and find_spec("bert_score") is None:
        raise MissingExtraError("BERTScore needs bert-score: pip install 'peerexam[embed]'")
    if {"bertscore", "embedding"} & set(names):
        check_encoder(MINILM)


def text_metrics(
    pairs: Sequence[Pair], names: Sequence[str], *, encoder_name: str = MINILM
) -> list[Metric]:
    """Score pairs by every metric named.

    Args:
        pairs: Reference and candidate.
        names: From `METRICS`.
        encoder_name: For `bertscore` and `embedding`: `minilm`, a folder, or a model on the hub.

    Raises:
        SetupError: There is no such metric or encoder.
        MissingExtraError: The packages for one are not installed.
    """
    check_metrics(names)
    wanted = dict.fromkeys(names)
    return [metric for name in wanted for metric in _SCORERS[name](pairs, encoder_name)]


def _rouge(pairs: Sequence[Pair], _: str) -> Iterator[Metric]:
    from importlib.metadata import version

    scores = [rouge(*pair) if words(pair[0]) else None for pair in pairs]
    signature = f"F-measure, no stemming, Unicode words, rouge-score {version('rouge-score')}"
    for label, field in (("ROUGE-1", "r1"), ("ROUGE-2", "r2"), ("ROUGE-L", "rl")):
        column = [None if one is None else float(getattr(one, field)) for one in scores]
        yield Metric(label, column, signature)


def _sentence_bleu(pairs: Sequence[Pair], _: str) -> Iterator[Metric]:
    """BLEU of every text by itself, scaled to 0..1.

    Tokenised by mteval-v13a, which knows words by the spaces between them; where either text has
    Chinese characters, by sacrebleu's `zh`, which takes them one by one.
    """
    scorers: dict[str, Any] = {}
    scores: list[float | None] = []
    for reference, candidate in pairs:
        if not reference.strip():
            scores.append(None)
            continue
        name = "zh" if _has_chinese(reference + candidate) else "13a"
        if name not in scorers:
            scorers[name] = _bleu(name)
        value = float(scorers[name].sentence_score(candidate, [reference]).score) / 100
        scores.append(min(1.0, value))  # 100.00000000000004 is sacrebleu's own
    used = [str(scorer.get_signature()) for scorer in scorers.values()] or ["nothing to score"]
    yield Metric("BLEU", scores, "sacrebleu sentence " + " and ".join(sorted(used)))


def _bleu(tokenizer: str) -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtraError("BLEU needs sacrebleu: pip install 'peerexam[metrics]'") from error
    # Effective order: short texts have no 4-grams, and would all get 0.
    return BLEU(effective_order=True, tokenize=tokenizer)


def _has_chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def _bertscore(pairs: Sequence[Pair], encoder_name: str) -> Iterator[Metric]:
    yield Metric("BERTScore", *bertscore(pairs, encoder_name))


def _embedding(pairs: Sequence[Pair], encoder_name: str) -> Iterator[Metric]:
    yield Metric("embedding", *embedding_similarity(pairs, encoder_name))


_SCORERS: Mapping[str, Callable[[Sequence[Pair], str], Iterator[Metric]]] = {
    "rouge": _rouge,
    "bleu": _sentence_bleu,
    "bertscore": _bertscore,
    "embedding": _embedding,
}
