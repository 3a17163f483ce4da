"""What may be spent, what is spent, and what is spoken for.

A meter is shared by all agents of a run; an agent may have one of its own beside it. Each call is
held against its meters by its estimate before it is made and settled by what it took. Whole
questions are held in advance by an `Admission`, so that a budget ends a run between two questions
and not in the middle of many.

Time is of two kinds. An agent's is added up over its calls, as money is. The run's is what a clock
on the wall shows (`SessionClock`), and no call can be charged with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

from peerexam.agents.layers.budgets.session_clock import Mean, SessionClock
from peerexam.errors import BudgetReachedError

_SLACK = 1e-9  # US dollars and seconds: sums of floats, not money


@dataclass(frozen=True, slots=True)
class Spend:
    """An amount of each thing that a budget counts.

    Attributes:
        usd: US dollars, as far as they are known.
        calls: Requests that were asked, answered or not; an attempt that is repeated is one.
        tokens: Prompt and reply together.
        seconds: That calls took at the provider, added up; waits of our own are not among them.
    """

    usd: float = 0.0
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.usd + other.usd,
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.seconds + other.seconds,
        )

    def less(self, other: Spend) -> Spend:
        """What is left of this after the other, never less than none."""
        return Spend(
            max(0.0, self.usd - other.usd),
            max(0, self.calls - other.calls),
            max(0, self.tokens - other.tokens),
            max(0.0, self.seconds - other.seconds),
        )


NOTHING = Spend()
"""Of everything."""


class _Sum:
    """A `Spend` that is added to in place: every call adds to four of them."""

    __slots__ = ("calls", "seconds", "tokens", "usd")

    def __init__(self) -> None:
        self.usd, self.calls, self.tokens, self.seconds = 0.0, 0, 0, 0.0

    def add(self, spend: Spend) -> None:
        self.usd += spend.usd
        self.calls += spend.calls
        self.tokens += spend.tokens
        self.seconds += spend.seconds

    def take(self, spend: Spend) -> None:
        """Never to less than none: sums of floats come out a little beside."""
        self.usd = max(0.0, self.usd - spend.usd)
        self.calls = max(0, self.calls - spend.calls)
        self.tokens = max(0, self.tokens - spend.tokens)
        self.seconds = max(0.0, self.seconds - spend.seconds)

    def as_spend(self) -> Spend:
        return Spend(self.usd, self.calls, self.tokens, self.seconds)


_EMPTY = _Sum()


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What may be spent at most; None is no limit."""

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None


class BudgetMeter:
    """What one budget has seen.

    Args:
        limits: What may be spent.
        name: Whose budget it is, for messages.

    Attributes:
        unpriced_calls: Calls whose cost nobody knows.
    """

    def __init__(self, limits: BudgetLimits | None = None, name: str = "the run") -> None:
        self.limits = limits or BudgetLimits()
        self.name = name
        self.unpriced_calls = 0
        self._spent = _Sum()
        self._held = _Sum()
        self._attempt = Mean()
        self._under_way = 0
        self._settled = asyncio.Event()

    @property
    def spent(self) -> Spend:
        """What is settled."""
        return self._spent.as_spend()

    @property
    def held(self) -> Spend:
        """What is spoken for: calls in flight by their estimate, and admitted questions."""
        return self._held.as_spend()

    def charge(self, spend: Spend, *, unpriced_calls: int = 0) -> None:
        """Count what was spent, for instance in an earlier session of the same run."""
        self._spent.add(spend)
        self.unpriced_calls += unpriced_calls
        if spend.seconds:
            self._attempt.add(spend.seconds)

    def with_time(self, want: Spend) -> Spend:
        """An amount with the seconds that its calls will take, going by those charged so far."""
        if self.limits.seconds is None:
            return want
        return replace(want, seconds=want.calls * self._attempt.value)

    def would_break(self, want: Spend, *, beside_held: bool = True) -> str | None:
        """The limit that an amount would break, in words; None where it fits.

        Args:
            want: The amount.
            beside_held: Whether what is held counts as spent.
        """
        limits, spent = self.limits, self._spent
        held = self._held if beside_held else _EMPTY
        if _breaks(limits.calls, want.calls, spent.calls + held.calls):
            return f"{limits.calls} calls"
        if _breaks(limits.tokens, want.tokens, spent.tokens + held.tokens):
            return f"{limits.tokens} tokens"
        if _breaks(limits.usd, want.usd, spent.usd + held.usd):
            return f"{limits.usd:g} US dollars"
        if _breaks(limits.seconds, want.seconds, spent.seconds + held.seconds):
            return f"{limits.seconds:g} seconds"
        return None

    @property
    def is_out_of_time(self) -> bool:
        """Whether its calls have taken all the time that they may."""
        return self.limits.seconds is not None and self._spent.seconds >= self.limits.seconds

    def hold(self, want: Spend) -> None:
        """Speak for an amount."""
        self._held.add(want)

    def free(self, held: Spend) -> None:
        """Let go of an amount that was spoken for."""
        self._held.take(held)

    def call_begins(self) -> None:
        """A call is under way whose estimate is held."""
        self._under_way += 1

    def call_ends(self) -> None:
        """It is settled, and may have left room for another."""
        self._under_way -= 1
        self._settled.set()
        self._settled = asyncio.Event()

    def may_leave_room(self, want: Spend) -> bool:
        """Whether an amount could fit once the calls under way are settled."""
        return self._under_way > 0 and self.would_break(want, beside_held=False) is None

    async def next_settlement(self) -> None:
        """Wait until one of the calls under way is settled."""
        await self._settled.wait()


