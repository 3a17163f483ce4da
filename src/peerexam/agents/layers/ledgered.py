"""Replay: a request that was ever answered is answered from the ledger, and never paid twice."""

from __future__ import annotations

from collections.abc import Callable

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.draining import InFlightCall
from peerexam.calls import Call, Completion, Request, call_of, encoded, with_call
from peerexam.errors import CallError
from peerexam.ledger.base import Failure, Ledger


class Ledgered(Wrapper):
    """An agent whose every call goes through a ledger.

    - What stands there as a completion is replayed, whatever its state: a refused, an empty or a
      cut answer was answered too.
    - The same request asked several times at once is one call. Whoever stops waiting does not
      disturb the others; when nobody waits any more, the call is ended (see `InFlightCall.drain`).
    - A completion is handed on only after the ledger has committed it.
    - A `CallError` is stored as a failure and raised. A failure stored by an earlier run is asked
      again; one of this run is raised again without asking, so that what a run says does not
      depend on timing.
    - Everything else that is raised (a budget, a bug) is not stored.

    Args:
        inner: The agent to ask.
        ledger: Where its calls are kept; not closed by this wrapper.
        on_replay: Told of every completion that came from the ledger.
    """

    def __init__(
        self,
        inner: Agent,
        ledger: Ledger,
        *,
        on_replay: Callable[[Completion], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._ledger = ledger
        self._on_replay = on_replay
        self._name = inner.name
        self._fingerprint = encoded(dict(inner.fingerprint))
        self._in_flight: dict[str, InFlightCall] = {}
        self._failed: dict[str, CallError] = {}

    async def complete(self, request: Request) -> Completion:
        """Answer from the ledger, or ask the inner agent and store what comes back.

        Returns:
            The completion, `call` set to its key in the ledger.

        Raises:
            CallError: The inner agent failed, now or earlier in this run.
            LedgerFileError: The ledger could not be read or written.
        """
        call = call_of(self._name, self._fingerprint, request)
        if self._failed and (failed := self._failed.get(call.key)) is not None:
            raise _afresh(failed)
        stored = await self._ledger.completion(call.key)
        if stored is not None:
            return self._replayed(stored)
        shared = self._in_flight.get(call.key)
        if shared is None or shared.is_over:
            shared = self._in_flight[call.key] = InFlightCall(self._ask_and_store(call, request))
        try:
            return await shared.wait()
        finally:
            if not shared.is_waited_for:
                if self._in_flight.get(call.key) is shared:
                    del self._in_flight[call.key]
                if not shared.is_over:
                    await shared.drain()

    def _replayed(self, stored: Completion) -> Completion:
        if self._on_replay is not None:
            self._on_replay(stored)
        return stored

    async def _ask_and_store(self, call: Call, request: Request) -> Completion:
        if not self._ledger.is_ready:
            await self._ledger.ready()
        if self._ledger.claims:
            stored = await self._ledger.reserve(call.key)
            if isinstance(stored, Completion):
                return self._replayed(stored)  # another process has answered in between
        try:
            completion = await self.inner.complete(request)
        except CallError as error:
            error.call = call.key  # so that the record of the failure leads to what was asked
            standing = await self._ledger.record(call, Failure(type(error).__name__, str(error)))
            if isinstance(standing, Completion):
                return standing  # another process had the answer
            self._failed[call.key] = _afresh(error)
            raise
        except BaseException:
            if self._ledger.claims:
                await self._ledger.release(call.key)
            raise
        standing = await self._ledger.record(call, completion)
        return standing if isinstance(standing, Completion) else with_call(completion, call.key)


def _afresh(error: CallError) -> CallError:
    """The same error without its traceback and causes, which would keep whole responses alive."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy
