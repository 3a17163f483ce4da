from __future__ import annotations

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.layers.configured import Configured
from peerexam.calls import Message, Request, Sampling

ASK = Request((Message("user", "Why?"),), Sampling(max_tokens=50, stop=("x",)))


def _agent(chat: bool = True) -> ScriptedAgent:
    return ScriptedAgent(lambda request: "So.", features=["chat"] if chat else [])


async def test_given_settings_win_over_the_requests_and_others_stay() -> None:
    inner = _agent()
    agent = Configured(inner, name="hot", temperature=0.9, top_p=0.5, max_tokens=9, seed=4)
    await agent.complete(ASK)
    assert inner.requests[0].sampling == Sampling(0.9, 0.5, 9, ("x",), 4)
    assert (agent.name, inner.name) == ("hot", "scripted")
    assert agent.fingerprint == inner.fingerprint


async def test_without_settings_a_request_passes_as_it_is() -> None:
    inner = _agent()
    await Configured(inner).complete(ASK)
    assert inner.requests == [ASK]
    assert Configured(inner).name == "scripted"


async def test_a_temperature_of_zero_is_a_setting() -> None:
    request = Request(ASK.messages, Sampling(0.7))
    assert Configured(_agent(), temperature=0.0).configured(request).sampling.temperature == 0.0


def test_the_system_text_goes_in_front_and_joins_one_that_is_there() -> None:
    agent = Configured(_agent(), system="Be brief.")
    alone = agent.configured(ASK).messages
    assert alone == (Message("system", "Be brief."), Message("user", "Why?"))
    both = Request((Message("system", "Judge."), Message("user", "Why?")))
    assert agent.configured(both).messages[0] == Message("system", "Be brief.\n\nJudge.")


def test_an_agent_without_chat_gets_the_system_text_before_its_text() -> None:
    agent = Configured(_agent(chat=False), system="A quiz.")
    assert agent.configured(ASK).messages == (Message("user", "A quiz.\n\nWhy?"),)
    assert agent.configured(Request(())).messages == (Message("user", "A quiz."),)


def test_a_request_to_score_a_text_keeps_its_sampling_and_continuation() -> None:
    agent = Configured(_agent(), system="s", temperature=0.9, max_tokens=3)
    got = agent.configured(Request(ASK.messages, continuation="So."))
    assert got.sampling == Sampling()
    assert got.continuation == "So."
    assert got.messages[0].role == "system"
