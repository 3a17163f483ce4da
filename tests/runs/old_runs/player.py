"""Agents `player/NAME` whose reply is a function of the name, the prompt and the draw alone.

`make.py` wrote the folders with them, under an old version; the tests go on with the same ones.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Callable

import peerexam

ASKED: list[tuple[str, str]] = []
"""Player and prompt, in the order asked; a test clears it."""

_WORDS = ("springs", "deltas", "primes", "glaciers", "lattices", "eclipses", "vowels", "tariffs")
_BETWEEN = re.compile(r"\[\[begin Response [12] \w+\]\]\n(.*?)\n\[\[end", re.DOTALL)


def number(*parts: object) -> int:
    text = "\n".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _better(name: str, text: str, code: int) -> str:
    first, second = _BETWEEN.findall(text)
    better = 1 + (number(first) < number(second))
    return f"Verdict: Response {3 - better if code % 5 == 0 else better}"


def _questions(name: str, text: str, code: int) -> str:
    words = sorted(_WORDS, key=lambda word: number(code, word))
    return "\n".join(
        f"{i}. What does {name} know of {word}, number {code % 9973 + i}?"
        for i, word in enumerate(words, 1)
    )


def _marks(name: str, text: str, code: int) -> str:
    names = ("accuracy", "coherence", "factuality", "comprehensiveness")
    lines = [f"{one}: {1 + (code >> 8 * i) % 3}" for i, one in enumerate(names)]
    return "\n".join([*lines, f"overall: {3 + code % 3}"])


_LEVELS = ("memorization", "comprehension", "analysis")
_PROGRAMS = ("answer(river(all))", "answer(state(all))", "river(all)")
_SAID: tuple[tuple[str, Callable[[str, str, int], str]], ...] = (
    (r"Verdict: Response 1\|", _better),
    ("Kept: yes|Same: yes|Helpful: yes|True: yes", lambda _, text, code: (
        f"{re.findall('(Kept|Same|Helpful|True): yes', text)[0]}: {'yes' if code % 6 else 'no'}"
    )),
    (r"Level: memorization\|", lambda _, text, code: f"Level: {_LEVELS[code % 3]}"),
    (r"Rating: \[\[5\]\]", lambda _, text, code: (
        f"It could be shorter.\nRating: [[{1 + code % 10}]]"
    )),
    (r"the number of the answer, from 1 to (\d+)", lambda _, text, code: (
        f"Choice: {1 + code % _most(text)}"
    )),
    ('"Choice: X"', lambda _, text, code: f"Choice: {'ABCD'[code % 4]}"),
    ('"Verdict: Yes" or', lambda _, text, code: f"Verdict: {'Yes' if code % 3 else 'No'}"),
    ("first wrong thought, from 1 to", lambda _, text, code: (
        f"Mistake: {code % (_most(text) + 1) or 'No'}"
    )),
    (r"Write Thought \d+ and nothing else", lambda _, text, code: f"So the answer is {code % 4}."),
    (r"\AWhat is the value of", lambda _, text, code: str(code % 10)),
    ("#### and the number alone", lambda _, text, code: (
        f"One step, then another.\n#### {3 + code % 3}"
    )),
    (r"Program:\s*\Z", lambda _, text, code: _PROGRAMS[code % 3]),
    (r"follow question: \[", lambda name, text, code: (
        f"follow question: What lies behind number {code % 100_000} of {name}?"
    )),
    ("One question a line", _questions),
    ("Score the answer below", _marks),
    ("", lambda name, text, code: (
        f"It is {code % 1_000_003}, as {name} sees it{', at some length' * (code % 3)}."
    )),
)  # fmt: skip
"""What a prompt holds, and what is said to it, by name, prompt and a number of both."""


def _most(text: str) -> int:
    return int(re.findall(r"from 1 to (\d+)", text)[-1])


def reply(name: str, text: str, draw: int = 0) -> str:
    """What the player says."""
    code = number(name, text, draw)
    return next(say(name, text, code) for sign, say in _SAID if re.search(sign, text))


def create(spec: peerexam.AgentSpec) -> peerexam.Agent:
    """The factory of `player/NAME`; `DIE_AFTER=N` kills the process at its N-th call."""
    fatal = int(os.environ.get("DIE_AFTER", "0"))

    def said(request: peerexam.Request) -> str:
        text = request.messages[-1].content
        ASKED.append((spec.name, text))
        if len(ASKED) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return reply(spec.model, text, request.draw)

    return peerexam.ScriptedAgent(
        said, spec.name, fingerprint={"provider": "player", "model": spec.model}
    )
