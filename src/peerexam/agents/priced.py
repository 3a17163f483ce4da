"""What a call costs, by a price list."""

from __future__ import annotations

from dataclasses import dataclass, replace

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request, Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. Cached prompt tokens count in full."""

    input: float
    output: float

    def of(self, usage: Usage) -> float | None:
        """US dollars; None where the provider does not say how many tokens it was.

        >>> Price(2.0, 8.0).of(Usage(1000, 500))
        0.006
        """
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return 0.0 if self.input == self.output == 0 else None
        dollars = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return dollars / 1_000_000


class Priced(Wrapper):
    """Fills in a completion's cost where the provider gave none.

    It stands inside of the ledger, so that the cost is on disk.

    Args:
        inner: The provider.
        price: Its price.
    """

    def __init__(self, inner: Agent, price: Price) -> None:
        super().__init__(inner)
        self._price = price

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent."""
        completion = await self.inner.complete(request)
        if completion.cost is not None:
            return completion
        return replace(completion, cost=self._price.of(completion.usage))
