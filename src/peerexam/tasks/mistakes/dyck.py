"""Finding the first mistake of a Dyck trace by rule (BIG-Bench Mistake, §2.2).

A Dyck task gives the beginning of a word of brackets and asks for what closes it. The traces go
through the word symbol by symbol and keep a stack, so every right step is known beforehand: the
standard steps. A trace's first step that does not say what the standard says is its mistake.

What is forgiven, as the data set's labels forgive it: symbols with or without quotes, `and` for a
comma, `"[" twice`, and, once the end of the word is reached, a step that is left out, split, or
joined to the one before it. What is not, since the labels do not: symbols that run together (`{{`
for `{ {`), and a list of symbols that ends in a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from peerexam.errors import SetupError

PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
"""What closes what."""

_CLOSERS = {close: opened for opened, close in PAIRS.items()}

Kind = Literal["intro", "start", "symbol", "final", "pop", "need", "answer"]
_ENDING: tuple[Kind, ...] = ("final", "pop", "need", "answer")

_INTRO = "We should process each input one by one and keep track of the stack configuration."
# Where a step may be two: each of these opens a clause of its own.
_OPENS = re.compile(r"(?=(?:Now, we have reached|We will need to pop|So, we |So the answer is))")
_SYMBOL = re.compile(r"\s*(?P<symbol>\S)\s*;\s*stack:(?P<stack>.*)", re.DOTALL)
_START = re.compile(r"\s*stack:(?P<stack>.*)", re.DOTALL)
_FINAL = re.compile(r"Now, we have reached the end\. The final stack is(?P<stack>.*)", re.DOTALL)
_STACKS: tuple[tuple[Kind, re.Pattern[str]], ...] = (("start", _START), ("final", _FINAL))
_POP = re.compile(r"We will need to pop out(?P<list>.*)", re.DOTALL)
_NEED = re.compile(r"So, we (?:need|don't need to add)(?P<list>.*)", re.DOTALL)
_LISTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (("pop", _POP), ("need", _NEED))
_ANSWER = re.compile(r"So the answer is(?P<list>.*)", re.DOTALL)
_ORDER = (".", "in that order", "one by one")
_TIMES = re.compile(r"(?P<symbol>\S+)\s+(?P<times>once|twice)")
_NOTHING = frozenset({"empty", "nothing", "anything"})


@dataclass(frozen=True, slots=True)
class Clause:
    """What a step, or a part of one, says.

    Attributes:
        kind: Which of the standard's steps it is.
        symbol: The symbol that is read, for a `symbol`.
        stack: The symbols named after it, in order: a stack from the bottom, or a list.
    """

    kind: Kind
    stack: tuple[str, ...] = ()
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a trace leaves the standard.

    Attributes:
        index: The step, from 0.
        expected: What the standard says there.
    """

    index: int
    expected: str


def standard_clauses(word: str) -> list[Clause]:
    """What a faultless trace says of a word, in order.

    Raises:
        SetupError: The word holds something that is no bracket, or a closing bracket that does not
            close what is open.
    """
    stack: tuple[str, ...] = ()
    said = [Clause("intro"), Clause("start")]
    for symbol in word.split():
        if symbol in PAIRS:
            stack = (*stack, symbol)
        elif symbol in _CLOSERS and stack and stack[-1] == _CLOSERS[symbol]:
            stack = stack[:-1]
        else:
            raise SetupError(f"'{symbol:.20}' cannot stand there in a Dyck word: {word:.60}")
        said.append(Clause("symbol", stack, symbol))
    closing = tuple(PAIRS[opened] for opened in reversed(stack))
    said += [Clause("final", stack), Clause("pop", stack[::-1])]
    return [*said, Clause("need", closing), Clause("answer", closing)]


def closing(word: str) -> str:
    """What closes a word.

    >>> closing("< { [ ]")
    '} >'
    """
    return " ".join(standard_clauses(word)[-1].stack)


def first_fault(word: str, steps: Sequence[str]) -> Fault | None:
    """The first step of a trace that does not say what the standard says; None where all do.

    Args:
        word: The task's input.
        steps: The trace.

    Raises:
        SetupError: The word is no beginning of a Dyck word.
    """
    standard = standard_clauses(word)
    at = 0
    body = len(standard) - len(_ENDING)
    for index, step in enumerate(steps):
        for clause in _clauses(step):
            place = at if at < body else _place_in_ending(clause, standard, at)
            if place is None or clause != standard[place]:
                expected = standard[min(at if place is None else place, len(standard) - 1)]
                return Fault(index, worded(expected))
            at = place + 1
    return None


def _place_in_ending(clause: Clause | None, standard: Sequence[Clause], at: int) -> int | None:
    """Where a clause belongs, at or after a place; a step of the ending may be left out."""
    if clause is None:
        return None
    places = [p for p in range(at, len(standard)) if standard[p].kind == clause.kind]
    return places[0] if places else None


def worded(clause: Clause) -> str:
    """A clause in the words of the data set."""
    stack = " ".join(clause.stack)
    listed = ", ".join(f'"{symbol}"' for symbol in clause.stack)
    quoted = f'"{stack}"' if stack else "empty"
    return {
        "intro": _INTRO,
        "start": "stack: empty",
        "symbol": f"{clause.symbol} ; stack: {stack or 'empty'}",
        "final": f"Now, we have reached the end. The final stack is {quoted}.",
        "pop": f"We will need to pop out {listed or 'nothing'} one by one in that order.",
        "need": f"So, we need {listed or 'nothing'}.",
        "answer": f"So the answer is {stack}".rstrip(),
    }[clause.kind]


def _clauses(step: str) -> Iterator[Clause | None]:
    """What a step says, clause by clause; None for one that is in no known form."""
    parts = [part for part in _OPENS.split(step) if part.strip()]
    for part in parts or [""]:
        yield _clause(part)


def _clause(text: str) -> Clause | None:
    if text.strip() == _INTRO:
        return Clause("intro")
    found = _SYMBOL.fullmatch(text)
    if found:
        return _stacked("symbol", found["stack"], found["symbol"])
    for kind, pattern in _STACKS:
        if found := pattern.fullmatch(text):
            return _stacked(kind, found["stack"])
    for kind, pattern in _LISTS:
        if found := pattern.fullmatch(text):
            return Clause(kind, _listed(found["list"]))
    found = _ANSWER.fullmatch(text)
    return Clause("answer", _answered(found["list"])) if found else None


def _stacked(kind: Kind, text: str, symbol: str = "") -> Clause | None:
    tokens = tuple(text.strip().rstrip(".").replace('"', " ").split())
    if tokens == ("empty",):
        return Clause(kind, (), symbol)
    return Clause(kind, tokens, symbol) if tokens else None


def _listed(text: str) -> tuple[str, ...]:
    """Symbols of a list; an empty one where an item has none, as after a last comma."""
    text = text.strip()
    for ending in _ORDER:
        text = text.removesuffix(ending).strip()
    if text in _NOTHING:
        return ()
    found: list[str] = []
    for item in re.split(r",(?:\s*(?:and|then)\b)?|\b(?:and|then)\b", text):
        bare = item.replace('"', " ").strip()
        times = _TIMES.fullmatch(bare)
        if times:
            found += [times["symbol"]] * (2 if times["times"] == "twice" else 1)
        else:
            found += bare.split() or [""]
    return tuple(found)


def _answered(text: str) -> tuple[str, ...]:
    return tuple(text.replace('"', " ").strip().rstrip(".").split())
