"""Which other processes want the same requests, and how they divide them.

Two runs of one exam want the same requests in the same order. If each claimed all it could, the one
a moment ahead would claim everything and the other would only follow. So processes that have met
divide the keys: each claims its own at once, and the others' only after a grace in which the other
did not come for them. Who meets nobody divides nothing and waits for nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

GRACE = 0.25
"""Seconds for which a key is left to the process that it falls to."""

MEMORY = 5.0
"""Seconds after which a process that was not met again is forgotten."""


class OtherProcesses:
    """The owners of claims that this process has met lately."""

    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def met(self, owners: Iterable[int], now: float) -> None:
        """Note owners that want what this process wants; `now` in seconds of any one clock."""
        for owner in owners:
            self._until[owner] = now + MEMORY

    def missed(self, owner: int) -> None:
        """Note that an owner did not come for a key that was left to it."""
        self._until.pop(owner, None)

    def forget(self, now: float) -> None:
        """Drop those that were not met again within `MEMORY`."""
        for owner in [owner for owner, until in self._until.items() if until < now]:
            del self._until[owner]

    @property
    def owners(self) -> frozenset[int]:
        """Those who are remembered."""
        return frozenset(self._until)

    def whose(self, key: str, me: int) -> int:
        """The owner that a key falls to, the same for all who have met each other.

        >>> others = OtherProcesses()
        >>> others.whose("a key", 7)
        7
        >>> others.met([3], now=0.0)
        >>> sorted({others.whose(f"key {number}", 7) for number in range(10)})
        [3, 7]
        """
        if not self._until:
            return me
        owners = sorted({me, *self._until})
        return owners[zlib.crc32(key.encode("utf-8", "surrogatepass")) % len(owners)]
