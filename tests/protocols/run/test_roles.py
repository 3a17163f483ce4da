from __future__ import annotations

from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.examiners.judging.by_likelihood import LikelihoodJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.protocols.config.models import AgentConfig, ExamConfig, JudgeSettings, Questions
from peerexam.protocols.exam.examination import Roles
from peerexam.protocols.run.roles import roles_of
from peerexam.protocols.session.progress import Progress
from peerexam.records import Answer, Domain, Question


def roles_for(agent: Agent, config: AgentConfig) -> Roles:
    exam = ExamConfig(agents=(config,), questions=Questions(domains=("Chalk",)))
    return roles_of(exam, {agent.name: agent}, {}, PromptLibrary(), Rubric(), Progress())


async def test_one_model_has_all_roles_by_default() -> None:
    def reply(request: object) -> str:
        text = str(request)
        if "serial" in text or "Write nothing but" in text:
            return "1. Why is chalk white?"
        return "Verdict: Response 1" if "Verdict" in text else "Because it is lime."

    roles = roles_for(ScriptedAgent(reply, "eve"), AgentConfig(name="eve", model="fake/eve"))
    examiner, examinee = roles.examiners["eve"], roles.examinees["eve"]
    judge = roles.judges["eve"]
    paper = await examiner.questions(Domain("Chalk"), 1, "peer")
    answer = await examinee.answer(paper.questions[0])
    verdict = await judge.verdict(paper.questions[0], answer, Answer("q", "bob", "No."))
    assert answer.text == "Because it is lime."
    assert (verdict.winner, verdict.judge) == ("first", "eve")
    assert {examiner.name, examinee.name, judge.name} == {"eve"}


def test_an_agent_has_only_the_roles_that_it_is_given() -> None:
    config = AgentConfig(name="eve", model="fake/eve", roles=("examinee",))
    roles = roles_for(ScriptedAgent(lambda _: "", "eve"), config)
    assert (list(roles.examiners), list(roles.examinees), list(roles.judges)) == ([], ["eve"], [])


async def test_an_agent_that_scores_text_may_judge_by_likelihood() -> None:
    agent = ScriptedAgent(lambda _: "", "eve", features=("score",))
    by_likelihood = JudgeSettings(by="likelihood")
    config = AgentConfig(name="eve", model="fake/eve", judge=by_likelihood)
    judge = roles_for(agent, config).judges["eve"]
    assert isinstance(judge, LikelihoodJudge)
    mark = await judge.mark(Question("q", "Why?", "x"), Answer("q", "bob", "So."))
    assert mark.state == "error"
