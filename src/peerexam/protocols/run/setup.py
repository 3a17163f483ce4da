"""From a config to a cast that can play: ledger, budgets, agents, roles.

Everything that can be known to be wrong without asking a model (a missing key, an unknown
provider, a broken rubric) is found here, before the first call.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from peerexam.agents.base import Agent
from peerexam.agents.layers.budgets.meter import Admission, BudgetLimits, BudgetMeter, Spend
from peerexam.agents.layers.budgets.session_clock import SessionClock
from peerexam.agents.layers.circuit_breaker import Breaker
from peerexam.agents.layers.concurrency_limit import Gate
from peerexam.agents.layers.stack import LayerSettings, assemble, wrap
from peerexam.agents.layers.transcript import Overheard
from peerexam.agents.layers.watched import Watched
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.answering import AnsweringOptions
from peerexam.examiners.judging.by_likelihood import LikelihoodOptions
from peerexam.examiners.judging.by_prompt import JudgingOptions
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric, load_rubric
from peerexam.examiners.questions.writing import SettingOptions
from peerexam.examiners.simulated.participants import SimParticipant, simulated_participants
from peerexam.ledger.base import Ledger
from peerexam.ledger.opening import ledger_to_ask_with
from peerexam.protocols.config.checks import HANDED_OVER, PLAYS_DIRECTLY, agent_spec
from peerexam.protocols.config.models import AgentConfig, Budget, ExamConfig, RoleName
from peerexam.protocols.config.own_answers import own_answers
from peerexam.protocols.config.prices import own_price
from peerexam.protocols.config.token_limits import role_limit
from peerexam.protocols.exam.examination import Cast, Rules
from peerexam.protocols.planning.call_counts import BEFORE_ANY_ANSWER
from peerexam.protocols.planning.plan import Line, plan
from peerexam.protocols.questions.annotators import Annotators, annotators
from peerexam.protocols.run.roles import ALL_ROLES, Player, model_player
from peerexam.protocols.session.descriptors import most_at_once
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.session.watchdog import Watchdog, watching
from peerexam.runfolder import RunFolder


@dataclass(frozen=True, slots=True)
class Stage:
    """All that a protocol needs.

    Attributes:
        cast: Who plays which role.
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

    cast: Cast
    rules: Rules
    admission: Admission
    window: int
    fingerprints: Mapping[str, Mapping[str, Json]]
    breakers: Mapping[str, Breaker]
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
        """Why agents were given up, by their name."""
        return {name: one.lost for name, one in self.breakers.items() if one.lost is not None}


@asynccontextmanager
async def stage(
    config: ExamConfig,
    folder: RunFolder,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
    playing: Collection[str] | None = None,
) -> AsyncIterator[Stage]:
    """Open the ledger, build every agent and its roles; close them all at the end.

    Args:
        config: The exam.
        folder: Its folder, where the ledger is by default.
        db: Another ledger. Its earlier calls count for no budget, since other runs may share it.
        agents: Agents by name, in place of the config's models.
        progress: Counters to feed.
        playing: The agents to build; None is all. The others play no role.

    Raises:
        SetupError: An agent cannot be built, or `agents` names one that is not in the exam.
    """
    given = dict(agents or {})
    unknown = sorted(set(given) - {agent.name for agent in config.agents})
    if unknown:
        raise SetupError(
            f"'{unknown[0]}' was handed over and is not among the exam's agents: add "
            f"{{name: {unknown[0]}}} to agents, or leave it out"
        )
    rubric = load_rubric(config.judging.rubric) if config.judging.rubric else Rubric()
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(
            ledger_to_ask_with(db if db is not None else folder.ledger_path)
        )
        meters = _Meters(config)
        if db is None:
            await meters.charge_earlier(ledger)
        simulated = _simulated(config, given)
        players = {name: Player(name, one, one, one) for name, one in simulated.items()}
        models: dict[str, Agent] = {}
        fingerprints: dict[str, Mapping[str, Json]] = {}
        progress = progress or Progress()
        quiet = progress.stall_warning or config.limits.stall_warning
        stack.enter_context(watching(Watchdog(progress.paid, quiet)))
        builder = _Builder(config, rubric, ledger, meters, progress, given)
        for agent in config.agents:
            if playing is not None and agent.name not in playing:
                players.pop(agent.name, None)
                simulated.pop(agent.name, None)
                continue
            if agent.name in players:
                fingerprints[agent.name] = {"provider": PLAYS_DIRECTLY, "model": agent.model}
                continue
            built = models[agent.name] = builder.agent(agent)
            stack.push_async_callback(built.close)
            fingerprints[agent.name] = dict(built.fingerprint)
            players[agent.name] = builder.player(agent, built)
        window = window_of(config.limits.window, config.limits.concurrency)
        yield Stage(
            _cast(config, players),
            rules_of(config, rubric),
            Admission(meters.wants(), meters.session),
            window,
            fingerprints,
            builder.breakers,
            ledger,
            annotators(config, models, simulated, builder.prompts, progress),
            {name: Watched(model, progress, "agent") for name, model in models.items()},
            builder.prompts,
            progress,
        )


