"""A call that was sent is waited for: it is paid for, whoever stops waiting."""

from __future__ import annotations

import asyncio

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request


class Landing(Wrapper):
    """Lets a call come home when the work that asked for it is called off.

    A budget that is reached, or Ctrl-C, cancels all that is under way. What the provider has
    already been asked will be billed all the same, so the answer is given a little time, and goes
    on its usual way into the ledger. It stands next to the provider: what still waits for a place
    was not sent, and is simply not sent.

    Args:
        inner: The agent.
        grace: Seconds to wait for the answer after the cancellation.
    """

    def __init__(self, inner: Agent, grace: float = 10.0) -> None:
        super().__init__(inner)
        self._grace = grace

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent; once asked, its answer is waited for.

        Raises:
            asyncio.CancelledError: The work was called off and no answer came in time.
        """
        # Owned: it ends below, by its answer or by being cancelled.
        call = asyncio.ensure_future(self.inner.complete(request))
        try:
            await asyncio.wait((call,))
        except asyncio.CancelledError:
            try:
                await asyncio.wait((call,), timeout=self._grace)
            finally:
                call.cancel()  # does nothing to a call that has ended
            if not call.done() or call.cancelled() or call.exception() is not None:
                raise
        return call.result()
