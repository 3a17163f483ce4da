"""What backtracking will ask, worked out from the traces and the locations known beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from peerexam.examiners.mistakes.step_writing import ThoughtPrompts
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.planning.ranges import Range, total
from peerexam.protocols.studies.mistakes.backtracking.locators import Location, given_locations
from peerexam.protocols.studies.mistakes.backtracking.protocol import step_bound
from peerexam.protocols.studies.mistakes.backtracking.study import Backtracking, check_backtracking
from peerexam.protocols.studies.mistakes.finding.plan import finding_plan
from peerexam.protocols.studies.mistakes.finding.protocol import Finding
from peerexam.protocols.studies.plan import CHARACTERS_PER_TOKEN, StudyPlan, StudyWork, study_plan
from peerexam.tasks.mistakes.traces import Trace

ASSUMPTIONS = (
    "a trace goes on for as many steps as it had after the location; at least it ends with the new "
    "step, or stays since no sample differs, and at most it comes to twice its steps and 10 more",
    "locators that see a mistake at the same place share the calls; the places that agents and "
    "trained models will name are taken to be the gold ones",
)


def backtracking_plan(config: ExamConfig, work: Backtracking) -> StudyPlan:
    """Count what every agent is asked, and price it.

    Raises:
        SetupError: A model's name or a prompt cannot be read, or the work cannot be done.
    """
    check_backtracking(work, [agent.name for agent in config.agents])
    places = _places(work)
    prompts_of = ThoughtPrompts(PromptLibrary(config.prompts), frozenset({"chat"}), work.seed)
    spans = [
        _one(work, trace, where, prompts_of)
        for trace in work.traces
        for where in places[trace.id]
        if where is not None
    ]
    calls, prompts, replies = (total([span[part] for span in spans]) for part in range(3))
    lines = [StudyWork(agent.name, "new steps", calls, prompts, replies) for agent in config.agents]
    if work.asks:
        looks = finding_plan(config, Finding(work.traces, ("trace",), work.seed))
        lines = [*looks.work, *lines]
    return study_plan(config, lines, ASSUMPTIONS)


def _places(work: Backtracking) -> dict[str, set[Location]]:
    found: dict[str, set[Location]] = {trace.id: set() for trace in work.traces}
    for locator in work.locators:
        known = locator.kind in ("gold", "random", "simulated")
        given = given_locations(locator, work.traces, work.whole, work.seed) if known else {}
        for trace in work.traces:
            found[trace.id].add(given.get(trace.id, trace.mistake_index))
    return found


def _one(
    work: Backtracking, trace: Trace, where: int, prompts: ThoughtPrompts
) -> tuple[Range, Range, Range]:
    """Calls, prompt tokens and reply tokens of one trace taken up at one place."""
    after = len(trace.steps) - where - 1
    most = step_bound(trace) - where - 1
    calls = Range(work.samples, work.samples + after, work.samples + most)
    start = len(prompts.next_after(trace.task, trace.input, trace.steps[:where]).text)
    step = _mean_length(trace.steps)
    grown = [start * work.samples + _growing(start, step, more) for more in (0, after, most)]
    tokens = Range(*grown) * (1 / CHARACTERS_PER_TOKEN)
    return calls, tokens, calls * (step / CHARACTERS_PER_TOKEN)


def _mean_length(steps: Sequence[str]) -> float:
    return sum(map(len, steps)) / len(steps)


def _growing(start: float, step: float, count: int) -> float:
    """Characters of so many prompts, each a step longer than the one before."""
    return count * start + step * count * (count + 1) / 2
