"""An agent with all its layers, in the one order that is right.

From the outside in: `Configured`, `Ledgered`, `CircuitBreaking`, `Budgeted`, `Deadline`,
`Retrying`, `RateLimited`, then `Recheck`, `TimeBudgeted`, `Draining`, `AttemptTimeout`, `Priced`
and `Redacted` close around the provider: what was sent is waited for, an attempt's time does not
count our own queue, the cost is on the completion before the ledger stores it, and no error brings
a key out of the provider.

`CircuitBreaking` stands inside of the ledger, so that a disabled agent still replays what it
has answered and its failures are kept by name; outside of the budget, so that what is not asked is
not charged; and outside of the retries, so that it counts calls. Since calls may have passed it
and wait in `RateLimited`'s queue, its `Recheck` stands behind the queue and asks once more.
`TimeBudgeted` stands there too: what matters is the time at which a call is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from peerexam.agents.base import Agent
from peerexam.agents.layers.attempt_timeout import AttemptTimeout
from peerexam.agents.layers.budgets.budgeted import Budgeted
from peerexam.agents.layers.budgets.meter import BudgetMeter
from peerexam.agents.layers.budgets.session_clock import SessionClock
from peerexam.agents.layers.budgets.time_budgeted import TimeBudgeted
from peerexam.agents.layers.circuit_breaker import CircuitBreaker, CircuitBreaking, Recheck
from peerexam.agents.layers.concurrency_limit import ConcurrencyLimit
from peerexam.agents.layers.configured import Configured
from peerexam.agents.layers.deadline import Deadline
from peerexam.agents.layers.draining import Draining
from peerexam.agents.layers.ledgered import Ledgered
from peerexam.agents.layers.rate_limited import RateLimited
from peerexam.agents.layers.retrying import ATTEMPTS, Retrying
from peerexam.agents.pricing.priced import FREE, FlatPrice, Priced, Tariff
from peerexam.agents.pricing.prices import price_of
from peerexam.agents.recorded import RecordedAgent
from peerexam.agents.redaction import Redacted
from peerexam.agents.registry import create_agent, runs_here
from peerexam.agents.spec import AgentSpec
from peerexam.errors import SetupError
from peerexam.ledger.base import Ledger

ADAPT_FROM = 16
"""Calls at once with which an agent begins that is told only a ceiling."""

_OVERLAID = ("system", "temperature", "top_p", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class LayerSettings:
    """What the layers round one agent do. Seconds, and US dollars a million tokens.

    Attributes:
        system: Put in front of the messages.
        temperature: These four win over what a role asks for; None leaves it to the role.
        top_p: Nucleus.
        max_tokens: Upper limit on the reply's tokens.
        seed: For agents that can be seeded.
        concurrency: Calls at once; None adapts to what the provider bears, and is 16 for agents
            that run in this process.
        max_concurrency: The most at once where it adapts.
        requests_per_minute: None is no limit.
        tokens_per_minute: None is no limit.
        attempts: How often one call is tried at most.
        timeout: For one attempt; None is no limit. Agents that run in this process have none,
            since a busy machine is no reason to begin again.
        deadline: For all attempts of one call with the waits between them; None is no limit.
        price: None leaves it to the price list (`pricing.price_of`), where the agent is built
            by its spec. What the provider itself reports wins over both.
    """

    system: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    concurrency: int | None = None
    max_concurrency: int = 64
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    attempts: int = ATTEMPTS
    timeout: float | None = 600.0
    deadline: float | None = 1800.0
    price: FlatPrice | None = None


@dataclass(frozen=True, slots=True)
class RunContext:
    """What an agent has of the run that asks it.

    Attributes:
        ledger: Where calls are kept; None keeps none.
        meters: The run's budget, and the agent's own.
        paid: Wraps one layer more inside of the ledger, for someone who watches the calls that
            are really made.
        run_slots: Shared by the agents of a run: how many calls are made at once in all.
        breaker: Disables the agent when it keeps failing; None goes on asking.
        session: The run's budget of time; None is no limit.
    """

    ledger: Ledger | None = None
    meters: Sequence[BudgetMeter] = ()
    paid: Callable[[Agent], Agent] | None = None
    run_slots: ConcurrencyLimit | None = None
    breaker: CircuitBreaker | None = None
    session: SessionClock | None = None


_NO_RUN = RunContext()


def assemble(
    spec: AgentSpec, settings: LayerSettings | None = None, run: RunContext = _NO_RUN
) -> Agent:
    """Build an agent by its spec and put the layers round it.

    Sampling settings may also stand in the spec's options (`openai/m?temperature=0.7`). Recorded
    answers get no layers: there is nothing to wait for, pay or record.

    Raises:
        SetupError: The agent cannot be built, a setting is given twice, or a budget in US dollars
            meets an agent without a price.
    """
    spec, settings = _take_settings(spec, settings or LayerSettings())
    provider = create_agent(spec)
    quote = price_of(spec, settings.price)
    return wrap(
        provider,
        settings,
        run,
        in_process=runs_here(spec.provider),
        listed=None if quote is None else quote.tariff,
    )


def wrap(
    provider: Agent,
    settings: LayerSettings | None = None,
    run: RunContext = _NO_RUN,
    *,
    in_process: bool = False,
    listed: Tariff | None = None,
) -> Agent:
    """Put the layers round an agent that is there already, a `FunctionAgent` for instance.

    Args:
        provider: The bare agent.
        settings: What the layers do.
        run: What it has of a run.
        in_process: It answers from this process: no limit on one attempt, and no cost.
        listed: What it costs where the settings have no price of their own.

    Raises:
        SetupError: A budget in US dollars meets an agent without a price.
    """
    if isinstance(provider, RecordedAgent):
        return provider
    settings = settings or LayerSettings()
    price: Tariff | None = settings.price or listed or (FREE if in_process else None)
    agent: Agent = Redacted(provider)
    agent = agent if price is None else Priced(agent, price)
    agent = AttemptTimeout(agent, None if in_process else settings.timeout)
    if not in_process:
        agent = Draining(agent, run.ledger)
    agent = _rechecked(agent, run)
    if in_process and settings.concurrency is None:
        # What more would only queue inside the engine, where waiting counts against the deadline.
        settings = replace(settings, concurrency=min(ADAPT_FROM, settings.max_concurrency))
    agent = RateLimited(
        agent,
        settings.concurrency or settings.max_concurrency,
        adapt_from=None if settings.concurrency else ADAPT_FROM,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
        run_slots=run.run_slots,
    )
    agent = Retrying(agent, settings.attempts)
    if settings.deadline is not None:
        agent = Deadline(agent, settings.deadline)
    agent = Budgeted(agent, run.meters, price, waits=True)
    if run.breaker is not None:
        agent = CircuitBreaking(agent, run.breaker)
    if run.paid is not None:
        agent = run.paid(agent)
    if run.ledger is not None:
        agent = Ledgered(agent, run.ledger)
    return Configured(agent, **{name: getattr(settings, name) for name in _OVERLAID})


def _rechecked(agent: Agent, run: RunContext) -> Agent:
    """What is asked once more when a call has its turn; only where there is a limit to hold."""
    timed = [meter for meter in run.meters if meter.limits.seconds is not None]
    if timed or (run.session is not None and run.session.seconds is not None):
        stop = None if run.breaker is None else run.breaker.stop
        agent = TimeBudgeted(agent, timed, run.session, stop)
    return agent if run.breaker is None else Recheck(agent, run.breaker)


def _take_settings(spec: AgentSpec, settings: LayerSettings) -> tuple[AgentSpec, LayerSettings]:
    """Move sampling settings out of a spec's options."""
    given = {name: spec.options[name] for name in _OVERLAID if name in spec.options}
    for name, value in given.items():
        if getattr(settings, name) not in (None, value):
            raise SetupError(
                f"agent '{spec.name}': {name} is given twice, in the model name's options and as a "
                "setting; keep one"
            )
        if name != "system" and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise SetupError(f"agent '{spec.name}': {name} is a number, not {value!r}")
    rest = {name: value for name, value in spec.options.items() if name not in given}
    return replace(spec, options=rest), replace(settings, **given)
