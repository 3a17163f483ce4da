"""One event loop in a thread of its own, for callers who have none or have several.

An agent's connections belong to one event loop. Whoever calls agents from plain functions, from a
thread pool and from a running loop in turn (LangChain does) must not move them between loops, so
that all their calls are made here.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop in a daemon thread, started when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, from a plain function.

        Raises:
            RuntimeError: This is the loop's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a plain call inside of an agent's own asynchronous function would wait for "
                "itself: use the asynchronous one (ainvoke in place of invoke)"
            )
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted; where the work failed, this does nothing
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """The same from another event loop; cancelling it cancels the work."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(self._submit(work))

    def stop(self) -> None:
        """End the loop and its thread; the next use starts them anew."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or self._process != os.getpid():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A forked process has the objects, and not the thread.
            if self._loop is None or self._process != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name=self._name, daemon=True
                )
                self._thread.start()
                self._process = os.getpid()
            return self._loop


CHAINS = BackgroundLoop("peerexam-chains")
"""Where LangChain's calls to agents of ours are made. One for the process: an agent may stand in
several chains."""

atexit.register(CHAINS.stop)
