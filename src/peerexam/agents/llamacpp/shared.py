"""One llama.cpp engine for all agents of this process with the same weights and settings."""

from __future__ import annotations

from peerexam.agents.llamacpp.engine import EngineSettings, LlamaEngine
from peerexam.agents.local.sharing import Shared

_engines: Shared[EngineSettings, LlamaEngine] = Shared()


def acquire(settings: EngineSettings) -> LlamaEngine:
    """The engine for these settings, loaded where no one has it yet. Blocks while it loads.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The weights cannot be loaded.
    """
    return _engines.acquire(settings, lambda: LlamaEngine(settings))


def release(engine: LlamaEngine) -> None:
    """Give back what `acquire` gave. The last to do so waits for the engine to close."""
    _engines.release(engine.settings)
