"""Prompts and raw replies for the report's page, each line and each message of them once.

The prompt of a mark is its template, a question and an answer: of a thousand prompts nearly every
line stands in another one too. `templates/report.js` reads exactly this layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from peerexam.calls import Completion, Json, calls_of
from peerexam.ledger.base import Failure
from peerexam.ledger.entries import StoredCall
from peerexam.ledger.reading import CallReader
from peerexam.report.run.call_text import SHORT

ROOM = 4_000_000
"""Characters of prompts and replies that a page holds at most."""

_QUESTIONS_AT_ONCE = 20
_A_NUMBER = 6
"""Characters that a reference to a line, a message or a call takes, about."""

Behind = list[list[str | None]]
"""The calls of one question's records: of the question, its answers, its marks, its verdicts."""


class Exchanges:
    """What was asked and answered, as long as there is room.

    Args:
        room: Characters at most.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._lines: dict[str, int] = {}
        self._messages: dict[tuple[str, tuple[int, ...]], int] = {}
        self._calls: list[list[Json]] = []
        self._numbers: dict[str, int] = {}

    def body(self) -> dict[str, Json]:
        """`{"lines": [TEXT], "messages": [[ROLE, [LINE]]], "calls": [CALL]}`.

        A call is `[key, agent, messages, state, reply, thinking, scored, reason]`, texts as lists
        of lines, null where there is none.
        """
        messages = [[role, list(lines)] for role, lines in self._messages]
        return {"lines": list(self._lines), "messages": messages, "calls": self._calls}

    def numbers(self, keys: Iterable[str], held: Mapping[str, StoredCall]) -> list[int]:
        """The numbers of those calls that the ledger holds."""
        return [self.add(held[key]) for key in keys if key in held]

    def add(self, call: StoredCall) -> int:
        """The number of a call, which is taken in where it is new."""
        known = self._numbers.get(call.key)
        if known is not None:
            return known
        outcome = call.outcome
        done = outcome if isinstance(outcome, Completion) else None
        scored = call.request.get("continuation")
        reply = done.text if done is not None and scored is None else None
        row: list[Json] = [
            call.key[:SHORT],
            call.agent,
            [self._message(role, text) for role, text in call.request["messages"]],
            "error" if done is None else done.state,
            self._text(reply),
            self._text(None if done is None else done.thinking),
            self._text(scored),
            f"{outcome.kind}: {outcome.message}" if isinstance(outcome, Failure) else None,
        ]
        self.room -= 60 + _A_NUMBER * len(row[2])
        self._calls.append(row)
        self._numbers[call.key] = len(self._calls) - 1
        return self._numbers[call.key]

    def _message(self, role: str, text: str) -> int:
        message = (role, tuple(self._text(text) or ()))
        if message not in self._messages:
            self.room -= _A_NUMBER * len(message[1])
        return self._messages.setdefault(message, len(self._messages))

    def _text(self, text: str | None) -> list[int] | None:
        return None if text is None else [self._line(line) for line in text.split("\n")]

    def _line(self, line: str) -> int:
        if line not in self._lines:
            self.room -= len(line) + _A_NUMBER
        return self._lines.setdefault(line, len(self._lines))


def embed(
    questions: Sequence[dict[str, Any]],
    behind: Mapping[str, Behind],
    reader: CallReader,
    room: int,
) -> tuple[dict[str, Json], int]:
    """Put into each question which calls stand behind its records, as long as there is room.

    A question that gets them has `calls`: four lists, in the order of `Behind`, of the numbers of
    each record's calls. Of the others the ledger is not read.

    Args:
        questions: The questions of the page, changed in place.
        behind: By a question's id, its records' calls.
        reader: The ledger.
        room: See `Exchanges`.

    Returns:
        The exchanges' body, and how many questions have theirs.

    Raises:
        LedgerFileError: The ledger cannot be read.
    """
    exchanges, whole = Exchanges(room), 0
    for start in range(0, len(questions), _QUESTIONS_AT_ONCE):
        some = questions[start : start + _QUESTIONS_AT_ONCE]
        keys = [key for one in some for key in _keys(behind[one["id"]])]
        held = reader.read(keys)
        for question in some:
            if exchanges.room <= 0:
                return exchanges.body(), whole
            question["calls"] = [
                [exchanges.numbers(calls_of(call), held) for call in kind]
                for kind in behind[question["id"]]
            ]
            whole += 1
    return exchanges.body(), whole


def _keys(behind: Behind) -> list[str]:
    return [key for kind in behind for call in kind for key in calls_of(call)]
