"""What mistake finding will ask, worked out from the traces and the prompts round them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from peerexam.examiners.mistakes.finding import FinderPrompts, Method, Problem, numbered
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.ranges import Range, exactly, total
from peerexam.protocols.studies.mistakes.finding.protocol import Finding
from peerexam.protocols.studies.plan import CHARACTERS_PER_TOKEN, StudyPlan, StudyWork, study_plan
from peerexam.tasks.mistakes.traces import Trace, by_task

_TITLES: dict[Method, str] = {
    "trace": "whole traces",
    "step": "step by step",
    "cot": "step by step, with reasoning",
}
_REPLY_TOKENS: dict[Method, float] = {"trace": 5, "step": 4, "cot": 90}

ASSUMPTIONS = (
    "step by step: at least one call a trace (the first thought is called wrong, or the reply "
    "cannot be read), at most one a thought; expected is what it takes to find the true mistake",
    "replies of 4 to 5 tokens, of 90 with reasoning",
)


def finding_plan(config: ExamConfig, finding: Finding) -> StudyPlan:
    """Count what every agent is asked by every method, and price it.

    Raises:
        SetupError: A model's name or a prompt cannot be read.
    """
    prompts = FinderPrompts(PromptLibrary(config.prompts), frozenset({"chat"}), finding.seed)
    counted = {method: _counted(finding.traces, method, prompts) for method in finding.methods}
    work = [
        StudyWork(
            agent.name,
            _TITLES[method],
            calls,
            tokens,
            calls * _REPLY_TOKENS[method],
        )
        for agent in config.agents
        for method, (calls, tokens) in counted.items()
    ]
    return study_plan(config, work, ASSUMPTIONS)


def _counted(
    traces: Sequence[Trace], method: Method, prompts: FinderPrompts
) -> tuple[Range, Range]:
    """Calls and prompt tokens over all traces."""
    spans: list[Range] = []
    tokens: list[Range] = []
    for of in by_task(traces).values():
        around = _around(of[0], method, prompts)
        for trace in of:
            calls = _calls(trace, method)
            lengths = _prompt_lengths(trace, method, around)
            spans.append(calls)
            tokens.append(
                Range(*(lengths[round(n) - 1] for n in (calls.least, calls.expected, calls.most)))
                * (1 / CHARACTERS_PER_TOKEN)
            )
    return total(spans), total(tokens)


def _calls(trace: Trace, method: Method) -> Range:
    if method == "trace":
        return exactly(1)
    steps = len(trace.steps)
    found = steps if trace.mistake_index is None else trace.mistake_index + 1
    return Range(1, found, steps)


def _prompt_lengths(trace: Trace, method: Method, around: int) -> list[int]:
    """Characters of the first prompt, of the first two, and so on."""
    shown = around + len(trace.input)
    if method == "trace":
        return [shown + len(numbered(trace.steps))]
    thoughts = accumulate(len(line) + 1 for line in numbered(trace.steps).split("\n"))
    return list(accumulate(shown + length for length in thoughts))


def _around(trace: Trace, method: Method, prompts: FinderPrompts) -> int:
    """Characters of a prompt of that task beside the problem and the thoughts."""
    problem = Problem(trace.task, trace.input, trace.steps[:1])
    if method == "trace":
        rendered, _ = prompts.of_trace(problem)
    else:
        rendered, _ = prompts.of_step(problem, 1, reasoned=method == "cot")
    return len(rendered.text) - len(trace.input) - len(numbered(problem.steps))
