"""Time limits that count only the time in which the event loop runs.

A stopped process (Ctrl-Z, a frozen container) and a loop that something holds up hear nothing of
replies that arrive meanwhile. Such a stall is nobody's slowness, so no limit counts it: a call that
was paid for would else be given up, and asked again, with its reply at hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.deadline import Account, account
from peerexam.calls import Completion, Request
from peerexam.errors import CallError, CallTimeoutError, DeadlineExceededError

_BEAT = 0.25
"""Seconds between two looks at whether the loop runs."""

_LONGEST_BEAT = 2 * _BEAT
"""A look that comes later than this was held up; no more than this of the gap is counted."""

_LAST_CHANCE = 0.02
"""Seconds that a reply has to be read, once a limit has passed: it may be there already."""


class LoopClock:
    """The seconds for which one event loop has run: a stall counts half a second at most.

    It looks at the loop only while it is in use. Get it by `of_running_loop`.
    """

    def __init__(self) -> None:
        # It does not know its loop, which its entry among the clocks would then keep alive.
        self._users = 0
        self._stalled = 0.0
        self._seen = 0.0
        self._next: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """Seconds since some moment, stalls left out. Steady while the clock is in use."""
        now = asyncio.get_running_loop().time()
        if self._users and now - self._seen > _LONGEST_BEAT:
            self._look(now)
        return now - self._stalled

    def start(self) -> float:
        """Begin to use it; the time now."""
        self._users += 1
        if self._users == 1:
            self._seen = asyncio.get_running_loop().time()
            self._beat()
        return self.now()

    def stop(self) -> float:
        """End one use; the time now."""
        now = self.now()
        self._users -= 1
        if not self._users and self._next is not None:
            self._next.cancel()
            self._next = None
        return now

    def _look(self, now: float) -> None:
        self._stalled += max(0.0, now - self._seen - _LONGEST_BEAT)
        self._seen = now

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        self._look(loop.time())
        self._next = loop.call_later(_BEAT, self._beat)


_clocks: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClock] = WeakKeyDictionary()


def of_running_loop() -> LoopClock:
    """The clock of the event loop that is running."""
    loop = asyncio.get_running_loop()
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = LoopClock()
    return clock


class Timer:
    """Cancels the running task after so many seconds, unless it is stopped before.

    It is what `asyncio.timeout` is, but for the stalls, and without its context managers: every
    call has one, and two coroutines and a state machine a call are worth saving.

    Args:
        seconds: From now, by the loop's clock. A last moment is given on top, so that a reply that
            is there wins over a limit that has passed.
    """

    __slots__ = (
        "_cancelling", "_clock", "_due", "_expired", "_handle", "_is_last", "_loop", "_started",
        "_task",
    )  # fmt: skip

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a timer belongs to a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._expired = self._is_last = False
        self._loop = asyncio.get_running_loop()
        self._clock = of_running_loop()
        self._started = self._clock.start()
        self._due = self._started + seconds
        self._handle = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        left = self._due - self._clock.now()
        if left > 0.001:  # the loop was held up
            self._handle = self._loop.call_later(left, self._look)
        elif not self._is_last:
            self._is_last = True
            self._handle = self._loop.call_later(_LAST_CHANCE, self._look)
        else:
            self._expired = True
            self._task.cancel()

    def has_cancelled(self) -> bool:
        """Whether a cancellation that has arrived is this timer's alone.

        To be asked once, where it arrives: the task then counts as not cancelled by it.
        """
        if not self._expired:
            return False
        self._expired = False
        # Somebody else may have cancelled as well, and that is to be passed on.
        return self._task.uncancel() <= self._cancelling

    def stop(self) -> float:
        """Stop it; seconds since its start, by the loop's clock."""
        self._handle.cancel()
        if self._expired:  # its cancellation was swallowed further in, and is over
            self._expired = False
            self._task.uncancel()
        return self._clock.stop() - self._started


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let a piece of the running task take so long; None is no limit.

    Raises:
        TimeoutError: It took longer.
    """
    if seconds is None:
        yield
        return
    timer = Timer(seconds)
    try:
        yield
    except asyncio.CancelledError as error:
        if not timer.has_cancelled():
            raise
        raise TimeoutError from error
    finally:
        timer.stop()


_attempt: ContextVar[float | None] = ContextVar("seconds for this attempt", default=None)


class AttemptTimeout(Wrapper):
    """One attempt may take so long, and no longer than is left of the call's deadline.

    Args:
        inner: The provider.
        seconds: The limit; None is none but the deadline.
    """

    def __init__(self, inner: Agent, seconds: float | None) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            CallTimeoutError: It took longer than the limit.
            DeadlineExceededError: It took all that was left of the call's deadline.
        """
        deadline = account()
        limit, is_last = self._limit(deadline)
        if limit is None:
            return await self.inner.complete(request)
        timer, token = Timer(limit), _attempt.set(limit)
        try:
            return await self.inner.complete(request)
        except asyncio.CancelledError as error:
            if not timer.has_cancelled():
                raise
            raise self._too_late(deadline if is_last else None) from error
        finally:
            _attempt.reset(token)
            took = timer.stop()
            if deadline is not None:
                deadline.left -= took

    def _too_late(self, deadline: Account | None) -> CallError:
        if deadline is not None:
            return DeadlineExceededError(
                f"{self.name} gave no answer within its deadline of {deadline.seconds:g} seconds"
            )
        return CallTimeoutError(f"{self.name} gave no reply within {self._seconds:g} seconds")

    def _limit(self, deadline: Account | None) -> tuple[float | None, bool]:
        """Seconds for this attempt, and whether they are the call's last."""
        if deadline is None or (self._seconds is not None and self._seconds < deadline.left):
            return self._seconds, False
        return deadline.left, True


def limit_of_this_attempt() -> float | None:
    """Seconds that the current attempt may take in all; None where there is no limit."""
    return _attempt.get()
