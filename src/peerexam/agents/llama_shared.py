"""One engine for all agents of this process that have the same weights and settings.

Weights are counted out and in: the first agent loads them, the last to let go frees them. An
engine keeps nothing that decides an answer, so exams that share one do not change each other.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from peerexam.agents.llama import EngineSettings, LlamaEngine


@dataclass(slots=True)
class _Entry:
    users: int = 0
    engine: LlamaEngine | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)


_entries: dict[EngineSettings, _Entry] = {}
_lock = threading.Lock()


def acquire(settings: EngineSettings) -> LlamaEngine:
    """The engine for these settings, loaded where no one has it yet. Blocks while it loads.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        SetupError: The weights cannot be loaded.
    """
    with _lock:
        entry = _entries.setdefault(settings, _Entry())
        entry.users += 1
    try:
        with entry.loading:
            if entry.engine is None:
                entry.engine = LlamaEngine(settings)
            return entry.engine
    except BaseException:
        _let_go(settings)
        raise


def release(engine: LlamaEngine) -> None:
    """Give back what `acquire` gave. The last to do so waits for the engine to close."""
    last = _let_go(engine.settings)
    if last is not None:
        last.close()


def _let_go(settings: EngineSettings) -> LlamaEngine | None:
    with _lock:
        entry = _entries[settings]
        entry.users -= 1
        if entry.users:
            return None
        del _entries[settings]
        return entry.engine
