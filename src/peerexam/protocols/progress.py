"""How far a run is: plain counters that agents feed and a display reads.

Nothing here prints, and no clock runs but the one passed in.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from peerexam.calls import Completion

_RATE_OVER = 30.0
"""Seconds over which the rate is taken: long enough to be steady, short enough to be true."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a run stands at one moment.

    Attributes:
        planned: How many calls are expected in all, None where nobody knows.
        done: Calls that ended, replayed and failed ones among them.
        replayed: Of these, answered from the ledger (or by a call already under way).
        failed: Of these, ended without a completion.
        in_flight: Calls under way at the providers.
        tokens: Prompt and completion tokens of the calls paid for in this run.
        cost: US dollars of the calls whose cost is known.
        unpriced: Calls paid for whose cost is unknown.
        rate: Calls ending a second, lately; None before any has.
        seconds_left: By that rate; None where rate or plan is unknown.
        oldest_agent: Whose call has been under way longest, None where none is.
        oldest_seconds: For how long.
        note: What the run is doing, in a word or two.
    """

    planned: int | None
    done: int
    replayed: int
    failed: int
    in_flight: int
    tokens: int
    cost: float
    unpriced: int
    rate: float | None
    seconds_left: float | None
    oldest_agent: str | None
    oldest_seconds: float
    note: str


@dataclass(slots=True)
class Lane:
    """Calls passing one point; a `Watcher`."""

    clock: Callable[[], float]
    under_way: dict[int, tuple[str, float]] = field(default_factory=dict)
    tickets: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=2000))

    def started(self, agent: str) -> int:
        """Note that a call of an agent starts."""
        self.tickets += 1
        self.under_way[self.tickets] = (agent, self.clock())
        return self.tickets

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """Note how a call ended."""
        self.under_way.pop(ticket, None)
        self.done += 1
        self.ends.append(self.clock())
        if completion is None:
            self.failed += 1
            return
        self.tokens += completion.usage.total
        if completion.cost is None:
            self.unpriced += 1
        else:
            self.cost += completion.cost

    def abandoned(self, ticket: int) -> None:
        """Forget a call that was given up; it neither ended nor failed."""
        self.under_way.pop(ticket, None)

    def oldest(self) -> tuple[str | None, float]:
        """Agent and age in seconds of the call that has been under way longest."""
        if not self.under_way:
            return None, 0.0
        # A dict keeps the order of starting; the copy is for a display in another thread.
        agent, since = next(iter(list(self.under_way.values())), (None, self.clock()))
        return agent, self.clock() - since

    def rate(self) -> float | None:
        """Calls ending a second over the last half minute."""
        now = self.clock()
        while self.ends and now - self.ends[0] > _RATE_OVER:
            self.ends.popleft()
        if len(self.ends) < 2 or now <= self.ends[0]:
            return None
        return len(self.ends) / (now - self.ends[0])


class Progress:
    """Counters of one run; itself the watcher to put outside the ledger.

    Put `Watched(…, progress)` around `Ledgered`, and `Watched(…, progress.paid)` inside it, so that
    replayed calls are told from paid ones.

    Args:
        planned: How many calls are expected in all.
        clock: Seconds, from any start.
    """

    def __init__(
        self, planned: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.planned = planned
        self.note = ""
        self.asked = Lane(clock)
        self._paid = Lane(clock)
        self._tells_paid = False

    @property
    def paid(self) -> Lane:
        """The watcher to put inside the ledger."""
        self._tells_paid = True
        return self._paid

    def started(self, agent: str) -> int:
        """A call of an agent starts."""
        return self.asked.started(agent)

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """A call ended."""
        self.asked.finished(ticket, completion)

    def abandoned(self, ticket: int) -> None:
        """A call was given up."""
        self.asked.abandoned(ticket)

    def snapshot(self) -> Snapshot:
        """Where the run stands now."""
        asked, paid = self.asked, self._paid if self._tells_paid else self.asked
        rate = asked.rate()
        left = None
        if rate and self.planned is not None:
            left = max(0, self.planned - asked.done) / rate
        agent, seconds = paid.oldest()
        return Snapshot(
            self.planned,
            asked.done,
            max(0, asked.done - paid.done),
            asked.failed,
            len(paid.under_way),
            paid.tokens,
            paid.cost,
            paid.unpriced,
            rate,
            left,
            agent,
            seconds,
            self.note,
        )
