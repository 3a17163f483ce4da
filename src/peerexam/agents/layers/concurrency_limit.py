"""How many calls of one agent are made at once: a fixed number, or what its provider bears.

Adapting is TCP's way (Chiu and Jain, 1989): additive up, multiplicative down. Until the provider
first pushes back, every answer makes room for one call more, which doubles the number in the time
that a call takes; from then on a whole round of answers does. A push-back halves it. What was sent
before a cut neither cuts again nor grows: that is the cool-down.
"""

from __future__ import annotations

import asyncio
from collections import deque

from peerexam.printable import log

_LONGEST_PAUSE = 60.0  # who asks for more than that is not waited for by those behind


class ConcurrencyLimit:
    """Lets so many calls through at once, first come, first served.

    Args:
        ceiling: The most at once.
        start: Adapt, beginning with so many; None keeps to the ceiling throughout.
        name: Whose it is, for the log.

    Attributes:
        inside: How many are through and not out again.
    """

    def __init__(self, ceiling: int, *, start: int | None = None, name: str = "an agent") -> None:
        self._ceiling = ceiling
        self._adapts = start is not None
        self._limit = float(ceiling if start is None else min(start, ceiling))
        self._pushed_back = False
        self._cut_at = 0.0
        self._name = name
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._reopening: asyncio.TimerHandle | None = None
        self.inside = 0

    @property
    def limit(self) -> int:
        """How many may be inside now."""
        return int(self._limit)

    async def enter(self) -> float:
        """Wait for a place; returns when it was had, for `succeeded` and `pushed_back`."""
        loop = asyncio.get_running_loop()
        if self._waiting or self._reopening is not None or self.inside >= self.limit:
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self.leave()  # it was handed over at the same time
                raise
        else:
            self.inside += 1
        return loop.time()

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1
        self._let_in()

    def succeeded(self, entered: float) -> None:
        """A call was answered: there may be room for more, if all the room there is was used."""
        if not self._adapts or self._limit >= self._ceiling or entered < self._cut_at:
            return
        if self.inside < self.limit:
            return
        grown = self._limit + (1.0 / self._limit if self._pushed_back else 1.0)
        self._limit = min(grown, float(self._ceiling))

    def pushed_back(self, entered: float, retry_after: float | None = None) -> None:
        """The provider could not take a call.

        Args:
            entered: When the call had got its place.
            retry_after: Seconds for which it asks to be left alone; up to a minute is kept to by
                all calls.
        """
        loop = asyncio.get_running_loop()
        if retry_after is not None and 0 < retry_after <= _LONGEST_PAUSE:
            self._close_for(retry_after, loop)
        if self._adapts and entered >= self._cut_at:
            self._pushed_back = True
            self._limit = max(1.0, self._limit / 2)
            self._cut_at = loop.time()
            log.info("%s was pushed back: %d calls at once now", self._name, self.limit)

    def _close_for(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        opens = loop.time() + seconds
        if self._reopening is not None:
            if self._reopening.when() >= opens:
                return
            self._reopening.cancel()
        self._reopening = loop.call_at(opens, self._reopen)

    def _reopen(self) -> None:
        self._reopening = None
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._reopening is None and self.inside < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self.inside += 1
                place.set_result(None)
