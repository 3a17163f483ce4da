"""How long one session of a run has gone on, and how long things take in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from peerexam.agents.layers.attempt_timeout import of_running_loop
from peerexam.errors import BudgetReachedError


class Mean:
    """The mean of what was added so far; 0 before anything was.

    Attributes:
        n: How many were added.
    """

    def __init__(self) -> None:
        self.n = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.n += 1
        self._sum += value

    @property
    def value(self) -> float:
        """The mean."""
        return self._sum / self.n if self.n else 0.0


class SessionClock:
    """The wall time of one session, and the limit on it.

    It starts with the first call that is really made, so that replaying a long run takes nothing
    from the time to go on with it. A process that is stopped meanwhile (`LoopClock`) uses none.

    Args:
        seconds: How long the session may take; None is no limit.
        clock: Seconds, steady; None is that of the running loop.
    """

    def __init__(
        self, seconds: float | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        self.seconds = seconds
        self.now = clock or _now
        self._started_at: float | None = None
        self._when_over: list[Callable[[BudgetReachedError], object]] = []

    def when_over(self, callback: Callable[[BudgetReachedError], object]) -> None:
        """Have someone told when the time is up, also while no call is sent that would notice."""
        self._when_over.append(callback)

    def start(self) -> None:
        """A call is made; only the first one starts the clock."""
        if self._started_at is not None:
            return
        self._started_at = self.now()
        if self.seconds is not None and self._when_over:
            asyncio.get_running_loop().call_later(self.seconds, self._end)

    def _end(self) -> None:
        if self.seconds is not None and (left := self.seconds - self.elapsed) > 0.001:
            asyncio.get_running_loop().call_later(left, self._end)  # the loop was held up
            return
        reached = BudgetReachedError(
            f"the budget of the run is reached: its time is up ({self.seconds:g} seconds a session)"
        )
        for callback in self._when_over:
            callback(reached)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return 0.0 if self._started_at is None else self.now() - self._started_at

    def would_break(self, want: float) -> str | None:
        """The limit, in words, where so many seconds more do not fit; None where they do."""
        if self.seconds is None:
            return None
        elapsed = self.elapsed
        if elapsed < self.seconds and elapsed + want <= self.seconds:
            return None
        return f"{self.seconds:g} seconds a session"


def _now() -> float:
    return of_running_loop().now()
