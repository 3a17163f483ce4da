"""Who has which role in an exam, and by which rules its questions are examined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from peerexam.agents.base import Agent
from peerexam.agents.layers.transcript import Overheard
from peerexam.agents.layers.watched import Watched, Watcher
from peerexam.examiners.answering import AnsweringOptions, ModelExaminee
from peerexam.examiners.base import Judge
from peerexam.examiners.judging.by_likelihood import LikelihoodJudge, LikelihoodOptions
from peerexam.examiners.judging.by_prompt import JudgingOptions, PromptJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.examiners.questions.writing import ModelExaminer, SettingOptions
from peerexam.examiners.simulated.participants import SimParticipant
from peerexam.protocols.config.models import AgentConfig, ExamConfig, RoleName
from peerexam.protocols.config.own_answers import own_answers
from peerexam.protocols.config.token_limits import role_limit
from peerexam.protocols.exam.examination import Roles, Rules

T = TypeVar("T")


def roles_of(
    exam: ExamConfig,
    models: Mapping[str, Agent],
    simulated: Mapping[str, SimParticipant],
    prompts: PromptLibrary,
    rubric: Rubric,
    watcher: Watcher,
) -> Roles:
    """Give every agent the roles that it has in the config; those that are not built have none.

    Args:
        exam: The exam.
        models: Agents by name, with all their layers.
        simulated: Simulated participants by name.
        prompts: The words.
        rubric: What judges score; by likelihood there is an overall score alone.
        watcher: Told of every call.

    Raises:
        SetupError: An agent is to judge by likelihood, and cannot score a text.
    """

    def having(
        role: RoleName, build: Callable[[AgentConfig, Agent], T]
    ) -> dict[str, T | SimParticipant]:
        found: dict[str, T | SimParticipant] = {}
        for config in exam.agents_in(role):
            if config.name in simulated:
                found[config.name] = simulated[config.name]
            elif config.name in models:
                agent = Overheard(Watched(models[config.name], watcher, role))
                found[agent.name] = build(config, agent)
        return found

    build = _Builder(exam, prompts, rubric)
    return Roles(
        having("examiner", build.examiner),
        having("examinee", build.examinee),
        having("judge", build.judge),
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the roles of one agent, as the exam sets them."""

    exam: ExamConfig
    prompts: PromptLibrary
    rubric: Rubric

    def examiner(self, config: AgentConfig, agent: Agent) -> ModelExaminer:
        questions = self.exam.questions
        options = SettingOptions(
            attempts=questions.attempts,
            near_duplicate=questions.near_duplicate,
            max_tokens=role_limit(self.exam, config, "questions"),
            temperature=questions.temperature,
            retry_temperature=questions.retry_temperature,
            follow_up_max_tokens=role_limit(self.exam, config, "follow_ups"),
            seed=self.exam.seed,
        )
        return ModelExaminer(agent, self.prompts, options)

    def examinee(self, config: AgentConfig, agent: Agent) -> ModelExaminee:
        options = AnsweringOptions(
            role_limit(self.exam, config, "answers"),
            self.exam.answers.temperature,
            self.exam.answers.truncated,
            config.shots,
            config.stop_at_line,
        )
        return ModelExaminee(agent, self.prompts, options)

    def judge(self, config: AgentConfig, agent: Agent) -> Judge:
        own = config.judge
        if own.by == "likelihood":
            reading = LikelihoodOptions(own.tie_within, own.pass_at, own.per_token)
            return LikelihoodJudge(agent, self.prompts, reading, self.rubric)
        limit = role_limit(self.exam, config, "judging")
        options = JudgingOptions(
            reasks=self.exam.judging.reasks, max_tokens=limit, seed=self.exam.seed
        )
        return PromptJudge(agent, self.prompts, self.rubric, options)


def rules_of(config: ExamConfig, rubric: Rubric) -> Rules:
    """How one question is examined under a config."""
    judging = config.judging
    chief = config.examiner or next((a.name for a in config.agents_in("examiner")), None)
    return Rules(
        seed=config.seed,
        marks=judging.marks,
        ranking=judging.ranking,
        panel=judging.panel,
        disagreement=judging.disagreement,
        self_preference=judging.self_preference,
        rounds=config.follow_ups.rounds,
        sample=config.follow_ups.sample,
        share=config.follow_ups.share,
        full_mark=rubric.full_mark,
        chief=chief,
        examiners=frozenset(agent.name for agent in config.agents_in("examiner")),
        own=own_answers(config),
        shares={a.name: a.judge.share for a in config.agents_in("judge") if a.judge.share < 1},
    )
