"""What generating and scoring need to know of a model: where replies begin and end, and its limits.

A checkpoint says these things in its config, its generation config and its tokenizer, each of
which may be silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import transformers

from peerexam.agents.hf.tokens import HfTokenizer

_LIMIT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
_NO_LIMIT = 10**9
"""Tokenizers that know no limit say 10^30."""

_TOP_K = 50
"""The library's own, for models that want sampling and do not say among how many tokens."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """How the model itself wants tokens drawn, for requests that leave it to the model.

    Attributes:
        temperature: 0 is greedy.
        top_p: 1 is all.
        top_k: 0 is all.
        max_tokens: None is as many as fit.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory.

    Attributes:
        model: The transformers model, in evaluation mode.
        tokenizer: Its tokenizer.
        is_encoder_decoder: Prompt and reply go to different halves.
        defaults: How it wants tokens drawn.
        ends: Tokens that end a reply.
        first: The token that stands for "nothing yet" where a prompt is empty.
        pad: Fills up shorter rows; it is never looked at.
        decoder_start: What an encoder-decoder's reply begins with.
        context: Tokens it was made for, None where it does not say.
        context_is_fixed: Whether no more are possible.
    """

    model: Any
    tokenizer: HfTokenizer
    is_encoder_decoder: bool
    defaults: Defaults
    ends: frozenset[int]
    first: int | None
    pad: int
    decoder_start: tuple[int, ...]
    context: int | None
    context_is_fixed: bool


def described(model: Any, tokenizer: Any) -> Loaded:
    """A transformers model with its tokenizer, and what is known of them.

    The model's generation config is replaced by one that draws, penalises and searches nothing by
    itself.
    """
    config, wanted = model.config.get_text_config(), model.generation_config
    is_encoder_decoder = bool(model.config.is_encoder_decoder)
    ends = _tokens("eos_token_id", wanted, config, tokenizer)
    firsts = [*_tokens("bos_token_id", tokenizer, wanted, config), *ends]
    pads = [*_tokens("pad_token_id", tokenizer, wanted, config), *ends, 0]
    start = _start(config, wanted, firsts) if is_encoder_decoder else ()
    defaults = _defaults(wanted)
    model.generation_config = _bare(wanted, pads[0], start)
    context, is_fixed = _context(config, tokenizer)
    return Loaded(
        model=model,
        tokenizer=HfTokenizer(tokenizer, ends_prompts=is_encoder_decoder),
        is_encoder_decoder=is_encoder_decoder,
        defaults=defaults,
        ends=frozenset(ends),
        first=firsts[0] if firsts else None,
        pad=pads[0],
        decoder_start=start,
        context=context,
        context_is_fixed=is_fixed,
    )


def _context(config: Any, tokenizer: Any) -> tuple[int | None, bool]:
    """Tokens that a model was made for, and whether more are impossible."""
    limits = (getattr(config, name, None) for name in _LIMIT_NAMES)
    limit = next((int(one) for one in limits if one), None)
    # Relative positions, as in T5: nothing breaks beyond the length of training.
    if limit is not None and not hasattr(config, "relative_attention_num_buckets"):
        return limit, True
    stated = int(tokenizer.model_max_length)
    return (stated if 0 < stated < _NO_LIMIT else limit), False


def _defaults(wanted: Any) -> Defaults:
    if not wanted.do_sample:
        return Defaults(max_tokens=wanted.max_new_tokens)
    return Defaults(
        temperature=1.0 if wanted.temperature is None else float(wanted.temperature),
        top_p=1.0 if wanted.top_p is None else float(wanted.top_p),
        top_k=_TOP_K if wanted.top_k is None else int(wanted.top_k),
        max_tokens=wanted.max_new_tokens,
    )


def _start(config: Any, wanted: Any, firsts: list[int]) -> tuple[int, ...]:
    """What a reply begins with; some models force a second token after the first."""
    starts = [*_tokens("decoder_start_token_id", wanted, config), *firsts]
    return (*starts[:1], *_tokens("forced_bos_token_id", wanted)[:1])


def _bare(wanted: Any, pad: int, start: tuple[int, ...]) -> Any:
    kind: Any = transformers.GenerationConfig
    return kind(
        do_sample=False,
        num_beams=1,
        pad_token_id=pad,
        bos_token_id=wanted.bos_token_id,
        decoder_start_token_id=start[0] if start else None,
        forced_bos_token_id=wanted.forced_bos_token_id,
        suppress_tokens=wanted.suppress_tokens,
        begin_suppress_tokens=wanted.begin_suppress_tokens,
    )


def _tokens(name: str, *places: Any) -> list[int]:
    """Every token that is given under a name, in the places' order; each gives none or several."""
    found: list[int] = []
    for place in places:
        value = getattr(place, name, None)
        if value is not None:
            found += map(int, value if isinstance(value, list | tuple) else [value])
    return found
