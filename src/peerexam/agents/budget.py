"""What may be spent, what is spent, and what is spoken for.

A meter is shared by all agents of a run; an agent may have one of its own beside it. Each call is
held against its meters by its estimate before it is made and settled by what it took. Whole
questions are held in advance by an `Admission`, so that a budget ends a run between two questions
and not in the middle of many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from peerexam.errors import BudgetReachedError

_SLACK = 1e-9  # US dollars: sums of floats, not money


@dataclass(frozen=True, slots=True)
class Spend:
    """An amount of each thing that a budget counts.

    Attributes:
        usd: US dollars, as far as they are known.
        calls: Requests that were asked, answered or not; an attempt that is repeated is one.
        tokens: Prompt and reply together.
    """

    usd: float = 0.0
    calls: int = 0
    tokens: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.usd + other.usd, self.calls + other.calls, self.tokens + other.tokens)

    def less(self, other: Spend) -> Spend:
        """What is left of this after the other, never less than none."""
        return Spend(
            max(0.0, self.usd - other.usd),
            max(0, self.calls - other.calls),
            max(0, self.tokens - other.tokens),
        )


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What may be spent at most; None is no limit."""

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None


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
        self._spent = Spend()
        self._held = Spend()

    @property
    def spent(self) -> Spend:
        """What is settled."""
        return self._spent

    @property
    def held(self) -> Spend:
        """What is spoken for: calls in flight by their estimate, and admitted questions."""
        return self._held

    def charge(self, spend: Spend, *, unpriced_calls: int = 0) -> None:
        """Count what was spent, for instance in an earlier session of the same run."""
        self._spent += spend
        self.unpriced_calls += unpriced_calls

    def would_break(self, want: Spend, *, beside_held: bool = True) -> str | None:
        """The limit that an amount would break, in words; None where it fits.

        Args:
            want: The amount.
            beside_held: Whether what is held counts as spent.
        """
        total = self._spent + want + (self._held if beside_held else Spend())
        limits = self.limits
        if limits.calls is not None and want.calls and total.calls > limits.calls:
            return f"{limits.calls} calls"
        if limits.tokens is not None and want.tokens and total.tokens > limits.tokens:
            return f"{limits.tokens} tokens"
        if limits.usd is not None and want.usd and total.usd > limits.usd + _SLACK:
            return f"{limits.usd:g} US dollars"
        return None

    def hold(self, want: Spend) -> None:
        """Speak for an amount."""
        self._held += want

    def free(self, held: Spend) -> None:
        """Let go of an amount that was spoken for."""
        self._held = self._held.less(held)


class Ticket:
    """What is held for one question; its calls draw from it before they draw from the rest.

    Attributes:
        replay_only: There was no room for the question: what the ledger holds may be read, and
            any call that would be paid for is refused.
    """

    def __init__(self, wants: Mapping[BudgetMeter, Spend], replay_only: bool = False) -> None:
        self.replay_only = replay_only
        self._left = {} if replay_only else dict(wants)
        for meter, want in self._left.items():
            meter.hold(want)

    def part(self, meter: BudgetMeter, want: Spend) -> Spend:
        """As much of an amount as the ticket still covers."""
        left = self._left.get(meter, Spend())
        return Spend(
            min(left.usd, want.usd), min(left.calls, want.calls), min(left.tokens, want.tokens)
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

    Args:
        wants: For each meter, the most that one question may take.
    """

    def __init__(self, wants: Mapping[BudgetMeter, Spend]) -> None:
        self._wants = dict(wants)
        self._inside = 0
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
        ticket = Ticket(self._wants, replay_only=self._refusal(beside_held=True) is not None)
        self._inside += not ticket.replay_only
        _ticket.set(ticket)
        return not ticket.replay_only

    def release(self) -> None:
        """The question that this task works on is done."""
        ticket = _ticket.get()
        if ticket is None:
            return
        _ticket.set(None)
        ticket.close()
        self._inside -= not ticket.replay_only
        self._left.set()

    def _refusal(self, *, beside_held: bool) -> str | None:
        reasons = (
            meter.would_break(want, beside_held=beside_held) for meter, want in self._wants.items()
        )
        return next((reason for reason in reasons if reason is not None), None)


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
        self._parts = {
            meter: Spend() if ticket is None else ticket.part(meter, want) for meter in meters
        }
        for meter, part in self._parts.items():
            self._check(meter, want.less(part))
        for meter, part in self._parts.items():
            if ticket is not None:
                ticket.draw(meter, part)
            meter.hold(want.less(part))

    def settle(self, took: Spend, *, unpriced: bool = False) -> None:
        """Count what the call took instead of what was held for it."""
        for meter, part in self._parts.items():
            meter.free(self._want)
            meter.charge(took, unpriced_calls=int(unpriced))
            if self._ticket is not None:
                self._ticket.give_back(meter, part.less(took))

    def _check(self, meter: BudgetMeter, rest: Spend) -> None:
        limit = meter.would_break(rest)
        if limit is None and self._ticket is not None and self._ticket.replay_only:
            limit = "room for one more whole question"
        if limit is not None:
            raise BudgetReachedError(
                f"the budget of {meter.name} is reached: the next call would break its limit "
                f"({limit})"
            )
