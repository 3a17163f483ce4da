"""What a call costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request, Usage


class Tariff(Protocol):
    """What a provider asks for its tokens: a `FlatPrice`, or by a prompt's length and the date."""

    def rate(self, prompt_tokens: int = 0) -> FlatPrice:
        """The price of a call with so many prompt tokens, made now."""

    def of(self, usage: Usage) -> float | None:
        """US dollars of one call; None where the provider does not say how many tokens it was."""


@dataclass(frozen=True, slots=True)
class FlatPrice:
    """A tariff of one price: US dollars for a million tokens.

    Attributes:
        input: Of the prompt.
        output: Of the reply, thinking included.
        cached_input: Of prompt tokens that the provider had in its cache; None is `input`.
        request: US dollars for each call beside its tokens.
    """

    input: float
    output: float
    cached_input: float | None = None
    request: float = 0.0

    @property
    def is_free(self) -> bool:
        """Whether nothing costs anything."""
        return not (self.input or self.output or self.cached_input or self.request)

    def rate(self, prompt_tokens: int = 0) -> FlatPrice:
        """Itself: it does not depend on the prompt."""
        return self

    def of(self, usage: Usage) -> float | None:
        """US dollars; None where the provider does not say how many tokens it was.

        >>> FlatPrice(2.0, 8.0).of(Usage(1000, 500))
        0.006
        >>> FlatPrice(2.0, 8.0, cached_input=0.5).of(Usage(1000, 500, cached_tokens=400))
        0.0054
        """
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return 0.0 if self.is_free else None
        cached = min(max(0, usage.cached_tokens or 0), usage.prompt_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        dollars = (usage.prompt_tokens - cached) * self.input + cached * cached_price
        dollars += usage.completion_tokens * self.output
        return dollars / 1_000_000 + self.request


FREE = FlatPrice(0.0, 0.0)
"""Of agents that run here: they cost nothing by nature, which is not the same as unknown."""


class Priced(Wrapper):
    """Fills in a completion's cost where the provider gave none.

    It stands inside of the ledger, so that the cost is on disk and stays what it was when the call
    was made, whatever a later price list says.

    Args:
        inner: The provider.
        price: Its price.
    """

    def __init__(self, inner: Agent, price: Tariff) -> None:
        super().__init__(inner)
        self._price = price

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent."""
        completion = await self.inner.complete(request)
        if completion.cost is not None:
            return completion
        return replace(completion, cost=self._price.of(completion.usage))
