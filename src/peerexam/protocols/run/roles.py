"""An agent in its roles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peerexam.agents.base import Agent
from peerexam.examiners.answering import AnsweringOptions, ModelExaminee
from peerexam.examiners.base import Examinee, Examiner, Judge
from peerexam.examiners.judging.by_likelihood import LikelihoodJudge, LikelihoodOptions
from peerexam.examiners.judging.by_prompt import JudgingOptions, PromptJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.examiners.questions.writing import ModelExaminer, SettingOptions

JudgeBy = Literal["prompt", "likelihood"]
RoleName = Literal["examiner", "examinee", "judge"]

ALL_ROLES: tuple[RoleName, ...] = ("examiner", "examinee", "judge")


@dataclass(frozen=True, slots=True)
class Player:
    """Someone who takes part in an exam, with the roles it plays; None for those it does not."""

    name: str
    examiner: Examiner | None = None
    examinee: Examinee | None = None
    judge: Judge | None = None


def model_player(
    agent: Agent,
    prompts: PromptLibrary,
    rubric: Rubric | None = None,
    *,
    roles: tuple[RoleName, ...] = ALL_ROLES,
    judge_by: JudgeBy = "prompt",
    setting: SettingOptions | None = None,
    answering: AnsweringOptions | None = None,
    judging: JudgingOptions | None = None,
    likelihood: LikelihoodOptions | None = None,
) -> Player:
    """A player whose roles are all played by one model.

    Args:
        agent: The model.
        prompts: Its words.
        rubric: What it scores as a judge; the paper's by default. By likelihood there is an
            overall score alone.
        roles: What it plays.
        judge_by: How it judges.
        setting: How it is asked for questions.
        answering: How it is asked for answers.
        judging: How it is asked for judgements, where it judges by prompt.
        likelihood: How its likelihoods are read, where it judges by them.

    Raises:
        SetupError: It is to judge by likelihood, and cannot score a text.
    """
    judge: Judge | None = None
    if "judge" in roles:
        if judge_by == "likelihood":
            judge = LikelihoodJudge(agent, prompts, likelihood, rubric)
        else:
            judge = PromptJudge(agent, prompts, rubric, judging)
    return Player(
        agent.name,
        ModelExaminer(agent, prompts, setting) if "examiner" in roles else None,
        ModelExaminee(agent, prompts, answering) if "examinee" in roles else None,
        judge,
    )
