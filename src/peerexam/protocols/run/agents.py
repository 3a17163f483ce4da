"""The agents of an exam, with the layers that its config gives them."""

from __future__ import annotations

from collections.abc import Mapping

from peerexam.agents.base import Agent
from peerexam.agents.layers.circuit_breaker import CircuitBreaker
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.layers.stack import LayerSettings, RunContext, assemble, wrap
from peerexam.agents.layers.watched import Watched
from peerexam.errors import SetupError
from peerexam.ledger.base import Ledger
from peerexam.protocols.config.checks import HANDED_OVER, PLAYS_DIRECTLY, agent_spec
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.config.prices import own_price
from peerexam.protocols.run.budgets import Budgets
from peerexam.protocols.session.descriptors import most_at_once
from peerexam.protocols.session.progress import Progress


class AgentBuilder:
    """Builds the agents of one exam.

    Args:
        config: The exam.
        ledger: Where their calls are.
        budgets: What they may spend.
        progress: The counters of their calls.
        given: Agents by name, in place of the config's models.

    Attributes:
        breakers: Whether an agent is still asked, by its name.
    """

    def __init__(
        self,
        config: ExamConfig,
        ledger: Ledger,
        budgets: Budgets,
        progress: Progress,
        given: Mapping[str, Agent],
    ) -> None:
        self._ledger = ledger
        self._budgets = budgets
        self._progress = progress
        self._given = given
        # Simulated participants use no connection; an agent that runs here is counted all the same.
        asked = sum(agent_spec(agent).provider != PLAYS_DIRECTLY for agent in config.agents)
        self._at_once = most_at_once(asked, config.limits.concurrency)
        self._slots = ConcurrencyLimit(config.limits.concurrency)
        self.breakers: dict[str, CircuitBreaker] = {}

    def build(self, agent: AgentConfig) -> Agent:
        """An agent with all its layers.

        Raises:
            SetupError: It cannot be built.
        """
        settings = _layers(agent, self._at_once)
        breaker = CircuitBreaker(agent.name, agent.limits.give_up_after)
        self.breakers[agent.name] = breaker
        self._budgets.session.when_over(breaker.stop)
        lane = self._progress.paid
        given = self._given.get(agent.name)
        if given is None and agent_spec(agent).provider == HANDED_OVER:
            raise SetupError(
                f"agent '{agent.name}' ({agent.model}) is an object in a Python program: pass it "
                f"again, as in peerexam.run(…, agents={{'{agent.name}': …}})"
            )
        run = RunContext(
            ledger=self._ledger,
            meters=self._budgets.of(agent.name),
            paid=lambda inner: Watched(inner, lane),
            run_slots=self._slots,
            breaker=breaker,
            session=self._budgets.session,
        )
        if given is not None:
            return wrap(given, settings, run)
        return assemble(agent_spec(agent), settings, run)


def _layers(agent: AgentConfig, concurrency: int) -> LayerSettings:
    limits = agent.limits
    return LayerSettings(
        system=agent.system,
        temperature=agent.temperature,
        top_p=agent.top_p,
        max_tokens=agent.max_tokens,
        seed=agent.seed,
        concurrency=None if limits.concurrency is None else min(limits.concurrency, concurrency),
        max_concurrency=min(limits.max_concurrency, concurrency),
        requests_per_minute=limits.requests_per_minute,
        tokens_per_minute=limits.tokens_per_minute,
        attempts=limits.attempts,
        timeout=limits.timeout,
        deadline=limits.deadline,
        price=own_price(agent),
    )
