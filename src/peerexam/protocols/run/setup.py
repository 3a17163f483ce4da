"""From a config to what a protocol needs: ledger, budgets, agents, roles and rules.

Everything that can be known to be wrong without asking a model (a missing key, an unknown
provider, a broken rubric) is found here, before the first call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from peerexam.agents.base import Agent
from peerexam.agents.layers.budgets.meter import Admission
from peerexam.agents.layers.circuit_breaker import CircuitBreaker
from peerexam.agents.layers.watched import Watched
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric, load_rubric
from peerexam.examiners.simulated.participants import simulated_participants
from peerexam.ledger.base import Ledger
from peerexam.ledger.opening import ledger_to_ask_with
from peerexam.protocols.config.checks import PLAYS_DIRECTLY, agent_spec
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.exam.examination import Roles, Rules
from peerexam.protocols.questions.annotators import Annotators, annotators
from peerexam.protocols.run.agents import AgentBuilder
from peerexam.protocols.run.budgets import Budgets
from peerexam.protocols.run.roles import roles_of, rules_of
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.session.watchdog import Watchdog, watching
from peerexam.runfolder import RunFolder


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a protocol needs.

    Attributes:
        roles: Who has which role.
        rules: How a question is examined.
        admission: Whether the budget has room for another question.
        window: How many questions are worked on at once.
        fingerprints: What every agent is, by its name in the exam.
        breakers: Whether an agent is still asked, by its name.
        ledger: Where the calls are.
        annotators: Who is asked about the questions before they are sealed.
        agents: The models themselves by name, for whoever asks them outside a role.
        prompts: The words of the roles.
        progress: The counters of its calls.
    """

    roles: Roles
    rules: Rules
    admission: Admission
    window: int
    fingerprints: Mapping[str, Mapping[str, Json]]
    breakers: Mapping[str, CircuitBreaker]
    ledger: Ledger
    annotators: Annotators = field(default_factory=Annotators)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    prompts: PromptLibrary = field(default_factory=PromptLibrary)
    progress: Progress = field(default_factory=Progress)

    def odd_endings(self) -> dict[tuple[str, str], int]:
        """Usable replies by agent and a finish reason that nobody knows, or `null`.

        Only behind a URL is a reason missing: a function or local weights need none.
        """
        hosted = {
            name
            for name, fingerprint in self.fingerprints.items()
            if fingerprint.get("provider") in ("openai", "anthropic", "langchain")
        }
        return {
            (agent, reason or "null"): times
            for (agent, reason), times in self.progress.asked.odd_endings.items()
            if reason is not None or agent in hosted
        }

    def lost(self) -> dict[str, str]:
        """Why agents were disabled, by their name."""
        return {name: one.lost for name, one in self.breakers.items() if one.lost is not None}


@asynccontextmanager
async def set_up(
    config: ExamConfig,
    folder: RunFolder,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
) -> AsyncIterator[Setup]:
    """Open the ledger, build every agent and its roles; close them all at the end.

    Args:
        config: The exam.
        folder: Its folder, where the ledger is by default.
        db: Another ledger. Its earlier calls count for no budget, since other runs may share it.
        agents: Agents by name, in place of the config's models.
        progress: Counts the calls.
        only: The agents to build; None is all. The others have no role.

    Raises:
        SetupError: An agent cannot be built, or `agents` names one that is not in the exam.
    """
    given = dict(agents or {})
    unknown = sorted(set(given) - {agent.name for agent in config.agents})
    if unknown:
        raise SetupError(
            f"'{unknown[0]}' was passed in and is not among the exam's agents: add "
            f"{{name: {unknown[0]}}} to agents, or leave it out"
        )
    rubric = load_rubric(config.judging.rubric) if config.judging.rubric else Rubric()
    asked = [one for one in config.agents if only is None or one.name in only]
    specs = {one.name: agent_spec(one) for one in config.agents if one.name not in given}
    simulated = simulated_participants(
        (spec for spec in specs.values() if spec.provider == PLAYS_DIRECTLY), config.seed
    )
    simulated = {one.name: simulated[one.name] for one in asked if one.name in simulated}
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(
            ledger_to_ask_with(db if db is not None else folder.ledger_path)
        )
        budgets = Budgets(config)
        if db is None:
            await budgets.charge_earlier(ledger)
        progress = progress or Progress()
        quiet = progress.stall_warning or config.limits.stall_warning
        stack.enter_context(watching(Watchdog(progress.paid, quiet)))
        prompts = PromptLibrary(config.prompts)
        builder = AgentBuilder(config, ledger, budgets, progress, given)
        models: dict[str, Agent] = {}
        fingerprints: dict[str, Mapping[str, Json]] = {}
        for agent in asked:
            if agent.name in simulated:
                fingerprints[agent.name] = {"provider": PLAYS_DIRECTLY, "model": agent.model}
                continue
            built = models[agent.name] = builder.build(agent)
            stack.push_async_callback(built.close)
            fingerprints[agent.name] = dict(built.fingerprint)
        yield Setup(
            roles_of(config, models, simulated, prompts, rubric, progress),
            rules_of(config, rubric),
            Admission(budgets.wants(), budgets.session),
            window_of(config.limits.window, config.limits.concurrency),
            fingerprints,
            builder.breakers,
            ledger,
            annotators(config, models, simulated, prompts, progress),
            {name: Watched(model, progress, "agent") for name, model in models.items()},
            prompts,
            progress,
        )


def window_of(asked: int | None, concurrency: int) -> int:
    """How many questions are worked on at once.

    As many as there are places: a question that is down to one call at a time, as at the end of a
    sort, still fills one.
    """
    return asked or max(8, concurrency)
