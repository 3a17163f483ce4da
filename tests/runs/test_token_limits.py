"""How many tokens replies may have, as the requests on the wire say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.configured import Configured
from peerexam.calls import Completion, Request
from peerexam.examiners.judging.by_prompt import JudgingOptions, PromptJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.questions.writing import ModelExaminer, SettingOptions
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.token_limits import token_limit
from peerexam.protocols.planning.plan import plan
from peerexam.protocols.run.runner import run_exam
from peerexam.records import Answer, Domain, Question

QUESTION = Question("q", "Why?", "d")
ONE, TWO = Answer("q", "x", "Because."), Answer("q", "y", "Why not?")


def exam(*agents: dict[str, Any], **more: Any) -> ExamConfig:
    return ExamConfig.model_validate(
        {"agents": list(agents), "questions": {"domains": ["rivers"], "per_domain": 1}, **more}
    )


def spoken(served: Any) -> str:
    text = served.last_user_text
    if "Verdict:" in text:
        return "Verdict: Tie"
    if "overall" in text:
        return "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 4"
    if "follow question" in text:
        return "follow question: And then?"
    if "domain" in text.lower():
        return f"1. What is the longest river that {served.body['model']} knows?"
    return f"As {served.body['model']} sees it, the Nile."


def asked(served: Any) -> str:
    text = served.last_user_text
    words = {"Verdict:": "verdict", "overall": "mark", "domain": "questions", "Domain": "questions"}
    return next((what for word, what in words.items() if word in text), "answer")


@pytest.mark.parametrize(
    ("more", "answers"),
    [
        ({}, 16_384),
        ({"answers": {"preset": "paper"}}, 200),
        ({"answers": {"preset": "paper", "max_tokens": 300}}, 300),
    ],
)
async def test_hosted_models_have_room_to_think_unless_it_is_configured(
    chat_server: Any, tmp_path: Path, more: dict[str, Any], answers: int
) -> None:
    server = chat_server(spoken)
    agents = [{"name": name, "model": f"openai/{name}@{server.url}"} for name in "abc"]
    await run_exam(exam(*agents, **more), tmp_path)
    found = {(asked(one), one.body["max_tokens"]) for one in server.requests}
    expected = {(what, 16_384) for what in ("verdict", "mark", "questions")}
    assert found == {*expected, ("answer", answers)}


@pytest.mark.parametrize(
    ("agent", "more", "limits"),
    [
        ({"model": "openai/m"}, {}, (16_384, 16_384, 16_384, 16_384, 16_384, 16_384)),
        ({"model": "anthropic/m"}, {}, (16_384, 16_384, 16_384, 16_384, 16_384, 16_384)),
        ({"model": "local/smollm2"}, {}, (1024, 64, 512, 512, 200, 512)),
        ({"model": "hf/org/m"}, {}, (1024, 64, 512, 512, 200, 512)),
        ({"model": "local/smollm2"}, {"answers": {"max_tokens": 9}}, (1024, 64, 512, 9, 200, 512)),
        ({"model": "openai/m", "max_tokens": 70}, {}, (70, 70, 70, 70, 70, 70)),
        ({"model": "openai/m?max_tokens=70"}, {}, (70, 70, 70, 70, 70, 70)),
    ],
)
def test_the_default_depends_on_where_the_agent_runs(
    agent: dict[str, Any], more: dict[str, Any], limits: tuple[int, ...]
) -> None:
    config = exam({"name": "a", **agent}, **more)
    sections = ("questions", "levels", "references", "answers", "follow_ups", "judging")
    found = tuple(token_limit(config, config.agents[0], one) for one in sections)  # type: ignore[arg-type]
    assert found == limits


def cut_below(limit: int, reply: str) -> tuple[list[int | None], ScriptedAgent]:
    """An agent that needs so many tokens, and the limits that it was given."""
    given: list[int | None] = []

    def script(request: Request) -> Completion:
        most = request.sampling.max_tokens
        given.append(most)
        if most is not None and most < limit:
            return Completion("Let me see", "truncated", "length")
        return Completion(reply)

    return given, ScriptedAgent(script)


@pytest.mark.parametrize(
    ("limit", "needs", "reasks", "given", "state"),
    [
        (512, 600, 1, [512, 1024], "ok"),
        (512, 1500, 1, [512, 1024], "truncated"),
        (512, 1500, 2, [512, 1024, 2048], "ok"),
        (20_000, 40_000, 3, [20_000, 32_768], "truncated"),
        (40_000, 50_000, 1, [40_000], "truncated"),
        (512, 600, 0, [512], "truncated"),
    ],
)
async def test_a_judge_that_was_cut_is_asked_again_with_more_room(
    limit: int, needs: int, reasks: int, given: list[int], state: str
) -> None:
    limits, agent = cut_below(needs, "Verdict: Response 1")
    options = JudgingOptions(reasks=reasks, max_tokens=limit)
    judge = PromptJudge(agent, PromptLibrary(), options=options)
    verdict = await judge.verdict(QUESTION, ONE, TWO)
    assert limits == given
    assert verdict.state == state


async def test_an_agents_own_limit_grows_with_it(chat_server: Any, tmp_path: Path) -> None:
    limits, bare = cut_below(150, "Verdict: Response 1")
    agent: Agent = Configured(bare, max_tokens=100)
    verdict = await PromptJudge(agent, PromptLibrary()).verdict(QUESTION, ONE, TWO)
    assert verdict.state == "ok"
    assert limits == [100, 200]
    await PromptJudge(agent, PromptLibrary()).verdict(QUESTION, TWO, ONE)
    assert limits[2:] == [100, 200], "the next call begins anew"


async def test_an_unreadable_reply_is_no_reason_for_more_room() -> None:
    limits, agent = cut_below(0, "Both are fine.")
    judge = PromptJudge(agent, PromptLibrary(), options=JudgingOptions(max_tokens=512))
    assert (await judge.verdict(QUESTION, ONE, TWO)).state == "unparsed"
    assert limits == [512, 512]


async def test_examiners_that_were_cut_have_more_room_too() -> None:
    limits, agent = cut_below(350, "1. Which river is the longest?")
    examiner = ModelExaminer(agent, PromptLibrary(), SettingOptions(max_tokens=100))
    paper = await examiner.questions(Domain("rivers", ("rivers",)), 1, "peer")
    assert len(paper.questions) == 1
    assert limits == [100, 200, 400]
    limits, agent = cut_below(150, "follow question: And the deepest?")
    examiner = ModelExaminer(agent, PromptLibrary(), SettingOptions(follow_up_max_tokens=100))
    assert (await examiner.follow_up(QUESTION, ONE)).question is not None
    assert limits == [100, 200]


def test_a_plan_expects_answers_and_not_their_limit() -> None:
    agents = [{"name": name, "model": f"openai/{name}"} for name in "abc"]
    lines = {line.task: line for line in plan(exam(*agents)).lines if line.agent == "a"}
    # 3 questions; an answer is expected to have 400 tokens, and may have 16,384.
    assert lines["answers"].completion_tokens.expected == 3 * 400
    assert lines["answers"].completion_tokens.most == 3 * 16_384
    # 6 marks, each asked for twice at most: with 16,384 tokens, and with twice as many.
    assert lines["marks"].completion_tokens.expected == 6 * 60
    assert lines["marks"].completion_tokens.most == 6 * (16_384 + 32_768)
    short = plan(exam(*agents, answers={"max_tokens": 200}))
    spent = next(one for one in short.lines if one.task == "answers")
    assert spent.completion_tokens.expected == 3 * 100, "half of a short limit"
