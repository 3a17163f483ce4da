"""An agent that keeps failing is disabled for the session, and the run continues without it."""

from __future__ import annotations

import asyncio

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request
from peerexam.errors import (
    AgentLostError,
    BadKeyError,
    BudgetReachedError,
    CallError,
    CallTimeoutError,
    ConnectionFailedError,
    ContextTooLongError,
    NoServerError,
    QuotaExhaustedError,
    RefusedParameterError,
    UnknownModelError,
    UnusableModelError,
)
from peerexam.printable import log

_AT_ONCE = (BadKeyError, UnknownModelError, QuotaExhaustedError, UnusableModelError)
"""What no other request to the same agent would fare better with."""

_UNLESS_IT_ANSWERED = (BadKeyError, UnknownModelError)
"""What the answers of this session prove wrong: the key and the model were good, so that one such
reply is the gateway's or one prompt's fault, and counts as any failed call."""

_OF_THE_REQUEST = (ContextTooLongError, RefusedParameterError, AgentLostError)
"""What says nothing of whether the agent can be had."""

_LONGEST_REASON = 300


class CircuitBreaker:
    """Whether an agent is still asked in this session, and who waits for their turn.

    It is disabled at once after an error that every request would meet (a bad key, an unknown
    model, no quota; a bad key or an unknown model only where it has not answered before), where a
    call's every attempt was refused a connection and nobody was ever reached, and after so many
    calls in a row that failed for good. A request that was at fault itself counts as neither
    failure nor success. Calls that wait for a place, or to be tried
    again, are then called off; those that were sent are waited for.

    Args:
        agent: Its name.
        give_up_after: Failed calls in a row, their attempts not counted.

    Attributes:
        lost: Why it was disabled, None while it is not.
    """

    def __init__(self, agent: str, give_up_after: int = 20) -> None:
        self.agent = agent
        self.lost: str | None = None
        self._give_up_after = give_up_after
        self._in_a_row = 0
        self._has_answered = self._was_reached = self._warned = False
        self._out_of_time: str | None = None
        self._waiting: dict[asyncio.Task[object] | None, asyncio.Timeout] = {}

    def check(self) -> None:
        """Pass while the agent is asked.

        Raises:
            AgentLostError: It has been disabled.
            BudgetReachedError: Its time is up.
        """
        if self.lost is not None:
            raise AgentLostError(
                f"agent '{self.agent}' was disabled: {self.lost}; fix it and run the same command: "
                "failed calls are retried"
            )
        if self._out_of_time is not None:
            raise BudgetReachedError(self._out_of_time)

    def succeeded(self) -> None:
        """A call was answered."""
        self._in_a_row = 0
        self._has_answered = True

    def failed(self, error: CallError) -> None:
        """A call failed for good."""
        if isinstance(error, _OF_THE_REQUEST):
            return
        self._in_a_row += 1
        if self.lost is not None:
            return
        said = _in_short(error)
        if self._is_certain(error):
            self._disable(said)
        elif self._in_a_row >= self._give_up_after:
            calls = "call" if self._in_a_row == 1 else f"{self._in_a_row} calls in a row"
            self._disable(f"{calls} failed, the last with {said}")

    def attempted(self, error: CallError | None) -> None:
        """One attempt ended; with None it was answered.

        The first that is refused a connection is told at once: the next ones wait for a server
        that may be starting.
        """
        if not isinstance(error, ConnectionFailedError | CallTimeoutError):
            self._was_reached = True
        if isinstance(error, NoServerError) and not (self._was_reached or self._warned):
            self._warned = True
            log.warning(
                "agent '%s': %s. In case it is starting, it is tried again for about 20 seconds "
                "(limits.attempts), and then disabled",
                self.agent,
                _in_short(error),
            )

    def is_down(self, error: CallError) -> bool:
        """Whether a refused connection is that of a server which was there before."""
        return self._was_reached and isinstance(error, NoServerError)

    def _is_certain(self, error: CallError) -> bool:
        """Whether no other call would fare better."""
        if isinstance(error, NoServerError):
            return not self._was_reached
        if self._has_answered and isinstance(error, _UNLESS_IT_ANSWERED):
            return False
        return isinstance(error, _AT_ONCE)

    def stop(self, reached: BudgetReachedError) -> None:
        """There is no time for any further call of this session."""
        self._out_of_time = self._out_of_time or str(reached)
        self._call_off()

    def wait(self, limit: asyncio.Timeout) -> None:
        """The running task has a call that is not sent yet; the limit is how it is called off."""
        self._waiting[asyncio.current_task()] = limit
        if self.lost is not None or self._out_of_time is not None:
            self._call_off()

    def go(self) -> asyncio.Timeout | None:
        """The running task's call is sent, or over; gives back its limit."""
        return self._waiting.pop(asyncio.current_task(), None)

    def _disable(self, why: str) -> None:
        self.lost = why
        log.warning("agent '%s' is disabled: %s; the run continues without it", self.agent, why)
        self._call_off()

    def _call_off(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._waiting.values():
            limit.reschedule(now)
        self._waiting.clear()


class CircuitBreaking(Wrapper):
    """Asks an agent until it is disabled, and from then on fails at once.

    It stands outside of the retries, so that it counts calls and not attempts, and outside of the
    budget, so that a call that is not made is not charged.

    Args:
        inner: The agent, with a `Recheck` of the same breaker where its calls are sent.
        breaker: Counts, and knows whether the agent is disabled.
    """

    def __init__(self, inner: Agent, breaker: CircuitBreaker) -> None:
        super().__init__(inner)
        self._breaker = breaker

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            AgentLostError: It has been disabled; this was not asked.
            BudgetReachedError: Its time is up; this was not asked.
        """
        self._breaker.check()
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._breaker.wait(limit)
                try:
                    completion = await self.inner.complete(request)
                finally:
                    self._breaker.go()
        except CallError as error:
            self._breaker.failed(error)
            raise
        except TimeoutError:
            if limit.expired():
                self._breaker.check()  # says why it was called off
            raise
        self._breaker.succeeded()
        return completion


class Recheck(Wrapper):
    """Where a call leaves our own queue: what has passed it is sent, and not called off.

    Args:
        inner: What sends a call.
        breaker: Of the `CircuitBreaking` outside.
    """

    def __init__(self, inner: Agent, breaker: CircuitBreaker) -> None:
        super().__init__(inner)
        self._breaker = breaker

    async def complete(self, request: Request) -> Completion:
        """Send the call.

        Raises:
            AgentLostError: The agent has been disabled while the call waited.
            BudgetReachedError: Its time is up.
        """
        self._breaker.check()
        limit = self._breaker.go()
        try:
            completion = await self.inner.complete(request)
        except BaseException as error:
            if limit is not None:  # it may wait to be tried again
                self._breaker.wait(limit)
            if not isinstance(error, CallError):
                raise
            self._breaker.attempted(error)
            if not self._breaker.is_down(error):
                raise
            down = ConnectionFailedError(str(error))  # waited for as long as an overload
        else:
            self._breaker.attempted(None)
            return completion
        raise down


def _in_short(error: CallError) -> str:
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]}…"
