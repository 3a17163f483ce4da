from __future__ import annotations

import asyncio
import math

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Completion, Request, TokenLogprob
from peerexam.errors import BudgetReachedError, OverloadedError, SetupError
from peerexam.examiners.judging.by_likelihood import Gain, LikelihoodJudge, LikelihoodOptions
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Dimension, Rubric
from peerexam.records import DIMENSIONS, Answer, Question

QUESTION = Question("q1", "What is the capital of France?", "Places")
GOOD = Answer("q1", "alice", "Paris")
BAD = Answer("q1", "bob", "Lyon it is")

# Nats a token, with the question and without it. Gains: Paris 4 over 1 token,
# "Lyon it is" 3 over 3 tokens.
TABLE = {
    ("Paris", True): (-1.0,),
    ("Paris", False): (-5.0,),
    ("Lyon it is", True): (-4.0, -1.0, -1.0),
    ("Lyon it is", False): (-6.0, -2.0, -1.0),
}


def by_table(request: Request) -> Completion:
    text = (request.continuation or "").strip()
    asked = QUESTION.text in request.messages[0].content
    return Completion("", logprobs=tuple(TokenLogprob("t", p) for p in TABLE[text, asked]))


def judge(
    options: LikelihoodOptions | None = None, chat: bool = True
) -> tuple[LikelihoodJudge, ScriptedAgent]:
    agent = ScriptedAgent(by_table, "judy", features={"chat", "score"} if chat else {"score"})
    return LikelihoodJudge(agent, PromptLibrary(), options), agent


async def test_the_value_is_the_pointwise_mutual_information() -> None:
    role, _ = judge()
    # log P(X|Q) − log P(X): −1 − (−5) = 4, and −6 − (−9) = 3.
    assert await role.gain(QUESTION, GOOD) == Gain(4.0, 1)
    assert await role.gain(QUESTION, BAD) == Gain(3.0, 3)


async def test_the_higher_value_wins_whatever_the_order() -> None:
    role, _ = judge()
    assert (await role.verdict(QUESTION, GOOD, BAD)).winner == "first"
    assert (await role.verdict(QUESTION, BAD, GOOD)).winner == "second"


async def test_values_that_differ_by_little_enough_are_a_tie() -> None:
    within, _ = judge(LikelihoodOptions(tie_within=1.0))
    beyond, _ = judge(LikelihoodOptions(tie_within=0.9))
    assert (await within.verdict(QUESTION, GOOD, BAD)).winner == "tie"
    assert (await beyond.verdict(QUESTION, GOOD, BAD)).winner == "first"
    per_token, _ = judge(LikelihoodOptions(tie_within=2.9, per_token=True))
    # A token: 4 against 1.
    assert (await per_token.verdict(QUESTION, GOOD, BAD)).winner == "first"


async def test_an_answer_is_scored_once_however_often_it_is_compared() -> None:
    role, agent = judge()
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(role.verdict(QUESTION, GOOD, BAD))
            group.create_task(role.verdict(QUESTION, BAD, GOOD))
            group.create_task(role.mark(QUESTION, GOOD))
    assert agent.calls == 4


@pytest.mark.parametrize(
    ("pass_at", "overall"), [(4.0, 5), (4.1, 4), (8.0, 3), (16.0, 2), (17.0, 1), (0.1, 5)]
)
async def test_a_mark_is_the_gain_a_token_on_the_papers_scale(pass_at: float, overall: int) -> None:
    # 1 + ⌊4 · min(4 / pass_at, 1)⌋
    role, _ = judge(LikelihoodOptions(pass_at=pass_at))
    mark = await role.mark(QUESTION, GOOD)
    assert (mark.overall, mark.state) == (overall, "ok")
    # One likelihood says nothing of single dimensions: they are missing, by name.
    assert dict(mark.scores) == dict.fromkeys(DIMENSIONS)


