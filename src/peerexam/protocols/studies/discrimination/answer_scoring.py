"""The metric f of Self-[In]Correct (§4.1) on one answer: by key, by judges, or by references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.examiners.asking import Outcome
from peerexam.examiners.discrimination.answer_judges import Asked, RatingJudge, YesNoJudge
from peerexam.examiners.discrimination.choosing import Proposed, Turn
from peerexam.protocols.session.concurrency import together
from peerexam.protocols.studies.base import Study
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item
from peerexam.tasks.benchmarks.truthfulqa import TRUTHFULQA, reference_accuracy

REFERENCE_METRIC = "rouge1_acc"
"""What scores an answer to TruthfulQA where there is no judge."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate with its score.

    Attributes:
        answer: As it was proposed.
        extracted: The part that is compared.
        score: f; None where the call for it or a judgement of it failed. An answer that is empty
            or was refused gets no credit: the lowest score.
        judgements: By kind and judge what was said.
        references: By metric whether it is nearer to a true reference (TruthfulQA).
        unscored: Why there is no score.
        failed: Whether a call failed.
    """

    answer: Proposed
    extracted: str | None = None
    score: float | None = None
    judgements: Mapping[str, Json] = field(default_factory=dict)
    references: Mapping[str, bool] = field(default_factory=dict)
    unscored: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores candidates.

    Attributes:
        task: Whose answers.
        judges: Kind and name of a judge to the judge; none where the task has a key.
    """

    task: BenchmarkTask
    judges: Mapping[tuple[str, str], RatingJudge | YesNoJudge] = field(default_factory=dict)

    async def score(self, item: Item, earlier: Sequence[Turn], answer: Proposed) -> Candidate:
        """Score one answer.

        Raises:
            BudgetReachedError: The budget stops a judge's call.
        """
        if answer.state == "error":
            return Candidate(answer, unscored=answer.reason, failed=True)
        extracted = self.task.extract(answer.text)
        references: Mapping[str, bool] = {}
        if self.task is TRUTHFULQA:
            references = reference_accuracy(answer.text, item)
        if answer.state != "ok":
            return Candidate(answer, extracted, self.task.scale[0], references=references)
        if self.judges:
            return await self._judged(item, earlier, answer, extracted, references)
        score = self.task.score(answer.text, item)
        if score is None:
            score = float(references[REFERENCE_METRIC])
        return Candidate(answer, extracted, score, references=references)

    async def _judged(
        self,
        item: Item,
        earlier: Sequence[Turn],
        answer: Proposed,
        extracted: str | None,
        references: Mapping[str, bool],
    ) -> Candidate:
        asked = Asked(
            item.question, answer.text, item.gold, item.wrong, tuple(earlier), item.earlier_gold
        )
        outcomes: list[Outcome[Any]] = await together(
            judge.judge(asked) for judge in self.judges.values()
        )
        said = dict(zip(self.judges, outcomes, strict=True))
        missing = [
            f"{name} ({kind}): {one.reason}"
            for (kind, name), one in said.items()
            if one.state != "ok"
        ]
        values = [float(one.value) for one in outcomes if one.value is not None]
        score = None
        if not missing:
            # The mean of several marks; truthful and informative where both are asked for.
            score = sum(values) / len(values) if self.task.unit == "points" else min(values)
        judgements = {
            f"{kind} by {name}": {"value": one.value, "state": one.state, "call": one.call}
            for (kind, name), one in said.items()
        }
        failed = any(one.state == "error" for one in outcomes)
        unscored = "; ".join(missing) or None
        return Candidate(answer, extracted, score, judgements, references, unscored, failed)


def kinds_of_judges(task: BenchmarkTask, judges: Sequence[str]) -> list[tuple[str, str]]:
    """Who judges what.

    MT-bench takes any number of judges, whose marks are averaged. TruthfulQA takes one for truth
    and one for information, or one for both; without any, its answers are scored by references.

    Args:
        task: The benchmark.
        judges: Names, in the order given.

    Raises:
        SetupError: There are too few judges, too many, or any where there is a key.
    """
    if not task.judges:
        if judges:
            raise SetupError(f"{task.name} has a key: leave out --judges")
        return []
    if task.unit == "points":
        if not judges:
            raise SetupError(f"{task.name} has no key: name who marks its answers by --judges")
        return [(task.judges[0], name) for name in judges]
    if len(judges) > len(task.judges):
        raise SetupError(
            f"{task.name} takes {' and '.join(task.judges)} judges: name two by --judges, or one "
            "for both"
        )
    return [
        (kind, judges[min(at, len(judges) - 1)]) for at, kind in enumerate(task.judges) if judges
    ]


def scorer_of(task: BenchmarkTask, judges: Sequence[str], study: Study) -> Scorer:
    """The scorer of a study.

    A judge by likelihood compares yes with no; so does one that only goes on with a text, where it
    gives log-probabilities.

    Raises:
        SetupError: See `kinds_of_judges`; or a judge cannot judge by likelihood.
    """
    settings = {agent.name: agent.judge.by for agent in study.config.agents}
    built: dict[tuple[str, str], RatingJudge | YesNoJudge] = {}
    for kind, name in kinds_of_judges(task, judges):
        agent = study.agents[name]
        if kind == "rating":
            built[kind, name] = RatingJudge(agent, study.prompts, study.config.seed)
            continue
        plain = "chat" not in agent.features and "score" in agent.features
        by_likelihood = plain or settings.get(name) == "likelihood"
        built[kind, name] = YesNoJudge(
            agent,
            "truth" if kind == "truth" else "information",
            study.prompts,
            study.config.seed,
            by_likelihood=by_likelihood,
        )
    return Scorer(task, built)
