"""The options of `hf/…`: what may stand after `?` or under `options:`, and within which bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from peerexam.agents.hf.batching import BatchLimits
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json
from peerexam.errors import SetupError

OPTIONS = (
    "batch_size",
    "batch_tokens",
    "chat",
    "device",
    "dtype",
    "max_context",
    "revision",
    "threads",
    "trust_remote_code",
)
DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class HfOptions:
    """How a model is loaded and asked.

    Attributes:
        device: Where it computes; `auto` takes CUDA, else MPS, else the processor.
        dtype: What it computes in; `auto` is float32 on the processor, and the checkpoint's own
            type on an accelerator.
        revision: Branch, tag or commit on the hub; None is the default branch.
        limits: Of one batch.
        max_context: Tokens of one prompt and reply together (an encoder-decoder's prompt and
            reply have as many each); None is what the model was made for.
        chat: None is whatever the model can.
        threads: Of the processor; None is one for each physical core.
        trust_remote_code: Whether Python code that comes with the weights may run.
    """

    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None
    limits: BatchLimits = field(default_factory=BatchLimits)
    max_context: int | None = None
    chat: bool | None = None
    threads: int | None = None
    trust_remote_code: bool = False


def read_options(spec: AgentSpec) -> HfOptions:
    """The options of a spec.

    Raises:
        SetupError: One is unknown, or has a value that it cannot have.
    """
    options = spec.options
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise SetupError(
            f"agent '{spec.name}': hf/ has no option '{unknown[0]}'; it has {', '.join(OPTIONS)}"
        )
    if spec.base_url is not None:
        raise SetupError(f"agent '{spec.name}': hf/ models run in this process and take no @url")
    standard = BatchLimits()
    return HfOptions(
        device=_one_of(options, "device", DEVICES),
        dtype=_one_of(options, "dtype", DTYPES),
        revision=_text(options, "revision"),
        limits=BatchLimits(
            rows=_whole(options, "batch_size", least=1) or standard.rows,
            tokens=_whole(options, "batch_tokens", least=64) or standard.tokens,
        ),
        max_context=_whole(options, "max_context", least=16),
        chat=_switch(options, "chat"),
        threads=_whole(options, "threads", least=1),
        trust_remote_code=_switch(options, "trust_remote_code") or False,
    )


def check(spec: AgentSpec) -> None:
    """Look at an agent's options, without its weights; raises as `read_options` does."""
    read_options(spec)


def _one_of(options: Mapping[str, Json], name: str, choices: tuple[str, ...]) -> str:
    value: Any = options.get(name, choices[0])
    if value not in choices:
        raise SetupError(f"option {name} is one of {', '.join(choices)}, not {value!r}")
    return str(value)


def _whole(options: Mapping[str, Json], name: str, *, least: int) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SetupError(f"option {name} is a whole number of at least {least}, not {value!r}")
    return value


def _switch(options: Mapping[str, Json], name: str) -> bool | None:
    value = options.get(name)
    if value is not None and not isinstance(value, bool):
        raise SetupError(f"option {name} is true or false, not {value!r}")
    return value


def _text(options: Mapping[str, Json], name: str) -> str | None:
    value = options.get(name)
    # A commit such as 1234567 is read as a number in a model name.
    return None if value is None else str(value)
