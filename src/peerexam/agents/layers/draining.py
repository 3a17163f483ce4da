"""A call that was sent is waited for: it is paid for, whoever stops waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.attempt_timeout import of_running_loop
from peerexam.calls import Completion, Request
from peerexam.errors import CallError
from peerexam.ledger.base import Ledger

GRACE = 10.0
"""Seconds for which a call that was sent is waited for when the work is called off."""


@dataclass(slots=True, eq=False)
class CallState:
    """How far a call has come; its task knows it, and it does not know the task.

    Were it to know the task, each call would end as a ring of objects for the garbage collector to
    find, and that cost more than all the layers.

    Attributes:
        sent: Whether the provider is being asked now.
        called_off: Nobody waits any more: what is not sent yet shall not be.
    """

    sent: bool = False
    called_off: bool = False


_call_state: ContextVar[CallState | None] = ContextVar("state of this task's call", default=None)


@dataclass(slots=True, eq=False)
class ShutdownSignal:
    """Whether a whole program is being stopped, and how long what was sent is still waited for.

    Work is called off level by level, so that without it each level would have a grace of its own,
    and go on sending until its turn comes.

    Attributes:
        until: By the loop's `LoopClock`; None while nobody stops it.
    """

    until: float | None = None

    def begin(self) -> None:
        """From now on nothing is sent, and the grace runs for all that was."""
        self.until = of_running_loop().now() + GRACE


_shutdown: ContextVar[ShutdownSignal | None] = ContextVar("shutdown of this program", default=None)


def stop_by(signal: ShutdownSignal) -> None:
    """Let the running task, and all that it starts, be stopped by a signal."""
    _shutdown.set(signal)


def _left_of(grace: float) -> float:
    signal = _shutdown.get()
    if signal is None or signal.until is None:
        return grace
    return max(0.0, min(grace, signal.until - of_running_loop().now()))


class InFlightCall:
    """A call on its way to the ledger, which may have several who wait for it.

    It runs in a task of its own, since it must outlive the first who asked while others wait.

    Args:
        work: Asks the agent and stores what comes back.
    """

    __slots__ = ("_state", "_task", "_waiting")

    def __init__(self, work: Coroutine[Any, Any, Completion]) -> None:
        self._waiting: list[asyncio.Future[Completion]] = []
        self._state = CallState()
        token = _call_state.set(self._state)
        try:
            # Owned: the last who waits for the call drains it.
            self._task = asyncio.get_running_loop().create_task(self._run(work))
        finally:
            _call_state.reset(token)

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return self._task.done()

    @property
    def was_cancelled(self) -> bool:
        """Whether it was ended before anything came of it."""
        return self._task.cancelled()

    @property
    def is_waited_for(self) -> bool:
        """Whether anyone waits for it."""
        return bool(self._waiting)

    async def wait(self) -> Completion:
        """Wait for what comes of it. Who stops waiting does not disturb it.

        Raises:
            Exception: What the work raised.
        """
        place: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            return await place
        finally:
            self._waiting.remove(place)

    async def drain(self, grace: float = GRACE) -> None:
        """End it: at once where nothing is sent, else when the answer is stored or grace is over.

        What the provider has already been asked will be billed all the same, so the answer is
        given a little time, and goes on its usual way into the ledger.
        """
        self._state.called_off = True
        told_again = await self._answer_in_time(_left_of(grace)) if self._state.sent else False
        self._task.cancel()  # does nothing to a task that has ended
        await asyncio.wait((self._task,))
        if told_again:
            raise asyncio.CancelledError

    async def _answer_in_time(self, grace: float) -> bool:
        """Wait for the answer; whether who waits was told to stop once more meanwhile.

        Each level of the work that is called off tells those below it, so one who waits here hears
        it several times, and the answer is paid for all the same.
        """
        clock, told_again = of_running_loop(), False
        until = clock.start() + grace
        while not self._task.done() and (left := until - clock.now()) > 0:
            try:
                await asyncio.wait((self._task,), timeout=left)
            except asyncio.CancelledError:
                told_again = True
        clock.stop()
        return told_again

    async def _run(self, work: Coroutine[Any, Any, Completion]) -> None:
        """Tell those who wait from here, and not by the task's end: that is one turn less."""
        try:
            completion = await work
        except asyncio.CancelledError:
            self._tell(lambda place: place.cancel())
            raise
        except Exception as error:
            failure = error
            self._tell(lambda place: place.set_exception(failure))
        except BaseException as error:  # KeyboardInterrupt, SystemExit: the loop's business too
            fatal = error
            self._tell(lambda place: place.set_exception(fatal))
            raise
        else:
            self._tell(lambda place: place.set_result(completion))

    def _tell(self, how: Callable[[asyncio.Future[Completion]], object]) -> None:
        for place in self._waiting:
            if not place.done():  # who waited was cancelled
                how(place)


class Draining(Wrapper):
    """Notes whether the provider is being asked for a call; it stands next to the provider.

    What still waits for a place, or between two attempts, was not sent, and once the work is
    called off, or its answer could not be stored, it is simply not sent.

    Args:
        inner: What sends a call.
        ledger: Where the answer is to be stored; None where it is not.
    """

    def __init__(self, inner: Agent, ledger: Ledger | None = None) -> None:
        super().__init__(inner)
        self._ledger = ledger

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            asyncio.CancelledError: The work was called off before, or this attempt failed after.
            LedgerFileError: An answer could not be stored; this was not asked.
        """
        if self._ledger is not None and not self._ledger.is_ready:
            await self._ledger.ready()
        state = _call_state.get()
        if state is None:
            return await self.inner.complete(request)
        signal = _shutdown.get()
        if state.called_off or (signal is not None and signal.until is not None):
            raise asyncio.CancelledError
        state.sent = True
        try:
            return await self.inner.complete(request)
        except CallError:
            if state.called_off:
                raise asyncio.CancelledError from None  # nobody is left to try again for
            raise
        finally:
            state.sent = False
