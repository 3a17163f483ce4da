"""How many tokens of reply an endpoint allows, as it says when it refuses more.

A default that lets models think asks for more than an older model or a short context has. What is
refused for that reason alone is asked for again with what is allowed.
"""

from __future__ import annotations

import re

from peerexam.agents.hosted.rejections import Rejection
from peerexam.agents.pricing.token_estimate import estimate
from peerexam.calls import Request

LEAST = 256
"""Tokens below which a reply would only be cut, so that the refusal stands."""

_MOST = re.compile(
    r"at most (\d+) (?:completion|output) tokens"
    r"|> (\d+), which is the maximum"
    r"|max(?:_completion)?_tokens`? must be less than or equal to `?(\d+)"
)
_WINDOW = re.compile(r"maximum context length is (\d+) tokens")
_PROMPT = re.compile(r"has (\d+) input tokens|\((\d+) (?:tokens )?in the messages")


class TokenRoom:
    """What one endpoint has been found to allow; at first everything."""

    def __init__(self) -> None:
        self._most: int | None = None
        self._window: int | None = None

    def within(self, request: Request, limit: int) -> int:
        """The limit, or as much of it as is allowed beside this prompt."""
        if self._most is not None:
            limit = min(limit, self._most)
        if self._window is not None:
            limit = min(limit, max(LEAST, self._window - (estimate(request).prompt_tokens or 0)))
        return limit

    def learn(self, rejection: Rejection) -> None:
        """Take note of what a refusal says is allowed, if it says so."""
        most, window = _number(_MOST, rejection), _number(_WINDOW, rejection)
        if most is not None and most >= LEAST:
            self._most = min(most, self._most or most)
        prompt = _number(_PROMPT, rejection)
        if window is not None and prompt is not None and window - prompt >= LEAST:
            self._window = min(window, self._window or window)


def _number(pattern: re.Pattern[str], rejection: Rejection) -> int | None:
    found = pattern.search(rejection.message)
    return None if found is None else int(next(group for group in found.groups() if group))