@pytest.mark.parametrize(("pass_at", "overall"), [(4.0, 10), (8.0, 5), (0.1, 10), (100.0, 0)])
async def test_a_mark_is_on_the_overall_scale_of_the_rubric(pass_at: float, overall: int) -> None:
    # 0 + ⌊10 · min(4 / pass_at, 1)⌋
    rubric = Rubric("mine", {"kindness": Dimension(0, 3)}, overall=(0, 10))
    agent = ScriptedAgent(by_table, "judy", features={"chat", "score"})
    role = LikelihoodJudge(agent, PromptLibrary(), LikelihoodOptions(pass_at=pass_at), rubric)
    mark = await role.mark(QUESTION, GOOD)
    assert mark.overall == overall
    assert dict(mark.scores) == {"kindness": None}


async def test_an_answer_that_the_question_makes_less_likely_gets_the_lowest_mark() -> None:
    def reply(request: Request) -> Completion:
        worse = QUESTION.text in request.messages[0].content
        return Completion("", logprobs=(TokenLogprob("t", -9.0 if worse else -1.0),))

    role = LikelihoodJudge(ScriptedAgent(reply, features={"chat", "score"}), PromptLibrary())
    assert (await role.mark(QUESTION, GOOD)).overall == 1


async def test_a_chat_model_is_given_the_question_and_an_empty_turn() -> None:
    role, agent = judge()
    await role.mark(QUESTION, GOOD)
    assert [r.messages[0].content for r in agent.requests] == ["", QUESTION.text]
    assert {r.continuation for r in agent.requests} == {"Paris"}


async def test_a_base_model_is_given_the_frame_with_and_without_the_question() -> None:
    role, agent = judge(chat=False)
    await role.mark(QUESTION, GOOD)
    assert [r.messages[0].content for r in agent.requests] == [
        "Question:\nAnswer:",
        f"Question: {QUESTION.text}\nAnswer:",
    ]
    assert {r.continuation for r in agent.requests} == {" Paris"}


async def test_the_records_name_every_call_behind_them() -> None:
    async def reply(request: Request) -> Completion:
        body = by_table(request)
        asked = QUESTION.text in request.messages[0].content
        return Completion("", logprobs=body.logprobs, call=f"{request.continuation}-{asked}")

    role = LikelihoodJudge(ScriptedAgent(reply, features={"chat", "score"}), PromptLibrary())
    assert (await role.mark(QUESTION, GOOD)).call == "Paris-False+Paris-True"
    verdict = await role.verdict(QUESTION, GOOD, BAD)
    assert verdict.call == "Paris-False+Paris-True+Lyon it is-False+Lyon it is-True"


@pytest.mark.parametrize(
    "reply",
    [
        OverloadedError("busy"),
        Completion(""),
        Completion("", logprobs=()),
        Completion("", logprobs=(TokenLogprob("t", -math.inf),)),
    ],
)
async def test_what_cannot_be_scored_is_a_named_failure(reply: Completion | Exception) -> None:
    agent = ScriptedAgent(lambda _: reply, features={"chat", "score"})
    role = LikelihoodJudge(agent, PromptLibrary())
    mark = await role.mark(QUESTION, GOOD)
    verdict = await role.verdict(QUESTION, GOOD, BAD)
    assert (mark.state, mark.overall) == ("error", None)
    assert (verdict.state, verdict.winner) == ("error", None)
    assert mark.reason
    assert verdict.reason


async def test_an_empty_answer_is_never_scored() -> None:
    role, agent = judge()
    empty = Answer("q1", "carol", " \n")
    assert (await role.mark(QUESTION, empty)).state == "empty"
    assert (await role.verdict(QUESTION, empty, empty)).winner is None
    assert agent.calls == 0


async def test_a_budget_that_is_reached_ends_the_run_and_is_not_remembered() -> None:
    replies: list[Completion | Exception] = [BudgetReachedError("no more")]

    def reply(request: Request) -> Completion | Exception:
        return replies.pop() if replies else by_table(request)

    role = LikelihoodJudge(ScriptedAgent(reply, features={"chat", "score"}), PromptLibrary())
    with pytest.raises(BudgetReachedError):
        await role.mark(QUESTION, GOOD)
    assert (await role.mark(QUESTION, GOOD)).state == "ok"


def test_an_agent_that_gives_no_log_probabilities_is_refused() -> None:
    agent = ScriptedAgent(lambda _: "", "mute")
    with pytest.raises(SetupError, match="agent 'mute' gives no log-probabilities"):
        LikelihoodJudge(agent, PromptLibrary())
