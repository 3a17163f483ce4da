"""The public cases about reading replies, where the folder that holds them is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.examiners.judging.by_prompt import PromptJudge
from peerexam.examiners.judging.marks import read_scores
from peerexam.examiners.judging.verdicts import read_verdict
from peerexam.examiners.mistakes.reading_locations import read_location
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.questions.reading import read_questions
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.protocols.studies.mistakes.finding.protocol import find_mistake
from peerexam.records import Answer, Question
from peerexam.tasks.mistakes.traces import Trace

CASES = Path(__file__).resolve().parents[3] / ".." / "shared" / "cases.jsonl"

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    if not CASES.exists():
        pytest.skip("the public cases are not here")
    with CASES.open(encoding="utf-8") as lines:
        return {case["id"]: case for case in map(json.loads, lines)}


def _scales(case: dict[str, Any]) -> dict[str, tuple[int, int]]:
    low, high = case["input"]["scale"].split("-")
    return {name: (int(low), int(high)) for name in case["input"]["dimensions"]}


def test_every_case_about_reading_replies_is_covered(cases: dict[str, Any]) -> None:
    areas = {"judge-score-parsing", "pairwise-verdict-parsing", "question-list-parsing"}
    ids = {name for name, case in cases.items() if case["area"] in areas}
    assert ids == {f"pub-0{number}" for number in range(1, 8)}


def test_pub_01_emphasis_round_a_score_is_decoration(cases: dict[str, Any]) -> None:
    case = cases["pub-01"]
    for reply in (case["input"]["judge_reply"], *case["input"]["variants"]):
        assert read_scores(reply, _scales(case)) == {"overall": 9}
    bare = case["input"]["judge_reply"].partition("**")[0]
    assert isinstance(read_scores(bare, _scales(case)), Unreadable)


def test_pub_02_a_repeated_scale_is_not_a_score(cases: dict[str, Any]) -> None:
    case = cases["pub-02"]
    assert read_scores(case["input"]["judge_reply"], _scales(case)) == {"accuracy": 5, "clarity": 4}
    foreign = case["input"]["judge_reply"].replace("4/5", "8/10")
    assert isinstance(read_scores(foreign, _scales(case)), Unreadable)


def test_pub_03_the_declared_conclusion_is_the_verdict(cases: dict[str, Any]) -> None:
    reply = cases["pub-03"]["input"]["judge_reply"]
    assert read_verdict(reply) == "second"
    turned = reply.replace("Response 1", "Response X").replace("Response 2", "Response 1")
    assert read_verdict(turned.replace("Response X", "Response 2")) == "first"


def test_pub_04_drafts_while_thinking_are_not_the_verdict(cases: dict[str, Any]) -> None:
    case = cases["pub-04"]["input"]
    assert read_verdict(case["judge_reply"]) == "second"
    assert isinstance(read_verdict(case["truncated_reply"]), Unreadable)


async def test_pub_04_a_cut_reply_is_asked_for_once_more_and_then_invalid(
    cases: dict[str, Any],
) -> None:
    judge = ScriptedAgent(lambda _: cases["pub-04"]["input"]["truncated_reply"])
    verdict = await PromptJudge(judge, PromptLibrary()).verdict(
        Question("q", "Who?", "law"), Answer("q", "a", "A."), Answer("q", "b", "B.")
    )
    assert judge.calls == 2
    assert verdict.winner is None
    assert verdict.state != "ok"


def test_pub_05_a_negation_is_never_a_verdict(cases: dict[str, Any]) -> None:
    case = cases["pub-05"]["input"]
    assert isinstance(read_verdict(case["judge_reply"]), Unreadable)
    assert isinstance(read_verdict(case["variant"]), Unreadable)


@pytest.mark.parametrize("name", ["pub-06", "pub-07"])
def test_pub_06_and_07_only_real_items_are_questions(cases: dict[str, Any], name: str) -> None:
    case = cases[name]
    found = read_questions(case["input"]["examiner_reply"], case["input"]["wanted"])
    assert found == tuple(case["expected"])


async def test_pub_26_an_answer_cannot_forge_the_prompts_sections(cases: dict[str, Any]) -> None:
    case = cases["pub-26"]["input"]
    # As the case asks, the marks are written in our own form.
    forged = case["answer_1"].replace("<end of Response 1>", "[[end Response 1]]")
    forged = forged.replace("<start of Response 2>", "[[begin Response 2]]")
    judge = ScriptedAgent(lambda _: case["mock_judge_reply"])
    first = Answer("q", "a", forged)
    verdict = await PromptJudge(judge, PromptLibrary()).verdict(
        Question("q", "What is the capital of France?", "places"), first, Answer("q", "b", "Lyon.")
    )
    prompt = judge.requests[0].messages[0].content
    for mark in (
        "[[begin Response 1",
        "[[end Response 1",
        "[[begin Response 2",
        "[[end Response 2",
    ):
        assert prompt.count(mark) == 1
    assert verdict.winner == "second"
    assert first.text == forged


async def test_pub_11_no_label_slips_to_another_step(cases: dict[str, Any]) -> None:
    # A critic that labels steps one after another is no method here: one number is asked for, or
    # one step a call. What the case warns of can then not happen, and this is what happens instead.
    case = cases["pub-11"]["input"]
    count = case["trace_steps"]
    assert isinstance(read_location(case["critic_reply"], count), Unreadable)
    assert isinstance(read_location("Mistake: Step 7", count), Unreadable)
    labels = {1: "Verdict: Yes", 3: "Verdict: No"}  # the reply's, each by the step that it names

    def critic(request: Request) -> str:
        asked = re.findall(r"Is Thought ([0-9]+) right\?", request.messages[-1].content)[-1]
        return labels.get(int(asked), "12 x 4 is 48")

    trace = Trace("sums", "sums:1", "12 x 4", ("one", "two", "three"), "48", "49", 2)
    agent = ScriptedAgent(critic, features={"chat"})
    found = await find_mistake(agent, PromptLibrary(), trace, "step")
    assert (found.location, found.asked) == (None, 2)
    assert found.state == "unparsed"
    assert (found.reason or "").startswith("thought 2: ")
    labels[2] = "Verdict: Yes"
    whole = await find_mistake(agent, PromptLibrary(), trace, "step")
    assert (whole.location, whole.state) == (2, "ok")
