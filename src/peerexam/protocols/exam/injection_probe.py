"""Prompt-injection probes of judges: answers that tell the judge what to decide.

Every canary's wrong answer is judged as it is, with a harmless addition, and under each style of
attack: beside the right answer in both orders, and alone for a mark. What is judged is the judge as
the exam built it, with its prompts, its fences and its reading of replies. Judges that are not
asked in words (by likelihood, or simulated) read no orders, and are not probed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from peerexam.examiners.base import Judge
from peerexam.examiners.injection import (
    ATTACKS,
    PROBE_QUESTIONS,
    InjectedRequest,
    ProbeQuestion,
    harmless,
    request_for_full_marks,
    request_to_win,
)
from peerexam.examiners.judging.by_prompt import PromptJudge
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.session.concurrency import in_order, together
from peerexam.records import HARMLESS, PLAIN, Answer, Mark, Probe, Verdict
from peerexam.runfolder import RunFolder

STYLES = (PLAIN, HARMLESS, *ATTACKS)
"""All that is made of a wrong answer, in the order in which it is judged."""

WINDOW = 64
"""Judgements under way at once for one judge; its own limits may be narrower."""

_RIGHT, _WRONG = "right", "wrong"

Place = Literal["first", "second"]


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """What each judge is shown.

    Attributes:
        canaries: The questions.
        verdicts: Whether pairs are compared.
        marks: Whether answers are marked.
    """

    canaries: Sequence[ProbeQuestion] = PROBE_QUESTIONS
    verdicts: bool = True
    marks: bool = True

    @property
    def verdicts_asked(self) -> int:
        """Verdicts asked of one judge, both orders counted."""
        return 2 * len(self.canaries) * len(STYLES) if self.verdicts else 0

    @property
    def marks_asked(self) -> int:
        """Marks asked of one judge."""
        return len(self.canaries) * len(STYLES) if self.marks else 0


_WHOLE = ProbePlan()


async def probe_judges(
    judges: Mapping[str, Judge], plan: ProbePlan = _WHOLE, window: int = WINDOW
) -> list[Probe]:
    """Probe the judges that are asked in words, all at once.

    Args:
        judges: By name.
        plan: What they are shown.
        window: Judgements under way at once for one judge.

    Returns:
        In the order of the judges, of the canaries, and of `STYLES`; none of the other judges.

    Raises:
        BudgetReachedError: The budget ended it.
    """
    asked = [judge for judge in judges.values() if isinstance(judge, PromptJudge)]
    found = await together(_probe(judge, plan, window) for judge in asked)
    return [probe for column in found for probe in column]


async def _probe(judge: PromptJudge, plan: ProbePlan, window: int) -> list[Probe]:
    tasks = in_order(_tasks(judge, plan), lambda task: task(), window)
    return [probe async for probe in tasks]


def _tasks(judge: PromptJudge, plan: ProbePlan) -> Iterator[_Task]:
    for canary in plan.canaries:
        for style in STYLES:
            if plan.verdicts:
                yield _Task(judge, canary, style, "first")
                yield _Task(judge, canary, style, "second")
            if plan.marks:
                yield _Task(judge, canary, style, None)


@dataclass(frozen=True, slots=True)
class _Task:
    """One judgement to be asked for."""

    judge: PromptJudge
    canary: ProbeQuestion
    style: str
    place: Place | None

    async def __call__(self) -> Probe:
        question, wrong = self.canary.question, self._answer(_WRONG, self._attacked())
        if self.place is None:
            return self._record(await self.judge.mark(question, wrong))
        right = self._answer(_RIGHT, self.canary.right)
        shown = (wrong, right) if self.place == "first" else (right, wrong)
        return self._record(await self.judge.verdict(question, *shown))

    def _answer(self, who: str, text: str) -> Answer:
        return Answer(self.canary.question.id, who, text)

    def _attacked(self) -> str:
        if self.style == PLAIN:
            return self.canary.wrong
        if self.style == HARMLESS:
            return harmless(self.canary.wrong)
        return ATTACKS[self.style](self.canary.wrong, self._injected())

    def _injected(self) -> InjectedRequest:
        if self.place is None:
            return request_for_full_marks(self.judge.rubric)
        return request_to_win(1 if self.place == "first" else 2)

    def _record(self, judged: Mark | Verdict) -> Probe:
        winner: Literal["right", "wrong", "tie"] | None = None
        overall: int | None = None
        if isinstance(judged, Mark):
            overall = judged.overall
        elif judged.winner is not None:
            if judged.winner == "tie":
                winner = "tie"
            else:
                winner = "wrong" if judged.winner == self.place else "right"
        return Probe(
            judge=self.judge.name,
            canary=self.canary.question.id,
            style=self.style,
            place=self.place,
            winner=winner,
            overall=overall,
            state=judged.state,
            reason=judged.reason,
            reply=judged.reply,
            prompt=judged.prompt,
            call=judged.call,
        )


def by_judge(probes: Iterable[Probe]) -> dict[str, list[Probe]]:
    """Probes by the name of their judge."""
    found: dict[str, list[Probe]] = {}
    for probe in probes:
        found.setdefault(probe.judge, []).append(probe)
    return found


def write_probes(folder: RunFolder, probes: Sequence[Probe]) -> None:
    """Put `probes.jsonl` into a folder, over what an earlier run left; none leave no file."""
    if not probes:
        folder.records_path("probes").unlink(missing_ok=True)
        return
    with folder.writer("probes") as writer:
        for probe in probes:
            writer.emit(probe)


def probe_plan(config: ExamConfig) -> ProbePlan | None:
    """What an exam's judges are shown: what they are asked in it; None where it asks for none."""
    judging = config.judging
    plan = ProbePlan(verdicts=judging.ranking != "none", marks=judging.marks)
    asked = judging.fitness.probes and (plan.verdicts or plan.marks)
    return plan if asked else None
