"""An embedded model over HTTP: llama.cpp's own OpenAI-compatible server, on loopback.

For users who want to point another program at a local model, and for tests that need a server
written by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peerexam.agents.llamacpp.engine import see_it_run, start_server
from peerexam.agents.llamacpp.provider import engine_settings
from peerexam.agents.local.weights import locate
from peerexam.agents.spec import parse_model
from peerexam.errors import SetupError


@contextmanager
def serve(
    model: str, host: str = "127.0.0.1", port: int = 0, *, api_key: str | None = None
) -> Iterator[str]:
    """Serve a local model while the context lasts, and give the base URL (`http://…/v1`).

    The model answers to its own name (`local/smollm2`), and in fact to any.

    Args:
        model: `local/NAME` or `gguf/PATH`, with `?context=`, `?slots=`, `?threads=`.
        host: Where to listen. Beyond loopback anyone who reaches the port may use the model.
        port: 0 takes a free one.
        api_key: What clients must send; None lets everyone in.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The name is no local model, or the weights or the port cannot be had.
    """
    provider, name, _, options = parse_model(model)
    if provider not in ("local", "gguf"):
        raise SetupError(f"only local/ and gguf/ models can be served, not '{model}'")
    weights = locate(name) if provider == "local" else Path(name).expanduser()
    server = start_server(
        engine_settings(weights, options),
        host=host,
        port=port,
        alias=f"{provider}/{name}",
        api_key=api_key,
    )
    try:
        yield f"{server.listening_address}/v1"
    finally:
        see_it_run(server)
        del server  # frees the weights and the port
