"""How a request is put to one model at one OpenAI-compatible endpoint.

Servers differ in what they accept. A `Dialect` starts from what most accept and remembers what
this model has refused, so that each refusal costs one call in the whole run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from peerexam.agents.hosted.rejections import Rejection, refused_parameter
from peerexam.agents.hosted.token_limit import TokenRoom
from peerexam.agents.hosted.utf8 import valid_utf8
from peerexam.calls import Form, Message, Request

DROPPABLE = ("temperature", "top_p", "seed")
"""Parameters that may be left out when refused; what is dropped is told in the completion."""

_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't|no longer) (be )?(supported?|allowed|permitted|accepted|available)"
    r"|unrecogni[sz]ed|unknown|unexpected|should not exist|extra_forbidden|deprecated"
    r"|only the default"
    r"|use '?max_(completion_)?tokens|cannot (both )?be (used|specified|set)",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system[- ](role|message|prompt|instruction)s?\b.{0,60}"
    r"(not|n't|un)\s?(be )?(support|allow|enabl)"
    r"|(not|n't) support.{0,30}\bsystem\b|only user and (assistant|model) roles"
    r"|developer instruction is not enabled",
    re.IGNORECASE | re.DOTALL,
)
_MUST_ALTERNATE = re.compile(r"roles? must alternate|alternat\w+ between user", re.IGNORECASE)


class Dialect:
    """What one model accepts, as far as it is known.

    Args:
        model: The model's name at the endpoint.
        limit_name: The name of the length limit, `max_tokens` or `max_completion_tokens`.
        limit_is_fixed: The user set that name, so a refusal does not change it.
        chat: Whether there are messages, or one plain text to be continued.
    """

    def __init__(
        self, model: str, limit_name: str, limit_is_fixed: bool = False, chat: bool = True
    ) -> None:
        self._model = model
        self._limit_name = limit_name
        self._limit_is_fixed = limit_is_fixed
        self._chat = chat
        self._dropped: set[str] = set()
        self._folds_system = False
        self._merges_turns = False
        self._room = TokenRoom()

    def body(self, request: Request) -> dict[str, Any]:
        """The call's JSON body."""
        body: dict[str, Any] = {"model": self._model, **self._sampling(request)}
        if self._chat:
            body["messages"] = self._messages(request.messages)
        else:
            body["prompt"] = valid_utf8("".join(turn.content for turn in request.messages))
        return body

    def dropped(self, request: Request) -> tuple[str, ...]:
        """The parameters that the request asked for and the model refuses."""
        return tuple(
            name
            for name in DROPPABLE
            if name in self._dropped and getattr(request.sampling, name) is not None
        )

    def adapt(self, rejection: Rejection, sent: Mapping[str, Any], request: Request) -> bool:
        """Learn from a refusal.

        Returns:
            Whether the request, put anew, now differs from what was sent: only then may it be
            sent again.
        """
        if self._learn_roles(rejection, sent):
            return self.body(request) != sent
        if rejection.status not in (400, 422):
            return False
        self._room.learn(rejection)
        if self.body(request) != sent:
            return True
        name = refused_parameter(rejection, sent)
        if name is None or not _UNSUPPORTED.search(rejection.words):
            return False
        if name in DROPPABLE:
            self._dropped.add(name)
        elif name == self._limit_name and not self._limit_is_fixed:
            self._limit_name = _LIMITS[name]
            self._limit_is_fixed = True  # a second renaming would only go round in a circle
        return self.body(request) != sent

    def _learn_roles(self, rejection: Rejection, sent: Mapping[str, Any]) -> bool:
        """A template without a system role answers 400 or, where it raises, 500."""
        if rejection.status not in (400, 422, 500) or "messages" not in sent:
            return False
        roles = [turn["role"] for turn in sent["messages"]]
        if _MUST_ALTERNATE.search(rejection.message):
            twice = any(a == b for a, b in pairwise(roles))
            self._merges_turns = True
            self._folds_system = self._folds_system or (not twice and "system" in roles)
            return True
        if "system" in roles and _NO_SYSTEM.search(rejection.message):
            self._folds_system = self._merges_turns = True
            return True
        return False

    def _sampling(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            name: getattr(sampling, name)
            for name in DROPPABLE
            if name not in self._dropped and getattr(sampling, name) is not None
        }
        if sampling.max_tokens is not None:
            limit = self._room.within(request, sampling.max_tokens)
            body[self._limit_name if self._chat else "max_tokens"] = limit
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if sampling.top_logprobs is not None and self._chat:
            body |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
        elif sampling.top_logprobs is not None:
            body["logprobs"] = sampling.top_logprobs
        return body | _form(sampling.form)

    def _messages(self, messages: tuple[Message, ...]) -> list[dict[str, str]]:
        turns = [(turn.role, valid_utf8(turn.content)) for turn in messages]
        if self._folds_system:
            turns = _without_system(turns)
        if self._merges_turns:
            turns = _merged(turns)
        return [{"role": role, "content": content} for role, content in turns]


def _form(form: Form | None) -> dict[str, Any]:
    if form is None:
        return {}
    if form.kind == "grammar":
        return {"grammar": form.body}
    schema = {"name": "reply", "schema": json.loads(form.body), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _without_system(turns: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """The system text in front of the first user message; as a user message where there is none."""
    system = "\n\n".join(content for role, content in turns if role == "system")
    rest = [turn for turn in turns if turn[0] != "system"]
    if not system:
        return rest
    first = next((at for at, (role, _) in enumerate(rest) if role == "user"), None)
    if first is None:
        return [("user", system), *rest]
    rest[first] = ("user", f"{system}\n\n{rest[first][1]}")
    return rest


def _merged(turns: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Neighbouring turns of one role as one turn."""
    merged: list[tuple[Any, str]] = []
    for role, content in turns:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{content}")
        else:
            merged.append((role, content))
    return merged
