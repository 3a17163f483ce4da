"""Mistake finding (BIG-Bench Mistake, §3): agents say where the first mistake of a trace is.

Three methods, see `examiners.finding`. Step by step, the first "No" decides and nothing is asked
after it; where every step gets a "Yes", the trace has no mistake. A reply that cannot be read ends
the trace unread: the paper does not ask again, and a later "No" would not be known to be the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from peerexam.agents.base import Agent
from peerexam.calls import Json, State
from peerexam.examiners.asking import Outcome
from peerexam.examiners.mistakes.finding import FinderOptions, Method, MistakeFinder, Problem
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.studies.base import Progressed, Study, row_of
from peerexam.stats.mistakes.location import NO_MISTAKE, UNREADABLE
from peerexam.tasks.mistakes.traces import Trace, by_task

METHODS: tuple[Method, ...] = ("trace", "step", "cot")

FINDS = "finds.jsonl"


@dataclass(frozen=True, slots=True)
class Find:
    """What one agent said of one trace by one method.

    Attributes:
        trace: The trace's id.
        task: Its task.
        agent: Who looked.
        method: How.
        location: The first mistake's step, from 0; None where it found none, or `state` is not
            `ok`.
        state: `ok`, or why nothing was read.
        reason: The same in words.
        gold: The label's step from 0; None for no mistake.
        correct_answer: Whether the trace's final answer is right.
        asked: How many calls it took.
        reply: The last reply, where it could not be read.
        call: Ledger key of the call that decided.
    """

    trace: str
    task: str
    agent: str
    method: Method
    location: int | None
    state: State
    reason: str | None
    gold: int | None
    correct_answer: bool
    asked: int
    reply: str | None = None
    call: str | None = None

    @property
    def found(self) -> int:
        """The location as a number of `stats.mistake_location`."""
        if self.state != "ok":
            return UNREADABLE
        return NO_MISTAKE if self.location is None else self.location

    @property
    def failed(self) -> bool:
        """Whether nothing came back, so that it says nothing of the agent's judgement."""
        return self.state == "error"

    @property
    def correct(self) -> bool | None:
        """Whether it is the label's; None where the call failed."""
        return None if self.failed else self.state == "ok" and self.location == self.gold

    def to_json(self) -> dict[str, Json]:
        """A row of `finds.jsonl`."""
        return row_of(
            self,
            "trace task agent method location gold correct correct_answer state reason asked "
            "reply call",
        )


async def find_mistake(
    agent: Agent,
    prompts: PromptLibrary,
    trace: Trace,
    method: Method,
    options: FinderOptions | None = None,
) -> Find:
    """Ask one agent for the first mistake of one trace.

    Args:
        agent: Who looks.
        prompts: Its words.
        trace: The trace; its label and its answer are not shown.
        method: How.
        options: How it is asked.

    Raises:
        BudgetReachedError: The budget stops a call.
    """
    finder = MistakeFinder(agent, prompts, options)
    problem = Problem(trace.task, trace.input, trace.steps)
    if method == "trace":
        outcome = await finder.in_trace(problem)
        named = outcome.value
        return _find(trace, agent.name, method, outcome, named - 1 if named else None, 1)
    count = 0
    verdict: Outcome[bool] = Outcome(None, "unparsed", "there is no thought to check")
    for count in range(1, len(trace.steps) + 1):
        verdict = await finder.of_step(problem, count, reasoned=method == "cot")
        if verdict.state != "ok":
            reason = f"thought {count}: {verdict.reason}"
            return _find(trace, agent.name, method, replace(verdict, reason=reason), None, count)
        if not verdict.value:
            return _find(trace, agent.name, method, verdict, count - 1, count)
    return _find(trace, agent.name, method, verdict, None, count)


def _find(
    trace: Trace,
    agent: str,
    method: Method,
    outcome: Outcome[int] | Outcome[bool],
    location: int | None,
    asked: int,
) -> Find:
    return Find(
        trace=trace.id,
        task=trace.task,
        agent=agent,
        method=method,
        location=location,
        state=outcome.state,
        reason=outcome.reason,
        gold=trace.mistake_index,
        correct_answer=trace.correct_answer,
        asked=asked,
        reply=outcome.reply,
        call=outcome.call,
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be found out.

    Attributes:
        traces: To look at, in the order of asking.
        methods: How.
        seed: Of fences, draws and intervals.
    """

    traces: Sequence[Trace]
    methods: Sequence[Method]
    seed: int = 0

    async def ask(self, study: Study) -> Progressed[Find]:
        """Trace by trace, and of each trace everybody: so what a budget leaves can be compared."""
        options = FinderOptions(seed=self.seed)
        asked = [
            (trace, agent, method)
            for trace in self.traces
            for agent in study.agents.values()
            for method in self.methods
        ]

        async def look(item: tuple[Trace, Agent, Method]) -> Find:
            trace, agent, method = item
            return await find_mistake(agent, study.prompts, trace, method, options)

        done = await study.over(asked, look)
        each = len(study.agents) * len(self.methods)
        return replace(done, found=done.found[: len(done.found) // each * each])

    def files(self, rows: Sequence[Find]) -> dict[str, Iterable[dict[str, Json]]]:
        """The finds, one a row."""
        return {FINDS: (find.to_json() for find in rows)}


def draw_traces(traces: Sequence[Trace], limit: int | None, seed: int) -> list[Trace]:
    """So many traces, as evenly from every task as can be, in an order in which tasks take turns.

    The paper's overall accuracy weighs tasks alike, and one of the public files is three times as
    long as the others. With tasks taking turns, what a budget leaves is even too.

    Args:
        traces: To draw from.
        limit: How many; None takes all.
        seed: Of the draw.
    """
    shuffled: list[list[Trace]] = []
    for place, of in enumerate(by_task(traces).values()):
        order = np.random.default_rng([seed, place]).permutation(len(of))
        shuffled.append([of[int(at)] for at in order])
    turns = [trace for turn in zip_longest(*shuffled) for trace in turn if trace is not None]
    return turns[:limit]
