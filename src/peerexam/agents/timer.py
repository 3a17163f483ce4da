"""A time limit on a piece of the running task, as `asyncio.timeout` without its context managers.

Every call has one, and two coroutines and a state machine a call are worth saving.
"""

from __future__ import annotations

import asyncio


class Timer:
    """Cancels the running task after so many seconds, unless it is stopped before.

    Args:
        seconds: From now.
    """

    __slots__ = ("_cancelling", "_expired", "_handle", "_loop", "_started", "_task")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a timer belongs to a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._expired = False
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._handle = self._loop.call_at(self._started + seconds, self._expire)

    def _expire(self) -> None:
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
        """Stop it; seconds since its start."""
        self._handle.cancel()
        if self._expired:  # its cancellation was swallowed further in, and is over
            self._expired = False
            self._task.uncancel()
        return self._loop.time() - self._started
