"""What an author tells the conformance kit about an agent, and how the checks run it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from unittest import SkipTest

from peerexam.agents.base import Agent
from peerexam.calls import Completion, Message, Request, Sampling
from peerexam.errors import CallError
from peerexam.testing.conformance.findings import in_completion

T = TypeVar("T")

AT_ONCE = 16
"""Calls that the check of concurrency makes at once."""


class AgentHooks:
    """Hooks of the conformance kit. Only `make_agent` must be overridden.

    Attributes:
        secret: The key that `make_agent` builds the agent with. It may occur nowhere in what the
            agent says of itself, in its completions or in its errors.
        prompts: What it is asked; they are used in turn. An agent that knows only some questions
            (a file of answers) names them here.
        max_tokens: The limit on a reply in every check that is not about limits.
        echoes: It replies with the last message as it came. Then it is also checked that no text
            is altered on the way, and that each of many calls at once gets its own answer.
        deterministic: The same request with temperature 0 and a seed gets the same text. Set False
            for hosted models, which do not promise it.
        ignores: Sampling parameters that the agent has no use for, of `temperature`, `top_p`,
            `max_tokens`, `stop` and `seed`. What an endpoint refuses belongs in
            `Completion.dropped` instead.
        may_unpickle: It loads pickles that come from nowhere but its own process, to hand work to
            another process for instance.
        timeout: Seconds after which a check counts as hanging.
    """

    secret: str | None = None
    prompts: Sequence[str] = tuple(f"Say the number {number}." for number in range(AT_ONCE))
    max_tokens: int = 32
    echoes: bool = False
    deterministic: bool = True
    ignores: frozenset[str] = frozenset()
    may_unpickle: bool = False
    timeout: float = 120.0

    def make_agent(self) -> Agent | Awaitable[Agent]:
        """Build the agent, equal to the one before each time; a coroutine may do it.

        Every check builds its own and closes it. An agent whose weights take long to load keeps
        them somewhere that outlives it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} builds no agent: override make_agent(self) and return one"
        )

    def answer_to(self, prompt: str) -> str | None:
        """A text that the answer to a prompt must hold; None where nobody knows."""
        return prompt if self.echoes else None

    def failing_agents(self) -> Mapping[type[CallError], Callable[[], Agent]]:
        """Agents that must fail, by the class of the error that each is to raise.

        For example `{BadKeyError: lambda: MyAgent(key="wrong")}`; by default there are none, and
        the check of errors is skipped.
        """
        return {}

    # How the checks run it

    def run(self, check: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a check in an event loop of its own, no longer than `timeout`."""
        return asyncio.run(self._limited(check))

    async def _limited(self, check: Callable[[], Coroutine[Any, Any, T]]) -> T:
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await check()
        except TimeoutError:
            if not limit.expired():
                raise
            raise AssertionError(
                f"the agent hung: a check took more than {self.timeout:g} s. Let complete() and "
                "close() always end, or raise the attribute timeout for a slow agent"
            ) from None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Agent]:
        """A fresh agent, closed at the end."""
        agent = await self.built()
        try:
            yield agent
        finally:
            await agent.close()

    async def built(self) -> Agent:
        """A fresh agent; whoever has it closes it."""
        made = self.make_agent()
        return await made if inspect.isawaitable(made) else made

    def ask(self, text: str | None = None, **sampling: Any) -> Request:
        """A request with one message of the user."""
        settled = {"max_tokens": self.max_tokens, "seed": 7, **sampling}
        prompt = self.prompts[0] if text is None else text
        return Request((Message("user", prompt),), Sampling(**settled))

    def is_heeded(self, parameter: str, completion: Completion) -> bool:
        """Whether a parameter was to be heeded: neither ignored on principle nor dropped."""
        return parameter not in self.ignores and parameter not in completion.dropped


def demand(fact: object, otherwise: str) -> None:
    """Fail the check unless something holds.

    Raises:
        AssertionError: It does not; `otherwise` names the thing and the fix.
    """
    if not fact:
        raise AssertionError(otherwise)


def demand_sound(completion: object, where: str = "") -> None:
    """Fail the check where anything is wrong with a completion; `where` comes before the words.

    Raises:
        AssertionError: Something is.
    """
    problems = list(in_completion(completion))
    demand(not problems, where + "; ".join(problems))


def skip(reason: str) -> None:
    """Leave a check out: pytest and unittest both show it as skipped."""
    raise SkipTest(reason)
