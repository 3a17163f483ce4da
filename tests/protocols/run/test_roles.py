from __future__ import annotations

from peerexam.agents.function import ScriptedAgent
from peerexam.examiners.base import Examinee, Examiner, Judge
from peerexam.examiners.judging.by_likelihood import LikelihoodJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.run.roles import model_player
from peerexam.records import Answer, Domain, Question


async def test_one_model_plays_all_roles_by_default() -> None:
    def reply(request: object) -> str:
        text = str(request)
        if "serial" in text or "Write nothing but" in text:
            return "1. Why is chalk white?"
        return "Verdict: Response 1" if "Verdict" in text else "Because it is lime."

    player = model_player(ScriptedAgent(reply, "eve"), PromptLibrary())
    examiner: Examiner | None = player.examiner
    examinee: Examinee | None = player.examinee
    judge: Judge | None = player.judge
    assert examiner is not None
    assert examinee is not None
    assert judge is not None
    paper = await examiner.questions(Domain("Chalk"), 1, "peer")
    answer = await examinee.answer(paper.questions[0])
    verdict = await judge.verdict(paper.questions[0], answer, Answer("q", "bob", "No."))
    assert answer.text == "Because it is lime."
    assert (verdict.winner, verdict.judge) == ("first", "eve")
    assert {player.name, examiner.name, examinee.name, judge.name} == {"eve"}


def test_roles_that_are_not_played_are_none() -> None:
    player = model_player(ScriptedAgent(lambda _: "", "eve"), PromptLibrary(), roles=("examinee",))
    assert player.examiner is None
    assert player.judge is None
    assert player.examinee is not None


async def test_an_agent_that_scores_text_may_judge_by_likelihood() -> None:
    agent = ScriptedAgent(lambda _: "", "eve", features=("score",))
    player = model_player(agent, PromptLibrary(), judge_by="likelihood")
    assert isinstance(player.judge, LikelihoodJudge)
    mark = await player.judge.mark(Question("q", "Why?", "x"), Answer("q", "bob", "So."))
    assert mark.state == "error"
