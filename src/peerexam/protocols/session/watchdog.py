"""No silent standstill: while no call ends, the oldest one is named."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from peerexam.printable import log
from peerexam.protocols.session.progress import Lane

_LONGEST_NAP = 5.0
_NAPS = 4
"""How often a stall is looked for within the time after which it is one."""

_LATE = 1.0
"""Seconds after its time at which a thread wakes only where the whole process was stopped."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A standstill.

    Attributes:
        quiet: Seconds in which no call ended.
        agent: Whose call is the oldest.
        role: What it was asked as, None where nobody said.
        seconds: How long that call has been under way, in our own queue or at the provider.
        under_way: How many calls are, this one included.
    """

    quiet: float
    agent: str
    role: str | None
    seconds: float
    under_way: int

    @property
    def text(self) -> str:
        """In a line."""
        who = f"'{self.agent}'" if self.role is None else f"'{self.agent}' as {self.role}"
        return (
            f"stalled: no call has ended for {self.quiet:.0f} s; the oldest, to {who}, has been "
            f"under way for {self.seconds:.0f} s ({self.under_way} calls in flight)"
        )


class Watchdog:
    """Tells of a standstill once it has lasted so long, and again each time as long has passed.

    Args:
        lane: The calls to watch: those that are really made.
        seconds: How long no call may end while some are under way.
    """

    def __init__(self, lane: Lane, seconds: float) -> None:
        self._lane = lane
        self.seconds = seconds
        self._since: float | None = None  # when the standstill last told of began
        self._due = seconds
        self._resumed_at = -math.inf

    def resumed(self) -> None:
        """The process was stopped until now, when no call could end: count from here."""
        self._resumed_at = self._lane.clock()

    def check(self) -> Stall | None:
        """What is to be told now, None where nothing is."""
        oldest = self._lane.oldest()
        if oldest is None:
            return None
        ended = self._lane.ended_at
        since = max(oldest.since, self._resumed_at, -math.inf if ended is None else ended)
        if since != self._since:
            self._since, self._due = since, self.seconds
        now = self._lane.clock()
        quiet = now - since
        if quiet < self._due:
            return None
        self._due = (math.floor(quiet / self.seconds) + 1) * self.seconds
        return Stall(
            quiet, oldest.agent, oldest.role, now - oldest.since, len(self._lane.under_way)
        )


@contextmanager
def watching(watchdog: Watchdog) -> Iterator[None]:
    """Log every standstill while the block runs, as a warning of the logger `peerexam`."""
    over = threading.Event()

    def watch() -> None:
        # A thread, so that an agent that blocks the event loop is named too.
        nap = min(watchdog.seconds / _NAPS, _LONGEST_NAP)
        lay_down = time.monotonic()
        while not over.wait(nap):
            woke = time.monotonic()
            if woke - lay_down > nap + _LATE:
                watchdog.resumed()
            lay_down = woke
            stall = watchdog.check()
            if stall is not None:
                log.warning("%s", stall.text)

    thread = threading.Thread(target=watch, name="peerexam watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
