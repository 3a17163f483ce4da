"""From weights on disk to a model and a tokenizer in memory.

Safetensors and GGUF only, and no code of the weights' own unless allowed. A GGUF file's weights
are unpacked to the type that is computed in: transformers reads them but does not compute with
them packed, so a file takes more memory than it is large, and up to a minute to load.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers.utils import logging

from peerexam.agents.hf.description import Loaded, described
from peerexam.agents.hf.hub import fetch_weights
from peerexam.agents.hf.source import Source
from peerexam.calls import Json
from peerexam.errors import SetupError

_DAMAGED = (
    SafetensorError,
    OSError,
    ValueError,
    ImportError,
    RuntimeError,
    KeyError,
    AttributeError,
)
"""What transformers raises over checkpoints that are broken, unknown, or need further packages."""

_loading = threading.Lock()
"""Transformers changes torch's settings for the whole process while it loads."""


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
        with _loading, _quiet():
            model, tokenizer = _read(Path(str(folder)), source.gguf, settings)
    except _DAMAGED as error:
        reason = " ".join(str(error).split())
        raise SetupError(f"hf/{source.name} cannot be loaded: {reason[:500]}") from error
    return described(model, tokenizer)


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
