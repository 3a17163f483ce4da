"""From weights on disk to a model and a tokenizer in memory.

Safetensors and GGUF only, and no code of the weights' own unless allowed. A GGUF file's weights
are unpacked to the type that is computed in: transformers reads them but does not compute with
them packed, so a file takes more memory than it is large, and up to a minute to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils import logging

from peerexam.agents.hf_hub import fetch_weights
from peerexam.agents.hf_source import Source
from peerexam.agents.hf_tokens import HfTokenizer
from peerexam.calls import Json
from peerexam.errors import SetupError

_LIMIT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
_NO_LIMIT = 10**9
"""Tokenizers that know no limit say 10^30."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What decides how weights are loaded; equal settings and weights share one model.

    Attributes:
        device: `cpu`, `cuda` or `mps`.
        dtype: `float32`, `bfloat16` or `float16`.
        threads: Of the processor.
        trust_remote_code: Whether Python code that comes with the weights may run.
    """

    device: str
    dtype: str
    threads: int = 1
    trust_remote_code: bool = False


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


def resolve_device(device: str) -> str:
    """The device that `auto` means here: CUDA, else MPS, else the processor.

    Raises:
        SetupError: This machine has none such.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        return next((name for name, is_there in there.items() if is_there), "cpu")
    if not there.get(device, True):
        raise SetupError(f"torch finds no {device} here: use device=cpu or device=auto")
    return device


def resolve_dtype(dtype: str, device: str, config: Mapping[str, Json]) -> str:
    """The type that `auto` means: exact on the processor, the checkpoint's on an accelerator."""
    if dtype != "auto":
        return dtype
    if device == "cpu":
        return "float32"
    stored = str(config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    return stored if stored in ("bfloat16", "float16") else "float32"


def load(source: Source, settings: LoadSettings) -> Loaded:
    """Load weights, and fetch them first where they are on the hub. It blocks, maybe for minutes.

    Raises:
        SetupError: They cannot be fetched or loaded; the message has the library's own words.
    """
    folder = source.folder
    if source.hub is not None:
        folder = fetch_weights(source.hub, with_code=settings.trust_remote_code)
    try:
        with _quiet():
            model, tokenizer = _read(Path(str(folder)), source.gguf, settings)
    except (OSError, ValueError, ImportError, RuntimeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise SetupError(f"hf/{source.name} cannot be loaded: {reason[:500]}") from error
    return _described(model, tokenizer)


def _read(folder: Path, gguf: str | None, settings: LoadSettings) -> tuple[Any, Any]:
    options: dict[str, Any] = {
        "trust_remote_code": settings.trust_remote_code,
        "local_files_only": True,
    }
    if gguf is not None:
        options["gguf_file"] = gguf
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    config = transformers.AutoConfig.from_pretrained(folder, **options)
    if gguf is not None:
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    else:
        options["use_safetensors"] = True
    kind: Any = transformers.AutoModelForCausalLM
    if getattr(config, "is_encoder_decoder", False):
        kind = transformers.AutoModelForSeq2SeqLM
    dtype = getattr(torch, settings.dtype)
    model = kind.from_pretrained(folder, config=config, dtype=dtype, **options)
    return model.to(device=settings.device, dtype=dtype).eval(), tokenizer


def _described(model: Any, tokenizer: Any) -> Loaded:
    config, wanted = model.config.get_text_config(), model.generation_config
    is_encoder_decoder = bool(model.config.is_encoder_decoder)
    ends = {*_ids(wanted.eos_token_id), *_ids(config.eos_token_id), *_ids(tokenizer.eos_token_id)}
    first = next(
        iter([*_ids(tokenizer.bos_token_id), *_ids(config.bos_token_id), *sorted(ends)]), None
    )
    made_for = next((v for n in _LIMIT_NAMES if (v := getattr(config, n, None))), None)
    fixed = made_for is not None and not _is_relative(config)
    if not fixed and 0 < tokenizer.model_max_length < _NO_LIMIT:
        made_for = tokenizer.model_max_length
    defaults = _defaults(wanted)
    start = _start(config, wanted, first) if is_encoder_decoder else ()
    pad = next(iter([*_ids(tokenizer.pad_token_id), *_ids(config.pad_token_id), *sorted(ends)]), 0)
    model.generation_config = _bare(wanted, pad, start)
    return Loaded(
        model=model,
        tokenizer=HfTokenizer(tokenizer, ends_prompts=is_encoder_decoder),
        is_encoder_decoder=is_encoder_decoder,
        defaults=defaults,
        ends=frozenset(ends),
        first=first,
        pad=pad,
        decoder_start=start,
        context=made_for,
        context_is_fixed=fixed,
    )


def _is_relative(config: Any) -> bool:
    """Whether positions are relative, as in T5: nothing breaks beyond the length of training."""
    return getattr(config, "relative_attention_num_buckets", None) is not None


def _defaults(wanted: Any) -> Defaults:
    max_tokens = wanted.max_new_tokens
    if not wanted.do_sample:
        return Defaults(max_tokens=max_tokens)
    return Defaults(
        temperature=1.0 if wanted.temperature is None else float(wanted.temperature),
        top_p=1.0 if wanted.top_p is None else float(wanted.top_p),
        top_k=50 if wanted.top_k is None else int(wanted.top_k),  # the library's own default
        max_tokens=max_tokens,
    )


def _start(config: Any, wanted: Any, first: int | None) -> tuple[int, ...]:
    """What a reply begins with; some models force a second token after the first."""
    start = [
        *_ids(wanted.decoder_start_token_id),
        *_ids(getattr(config, "decoder_start_token_id", None)),
    ]
    start = start[:1] or [*_ids(first)]
    return (*start, *_ids(wanted.forced_bos_token_id))


def _bare(wanted: Any, pad: int, start: tuple[int, ...]) -> Any:
    """A generation config with nothing in it that draws, penalises or searches by itself."""
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


def _ids(value: Any) -> list[int]:
    """Token ids given as none, one, or several."""
    if value is None:
        return []
    return [int(one) for one in value] if isinstance(value, list | tuple) else [int(value)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without progress bars and advice, which would run through the exam's own display."""
    messages: Any = logging
    before = messages.get_verbosity()
    bars = messages.is_progress_bar_enabled()
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        yield
    finally:
        messages.set_verbosity(before)
        if bars:
            messages.enable_progress_bar()
