"""What a run and its agents may spend, and what one more question takes of it."""

from __future__ import annotations

import math

from peerexam.agents.layers.budgets.meter import BudgetLimits, BudgetMeter, Spend
from peerexam.agents.layers.budgets.session_clock import SessionClock
from peerexam.ledger.base import Ledger
from peerexam.protocols.config.models import Budget, ExamConfig
from peerexam.protocols.planning.call_counts import BEFORE_ANY_ANSWER
from peerexam.protocols.planning.plan import Line, plan


class Budgets:
    """The budget of the run and those of the agents that have one."""

    def __init__(self, config: ExamConfig) -> None:
        self._config = config
        whole = config.limits.budget
        self.session = SessionClock(whole.seconds)
        # The run's seconds are those on the wall, and are not added up.
        self.run = BudgetMeter(BudgetLimits(whole.usd, whole.calls, whole.tokens))
        self.agents = {
            agent.name: BudgetMeter(BudgetLimits(**dict(agent.budget)), f"agent '{agent.name}'")
            for agent in config.agents
            if agent.budget != Budget()
        }

    def of(self, agent: str) -> list[BudgetMeter]:
        """The meters that count an agent's calls."""
        return [self.run, *([self.agents[agent]] if agent in self.agents else [])]

    async def charge_earlier(self, ledger: Ledger) -> None:
        """Count what earlier sessions of this run have spent."""
        for agent, sums in (await ledger.totals_by_agent()).items():
            spend = Spend(sums.cost, sums.calls, sums.prompt_tokens + sums.completion_tokens)
            for meter in self.of(agent):
                meter.charge(spend, unpriced_calls=sums.unpriced_calls)

    def wants(self) -> dict[BudgetMeter, Spend]:
        """What one more question is expected to take from each budget that has a limit."""
        meters = (self.run, *self.agents.values())
        limited = {meter for meter in meters if meter.limits != BudgetLimits()}
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


def _a_question(line: Line, questions: int) -> Spend:
    share = 1 / max(1, questions)
    tokens = line.prompt_tokens.expected + line.completion_tokens.expected
    return Spend(
        0.0 if line.cost is None else line.cost.expected * share,
        math.ceil(line.calls.expected * share),
        math.ceil(tokens * share),
    )
