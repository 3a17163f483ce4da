"""An exam that probes its judges before they judge (`judging.fitness.max_attack_success`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from peerexam.errors import BudgetReachedError
from peerexam.examiners.base import Judge
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.exam.examination import QuestionRecords
from peerexam.protocols.exam.injection_probe import by_judge, probe_judges, probe_plan, write_probes
from peerexam.protocols.run.loop import OutcomeCounts
from peerexam.records import Probe, Question
from peerexam.runfolder import RunFolder

Examine = Callable[[Question], Awaitable[QuestionRecords]]
"""Examines one question."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What the probes of an exam came to.

    Attributes:
        probes: As they were written; none where the exam does not ask for any.
        stopped: The budget that was reached over them; then nobody judges, since nobody knows who
            is fit to.
    """

    probes: Sequence[Probe] = ()
    stopped: BudgetReachedError | None = None

    def gate(self, examine: Examine) -> Examine:
        """What examines a question, once the judges are probed."""

        async def examined(question: Question) -> QuestionRecords:
            if self.stopped is not None:
                raise BudgetReachedError(str(self.stopped))
            return await examine(question)

        return examined

    def count_failures(self, counts: OutcomeCounts) -> None:
        """Add the calls that failed to those of the run."""
        for probe in self.probes:
            counts.count(f"{probe.judge} as judge", probe.state, probe.reason)


async def probe_for_fitness(
    config: ExamConfig, folder: RunFolder, judges: Mapping[str, Judge], held: Iterable[Probe] = ()
) -> Probed:
    """Probe the judges where the exam's fitness asks for it, and write `probes.jsonl`.

    Args:
        config: The exam.
        folder: Where the records go.
        judges: By name, in the order of the exam.
        held: Probes that are there already; their judges are not probed again.
    """
    plan, known = probe_plan(config), by_judge(held)
    probes: list[Probe] = []
    stopped = None
    if plan is not None:
        left = {name: judge for name, judge in judges.items() if name not in known}
        try:
            fresh = by_judge(await probe_judges(left, plan))
        except BudgetReachedError as reached:
            stopped, fresh, known = reached, {}, {}
        probes = [one for name in judges for one in (known.get(name) or fresh.get(name) or ())]
    write_probes(folder, probes)
    return Probed(probes, stopped)