def _breaks(limit: float | None, want: float, used: float) -> bool:
    """Whether something that is wanted goes over a limit; what wants nothing breaks nothing."""
    return limit is not None and want > 0 and used + want > limit + _SLACK


class Ticket:
    """What is held for one question; its calls draw from it before they draw from the rest.

    Args:
        wants: What to hold.
        refusal: Why there was no room for the question: what the ledger holds may be read, and
            any call that would be paid for is refused.

    Attributes:
        has_asked: Whether a call of the question was really made.
    """

    def __init__(self, wants: Mapping[BudgetMeter, Spend], refusal: str | None = None) -> None:
        self.refusal = refusal
        self.has_asked = False
        self._left = {} if refusal is not None else dict(wants)
        for meter, want in self._left.items():
            meter.hold(want)

    def part(self, meter: BudgetMeter, want: Spend) -> Spend:
        """As much of an amount as the ticket still covers."""
        left = self._left.get(meter, Spend())
        return Spend(
            min(left.usd, want.usd),
            min(left.calls, want.calls),
            min(left.tokens, want.tokens),
            min(left.seconds, want.seconds),
        )

    def draw(self, meter: BudgetMeter, part: Spend) -> None:
        """Hand an amount to a call; the meter goes on holding it."""
        if meter in self._left:
            self._left[meter] = self._left[meter].less(part)

    def give_back(self, meter: BudgetMeter, rest: Spend) -> None:
        """What a call did not need is the question's again."""
        if meter in self._left:
            self._left[meter] += rest
            meter.hold(rest)

    def close(self) -> None:
        """The question is done: let go of what it did not need."""
        for meter, left in self._left.items():
            meter.free(left)
        self._left = {}


_ticket: ContextVar[Ticket | None] = ContextVar("what is held for this question", default=None)


def current_ticket() -> Ticket | None:
    """The ticket of the question that the running task works on, None where there is none."""
    return _ticket.get()


