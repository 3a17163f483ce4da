"""No call for which there is no time left."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.budgets.meter import BudgetMeter, Hold, Spend
from peerexam.agents.layers.budgets.session_clock import Mean, SessionClock
from peerexam.calls import Completion, Request
from peerexam.errors import BudgetReachedError


class TimeBudgeted(Wrapper):
    """Stops before the attempt that would break a budget of time.

    It stands inside of our own queue: a call is held against the time that is left when it is
    sent, not when it is asked for, and what it waits for a place is nobody's time. An attempt is
    expected to take as long as the agent's so far did on average; the first are taken at nothing.

    Args:
        inner: What sends a call.
        meters: Budgets of seconds added up, the agent's own for instance.
        session: The run's budget of wall time; None is no limit.
        on_refusal: Told when there is no time left, which no later call will find either.
    """

    def __init__(
        self,
        inner: Agent,
        meters: Iterable[BudgetMeter] = (),
        session: SessionClock | None = None,
        on_refusal: Callable[[BudgetReachedError], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._meters = tuple(meters)
        self._session = session or SessionClock()
        self._on_refusal = on_refusal
        self._attempt = Mean()

    async def complete(self, request: Request) -> Completion:
        """Send the call.

        Raises:
            BudgetReachedError: There is no time for it; it is not sent.
        """
        expected = self._attempt.value
        self._check(expected)
        hold = Hold(self._meters, Spend(seconds=expected))
        self._session.start()
        since = self._session.now()
        try:
            return await self.inner.complete(request)
        finally:
            took = self._session.now() - since
            self._attempt.add(took)
            hold.settle(Spend(seconds=took))

    def _check(self, expected: float) -> None:
        reason = self._out_of_time(expected)
        if reason is None:
            return
        reached = BudgetReachedError(reason)
        if self._on_refusal is not None:
            self._on_refusal(reached)
        raise reached

    def _out_of_time(self, expected: float) -> str | None:
        limit = self._session.would_break(expected)
        if limit is not None:
            return f"the budget of the run is reached: there is no time for the next call ({limit})"
        for meter in self._meters:
            if meter.is_out_of_time:
                return (
                    f"the budget of {meter.name} is reached: its calls have taken their "
                    f"{meter.limits.seconds:g} seconds of this session"
                )
        return None
