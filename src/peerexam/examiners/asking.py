"""Asking a judge until its reply can be read, a bounded number of times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from peerexam.agents.base import Agent
from peerexam.agents.layers.configured import more_room, widened
from peerexam.calls import Completion, Message, Request, Sampling, State, joined_calls
from peerexam.errors import CallError, ContextTooLongError, RefusedParameterError
from peerexam.examiners.prompting.library import PromptLibrary, Rendered
from peerexam.examiners.prompting.overflow import Shown, overflow_reason
from peerexam.examiners.reading.parsing import Unreadable
from peerexam.examiners.reading.thinking import without_thinking

T = TypeVar("T")

_FINAL: tuple[State, ...] = ("refused", "filtered", "error")
_LONG = 20_000
"""Characters of a reply that takes some milliseconds to read."""

_reading: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

_LONGEST_QUOTE = 4000


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What came of asking.

    Attributes:
        value: What was read; None where `state` is not `ok`.
        reason: Why there is no value.
        reply: The last reply, where it could not be read.
        call: Ledger keys of the calls in the order asked, joined by `+`; the last was read.
    """

    value: T | None
    state: State = "ok"
    reason: str | None = None
    reply: str | None = None
    call: str | None = None


class Room:
    """How many tokens a reply may have, and twice as many after one that was cut.

    Args:
        limit: Of the first call; None leaves it to the model.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._times = 1

    def grow(self) -> bool:
        """Give the next call twice the room; False where there is no more to give."""
        if self._limit is not None and self._given(2 * self._times) == self._given(self._times):
            return False
        self._times *= 2
        return True

    def _given(self, times: int) -> int | None:
        return None if self._limit is None else widened(self._limit, times)

    async def complete(self, agent: Agent, request: Request) -> Completion:
        """Ask an agent with the room that there is, its own limit in proportion.

        Raises:
            CallError: The call failed.
        """
        if self._times == 1:
            return await agent.complete(request)
        sampling = replace(request.sampling, max_tokens=self._given(self._times))
        with more_room(self._times):
            return await agent.complete(replace(request, sampling=sampling))


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks, reads, and asks again with word of what could not be read.

    A reply that was cut at the length limit is asked for again with twice the room, up to a bound,
    and never with the same.

    Attributes:
        agent: Who is asked.
        prompts: Where the words of the second asking come from.
        sampling: For every call.
        reasks: How often it is asked again at most.
        shown: What it is shown, for the reason where that is too long.
    """

    agent: Agent
    prompts: PromptLibrary
    sampling: Sampling
    reasks: int = 1
    shown: Shown = "answer"

    async def ask(
        self,
        rendered: Rendered,
        read: Callable[[str], T | Unreadable],
        reask: str,
        fields: Mapping[str, Any],
    ) -> Outcome[T]:
        """Ask for something that can be read.

        Args:
            rendered: The prompt.
            read: The reader of its replies; it does not raise.
            reask: Name of the prompt that asks again; its fields are `fields` and `problem`.
            fields: For `reask`.
        """
        messages, room = rendered.messages, Room(self.sampling.max_tokens)
        outcome: Outcome[T] = Outcome(None, "unparsed", "never asked")
        earlier: str | None = None
        for attempt in range(self.reasks + 1):
            try:
                request = Request(messages, self.sampling, draw=attempt)
                completion = await room.complete(self.agent, request)
            except CallError as error:
                failed = self._failed(error, outcome if attempt else None)
                return replace(failed, call=joined_calls(earlier, error.call))
            outcome = await _outcome(completion, read)
            if earlier is not None:
                outcome = replace(outcome, call=joined_calls(earlier, outcome.call))
            earlier = outcome.call
            if outcome.state == "ok" or outcome.state in _FINAL:
                return outcome
            if outcome.state == "truncated" and not room.grow():
                return outcome
            if attempt < self.reasks:
                messages = self._again(messages, completion.text, outcome.reason, reask, fields)
        return outcome

    def _failed(self, error: CallError, before: Outcome[T] | None) -> Outcome[T]:
        """What a failed call comes to, after a reply that could not be read or as the first."""
        if before is not None and isinstance(error, RefusedParameterError):
            return replace(before, reason=f"{before.reason}; asking again was refused: {error}")
        if not isinstance(error, ContextTooLongError):
            return Outcome(None, "error", f"{type(error).__name__}: {error}")
        if before is None:
            return Outcome(None, "error", overflow_reason(self.agent.name, self.shown, error))
        # The answers did fit: what is too long is the reply that would be quoted back.
        again = f"{before.reason}; asking again did not fit into its context"
        return replace(before, reason=again)

    def _again(
        self,
        messages: tuple[Message, ...],
        reply: str,
        problem: str | None,
        reask: str,
        fields: Mapping[str, Any],
    ) -> tuple[Message, ...]:
        chat = "chat" in self.agent.features
        words = self.prompts.render(reask, chat, problem=problem, **fields).text
        # Of a very long reply nothing is repeated: looking for its thinking would hold the loop.
        said = without_thinking(reply) if len(reply) <= _LONG else None
        quote = (said or "").strip()[:_LONGEST_QUOTE]
        last = messages[-1]
        if not chat:
            return (*messages[:-1], Message("user", last.content + quote + words))
        if not quote:
            # Many endpoints refuse an empty turn, so the two turns of the user become one.
            return (*messages[:-1], Message("user", f"{last.content}\n\n{words}"))
        return (*messages, Message("assistant", quote), Message("user", words))


async def _outcome(completion: Completion, read: Callable[[str], T | Unreadable]) -> Outcome[T]:
    """What a reply comes to; a long one is read beside the event loop, which hears signals then."""
    if len(completion.text) <= _LONG:
        return _read(completion, read)
    one_at_a_time = _reading.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with one_at_a_time:  # several threads would keep the loop from its turn
        return await asyncio.to_thread(_read, completion, read)


def _read(completion: Completion, read: Callable[[str], T | Unreadable]) -> Outcome[T]:
    call = completion.call or None
    if completion.state != "ok":
        reason = {
            "truncated": "the reply was cut at the length limit",
            "empty": "the reply is empty",
        }.get(completion.state, completion.finish_reason or f"the reply is {completion.state}")
        return Outcome(None, completion.state, reason, completion.text or None, call)
    value = read(completion.text)
    if isinstance(value, Unreadable):
        state: State = "unparsed" if completion.text.strip() else "empty"
        return Outcome(None, state, value.reason, completion.text, call)
    return Outcome(value, call=call)
