"""Backtracking (BIG-Bench Mistake, §4.1): a trace is regenerated from its mistake.

1. The step with the mistake is drawn anew several times at temperature 1, with the steps before it
   as the prompt. Samples that are the old step, but for white space, do not count.
2. Of those that differ the most likely is taken: by log-probability where the agent gives it, by
   how often it was drawn where not; the first drawn wins a tie. Where none differs, the trace
   stays.
3. From there it goes on at temperature 0, step by step, until a step says "the answer is".

A trace without a located mistake is left alone; one with a right answer and a located mistake is
taken up like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from peerexam.calls import Completion, Json
from peerexam.examiners.mistakes.step_writing import ThoughtWriter, answer_of, cleaned, same_step
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Reply, ask, row_of
from peerexam.tasks.mistakes.traces import Trace

Outcome = Literal["untouched", "kept", "mended", "unanswered", "error"]
"""No mistake was located; no sample differed; a new answer came; none came within the bound; calls
failed."""

SPARE_STEPS = 10


@dataclass(frozen=True, slots=True)
class BacktrackResult:
    """What became of one trace.

    Attributes:
        outcome: See `Outcome`.
        steps: The trace afterwards; the old one where nothing changed.
        answer: What it ends on.
        samples: Usable samples of the new step.
        differing: How many of them are not the old step.
        chosen_by: What told which of them is the most likely.
        reason: Why it failed.
        calls: Ledger keys of the chosen sample and of all steps after it.
        lost: Samples whose call failed, so that it was chosen among fewer.
    """

    outcome: Outcome
    steps: tuple[str, ...]
    answer: str | None
    samples: int = 0
    differing: int = 0
    chosen_by: Literal["logprob", "count"] | None = None
    reason: str | None = None
    calls: tuple[str, ...] = ()
    lost: int = 0

    def correct(self, target: str) -> bool:
        """Whether its answer is right, by the rule of the data (space around it is forgiven)."""
        return (self.answer or "").strip() == target.strip()

    def to_json(self) -> dict[str, Json]:
        """Its part of a record."""
        return row_of(
            self,
            "outcome steps answer samples differing chosen_by reason calls lost",
            steps=list(self.steps),
            calls=list(self.calls),
        )


@dataclass(frozen=True, slots=True)
class _Sample:
    text: str
    completion: Completion


def step_bound(trace: Trace) -> int:
    """So many steps a trace may have afterwards: twice as many as before, and some to spare."""
    return 2 * len(trace.steps) + SPARE_STEPS


async def backtrack(
    writer: ThoughtWriter, trace: Trace, location: int | None, samples: int = 8
) -> BacktrackResult:
    """Regenerate a trace from a step.

    Args:
        writer: Who writes.
        trace: The trace; its label is not looked at.
        location: The step that is held to be wrong, from 0; None leaves the trace alone.
        samples: How many new steps are drawn.

    Raises:
        BudgetReachedError: The budget stops a call.
        ValueError: The trace has no such step.
    """
    if location is None:
        return BacktrackResult("untouched", trace.steps, trace.answer)
    if not 0 <= location < len(trace.steps):
        raise ValueError(f"{trace.id} has no step {location}")
    prefix, old = trace.steps[:location], trace.steps[location]
    replies = await together(
        ask(writer.agent, writer.drawn(trace.task, trace.input, prefix, draw))
        for draw in range(1, samples + 1)
    )
    drawn = [one for one in map(_sample, replies) if one is not None]
    errors = [reply.error for reply in replies if reply.error]
    lost = len(errors)
    if not drawn and errors:
        calls = tuple(reply.call for reply in replies if reply.call)
        return BacktrackResult(
            "error", trace.steps, trace.answer, reason=errors[0], calls=calls, lost=lost
        )
    differing = [one for one in drawn if not same_step(one.text, old)]
    if not differing:
        return BacktrackResult("kept", trace.steps, trace.answer, len(drawn), lost=lost)
    chosen, how = await _most_likely(writer, trace, prefix, differing)
    found = await _continued(writer, trace, (*prefix, chosen.text))
    return BacktrackResult(
        found.outcome,
        found.steps,
        found.answer,
        len(drawn),
        len(differing),
        how,
        found.reason,
        (chosen.completion.call, *found.calls),
        lost,
    )


def _sample(reply: Reply) -> _Sample | None:
    text = cleaned(reply.text or "")
    if not text or reply.completion is None:
        return None
    return _Sample(text, reply.completion)


async def _most_likely(
    writer: ThoughtWriter, trace: Trace, prefix: Sequence[str], differing: Sequence[_Sample]
) -> tuple[_Sample, Literal["logprob", "count"]]:
    """The most likely sample, and how that was told."""
    values = await _logprobs(writer, trace, prefix, differing)
    if values is not None:
        best = max(range(len(differing)), key=lambda place: (values[place], -place))
        return differing[best], "logprob"
    counts = Counter(tuple(one.text.split()) for one in differing)
    best = max(
        range(len(differing)),
        key=lambda place: (counts[tuple(differing[place].text.split())], -place),
    )
    return differing[best], "count"


async def _logprobs(
    writer: ThoughtWriter, trace: Trace, prefix: Sequence[str], differing: Sequence[_Sample]
) -> list[float] | None:
    """Log-probabilities of all samples; None where one of them has none."""
    own = [one.completion for one in differing]
    if all(one.logprobs is not None for one in own):
        return [one.logprob for one in own]
    if "score" not in writer.agent.features:
        return None
    texts = list(dict.fromkeys(one.text for one in differing))
    replies = await together(
        ask(writer.agent, writer.scored(trace.task, trace.input, prefix, text)) for text in texts
    )
    scores: dict[str, float] = {}
    for text, reply in zip(texts, replies, strict=True):
        if reply.completion is None or reply.completion.logprobs is None:
            return None
        scores[text] = reply.completion.logprob
    return [scores[one.text] for one in differing]


async def _continued(
    writer: ThoughtWriter, trace: Trace, steps: tuple[str, ...]
) -> BacktrackResult:
    """Go on greedily until there is an answer."""
    calls: list[str] = []
    while (answer := answer_of(steps[-1])) is None:
        if len(steps) >= step_bound(trace):
            reason = f"no answer within {len(steps)} steps"
            return BacktrackResult("unanswered", steps, None, reason=reason, calls=tuple(calls))
        reply = await ask(writer.agent, writer.greedy(trace.task, trace.input, steps))
        if reply.call is not None:
            calls.append(reply.call)
        if reply.error is not None:
            return BacktrackResult("error", steps, None, reason=reply.error, calls=tuple(calls))
        text = cleaned(reply.text or "")
        if not text:
            reason = f"nothing came as thought {len(steps) + 1}"
            return BacktrackResult("unanswered", steps, None, reason=reason, calls=tuple(calls))
        steps = (*steps, text)
    return BacktrackResult("mended", steps, answer, calls=tuple(calls))
