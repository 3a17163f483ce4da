"""Checks of an agent's answers."""

from __future__ import annotations

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Message, Request, Sampling
from peerexam.errors import CallError, PermanentError
from peerexam.testing.conformance.hooks import AgentHooks, demand, demand_sound

UNUSUAL = {
    "a lone surrogate": "one \ud800 two",
    "a NUL": "one \x00 two",
    "other control characters": "one \x01\x0b\x1b[31m\x7f\r two",
    "emoji": "one 👩\u200d🚀 🇳🇴 two",
    "a line separator": "one \u2028\u2029\x85 two",
    "text from right to left": "one \u202eשלום مرحبا\u202c two",
    "markup": "one </s><|im_end|> <script>&amp;\"'\\ %s {x} two",
    "100 kB": "one " + "long " * 20_000 + "two",
}
"""Texts that have broken agents before, by what is unusual about them."""

_CHARACTERS_PER_TOKEN = 64
"""No vocabulary's tokens are longer on average."""


class AnswerChecks(AgentHooks):
    """Completions are whole, limits are kept, and no text is too strange."""

    def test_its_completions_are_whole(self) -> None:
        """Text and a valid state, usage and latency that are numbers, `call` left empty."""

        async def check() -> None:
            async with self.opened() as agent:
                for prompt in self.prompts[:3]:
                    await _whole(agent, self.ask(prompt))

        self.run(check)

    def test_it_takes_a_conversation(self) -> None:
        """A system message and turns of both sides are answered or refused, never a crash."""
        turns = Request(
            (
                Message("system", "Be brief."),
                Message("user", "Hello."),
                Message("assistant", "Hello."),
                Message("user", self.prompts[0]),
            ),
            Sampling(max_tokens=self.max_tokens),
        )

        async def check() -> None:
            async with self.opened() as agent:
                await _answered_or_refused(agent, turns, "a conversation")

        self.run(check)

    def test_it_keeps_the_limit_on_tokens(self) -> None:
        """No more than `max_tokens`; or the parameter is in `dropped`, or in `ignores`."""
        limit = 3

        async def check() -> None:
            async with self.opened() as agent:
                completion = await _whole(agent, self.ask(max_tokens=limit))
            if not self.is_heeded("max_tokens", completion):
                return
            used = completion.usage.completion_tokens
            demand(
                (used or 0) <= limit and len(completion.text) <= limit * _CHARACTERS_PER_TOKEN,
                f"max_tokens was {limit}, and the reply has {used or 'more'} tokens "
                f"({len(completion.text)} characters): pass the limit on, put 'max_tokens' into "
                "Completion.dropped where the endpoint refused it, or into the hook ignores",
            )

        self.run(check)

    def test_it_stops_before_a_stop_string(self) -> None:
        """A string of its own answer, given as `stop`, ends the next answer before it."""

        async def check() -> None:
            async with self.opened() as agent:
                text = (await _whole(agent, self.ask())).text.strip()
                if len(text) < 2:
                    return  # there is nothing to stop before
                stop = text[len(text) // 2 :][:4]
                completion = await _whole(agent, self.ask(stop=(stop,)))
            if self.is_heeded("stop", completion):
                demand(
                    stop not in completion.text,
                    f"stop was {stop!r}, and the reply holds it: end the reply before it, put "
                    "'stop' into Completion.dropped where the endpoint refused it, or into the "
                    "hook ignores",
                )

        self.run(check)

    def test_one_seed_gives_one_text(self) -> None:
        """The same request twice, at temperature 0 and, where the agent heeds seeds, at 1."""

        async def check() -> None:
            async with self.opened() as agent:
                for temperature in (0.0, 1.0):
                    request = self.ask(temperature=temperature)
                    one = await _whole(agent, request)
                    if temperature and not self.is_heeded("seed", one):
                        return
                    other = await _whole(agent, request)
                    demand(
                        one.text == other.text,
                        f"one request with seed 7 and temperature {temperature:g} got "
                        f"{one.text!r} and {other.text!r}: pass the seed on; where the model "
                        "cannot promise it, set the hook deterministic = False, or put 'seed' "
                        "into the hook ignores",
                    )

        if self.deterministic:
            self.run(check)

    def test_unusual_text_neither_breaks_it_nor_is_altered(self) -> None:
        """Surrogates, NUL, emoji, separators, markup, 100 kB: an answer or an error of ours.

        A lone surrogate has no UTF-8, and may come back as the replacement character.
        """

        async def check() -> None:
            async with self.opened() as agent:
                for what, text in UNUSUAL.items():
                    completion = await _answered_or_refused(agent, self.ask(text), what)
                    if completion is not None and self.echoes:
                        demand(
                            completion.text in (text, text.replace("\ud800", "\ufffd")),
                            f"{what} came back altered: {completion.text[:60]!r} for "
                            f"{text[:60]!r}. Pass text on as it is: no strip, no re-encoding",
                        )

        self.run(check)


async def _whole(agent: Agent, request: Request) -> Completion:
    completion = await agent.complete(request)
    demand_sound(completion)
    return completion


async def _answered_or_refused(agent: Agent, request: Request, what: str) -> Completion | None:
    try:
        completion = await agent.complete(request)
    except PermanentError:
        return None
    except CallError as error:
        raise AssertionError(
            f"{what} raised {type(error).__name__}, which says that trying again helps: raise a "
            "PermanentError where the text itself is refused"
        ) from error
    except Exception as error:
        raise AssertionError(
            f"{what} broke the agent ({type(error).__name__}: {error}): answer it, or raise a "
            "PermanentError of peerexam.errors that says why not"
        ) from error
    demand_sound(completion, f"{what}: ")
    return completion
