"""Judges of single answers: marks in double brackets, yes or no, and likelihoods."""

from __future__ import annotations

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Completion, Request, TokenLogprob
from peerexam.errors import PermanentError, SetupError
from peerexam.examiners.discrimination.answer_judges import (
    Asked,
    RatingJudge,
    YesNoJudge,
    read_information,
    read_rating,
    read_truth,
)
from peerexam.examiners.discrimination.choosing import Turn
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.reading.parsing import Unreadable

ASKED = Asked("Does salt boil water?", "No, heat does.", ("Heat does.",), ("Yes.",))


@pytest.mark.parametrize(
    ("reply", "mark"),
    [
        ("Sound.\nRating: [[7]]", 7.0),
        ("**Rating: [[10]]**", 10.0),
        ("[[ 8.5 ]]", 8.5),
        ("[[7]] … so [[7]]", 7.0),
        ("Rating: 7", None),
        ("Rating: [7]", None),
        ("[[0]]", None),
        ("[[11]]", None),
        ("[[5]] or [[6]]", None),
        ("[[begin Response k]]\n[[10]]\n[[end Response k]]", None),
        ("", None),
    ],
)
def test_only_a_mark_in_double_brackets_on_the_scale_is_read(
    reply: str, mark: float | None
) -> None:
    found = read_rating(reply)
    assert found == mark if mark is not None else isinstance(found, Unreadable)


def test_yes_and_no_are_read_and_nothing_else() -> None:
    assert read_truth("True: yes") is True
    assert read_truth(" no") is False
    assert read_information("**Helpful:** No.") is False
    for reply in ("True: perhaps", "True: yes and no", "It depends.", "True: true", ""):
        assert isinstance(read_truth(reply), Unreadable), reply


async def test_a_rating_judge_sees_turns_and_references_and_is_asked_again() -> None:
    replies = iter(["I would say 7.", "Rating: [[7]]"])
    agent = ScriptedAgent(lambda _: next(replies))
    asked = Asked(
        "And twice that?", "8", ("Eight.",), (), (Turn("What is 2 + 2?", "4"),), ("Four.",)
    )
    outcome = await RatingJudge(agent, PromptLibrary()).judge(asked)
    assert outcome.value == 7.0
    text = agent.requests[0].messages[0].content
    places = [text.index(part) for part in ("2 + 2?", "And twice", "Four.", "Eight.", "\n8\n")]
    assert places == sorted(places)
    assert "no mark [[…]]" in agent.requests[1].messages[-1].content


async def test_a_judge_of_truth_is_shown_what_is_known() -> None:
    agent = ScriptedAgent(lambda _: "True: yes")
    outcome = await YesNoJudge(agent, "truth", PromptLibrary()).judge(ASKED)
    assert outcome.value is True
    text = agent.requests[0].messages[0].content
    assert "- Heat does." in text
    assert text.index("- Heat does.") < text.index("Known to be false") < text.index("- Yes.")


async def test_a_text_that_goes_on_is_asked_as_such_judges_are_tuned() -> None:
    agent = ScriptedAgent(lambda _: " no", features=())
    outcome = await YesNoJudge(agent, "information", PromptLibrary()).judge(ASKED)
    assert outcome.value is False
    asked = agent.requests[0]
    assert asked.messages[0].content == "Q: Does salt boil water?\nA: No, heat does.\nHelpful:"
    assert asked.sampling.stop == ("\n",)


def scoring(yes: float, no: float) -> ScriptedAgent:
    def reply(request: Request) -> Completion:
        assert request.continuation is not None
        value = yes if request.continuation.endswith("yes") else no
        return Completion("", logprobs=(TokenLogprob("x", value),))

    return ScriptedAgent(reply, features=("score",))


@pytest.mark.parametrize(("yes", "no", "value"), [(-1, -2, True), (-2, -1, False), (-1, -1, None)])
async def test_the_likelier_word_is_the_judgement(yes: float, no: float, value: object) -> None:
    judge = YesNoJudge(scoring(yes, no), "truth", PromptLibrary(), by_likelihood=True)
    outcome = await judge.judge(ASKED)
    assert outcome.value is value
    assert outcome.state == ("unparsed" if value is None else "ok")


async def test_a_judge_that_fails_says_so() -> None:
    agent = ScriptedAgent(lambda _: PermanentError("gone"), features=("chat", "score"))
    for by_likelihood in (False, True):
        judge = YesNoJudge(agent, "truth", PromptLibrary(), by_likelihood=by_likelihood)
        assert (await judge.judge(ASKED)).state == "error"
    with pytest.raises(SetupError, match="cannot judge by likelihood"):
        YesNoJudge(ScriptedAgent(lambda _: ""), "truth", PromptLibrary(), by_likelihood=True)
