"""The conformance kit over our own providers, each against a real counterpart.

Hosted ones meet the loopback server with faults, by both clients; `hf/` has weights of its own,
random ones. `tests/testing` holds the kit itself, and `local/`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Json, Message, Request, Sampling
from peerexam.errors import BadKeyError, CallError
from peerexam.testing import AgentConformance
from peerexam.testing.faults.server import Asked, FaultServer, Reply
from peerexam.testing.faults.wording import answer, error

KEY = "sk-not-a-key-0123456789"
WRONG_KEY = "sk-wrong-key-0123456789"

FINISH = {
    "openai": {"stop": "stop", "limit": "length"},
    "anthropic": {"stop": "end_turn", "limit": "max_tokens"},
}


def echo(asked: Asked) -> Reply:
    """A model that says the last message again, stops and cuts by words; it knows one key."""
    if asked.key != KEY:
        kind = "authentication_error"
        return Reply(error(asked.dialect, kind, f"no such key: {asked.secrets}"), 401)
    body = asked.body
    text, why = body["messages"][-1]["content"], "stop"
    for stop in body.get("stop") or body.get("stop_sequences") or ():
        text = text.partition(stop)[0]
    words = text.split(" ")
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 10**6
    # 100 kB are 20,000 words; the echo is to come back whole there.
    if limit < 10 and len(words) > limit:
        text, why = " ".join(words[:limit]), "limit"
    return Reply(answer(asked.dialect, text, FINISH[asked.dialect][why]))


class HostedConformance(AgentConformance):
    """What hosted agents have in common; a subclass says which provider and client."""

    secret = KEY
    echoes = True
    provider = "openai"
    model = "m-1"
    options: ClassVar[dict[str, Json]] = {}
    needs: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture(autouse=True)
    def _server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        for package in self.needs:
            pytest.importorskip(package)
        monkeypatch.setenv("PUPIL_KEY", KEY)
        monkeypatch.setenv("WRONG_KEY", WRONG_KEY)
        with FaultServer(echo) as server:
            self.url = self.url_of(server)
            yield

    def url_of(self, server: FaultServer) -> str:
        return server.openai_url

    def spec(self, key: str = "PUPIL_KEY") -> AgentSpec:
        return AgentSpec("pupil", self.provider, self.model, self.url, key, self.options)

    def make_agent(self) -> Agent:
        return create_agent(self.spec())

    def failing_agents(self) -> Mapping[type[CallError], Callable[[], Agent]]:
        return {BadKeyError: lambda: create_agent(self.spec("WRONG_KEY"))}


class TestOpenAI(HostedConformance):
    needs: ClassVar[tuple[str, ...]] = ("pyreqwest",)


class TestOpenAIBySDK(HostedConformance):
    needs: ClassVar[tuple[str, ...]] = ("openai",)
    options: ClassVar[dict[str, Json]] = {"client": "sdk"}


class TestAnthropic(HostedConformance):
    provider = "anthropic"
    needs: ClassVar[tuple[str, ...]] = ("pyreqwest",)

    def url_of(self, server: FaultServer) -> str:
        return server.anthropic_url


class TestAnthropicBySDK(TestAnthropic):
    needs: ClassVar[tuple[str, ...]] = ("anthropic",)
    options: ClassVar[dict[str, Json]] = {"client": "sdk"}


class TestLangChainsOpenAI(HostedConformance):
    provider = "langchain"
    model = "openai:m-1"
    needs: ClassVar[tuple[str, ...]] = ("langchain", "langchain_openai")


class TestLangChainsAnthropic(TestAnthropic):
    provider = "langchain"
    model = "anthropic:m-1"
    needs: ClassVar[tuple[str, ...]] = ("langchain", "langchain_anthropic")


class HfConformance(AgentConformance):
    """Random weights of a few thousand numbers; a subclass says which."""

    max_tokens = 8
    folder: ClassVar[Path]

    @classmethod
    def build(cls) -> Agent:
        options: dict[str, Json] = {"device": "cpu", "threads": 1}
        return create_agent(AgentSpec("tiny", "hf", str(cls.folder), options=options))

    def make_agent(self) -> Agent:
        return self.build()

    @classmethod
    def stay_loaded(cls, folder: Path) -> Iterator[None]:
        cls.folder = folder
        agent = cls.build()
        asyncio.run(agent.complete(Request((Message("user", "One."),), Sampling(max_tokens=1))))
        yield
        asyncio.run(agent.close())


class TestHfChat(HfConformance):
    """Loads its weights anew in every check, so that the one for pickles sees it."""

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _weights(cls, chat_model: Path) -> None:
        cls.folder = chat_model


class TestHfBase(HfConformance):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _weights(cls, base_model: Path) -> Iterator[None]:
        yield from cls.stay_loaded(base_model)


class TestHfEncoderDecoder(HfConformance):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _weights(cls, t5_model: Path) -> Iterator[None]:
        yield from cls.stay_loaded(t5_model)
