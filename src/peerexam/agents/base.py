"""The one interface that every agent has, and the wrapper that adds to an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, Protocol

from peerexam.calls import Completion, Json, Request
from peerexam.errors import PermanentError, RefusedParameterError

Feature = Literal["chat", "score", "logprobs", "grammar", "json_schema"]
"""What an agent can do beyond going on with a text.

- `chat`: it follows instructions given as messages. Without it, the messages' contents are one
  plain text to be continued (a base model), and roles use their few-shot completion prompts.
- `score`: it gives log-probabilities of a given continuation (`Request.continuation`).
- `logprobs`: it gives log-probabilities of the tokens it generates.
- `grammar`, `json_schema`: it can hold a reply to a `Form`.
"""


class Agent(Protocol):
    """A model behind a name, with its options."""

    @property
    def name(self) -> str:
        """Who it is in the exam."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """What decides its answers: provider, model, endpoint, options. Never a secret."""

    @property
    def features(self) -> frozenset[Feature]:
        """What it can do."""

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        A refusal, a filtered, an empty or a cut answer is a completion with that state.

        Raises:
            RetryableError: The same call may succeed later.
            PermanentError: It will not.
        """

    async def close(self) -> None:
        """Let go of connections and weights. More than once does no harm."""


class Provider:
    """What an agent that speaks for itself says of itself; a subclass adds how it answers.

    Args:
        name: Who it is in the exam.
        fingerprint: What decides its answers. Never a secret.
        features: What it can do.
    """

    def __init__(
        self, name: str, fingerprint: Mapping[str, Json], features: Iterable[Feature]
    ) -> None:
        self._name = name
        self._fingerprint = dict(fingerprint)
        self._features = frozenset(features)

    @property
    def name(self) -> str:
        """Who it is in the exam."""
        return self._name

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """What decides its answers."""
        return self._fingerprint

    @property
    def features(self) -> frozenset[Feature]:
        """What it can do."""
        return self._features

    def refuse_unclaimed(self, request: Request, hints: Mapping[str, str] | None = None) -> None:
        """Refuse what a request asks of a feature that the agent does not have.

        Args:
            request: What it is asked.
            hints: How the agent could be brought to hold a reply to a kind of form.

        Raises:
            PermanentError: A continuation is to be scored.
            RefusedParameterError: The reply is to have a form.
        """
        if request.continuation is not None and "score" not in self._features:
            raise PermanentError(f"{self._name} gives no log-probabilities of a given text")
        form = request.sampling.form
        if form is not None and form.kind not in self._features:
            hint = (hints or {}).get(form.kind)
            words = f"{self._name} cannot hold a reply to a {form.kind}"
            raise RefusedParameterError(f"{words}: {hint}" if hint else words, form.kind)


class Wrapper:
    """An agent around an agent: everything is the inner one's until a subclass says otherwise.

    What an agent says of itself does not change, and roles ask for it with every call, through a
    dozen of these.
    """

    def __init__(self, inner: Agent) -> None:
        self.inner = inner

    @cached_property
    def name(self) -> str:
        """The inner agent's name."""
        return self.inner.name

    @cached_property
    def fingerprint(self) -> Mapping[str, Json]:
        """The inner agent's fingerprint."""
        return self.inner.fingerprint

    @cached_property
    def features(self) -> frozenset[Feature]:
        """The inner agent's features."""
        return self.inner.features

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent."""
        return await self.inner.complete(request)

    async def close(self) -> None:
        """Close the inner agent."""
        await self.inner.close()
