"""Which of an engine's parallel sequences ("slots") takes the next request."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Slots:
    """The slots of one engine, each remembering the tokens that it has in its cache.

    A request goes to the free slot that shares the longest beginning with it, so that answers to
    one question are read behind a prompt that is evaluated once. Among equals, the slot that was
    used longest ago is taken, to leave the others' caches alone.

    Args:
        count: How many there are; never more requests may be in `take` at once.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free: dict[int, tuple[int, ...]] = dict.fromkeys(range(count), ())

    @contextmanager
    def take(self, tokens: Sequence[int]) -> Iterator[int]:
        """Hold a slot for a request with this prompt.

        Raises:
            RuntimeError: All slots are held.
        """
        with self._lock:
            slot = self._best(tokens)
            del self._free[slot]
        try:
            yield slot
        finally:
            with self._lock:
                self._free[slot] = tuple(tokens)

    def _best(self, tokens: Sequence[int]) -> int:
        if not self._free:
            raise RuntimeError("more requests at once than slots")
        # A dict keeps the order in which slots came free, and max the first of equals.
        return max(self._free, key=lambda slot: shared_length(self._free[slot], tokens))


def shared_length(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences share at their beginning.

    >>> shared_length([1, 2, 3], [1, 2, 4, 5])
    2
    """
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))
