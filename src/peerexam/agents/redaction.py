"""Keys out of everything that a server, a model or a function says, before anyone keeps it.

A key is found in whatever spelling: in another case, quoted, URL-encoded (once or more), with the
escapes of JSON, Python or HTML, in hexadecimal, and in base64 wherever it stands in a longer text.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple

from peerexam.agents.base import Agent, Wrapper
from peerexam.calls import Completion, Request, TokenLogprob
from peerexam.errors import CallError

REDACTED = "[key]"

_SHORTEST = 8
_LONGEST_MESSAGE = 2000
_SHORTEST_BASE64 = 8
_ESCAPED = ("%", "\\u", "\\U", "\\x", "\\0", "\\1", "&#")
"""What a text holds in which letters and digits themselves are written otherwise."""
_UNSEEN = re.compile("[\xad\u200b-\u200f\u2060-\u2064\ufeff]")
"""What no screen shows, and may stand between the letters."""

_NAMES: dict[str, list[str]] = {}
for _name, _char in html5.items():
    if _name.endswith(";") and not _char.isalnum():
        _NAMES.setdefault(_char, []).append(_name)
_SECRET_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password)$")
_WORDS = """
a abc an anthropic any anything api apikey bar change changeme cpp default demo dummy
empty enter example fake foo here ignore ignored insert key keys llama llamacpp lm local
localhost me missing mock my na needed no none not null ollama openai password pk
placeholder replace required sample secret server set sk studio test testing the this
todo token unset unused vllm whatever with x xx xxx your
"""
_PLACEHOLDERS = frozenset(_WORDS.split())


def is_secret(text: str) -> bool:
    """Whether a text may be a key, and not a placeholder for servers that want none.

    A placeholder is shorter than eight characters, one plain word, or made of words such as `sk`,
    `no`, `key` and `required` with at most four digits. It occurs in ordinary text, where redacting
    it would change what a model wrote.

    >>> [is_secret(t) for t in ("x", "EMPTY", "sk-test", "sk-no-key-required", "lm-studio")]
    [False, False, False, False, False]
    >>> is_secret("token-abc123"), is_secret("tr0ub4dor"), is_secret("sk-proj-8fQz")
    (False, True, True)
    """
    if len(text) < _SHORTEST:
        return False
    words = re.findall(r"[a-z]+", text.lower())
    digits = sum(char.isdigit() for char in text)
    if digits <= 4 and all(word in _PLACEHOLDERS or len(set(word)) == 1 for word in words):
        return False
    one_word = text.isalpha() and (text[1:].islower() or text.isupper())
    return not (one_word and len(text) < 2 * _SHORTEST)


class Redactor:
    r"""Redacts keys in texts, completions and errors.

    Args:
        secrets: The keys; who has placeholders among them filters with `is_secret`.

    >>> Redactor(["sk-1/2"])(r"bad key sk-1/2, SK-1%2F2 or 'sk-1\u002f2'")
    "bad key [key], [key] or '[key]'"
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        ordered = sorted({text for text in secrets if text}, key=lambda text: (-len(text), text))
        self._spellings = _spellings(tuple(ordered))
        self._shortest = min(map(len, ordered), default=sys.maxsize)

    def __call__(self, text: str) -> str:
        """The text without keys."""
        if len(text) < self._shortest:
            return text
        seen = _Seen.of(text)
        for spelling in self._spellings:
            if spelling.may_be_in(seen):
                text = spelling.pattern.sub(REDACTED, text)
        return text

    def completion(self, completion: Completion) -> Completion:
        """The completion without keys in any of its texts; the very same where there are none."""
        if not self._spellings:
            return completion
        thinking, text = self._at_the_seam(completion.thinking, completion.text)
        parts = {
            "text": text,
            "thinking": thinking,
            "finish_reason": completion.finish_reason,
            "model": completion.model,
        }
        changed: dict[str, object] = {}
        for name, part in parts.items():
            redacted = self(part) if part else part
            if redacted != getattr(completion, name):
                changed[name] = redacted
        if completion.logprobs and (tokens := self._tokens(completion.logprobs)) is not None:
            changed["logprobs"] = tokens
        return replace(completion, **changed) if changed else completion  # type: ignore[arg-type]

    def _at_the_seam(self, thinking: str | None, text: str) -> tuple[str | None, str]:
        """Both without a key that begins in one and ends in the other."""
        if not thinking or not text:
            return thinking, text
        end = thinking[-_LONGEST_MESSAGE:]
        for low, high in self._places(end + text[:_LONGEST_MESSAGE]):
            if low < len(end) < high:
                kept = thinking[: len(thinking) - len(end) + low]
                return kept + REDACTED, text[high - len(end) :]
        return thinking, text

    def error(self, error: CallError) -> CallError:
        """The same error without keys, without its traceback and causes, and not too long."""
        copy = type(error).__new__(type(error))
        copy.args = tuple(self._short(value) for value in error.args)
        copy.__dict__.update({name: self._short(value) for name, value in vars(error).items()})
        return copy

    def _short(self, value: object) -> object:
        return self(value)[:_LONGEST_MESSAGE] if isinstance(value, str) else value

    def _places(self, text: str) -> list[tuple[int, int]]:
        seen = _Seen.of(text)
        return [
            found.span()
            for spelling in self._spellings
            if spelling.may_be_in(seen)
            for found in spelling.pattern.finditer(text)
        ]

    def _tokens(self, logprobs: tuple[TokenLogprob, ...]) -> tuple[TokenLogprob, ...] | None:
        """Tokens that spell a key together lose their text; None where none do."""
        whole = "".join(entry.token for entry in logprobs)
        spans = self._places(whole)
        if not spans:
            return None
        redacted, start = [], 0
        for entry in logprobs:
            end = start + len(entry.token)
            hit = any(low < end and start < high for low, high in spans)
            redacted.append(replace(entry, token=REDACTED) if hit else entry)
            start = end
        return tuple(redacted)


