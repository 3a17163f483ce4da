"""How far a run is: plain counters that agents feed and a display reads.

Nothing here prints, and no clock runs but the one passed in.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from peerexam.agents.hosted.finish_reasons import ending_of
from peerexam.calls import Completion

_RATE_OVER = 30.0
"""Seconds over which the rate is taken: long enough to be steady, short enough to be true."""

_FEWEST_CALLS, _FEWEST_SECONDS = 10, 10.0
"""Before so many paid calls have ended, over so long a time, the time left is not estimated."""

_UNUSUAL = 4.0
"""A call that takes so many times the mean of those that ended is unusual."""

_LEAST_UNUSUAL = 15.0
"""Seconds before which no call is unusual."""


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
        seconds_left: By the mean rate of the calls that were paid for since the first of them, so
            that neither a burst of replayed calls nor a phase of slow ones swings it; None before
            there is enough to go by, or where the plan is unknown.
        oldest_agent: Whose call has been under way longest, None where none is.
        oldest_seconds: For how long.
        oldest_is_unusual: Whether that is much longer than such calls take.
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
    oldest_is_unusual: bool = False


class UnderWay(NamedTuple):
    """A call that has started and not ended.

    Attributes:
        agent: Whose.
        role: What the agent is asked as, None where nobody said.
        since: When it started, by the lane's clock.
    """

    agent: str
    role: str | None
    since: float


@dataclass(slots=True)
class Lane:
    """Calls passing one point; a `Watcher`.

    `odd_endings` counts usable replies by their agent and a finish reason that is missing or that
    nobody knows.
    """

    clock: Callable[[], float]
    under_way: dict[int, UnderWay] = field(default_factory=dict)
    ended_at: float | None = None
    tickets: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=2000))
    odd_endings: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    first_started: float | None = None
    seconds: float = 0.0

    def started(self, agent: str, role: str | None = None) -> int:
        """Note that a call of an agent starts."""
        self.tickets += 1
        now = self.clock()
        self.first_started = now if self.first_started is None else self.first_started
        self.under_way[self.tickets] = UnderWay(agent, role, now)
        return self.tickets

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """Note how a call ended."""
        begun = self.under_way.pop(ticket, None)
        self.done += 1
        self.ended_at = self.clock()
        self.seconds += 0.0 if begun is None else self.ended_at - begun.since
        self.ends.append(self.ended_at)
        if completion is None:
            self.failed += 1
            return
        self.tokens += completion.usage.total
        reason = completion.finish_reason
        odd = reason is None or ending_of(reason) == "unknown"
        if begun is not None and completion.state == "ok" and odd:
            self.odd_endings[begun.agent, reason] += 1
        if completion.cost is None:
            self.unpriced += 1
        else:
            self.cost += completion.cost

    def abandoned(self, ticket: int) -> None:
        """Forget a call that was cancelled; it neither ended nor failed."""
        self.under_way.pop(ticket, None)

    def oldest(self) -> UnderWay | None:
        """The call that has been under way longest, None where none is."""
        # A dict keeps the order of starting; the copy is for a reader in another thread.
        return next(iter(list(self.under_way.values())), None)

    def rate(self) -> float | None:
        """Calls ending a second over the last half minute."""
        now = self.clock()
        while self.ends and now - self.ends[0] > _RATE_OVER:
            self.ends.popleft()
        if len(self.ends) < 2 or now <= self.ends[0]:
            return None
        return len(self.ends) / (now - self.ends[0])

    def seconds_for(self, calls: int) -> float | None:
        """How long so many calls will take at the mean rate so far; None where that is too new."""
        if self.first_started is None or self.done < _FEWEST_CALLS:
            return None
        elapsed = self.clock() - self.first_started
        return None if elapsed < _FEWEST_SECONDS else calls * elapsed / self.done

    def is_unusual(self, seconds: float) -> bool:
        """Whether a call that is under way for so long takes much longer than those that ended."""
        usual = self.seconds / self.done if self.done else 0.0
        return seconds >= max(_LEAST_UNUSUAL, _UNUSUAL * usual)


class Progress:
    """Counters of one run; itself the watcher to put outside the ledger.

    Put `Watched(…, progress)` around `Ledgered`, and `Watched(…, progress.paid)` inside it, so that
    replayed and paid calls are counted apart.

    Args:
        planned: How many calls are expected in all.
        clock: Seconds, from any start.
        stall_warning: Seconds without an ended call after which to warn; None leaves it to the
            exam's limits.
    """

    def __init__(
        self,
        planned: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        stall_warning: float | None = None,
    ) -> None:
        self.planned = planned
        self.stall_warning = stall_warning
        self.note = ""
        self.asked = Lane(clock)
        self._paid = Lane(clock)
        self._tells_paid = False

    @property
    def paid(self) -> Lane:
        """The watcher to put inside the ledger."""
        self._tells_paid = True
        return self._paid

    def started(self, agent: str, role: str | None = None) -> int:
        """A call of an agent starts."""
        return self.asked.started(agent, role)

    def finished(self, ticket: int, completion: Completion | None) -> None:
        """A call ended."""
        self.asked.finished(ticket, completion)

    def abandoned(self, ticket: int) -> None:
        """A call was cancelled."""
        self.asked.abandoned(ticket)

    def snapshot(self) -> Snapshot:
        """Where the run stands now."""
        asked, paid = self.asked, self._paid if self._tells_paid else self.asked
        rate = asked.rate()
        left = None
        if self.planned is not None:
            left = paid.seconds_for(max(0, self.planned - asked.done))
        oldest = paid.oldest()
        oldest_seconds = 0.0 if oldest is None else paid.clock() - oldest.since
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
            None if oldest is None else oldest.agent,
            oldest_seconds,
            self.note,
            paid.is_unusual(oldest_seconds),
        )
