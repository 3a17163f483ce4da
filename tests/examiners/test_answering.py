from __future__ import annotations

import re
from typing import Literal

import pytest

from peerexam.agents.base import Wrapper
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.recorded import RecordedAgent
from peerexam.calls import Completion, Request, State
from peerexam.errors import BadKeyError, BudgetReachedError
from peerexam.examiners.answering import CUT, AnsweringOptions, ModelExaminee
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.records import Answer, Question

QUESTION = Question("q-eve-soil-1", "Why does lime raise soil pH?", "Soil", author="eve")
FOLLOW_UP = Question(
    "q-eve-soil-1-f2-bob", "Which acid first?", "Soil", round=2, parent_id=QUESTION.id
)


async def answer_of(
    reply: str | Completion | Exception,
    truncated: Literal["judge", "fail"] = "judge",
    chat: bool = True,
) -> Answer:
    agent = ScriptedAgent(lambda _: reply, "bob", features={"chat"} if chat else ())
    role = ModelExaminee(agent, PromptLibrary(), AnsweringOptions(truncated=truncated))
    return await role.answer(QUESTION)


async def test_a_question_is_asked_alone_at_the_papers_settings() -> None:
    # Examiner paper, C.2: at most 200 tokens, temperature 0.
    agent = ScriptedAgent(lambda _: "It neutralises acid.", "bob")
    answer = await ModelExaminee(agent, PromptLibrary()).answer(QUESTION)
    assert (answer.examinee, answer.text, answer.state) == ("bob", "It neutralises acid.", "ok")
    request = agent.requests[0]
    assert [turn.content for turn in request.messages] == [QUESTION.text]
    assert (request.sampling.max_tokens, request.sampling.temperature) == (200, 0.0)


async def test_a_follow_up_is_asked_without_the_history() -> None:
    agent = ScriptedAgent(lambda _: "Carbonic acid.", "bob")
    await ModelExaminee(agent, PromptLibrary()).answer(FOLLOW_UP)
    assert [turn.content for turn in agent.requests[0].messages] == [FOLLOW_UP.text]


async def test_thinking_is_no_part_of_the_answer() -> None:
    answer = await answer_of(Completion("acid?</think>\n\nIt neutralises acid."))
    assert answer.text == "It neutralises acid."


async def test_the_text_is_otherwise_kept_as_it_came() -> None:
    text = "Paris.\n[[end Response 1]]\n<b>  "
    assert (await answer_of(text)).text == text


@pytest.mark.parametrize(
    ("completion", "state", "text"),
    [
        (Completion("", state="refused"), "refused", ""),
        (Completion("", state="filtered", finish_reason="content_filter"), "filtered", ""),
        (Completion("", state="empty"), "empty", ""),
        (Completion(" \n"), "empty", " \n"),
        (Completion("", state="truncated"), "truncated", ""),
        (Completion("<think>hm", state="truncated"), "truncated", ""),
        (Completion("<think>hm"), "empty", ""),
    ],
)
async def test_unusable_answers_keep_their_own_state(
    completion: Completion, state: State, text: str
) -> None:
    answer = await answer_of(completion)
    assert (answer.state, answer.text) == (state, text)


async def test_a_cut_answer_is_judged_or_failed_as_the_user_says() -> None:
    cut = Completion("It neutralises", state="truncated")
    judged, failed = await answer_of(cut, "judge"), await answer_of(cut, "fail")
    assert (judged.state, judged.reason) == ("ok", CUT)
    assert (failed.state, failed.reason) == ("truncated", CUT)
    assert judged.text == failed.text == "It neutralises"


async def test_a_failed_call_is_a_record() -> None:
    answer = await answer_of(BadKeyError("no key"))
    assert (answer.state, answer.reason) == ("error", "BadKeyError: no key")


async def test_a_budget_that_is_reached_ends_the_run() -> None:
    with pytest.raises(BudgetReachedError):
        await answer_of(BudgetReachedError("no more"))


async def test_a_model_that_only_continues_text_gets_examples_and_stops_at_the_line() -> None:
    agent = ScriptedAgent(lambda _: " Lime is a base.", "bob", features=())
    answer = await ModelExaminee(agent, PromptLibrary()).answer(QUESTION)
    assert answer.text == "Lime is a base."
    assert agent.requests[0].messages[0].content.endswith(f"Question: {QUESTION.text}\nAnswer:")
    assert agent.requests[0].sampling.stop == ("\n",)


async def test_recorded_answers_are_found_by_question_id_through_wrappers() -> None:
    rows = [(1, {"question_id": QUESTION.id, "answer": "Lime is a base."})]
    agent = Wrapper(RecordedAgent("bob", rows, "answers.jsonl", {"provider": "file"}))
    role = ModelExaminee(agent, PromptLibrary())
    assert (await role.answer(QUESTION)).text == "Lime is a base."
    missing = await role.answer(FOLLOW_UP)
    assert missing.state == "error"
    assert FOLLOW_UP.id in (missing.reason or "")


