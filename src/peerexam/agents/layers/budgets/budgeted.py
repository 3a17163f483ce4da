"""No call that would break a budget."""

from __future__ import annotations

from collections.abc import Iterable

from peerexam.agents.base import Agent, Wrapper
from peerexam.agents.layers.budgets.meter import BudgetMeter, Hold, Spend, held
from peerexam.agents.pricing.priced import Tariff
from peerexam.agents.pricing.token_estimate import actual, estimate
from peerexam.calls import Completion, Request
from peerexam.errors import AgentLostError, BudgetReachedError, SetupError


class Budgeted(Wrapper):
    """Stops before the call that would break a budget.

    It stands inside of the ledger, so that a replayed call counts nothing, and outside of the
    retries, so that a call counts once. Calls in flight count by their estimate: prompt tokens by
    the prompt's bytes, reply tokens by the request's limit. Where that alone leaves no room, it may
    wait until those in flight are settled by what they took.

    Args:
        inner: The agent.
        meters: The run's and, where it has one, the agent's own.
        price: For the estimate, and for calls whose cost the provider does not tell.
        waits: Whether a call waits for the room that those in flight may leave.

    Raises:
        SetupError: A meter limits US dollars and the agent has no price.
    """

    def __init__(
        self,
        inner: Agent,
        meters: Iterable[BudgetMeter],
        price: Tariff | None = None,
        *,
        waits: bool = False,
    ) -> None:
        super().__init__(inner)
        self._meters = tuple(meters)
        self._price = price
        self._waits = waits
        for meter in self._meters:
            if meter.limits.usd is not None and price is None:
                raise SetupError(
                    f"the budget of {meter.name} is in US dollars, and the price of agent "
                    f"'{inner.name}' is unknown: give it a price (input and output, US dollars a "
                    "million tokens)"
                )

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent.

        Raises:
            BudgetReachedError: The call would break a budget; it is not made.
        """
        expected = estimate(request)
        dollars = self._price.of(expected) if self._price else None
        want = Spend(dollars or 0.0, 1, expected.total)
        hold = await held(self._meters, want) if self._waits else Hold(self._meters, want)
        took, unpriced = Spend(calls=1), True
        try:
            completion = await self.inner.complete(request)
            took = self._took(request, completion)
            unpriced = completion.cost is None and self._price is None
            return completion
        except (AgentLostError, BudgetReachedError):
            took, unpriced = Spend(), False  # it was refused further in, and never sent
            raise
        finally:
            hold.settle(took, unpriced=unpriced)

    def _took(self, request: Request, completion: Completion) -> Spend:
        usage = actual(request, completion)
        dollars = completion.cost
        if dollars is None and self._price is not None:
            dollars = self._price.of(usage)
        return Spend(dollars or 0.0, 1, usage.total)
