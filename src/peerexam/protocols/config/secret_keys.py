"""Keeping keys out of files: a config names the variable that holds a key, never the key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from peerexam.calls import Json
from peerexam.protocols.config.messages import spell
from peerexam.protocols.config.parsing import Place

_LOOKS_SECRET = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(?:sk-[A-Za-z0-9_\-]{8,}|(?:gsk|hf|ghp|xai|pplx|nvapi|r8)[_\-][A-Za-z0-9_\-]{16,}"
    r"|key[_\-](?=[A-Za-z_\-]*[0-9])[A-Za-z0-9_\-]{16,}"  # words alone are a file's name
    r"|AIza[A-Za-z0-9_\-]{20,}|eyJ[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]+|Bearer\s+\S{8,})"
)
_KEY_NAMES = re.compile(
    r"(?i)(?:^|[_\-])(?:api[_\-]?key|secret|password|authorization|(?:access|auth)[_\-]token)$"
    r"|^token$"
)
_KEY_OPTION = re.compile(r"(?i)[?&](?:api[_\-]?key|key|secret|token|access_token)=[^&]")
_USER_IN_URL = re.compile(r"https?://[^/@\s?#]+@")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FIX = (
    "put it in an environment variable (or in .env beside where you start peerexam), and write "
    "the variable's name: api_key_env: OPENAI_API_KEY"
)


def looks_secret(text: str) -> bool:
    """Whether a text has the shape of a key.

    >>> looks_secret("sk-0123456789abcdef"), looks_secret("sketch-of-a-task")
    (True, False)
    >>> looks_secret("key-0123456789abcdefgh"), looks_secret("runs/key_in_the_exam_itself")
    (True, False)
    """
    return _LOOKS_SECRET.search(text) is not None


def find_secrets(value: Json, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Places in a config that hold a key, each with the remedy. No message repeats the value."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from find_secrets(child, (*place, str(key)))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from find_secrets(child, (*place, index))
    elif isinstance(value, str) and value:
        problem = _problem(value, place)
        if problem is not None:
            yield place, problem


def _problem(value: str, place: Place) -> str | None:
    key = str(place[-1]) if place else ""
    if key == "api_key_env":
        if _VARIABLE.fullmatch(value) and not looks_secret(value):
            return None
        return f"'{spell(place)}' must be the name of an environment variable, not the key: {_FIX}"
    if looks_secret(value) or _KEY_NAMES.search(key) or _KEY_OPTION.search(value):
        return f"'{spell(place)}' looks like a secret key, and no key is ever written down: {_FIX}"
    if _USER_IN_URL.search(value):
        return f"'{spell(place)}' holds a user or password in a URL: {_FIX}"
    return None
