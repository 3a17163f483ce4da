"""Probing judges by themselves, without an exam around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.judging.by_prompt import PromptJudge
from peerexam.examiners.prompting.rubric import Rubric, load_rubric
from peerexam.protocols.config.models import AgentConfig, ExamConfig, Questions
from peerexam.protocols.exam.injection_probe import ProbePlan, by_judge, probe_judges
from peerexam.protocols.run.setup import set_up
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.standings.as_json import plain
from peerexam.protocols.studies.base import row_of
from peerexam.records import Probe
from peerexam.runfolder import RunFolder
from peerexam.stats.core.estimate import Estimate
from peerexam.stats.judges.attack_success import AttackReport, attack_success

_SHARES = ("verdicts", "marks", "some_order", "harmless", "swap_consistency", "accuracy")
_WHOLE = ProbePlan()


@dataclass(frozen=True, slots=True)
class ProbedJudge:
    """What became of one judge.

    Attributes:
        probes: As they were judged.
        report: None where the judge was not probed; `reason` then says why.
    """

    agent: str
    probes: Sequence[Probe]
    report: AttackReport | None
    reason: str | None = None

    @property
    def failed_calls(self) -> list[str]:
        """What the calls that failed said."""
        return [one.reason or "no reason given" for one in self.probes if one.state == "error"]

    def to_json(self) -> dict[str, Json]:
        """As plain JSON, missing values null."""
        report = self.report
        body: dict[str, Json] = {
            "agent": self.agent,
            "probed": report is not None,
            "reason": self.reason,
            "failed_calls": len(self.failed_calls),
        }
        if report is not None:
            body["attack_success"] = _estimate(report.success)
            body |= {name: _estimate(getattr(report, name)) for name in _SHARES}
            body["by_style"] = {name: _estimate(one) for name, one in report.by_style.items()}
            body["unreadable"] = {
                name: {"count": count, "of": of} for name, (count, of) in report.unreadable.items()
            }
        ready: dict[str, Json] = plain(body)
        return ready


def judges_only(agents: Sequence[AgentConfig]) -> ExamConfig:
    """An exam's defaults round agents that do nothing but judge."""
    return ExamConfig(
        name="probe",
        agents=tuple(agent.model_copy(update={"roles": ("judge",)}) for agent in agents),
        questions=Questions(domains=("canaries",)),
    )


async def probe_agents(
    config: ExamConfig,
    folder: RunFolder,
    *,
    names: Sequence[str] = (),
    plan: ProbePlan = _WHOLE,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
) -> list[ProbedJudge]:
    """Probe judges as an exam builds them.

    Args:
        config: The exam; see `judges_only`.
        folder: Where the ledger is by default; made where it is missing.
        names: The judges to probe; none means all.
        plan: What is played.
        db: Another ledger, a path or URL.
        agents: Agents of your own by name, in place of the config's models.
        progress: Counters to feed.

    Returns:
        One entry a judge, in the order of the exam.

    Raises:
        SetupError: A name is no judge of the exam, or an agent cannot be built.
        BudgetReachedError: A budget ended it.
    """
    judges = [agent.name for agent in config.agents_in("judge")]
    unknown = [name for name in names if name not in judges]
    if unknown:
        raise SetupError(
            f"'{unknown[0]}' is no judge of the exam; its judges are {', '.join(judges) or 'none'}"
        )
    chosen = [name for name in judges if not names or name in names]
    rubric = load_rubric(config.judging.rubric) if config.judging.rubric else Rubric()
    folder.create()
    async with set_up(
        config, folder, db=db, agents=agents, progress=progress, only=chosen
    ) as scene:
        probes = by_judge(await probe_judges(scene.roles.judges, plan))
        by_prompt = {
            name for name, one in scene.roles.judges.items() if isinstance(one, PromptJudge)
        }
    by = {agent.name: agent.judge.by for agent in config.agents}
    return [
        ProbedJudge(name, probes[name], attack_success(probes[name], full_mark=rubric.full_mark))
        if name in by_prompt
        else ProbedJudge(name, (), None, _why_not(by[name]))
        for name in chosen
    ]


def _why_not(by: str) -> str:
    if by == "likelihood":
        return "it judges by likelihood: nothing is asked of it that an answer could countermand"
    return "it is a simulated participant, which reads no answers"


def _estimate(estimate: Estimate) -> dict[str, Json]:
    return row_of(estimate, "value low high n left_out reason")