class Admission:
    """Lets whole questions in while the budget has room for them.

    `admit` and `release` are called by the task that works on the question, around all of its
    calls; tasks that it starts in between belong to the question too.

    A question is expected to take as long as those that ended in this session did; before any
    has, at least as long as the oldest one under way already did.

    Args:
        wants: For each meter, the most that one question may take.
        session: How long the run may take; None is no limit.
    """

    def __init__(
        self, wants: Mapping[BudgetMeter, Spend], session: SessionClock | None = None
    ) -> None:
        self._wants = dict(wants)
        self._session = session or SessionClock()
        self._inside: dict[Ticket, float] = {}  # since when, in the order of admission
        self._took = Mean()
        self._turn = asyncio.Lock()  # questions are let in in the order in which they came
        self._left = asyncio.Event()

    async def admit(self) -> bool:
        """Hold a question's most; wait where questions under way may yet leave room for it.

        Returns:
            Whether there was room. Where not, the question may still be worked on: what is in the
            ledger is replayed, and its first call that would be paid for raises
            `BudgetReachedError`. So a resumed run keeps every question that it has paid for.
        """
        async with self._turn:
            while self._refusal(beside_held=True) and self._inside:
                if self._refusal(beside_held=False):
                    break
                self._left.clear()
                await self._left.wait()
            return self.admit_now()

    def admit_now(self) -> bool:
        """As `admit`, without waiting."""
        refusal = self._refusal(beside_held=True)
        ticket = Ticket({m: m.with_time(want) for m, want in self._wants.items()}, refusal)
        if refusal is None:
            self._inside[ticket] = self._session.now()
        _ticket.set(ticket)
        return refusal is None

    def release(self) -> None:
        """The question that this task works on is done."""
        ticket = _ticket.get()
        if ticket is None:
            return
        _ticket.set(None)
        ticket.close()
        since = self._inside.pop(ticket, None)
        if since is not None and ticket.has_asked:  # a replayed one says nothing of the next
            self._took.add(self._session.now() - since)
        self._left.set()

    def _refusal(self, *, beside_held: bool) -> str | None:
        limit = self._session.would_break(self._typical_seconds())
        if limit is not None:
            return _no_room("the run", limit)
        for meter, want in self._wants.items():
            limit = meter.would_break(meter.with_time(want), beside_held=beside_held)
            if limit is not None:
                return _no_room(meter.name, limit)
        return None

    def _typical_seconds(self) -> float:
        if self._took.n or not self._inside:
            return self._took.value
        return self._session.now() - next(iter(self._inside.values()))


def _no_room(name: str, limit: str) -> str:
    return (
        f"the budget of {name} is reached: one more whole question would break its limit ({limit})"
    )


async def held(meters: tuple[BudgetMeter, ...], want: Spend) -> Hold:
    """One call held against its meters; waits where calls under way may yet leave room for it.

    Estimates go by the limits on replies, and most replies are far shorter.

    Raises:
        BudgetReachedError: The call would break a budget, whatever those under way take.
    """
    while True:
        try:
            return Hold(meters, want)
        except BudgetReachedError:
            ticket = current_ticket()
            full = [meter for meter in meters if meter.would_break(want)]
            refused = ticket is not None and ticket.refusal is not None
            if refused or not full or not all(meter.may_leave_room(want) for meter in full):
                raise
            await full[0].next_settlement()


class Hold:
    """One call held against its meters, all of them or none.

    Args:
        meters: The meters.
        want: The call's estimate.

    Raises:
        BudgetReachedError: The call would break a budget; nothing is held then.
    """

    def __init__(self, meters: tuple[BudgetMeter, ...], want: Spend) -> None:
        ticket = current_ticket()
        self._ticket = ticket
        self._want = want
        self._meters = meters
        # What the question's ticket covers, and what is to be held beside it.
        self._parts: dict[BudgetMeter, Spend] = {}
        rests = dict.fromkeys(meters, want)
        if ticket is not None:
            self._parts = {meter: ticket.part(meter, want) for meter in meters}
            rests = {meter: want.less(part) for meter, part in self._parts.items()}
        for meter, rest in rests.items():
            self._check(meter, rest)
        for meter, rest in rests.items():
            meter.hold(rest)
            meter.call_begins()
        if ticket is not None:
            for meter, part in self._parts.items():
                ticket.draw(meter, part)
            ticket.has_asked = True

    def settle(self, took: Spend, *, unpriced: bool = False) -> None:
        """Count what the call took instead of what was held for it."""
        for meter in self._meters:
            meter.free(self._want)
            meter.charge(took, unpriced_calls=int(unpriced))
            if self._ticket is not None:
                self._ticket.give_back(meter, self._parts[meter].less(took))
            meter.call_ends()

    def _check(self, meter: BudgetMeter, rest: Spend) -> None:
        limit = meter.would_break(rest)
        if limit is not None:
            raise BudgetReachedError(
                f"the budget of {meter.name} is reached: the next call would break its limit "
                f"({limit})"
            )
        if self._ticket is not None and self._ticket.refusal is not None:
            raise BudgetReachedError(self._ticket.refusal)
