"""How likely given texts are: log-probabilities of continuations, a batch at a time.

One pass of the model reads prompt and continuation; nothing is generated. Of the logits only those
that are looked at are computed, where the model can be asked for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from peerexam.agents.hf.description import Loaded
from peerexam.agents.hf.generation import NOT_FINITE, padded
from peerexam.calls import TokenLogprob
from peerexam.errors import PermanentError

_LOGITS = 1 << 26
"""Logits in memory at once (a quarter of a gigabyte in float32)."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A prompt and a text that may follow it, as token ids; neither is empty."""

    prompt: Sequence[int]
    continuation: Sequence[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One text of a batch.

    Attributes:
        scoring: What is to be scored.
        finish: Gets the log-probability of each of the continuation's tokens.
        fail: Gets what went wrong with this pair alone.
    """

    scoring: Scoring
    finish: Callable[[tuple[TokenLogprob, ...]], None]
    fail: Callable[[PermanentError], None]


def score(loaded: Loaded, pairs: Sequence[Pair]) -> None:
    """Score all pairs; results go to their `finish`."""
    with torch.inference_mode():
        for part in _parts(pairs, int(loaded.model.config.get_text_config().vocab_size)):
            logits = _decoded(loaded, part) if loaded.is_encoder_decoder else _read(loaded, part)
            for pair, row in zip(part, logits, strict=True):
                _finish(loaded, pair, row)


def _parts(pairs: Sequence[Pair], vocabulary: int) -> Iterator[list[Pair]]:
    """Pairs in parts whose logits fit into memory, those of like length together."""
    part: list[Pair] = []
    for pair in sorted(pairs, key=lambda pair: len(pair.scoring.continuation)):
        width = len(pair.scoring.continuation) + 1
        if part and (len(part) + 1) * width * vocabulary > _LOGITS:
            yield part
            part = []
        part.append(pair)
    if part:
        yield part


def _read(loaded: Loaded, pairs: Sequence[Pair]) -> list[Any]:
    """For each pair the logits from which a decoder's continuation is drawn."""
    # Filled up on the left, all continuations end where the logits end.
    texts = [[*pair.scoring.prompt, *pair.scoring.continuation] for pair in pairs]
    tokens, mask = padded(texts, loaded.pad, left=True)
    longest = max(len(pair.scoring.continuation) for pair in pairs)
    known = inspect.signature(loaded.model.forward).parameters
    inputs: dict[str, Any] = {"input_ids": tokens, "attention_mask": mask}
    if "position_ids" in known:
        inputs["position_ids"] = (mask.cumsum(dim=-1) - 1).clamp_min(0)
    inputs = {name: value.to(loaded.model.device) for name, value in inputs.items()}
    if "logits_to_keep" in known:
        inputs["logits_to_keep"] = longest + 1
    logits = loaded.model(**inputs, use_cache=False).logits
    return [
        row[-len(pair.scoring.continuation) - 1 : -1]
        for row, pair in zip(logits, pairs, strict=True)
    ]


def _decoded(loaded: Loaded, pairs: Sequence[Pair]) -> list[Any]:
    """For each pair the logits from which an encoder-decoder's reply is drawn."""
    start = list(loaded.decoder_start)
    tokens, mask = padded([pair.scoring.prompt for pair in pairs], loaded.pad, left=False)
    replies, reply_mask = padded(
        [[*start, *pair.scoring.continuation[:-1]] for pair in pairs], loaded.pad, left=False
    )
    device = loaded.model.device
    logits = loaded.model(
        input_ids=tokens.to(device),
        attention_mask=mask.to(device),
        decoder_input_ids=replies.to(device),
        decoder_attention_mask=reply_mask.to(device),
        use_cache=False,
    ).logits
    skipped = len(start) - 1
    return [
        row[skipped : skipped + len(pair.scoring.continuation)]
        for row, pair in zip(logits, pairs, strict=True)
    ]


def _finish(loaded: Loaded, pair: Pair, logits: Any) -> None:
    wanted = torch.tensor(list(pair.scoring.continuation), device=logits.device)
    found = logits.float().log_softmax(dim=-1).gather(1, wanted[:, None])[:, 0]
    if not bool(found.isfinite().all()):
        pair.fail(PermanentError(NOT_FINITE))
        return
    spelled = [loaded.tokenizer.spell(token) for token in pair.scoring.continuation]
    pair.finish(tuple(map(TokenLogprob, spelled, found.tolist())))