class Redacted(Wrapper):
    """An agent whose errors repeat no key of the environment, whoever wrote the agent.

    Args:
        inner: The agent.
    """

    def __init__(self, inner: Agent) -> None:
        super().__init__(inner)
        self._redactor = Redactor(secrets_in(os.environ))

    async def complete(self, request: Request) -> Completion:
        """Ask the inner agent."""
        try:
            return await self.inner.complete(request)
        except CallError as error:
            redacted = self._redactor.error(error)
            if str(redacted) == str(error):
                raise
        raise redacted


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names end like a key's, placeholders left out."""
    return tuple(
        value.strip()
        for name, value in environment.items()
        if _SECRET_VARIABLE.search(name) and is_secret(value.strip())
    )


class _Seen(NamedTuple):
    """What of a text tells cheaply that a key cannot be in it, since every reply is searched.

    Attributes:
        text: As it is.
        lower: In lower case.
        escapes: It may hold letters and digits that are written otherwise.
    """

    text: str
    lower: str
    escapes: bool

    @classmethod
    def of(cls, text: str) -> _Seen:
        escapes = any(sign in text for sign in _ESCAPED)
        hides = not escapes and not text.isascii() and _UNSEEN.search(text) is not None
        return cls(text, text.lower(), escapes or hides)


class _Spelling:
    """One way to write one key.

    Args:
        pattern: Finds it.
        needle: What a text holds (in lower case, unless `exact`) that holds the key unescaped.
        exact: Case matters, and letters and digits are never escaped.
    """

    def __init__(self, pattern: str, needle: str, *, exact: bool = False) -> None:
        self.pattern = re.compile(pattern, 0 if exact else re.IGNORECASE)
        self._needle = needle
        self._exact = exact

    def may_be_in(self, seen: _Seen) -> bool:
        if self._exact:
            return self._needle in seen.text
        return seen.escapes or self._needle in seen.lower


@lru_cache(maxsize=256)
def _spellings(secrets: tuple[str, ...]) -> tuple[_Spelling, ...]:
    return tuple(spelling for secret in secrets for spelling in _of_one(secret))


def _of_one(secret: str) -> Iterator[_Spelling]:
    gap = f"{_UNSEEN.pattern}{{0,3}}"
    yield _Spelling(gap.join(map(_any_case, secret)), _longest_run(secret).lower())
    raw = secret.encode("utf-8", "surrogatepass")
    yield _Spelling(raw.hex(), raw.hex())
    # In base64, 3 bytes are 4 digits: the first and the last may hold a neighbour's bits too.
    for lead in range(3):
        digits = base64.b64encode(b"\0" * lead + raw).decode("ascii").rstrip("=")
        core = digits[4 if lead else 0 : -1]
        if len(core) >= _SHORTEST_BASE64:
            pattern = "".join(map(_any_alphabet, core)) + r"[A-Za-z0-9+/_-]?={0,2}"
            yield _Spelling(pattern, _longest_run(core), exact=True)


def _any_case(char: str) -> str:
    """A pattern for one character of a key, escaped in any way. Every part of it is bounded."""
    code = f"{ord(char):02x}"
    ways = [re.escape(char)] if char.isalnum() else [rf"\\{{0,4}}{re.escape(char)}"]
    ways += [
        "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in char.encode("utf-8", "surrogatepass")),
        rf"\\{{1,4}}(?:u0{{0,4}}|U0{{0,6}}|x){code}|\\{{1,4}}u\{{0{{0,4}}{code}\}}",
        rf"\\{{1,4}}{ord(char):03o}(?![0-7])",
        rf"&(?:amp;)?#(?:x0{{0,4}}{code}|0{{0,4}}{ord(char)});",
    ]
    ways += [f"&{re.escape(name)}" for name in _NAMES.get(char, ())]
    return f"(?:{'|'.join(ways)})"


def _any_alphabet(digit: str) -> str:
    """A base64 digit in its usual and its URL alphabet, the slash of JSON and of URLs included."""
    if digit == "+":
        return r"(?:[+\-]|%2[Bb])"
    if digit == "/":
        return r"(?:\\{0,2}[/_]|%2[Ff])"
    return digit


def _longest_run(text: str) -> str:
    runs: list[str] = re.findall(r"[A-Za-z0-9]+", text)
    return max(runs or [text], key=len)