def window_of(asked: int | None, concurrency: int) -> int:
    """How many questions are worked on at once.

    As many as there are places: a question that is down to one call at a time, as at the end of a
    sort, still fills one.
    """
    return asked or max(8, concurrency)


def rules_of(config: ExamConfig, rubric: Rubric) -> Rules:
    """How one question is examined under a config."""
    judging = config.judging
    chief = config.examiner or next((a.name for a in config.agents_in("examiner")), None)
    return Rules(
        seed=config.seed,
        marks=judging.marks,
        ranking=judging.ranking,
        panel=judging.panel,
        disagreement=judging.disagreement,
        self_preference=judging.self_preference,
        rounds=config.follow_ups.rounds,
        sample=config.follow_ups.sample,
        share=config.follow_ups.share,
        full_mark=rubric.full_mark,
        chief=chief,
        examiners=frozenset(agent.name for agent in config.agents_in("examiner")),
        own=own_answers(config),
        shares={a.name: a.judge.share for a in config.agents_in("judge") if a.judge.share < 1},
    )


def _cast(config: ExamConfig, players: Mapping[str, Player]) -> Cast:
    def playing(role: RoleName) -> list[Player]:
        return [players[a.name] for a in config.agents_in(role) if a.name in players]

    return Cast(
        {p.name: p.examiner for p in playing("examiner") if p.examiner is not None},
        {p.name: p.examinee for p in playing("examinee") if p.examinee is not None},
        {p.name: p.judge for p in playing("judge") if p.judge is not None},
    )


def _simulated(config: ExamConfig, given: Mapping[str, Agent]) -> dict[str, SimParticipant]:
    specs = [agent_spec(agent) for agent in config.agents if agent.name not in given]
    return simulated_participants(
        (spec for spec in specs if spec.provider == PLAYS_DIRECTLY), config.seed
    )


class _Meters:
    """The budget of the run and those of the agents that have one."""

    def __init__(self, config: ExamConfig) -> None:
        self._config = config
        whole = config.limits.budget
        self.session = SessionClock(whole.seconds)
        # The run's seconds are those on the wall, and are not added up.
        self.run = BudgetMeter(_limits(whole.model_copy(update={"seconds": None})))
        self.agents = {
            agent.name: BudgetMeter(_limits(agent.budget), f"agent '{agent.name}'")
            for agent in config.agents
            if agent.budget != Budget()
        }

    def of(self, agent: str) -> list[BudgetMeter]:
        return [self.run, *([self.agents[agent]] if agent in self.agents else [])]

    async def charge_earlier(self, ledger: Ledger) -> None:
        """Count what earlier sessions of this run have spent."""
        for agent, sums in (await ledger.totals_by_agent()).items():
            spend = Spend(sums.cost, sums.calls, sums.prompt_tokens + sums.completion_tokens)
            for meter in self.of(agent):
                meter.charge(spend, unpriced_calls=sums.unpriced_calls)

    def wants(self) -> dict[BudgetMeter, Spend]:
        """What one more question is expected to take from each budget that has a limit."""
        limited = {meter for meter in (self.run, *self.agents.values()) if _has_limit(meter)}
        if not limited:
            return {}
        whole = plan(self._config)
        lines = [line for line in whole.lines if line.task not in BEFORE_ANY_ANSWER]
        wants: dict[BudgetMeter, Spend] = {}
        for line in lines:
            for meter in self.of(line.agent):
                if meter in limited:
                    wants[meter] = wants.get(meter, Spend()) + _a_question(line, whole.questions)
        return wants


