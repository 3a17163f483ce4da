"""One engine for all agents of this process that need the same one.

Engines are counted out and in: the first agent loads one, the last to let go closes it. An engine
keeps nothing that decides an answer, so exams that share one do not change each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Engine(Protocol):
    """What can be shared."""

    def close(self) -> None:
        """Free it; it may wait for what runs."""


K = TypeVar("K", bound=Hashable)
E = TypeVar("E", bound=Engine)


@dataclass(slots=True)
class _Entry(Generic[E]):
    users: int = 0
    engine: E | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)


class Shared(Generic[K, E]):
    """Engines by what they are made of."""

    def __init__(self) -> None:
        self._entries: dict[K, _Entry[E]] = {}
        self._lock = threading.Lock()

    def acquire(self, key: K, load: Callable[[], E]) -> E:
        """The engine of a key, loaded where no one has it yet. Blocks while it loads.

        What `load` raises is raised, and the next to ask loads again.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.users += 1
        try:
            with entry.loading:
                if entry.engine is None:
                    entry.engine = load()
                return entry.engine
        except BaseException:
            self._let_go(key)
            raise

    def release(self, key: K) -> None:
        """Give back what `acquire` gave. The last to do so waits for the engine to close."""
        last = self._let_go(key)
        if last is not None:
            last.close()

    def _let_go(self, key: K) -> E | None:
        with self._lock:
            entry = self._entries[key]
            entry.users -= 1
            if entry.users:
                return None
            del self._entries[key]
            return entry.engine
