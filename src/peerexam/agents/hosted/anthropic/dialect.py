"""How a request is put to one model at Anthropic's Messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from peerexam.agents.hosted.rejections import Rejection, refused_parameter
from peerexam.agents.hosted.token_limit import TokenRoom
from peerexam.agents.hosted.utf8 import valid_utf8
from peerexam.calls import Json, Message, Request

NO_SAMPLING_SINCE = "2026-10-21"
"""From this version of the API on, it refuses temperature and top_p, whatever the model."""

_SAMPLING = ("temperature", "top_p")
_LEAST_TOP_P = 0.95  # what models accept while they think
_REFUSED = re.compile(
    r"deprecated|extra inputs|(not|n't|no longer) (be )?(supported?|allowed|permitted|accepted)"
    r"|unsupported|cannot (both )?be|may only be set|must be .{0,40}thinking",
    re.IGNORECASE,
)
_NOT_BOTH = re.compile(r"temperature.{0,20}top_p.{0,40}both|only one", re.IGNORECASE)


class MessagesDialect:
    """What one model accepts, as far as it is known.

    Args:
        model: The model.
        version: The API's version, the header `anthropic-version`.
        default_max_tokens: The limit where a request has none: the API insists on one.
        thinking: The API's `thinking` field, None where it is not sent.
        cache: Whether the system prompt is marked for the prompt cache.
    """

    def __init__(
        self,
        model: str,
        *,
        version: str,
        default_max_tokens: int,
        thinking: Mapping[str, Json] | None = None,
        cache: bool = False,
    ) -> None:
        self._model = model
        self._default_max_tokens = default_max_tokens
        self._thinking = thinking
        self._cache = cache
        self._refused = set(_SAMPLING) if version >= NO_SAMPLING_SINCE else set()
        self._not_both = False
        self._room = TokenRoom()

    def body(self, request: Request) -> dict[str, Any]:
        """The call's JSON body."""
        sampling = request.sampling
        body: dict[str, Any] = {"model": self._model, "max_tokens": self._limit(request)}
        system, turns = _turns(request.messages)
        if system:
            body["system"] = self._system(system)
        body["messages"] = turns
        dropped = self.dropped(request)
        for name in _SAMPLING:
            value = getattr(sampling, name)
            if value is not None and name not in dropped:
                body[name] = value
        stop = [text for text in sampling.stop if text.strip()]
        if stop:
            body["stop_sequences"] = stop
        if self._thinking is not None:
            body["thinking"] = dict(self._thinking)
        if sampling.form is not None:
            schema = json.loads(sampling.form.body)
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def dropped(self, request: Request) -> tuple[str, ...]:
        """The parameters that the request asks for and that are not sent.

        The API has no seed. A thinking model draws at temperature 1, and with a top_p near 1.
        """
        sampling = request.sampling
        gone = {"seed", *self._refused}
        if self._not_both and sampling.temperature is not None:
            gone.add("top_p")
        if self._thinks:
            gone |= {"temperature"} if sampling.temperature != 1 else set()
            gone |= {"top_p"} if (sampling.top_p or 0) < _LEAST_TOP_P else set()
        asked = (name for name in (*_SAMPLING, "seed") if getattr(sampling, name) is not None)
        return tuple(name for name in asked if name in gone)

    def adapt(self, rejection: Rejection, sent: Mapping[str, Any], request: Request) -> bool:
        """Learn from a refusal.

        Returns:
            Whether the request, put anew, now differs from what was sent: only then may it be
            sent again.
        """
        if rejection.status not in (400, 422):
            return False
        self._room.learn(rejection)
        if self.body(request) != sent:
            return True
        if not _REFUSED.search(rejection.message):
            return False
        if all(name in sent for name in _SAMPLING) and _NOT_BOTH.search(rejection.message):
            self._not_both = True
        else:
            name = refused_parameter(rejection, sent)
            if name in _SAMPLING:
                self._refused.add(name)
        return self.body(request) != sent

    @property
    def _thinks(self) -> bool:
        return self._thinking is not None and self._thinking.get("type") != "disabled"

    def _limit(self, request: Request) -> int:
        """The answer's limit, and the thinking budget on top: the API counts both as one."""
        limit = request.sampling.max_tokens or self._default_max_tokens
        budget = (self._thinking or {}).get("budget_tokens")
        return self._room.within(request, limit + budget if isinstance(budget, int) else limit)

    def _system(self, text: str) -> Any:
        if not self._cache:
            return text
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def cut_at_blank_stops(text: str, stop: tuple[str, ...]) -> tuple[str, bool]:
    r"""Cut a text at stop strings of white space, which the API refuses to be told.

    >>> cut_at_blank_stops("one\ntwo", ("\n", "END"))
    ('one', True)
    """
    places = [at for s in stop if s and not s.strip() and (at := text.find(s)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _turns(messages: tuple[Message, ...]) -> tuple[str, list[dict[str, str]]]:
    """The system text, and the turns as the API wants them: alternating, none empty."""
    system: list[str] = []
    turns: list[dict[str, str]] = []
    for message in messages:
        content = valid_utf8(message.content)
        if not content.strip():
            continue  # the API refuses empty turns
        if message.role == "system":
            system.append(content)
        elif turns and turns[-1]["role"] == message.role:
            turns[-1]["content"] += f"\n\n{content}"
        else:
            turns.append({"role": message.role, "content": content})
    if not turns:  # the API wants at least one
        return "", [{"role": "user", "content": "\n\n".join(system)}]
    if turns[-1]["role"] == "assistant":  # and none that ends in white space to go on from
        turns[-1]["content"] = turns[-1]["content"].rstrip()
    return "\n\n".join(system), turns