def _has_limit(meter: BudgetMeter) -> bool:
    return meter.limits != BudgetLimits()


def _limits(budget: Budget) -> BudgetLimits:
    return BudgetLimits(budget.usd, budget.calls, budget.tokens, budget.seconds)


def _a_question(line: Line, questions: int) -> Spend:
    share = 1 / max(1, questions)
    tokens = line.prompt_tokens.expected + line.completion_tokens.expected
    return Spend(
        0.0 if line.cost is None else line.cost.expected * share,
        math.ceil(line.calls.expected * share),
        math.ceil(tokens * share),
    )


class _Builder:
    """Builds agents and their roles for one exam."""

    def __init__(
        self,
        config: ExamConfig,
        rubric: Rubric,
        ledger: Ledger,
        meters: _Meters,
        progress: Progress,
        given: Mapping[str, Agent],
    ) -> None:
        self._config = config
        self._rubric = rubric
        self._ledger = ledger
        self._meters = meters
        self._progress = progress
        self._given = given
        # Simulated players use no connection; an agent that runs here is counted all the same.
        asked = sum(agent_spec(agent).provider != PLAYS_DIRECTLY for agent in config.agents)
        self._at_once = most_at_once(asked, config.limits.concurrency)
        self.prompts = PromptLibrary(config.prompts)
        self._slots = Gate(config.limits.concurrency)
        self.breakers: dict[str, Breaker] = {}

    def agent(self, agent: AgentConfig) -> Agent:
        """The agent with all its layers."""
        settings = _layers(agent, self._at_once)
        breaker = Breaker(agent.name, agent.limits.give_up_after)
        self.breakers[agent.name] = breaker
        self._meters.session.when_over(breaker.stop)
        lane = self._progress.paid
        given = self._given.get(agent.name)
        if given is None and agent_spec(agent).provider == HANDED_OVER:
            raise SetupError(
                f"agent '{agent.name}' ({agent.model}) is an object in a Python program: hand it "
                f"over again, as in peerexam.run(…, agents={{'{agent.name}': …}})"
            )
        build = partial(assemble, agent_spec(agent)) if given is None else partial(wrap, given)
        return build(
            settings,
            ledger=self._ledger,
            meters=self._meters.of(agent.name),
            paid=lambda inner: Watched(inner, lane),
            run_slots=self._slots,
            breaker=breaker,
            session=self._meters.session,
        )

    def player(self, config: AgentConfig, agent: Agent) -> Player:
        """The agent's roles, each watched as such."""
        player = Player(agent.name)
        for role in ALL_ROLES:
            if config in self._config.agents_in(role):
                heard = Overheard(Watched(agent, self._progress, role))
                part = self._part(config, heard, role)
                player = replace(player, **{role: getattr(part, role)})
        return player

    def _part(self, config: AgentConfig, agent: Agent, role: RoleName) -> Player:
        exam = self._config
        judging, questions, answers = exam.judging, exam.questions, exam.answers
        limit = partial(role_limit, exam, config)
        return model_player(
            agent,
            self.prompts,
            self._rubric,
            roles=(role,),
            judge_by=config.judge.by,
            setting=SettingOptions(
                attempts=questions.attempts,
                near_duplicate=questions.near_duplicate,
                max_tokens=limit("questions"),
                temperature=questions.temperature,
                retry_temperature=questions.retry_temperature,
                follow_up_max_tokens=limit("follow_ups"),
                seed=exam.seed,
            ),
            answering=AnsweringOptions(
                limit("answers"),
                answers.temperature,
                answers.truncated,
                config.shots,
                config.stop_at_line,
            ),
            judging=JudgingOptions(
                reasks=judging.reasks, max_tokens=limit("judging"), seed=exam.seed
            ),
            likelihood=LikelihoodOptions(
                config.judge.tie_within, config.judge.pass_at, config.judge.per_token
            ),
        )


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
