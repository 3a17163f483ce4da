"""Is the examiner to be trusted? Judges are asked what people were asked (examiner paper, §4.1).

Every answer that somebody rated gets a mark from every judge, and every pair that somebody compared
a verdict in both orders. Nothing is shown but the question and the answers: no reference answer
(the paper's examiner judges without one) and nothing of what people said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from peerexam.agents.base import Agent
from peerexam.calls import calls_of
from peerexam.errors import SetupError
from peerexam.examiners.base import Judge
from peerexam.ledger.base import Ledger
from peerexam.protocols.config.models import AgentConfig, ExamConfig, Questions
from peerexam.protocols.run.setup import set_up
from peerexam.protocols.session.concurrency import in_order, together
from peerexam.protocols.session.progress import Progress
from peerexam.protocols.studies.trust.measures import CallCost, Judgements
from peerexam.records import Answer, Mark, Question, Record, Verdict
from peerexam.runfolder import RunFolder
from peerexam.runfolder.folder import Kind
from peerexam.tasks.trust.labels import HumanLabels

WINDOW = 64
"""Judgements under way at once for one judge; its own limits may be narrower."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """One judgement to ask for: a mark, or a verdict where there is a second answer."""

    question: Question
    first: Answer
    second: Answer | None = None


def judging_config(agents: Sequence[AgentConfig], seed: int = 0) -> ExamConfig:
    """An exam's defaults round agents that do nothing but judge."""
    return ExamConfig(
        name="trust",
        seed=seed,
        agents=tuple(agent.model_copy(update={"roles": ("judge",)}) for agent in agents),
        questions=Questions(domains=("human judgements",)),
    )


def judgements_asked(labels: HumanLabels) -> int:
    """How many marks and verdicts one judge is asked for."""
    return sum(1 for _ in _asks(labels))


async def judge_labels(
    config: ExamConfig,
    labels: HumanLabels,
    folder: RunFolder,
    *,
    db: str | None = None,
    agents: Mapping[str, Agent] | None = None,
    progress: Progress | None = None,
) -> Judgements:
    """Let every judge of an exam judge what people judged.

    Args:
        config: The exam that builds the judges; see `judging_config`.
        labels: What people said; only which answers and pairs they judged is looked at.
        folder: Where the ledger is by default; made where it is missing.
        db: Another ledger, a path or URL.
        agents: Agents of your own by name, in place of the config's models.
        progress: Counters to feed.

    Returns:
        Marks and verdicts, judge by judge in the order of the exam.

    Raises:
        SetupError: There is nothing to judge, or an agent cannot be built.
        BudgetReachedError: A budget ended it; what was answered is in the ledger.
    """
    if not judgements_asked(labels):
        raise SetupError("there is no answer with a text that a judge could judge")
    folder.create()
    async with set_up(config, folder, db=db, agents=agents, progress=progress) as scene:
        judges = list(scene.roles.judges.values())
        found = await together(_judge(judge, labels) for judge in judges)
        costs = {
            judge.name: [await _cost(scene.ledger, one) for one in part if isinstance(one, Verdict)]
            for judge, part in zip(judges, found, strict=True)
        }
    records = [one for part in found for one in part]
    return Judgements(
        [one for one in records if isinstance(one, Mark)],
        [one for one in records if isinstance(one, Verdict)],
        costs,
    )


def write_judgements(folder: RunFolder, labels: HumanLabels, judgements: Judgements) -> None:
    """Put questions, answers, marks and verdicts into a folder, over what stands there."""
    parts: dict[Kind, Sequence[Record]] = {
        "questions": labels.questions,
        "answers": labels.answers,
        "marks": judgements.marks,
        "verdicts": judgements.verdicts,
    }
    for kind, records in parts.items():
        with folder.writer(kind) as writer:
            for record in records:
                writer.emit(record)


async def _judge(judge: Judge, labels: HumanLabels) -> list[Mark | Verdict]:
    async def work(ask: _Ask) -> Mark | Verdict:
        if ask.second is None:
            return await judge.mark(ask.question, ask.first)
        return await judge.verdict(ask.question, ask.first, ask.second)

    return [one async for one in in_order(_asks(labels), work, WINDOW)]


def _asks(labels: HumanLabels) -> Iterator[_Ask]:
    """Marks, then pairs in both orders; an answer whose text is not there cannot be judged."""
    questions = {question.id: question for question in labels.questions}
    answers = {(a.question_id, a.examinee): a for a in labels.answers if a.state == "ok"}
    for cell in dict.fromkeys((r.question_id, r.examinee) for r in labels.ratings):
        if cell in answers:
            yield _Ask(questions[cell[0]], answers[cell])
    pairs = {(p.question_id, *sorted((p.a, p.b))): (p.a, p.b) for p in labels.preferences}
    for (question, *_), (a, b) in pairs.items():
        one, other = answers.get((question, a)), answers.get((question, b))
        if one is not None and other is not None:
            yield _Ask(questions[question], one, other)
            yield _Ask(questions[question], other, one)


async def _cost(ledger: Ledger, verdict: Verdict) -> CallCost:
    """What the calls behind a verdict took together, as the ledger has them."""
    done = [await ledger.completion(key) for key in calls_of(verdict.call)]
    costs = [one.cost for one in done if one is not None and one.cost is not None]
    waits = [one.latency for one in done if one is not None and one.latency is not None]
    return CallCost(
        verdict.question_id,
        sum(costs) if done and len(costs) == len(done) else None,
        sum(waits) if done and len(waits) == len(done) else None,
    )
