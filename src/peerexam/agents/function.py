"""Agents from plain functions: a user's own, and a test's."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from peerexam.agents.base import Feature, Provider
from peerexam.agents.thinking import split_thinking
from peerexam.agents.threads import in_own_thread
from peerexam.calls import Completion, Json, Request
from peerexam.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    PeerexamError,
    PermanentError,
)

Chat = list[dict[str, str]]
"""Messages as `{"role": …, "content": …}`, as most SDKs take them."""

Answering = Callable[[Chat], str | Awaitable[str]]
"""A function from messages to text, plain or async."""

Reply = str | Completion | Exception


class FunctionAgent(Provider):
    """An agent from a function `messages -> text`.

    A plain function runs in a thread, so that it may block. Text that it returns in leading
    `<think>` blocks is kept apart from the answer.

    Args:
        name: Who it is in the exam.
        fn: The function.
        fingerprint: What decides its answers; by default the name and where the function is
            defined. Change `version` when the function changes, or the ledger will go on
            answering for the old one.
        version: Part of the default fingerprint.
        features: What it can do.
    """

    def __init__(
        self,
        name: str,
        fn: Answering,
        *,
        fingerprint: Mapping[str, Json] | None = None,
        version: str | None = None,
        features: Iterable[Feature] = ("chat",),
    ) -> None:
        super().__init__(name, fingerprint or _fingerprint(name, fn, version), features)
        self._fn = fn

    async def complete(self, request: Request) -> Completion:
        """Call the function.

        Raises:
            ConnectionFailedError: It raised a `ConnectionError`.
            CallTimeoutError: It raised a `TimeoutError`.
            PermanentError: It raised anything else that is not an error of ours, or returned no
                text; or it is asked for a feature that it does not claim.
        """
        self.refuse_unclaimed(request)
        messages = [{"role": turn.role, "content": turn.content} for turn in request.messages]
        try:
            text = await self._call(messages)
        except PeerexamError:
            raise
        except TimeoutError as error:
            raise CallTimeoutError(f"{self._name}: {error or 'time is up'}") from error
        except ConnectionError as error:
            raise ConnectionFailedError(f"{self._name}: {error}") from error
        except Exception as error:
            raise PermanentError(
                f"{self._name}'s function raised {type(error).__name__}: {error}"
            ) from error
        if not isinstance(text, str):
            raise PermanentError(
                f"{self._name}'s function returned {type(text).__name__} where text was expected"
            )
        return completion_of(text)

    async def close(self) -> None:
        """There is nothing to close."""

    async def _call(self, messages: Chat) -> object:
        if inspect.iscoroutinefunction(self._fn):
            return await self._fn(messages)
        result = await in_own_thread(partial(self._fn, messages), f"{self._name}'s function")
        return await result if inspect.isawaitable(result) else result


class ScriptedAgent(Provider):
    """The seam for tests: an agent whose replies a function gives.

    Args:
        reply: From the request to text, a completion, or an exception to raise; it may be async.
        name: Who it is in the exam.
        features: What it can do.
        fingerprint: What decides its answers; by default the name.

    Attributes:
        requests: What it was asked, in order.
    """

    def __init__(
        self,
        reply: Callable[[Request], Reply | Awaitable[Reply]],
        name: str = "scripted",
        *,
        features: Iterable[Feature] = ("chat",),
        fingerprint: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(name, fingerprint or {"provider": "scripted", "model": name}, features)
        self._reply = reply
        self.requests: list[Request] = []
        self.closed = False

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    async def complete(self, request: Request) -> Completion:
        """Give the scripted reply; a feature that it does not claim is refused."""
        self.requests.append(request)
        self.refuse_unclaimed(request)
        reply = self._reply(request)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Completion) else completion_of(reply)

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def completion_of(text: str) -> Completion:
    """The completion of a plain text: thinking apart, the state by what is left.

    >>> completion_of("<think>hm</think>").state
    'empty'
    """
    thinking, answer, unclosed = split_thinking(text)
    completion = Completion(answer, thinking=thinking)
    if unclosed:
        return replace(completion, state="truncated")
    return completion if answer.strip() else replace(completion, state="empty")


def _fingerprint(name: str, fn: Answering, version: str | None) -> dict[str, Json]:
    # The name is in it because two lambdas of one module have one qualified name.
    what = fn if hasattr(fn, "__qualname__") else type(fn)
    body: dict[str, Json] = {
        "provider": "function",
        "model": name,
        "function": f"{what.__module__}:{what.__qualname__}",
    }
    return body if version is None else body | {"version": version}