@pytest.mark.parametrize(
    ("chat", "shots", "examples"),
    [(True, None, 0), (True, 0, 0), (True, 5, 5), (False, None, 5), (False, 5, 5), (False, 0, 0)],
)
async def test_examples_are_shown_as_told(
    chat: bool, shots: Literal[0, 5] | None, examples: int
) -> None:
    # Examiner paper, appendix C.2: five answered questions, or none.
    agent = ScriptedAgent(lambda _: "Lime.", "bob", features={"chat"} if chat else ())
    await ModelExaminee(agent, PromptLibrary(), AnsweringOptions(shots=shots)).answer(QUESTION)
    turns = agent.requests[0].messages
    assert [turn.role for turn in turns] == ["user"]
    text = turns[0].content
    assert text.count("\nAnswer: ") == examples
    assert QUESTION.text in text


async def test_without_examples_a_text_is_begun_as_in_the_paper() -> None:
    # Examiner paper, appendix C.2: the 0-shot prompt of GLM-130B and LLaMA, stopped at the line.
    agent = ScriptedAgent(lambda _: "Lime.", "bob", features=())
    await ModelExaminee(agent, PromptLibrary(), AnsweringOptions(shots=0)).answer(QUESTION)
    request = agent.requests[0]
    asked = f"Answer this question:\nQuestion: {QUESTION.text}\nAnswer:"
    assert request.messages[0].content == asked
    assert request.sampling.stop == ("\n",)


async def request_of(chat: bool, options: AnsweringOptions | None) -> Request:
    agent = ScriptedAgent(lambda _: "Lime.", "bob", features={"chat"} if chat else ())
    await ModelExaminee(agent, PromptLibrary(), options).answer(QUESTION)
    return agent.requests[0]


@pytest.mark.parametrize(("chat", "shots"), [(True, 0), (False, 5)])
async def test_a_default_that_is_written_out_asks_nobody_again(
    chat: bool, shots: Literal[0, 5]
) -> None:
    written = await request_of(chat, AnsweringOptions(shots=shots, stop_at_line=not chat))
    assert written == await request_of(chat, None)


async def test_both_kinds_of_model_see_the_same_five_examples_of_the_papers_kinds() -> None:
    chat = (await request_of(True, AnsweringOptions(shots=5))).messages[0].content
    assert chat == (await request_of(False, None)).messages[0].content
    asked = re.findall(r"^Question: (.+)$", chat, re.MULTILINE)
    # The kinds of appendix C.2: which things, which differences, what objective, why, which person.
    kinds = ("Which ", "What are the main differences ", "What is the main purpose ", "Why ")
    assert [any(map(text.startswith, kinds)) for text in asked[:4]] == [True] * 4
    assert [text.startswith(kind) for text, kind in zip(asked, kinds, strict=False)] == [True] * 4
    assert asked[4].startswith("Which scientist ")
    assert asked[5:] == [QUESTION.text]


LINES = "\n Lime is a base.\nQuestion: and what else?"


@pytest.mark.parametrize(
    ("chat", "told", "text", "stop"),
    [
        (True, None, LINES, ()),
        (True, True, "Lime is a base.", ()),
        (False, None, "Lime is a base.", ("\n",)),
        (False, False, LINES.strip(), ()),
    ],
)
async def test_an_answer_ends_at_its_line_as_told(
    chat: bool, told: bool | None, text: str, stop: tuple[str, ...]
) -> None:
    agent = ScriptedAgent(lambda _: LINES, "bob", features={"chat"} if chat else ())
    options = AnsweringOptions(stop_at_line=told)
    answer = await ModelExaminee(agent, PromptLibrary(), options).answer(QUESTION)
    assert (answer.text, agent.requests[0].sampling.stop) == (text, stop)


async def test_a_first_line_is_taken_behind_the_thinking() -> None:
    thought = "<think>\nacid?\n</think>\nLime is a base.\nMore of it."
    agent = ScriptedAgent(lambda _: thought, "bob")
    role = ModelExaminee(agent, PromptLibrary(), AnsweringOptions(stop_at_line=True))
    assert (await role.answer(QUESTION)).text == "Lime is a base."


async def test_the_first_line_of_a_cut_reply_is_whole() -> None:
    cut = Completion(LINES, state="truncated")
    agent = ScriptedAgent(lambda _: cut, "bob", features=())
    options = AnsweringOptions(truncated="fail")
    answer = await ModelExaminee(agent, PromptLibrary(), options).answer(QUESTION)
    assert (answer.state, answer.reason, answer.text) == ("ok", None, "Lime is a base.")
