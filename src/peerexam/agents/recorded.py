"""`file/PATH`: answers that were recorded before, for models that cannot be asked any more.

The file is JSON Lines, or one JSON list as AlpacaEval writes it. Each entry holds

- `question_id` or `id`, and/or the question: `question`, `instruction` (with its `input`),
  `prompt`, or `text`;
- the answer: `answer`, `output`, `response`, or else `text`;
- `state`, where it is not a usable answer (`refused`, `filtered`, …).

The option `examinee` picks one model's entries out of a file of several, by `examinee`, `generator`
or `model`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from peerexam.agents.base import Agent, Provider
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Completion, Json, Request, State
from peerexam.errors import PermanentError, SetupError
from peerexam.records import with_input
from peerexam.runfolder import read_jsonl

_IDS = ("question_id", "id")
_QUESTIONS = ("question", "instruction", "prompt")
_ANSWERS = ("answer", "output", "response")
_WHOSE = ("examinee", "generator", "model")


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    question_id: str | None
    question: str | None
    completion: Completion


class RecordedAgent(Provider):
    """Answers by question id or by question text.

    Args:
        name: Who it is in the exam.
        entries: Numbered entries of the file.
        source: The file's name, for messages.
        fingerprint: The hash of the file, so that a moved file is the same and a changed one not.

    Raises:
        SetupError: An entry cannot be used, or two entries answer one question differently.
    """

    def __init__(
        self,
        name: str,
        entries: Iterable[tuple[int, Mapping[str, Any]]],
        source: str,
        fingerprint: Mapping[str, Json],
    ) -> None:
        super().__init__(name, fingerprint, ("chat",))  # it is asked as a chat model is
        self._source = source
        self._by_id: dict[str, _Entry] = {}
        self._by_text: dict[str, _Entry | None] = {}
        self._by_words: dict[str, _Entry | None] = {}
        for line, row in entries:
            self._add(_read(row, line, source))
        if not self._by_id and not self._by_text:
            raise SetupError(f"{source} holds no answers of agent '{name}'")

    def lookup(self, question_id: str | None, text: str | None) -> Completion | None:
        """The recorded answer, by id, else by exact text, else by text with spaces made even."""
        entry = None if question_id is None else self._by_id.get(question_id)
        if entry is None and text is not None:
            entry = self._by_text.get(text) or self._by_words.get(_even(text))
        return None if entry is None else entry.completion

    def answer_for(self, question_id: str | None, text: str | None) -> Completion:
        """The recorded answer to a question.

        Raises:
            PermanentError: There is none; the message names the question.
        """
        found = self.lookup(question_id, text)
        if found is None:
            which = f"question {question_id}" if question_id else "the question"
            raise PermanentError(f"{self._source} has no answer to {which} ({_start(text)})")
        return found

    async def complete(self, request: Request) -> Completion:
        """The answer to the question that the last user message is.

        Raises:
            PermanentError: There is none, or it is asked for more than an answer.
        """
        self.refuse_unclaimed(request)
        asked = [turn.content for turn in request.messages if turn.role == "user"]
        if not asked:
            raise PermanentError(f"{self._source} holds answers to questions, nothing else")
        return self.answer_for(None, asked[-1])

    async def close(self) -> None:
        """There is nothing to close."""

    def _add(self, entry: _Entry) -> None:
        if entry.question_id is not None:
            other = self._by_id.setdefault(entry.question_id, entry)
            _check_same(other, entry, entry.question_id, self._source)
        if entry.question is None:
            return
        same_text = self._by_text.get(entry.question)
        if same_text is not None and (same_text.question_id is None or entry.question_id is None):
            _check_same(same_text, entry, entry.question, self._source)
        for entries, text in (
            (self._by_text, entry.question),
            (self._by_words, _even(entry.question)),
        ):
            other_entry = entries.setdefault(text, entry)
            if other_entry is not None and not _same(other_entry, entry):
                entries[text] = None  # only the id tells these two questions apart


def check(spec: AgentSpec) -> None:
    """Look at an agent's options, without its file.

    Raises:
        SetupError: An option is unknown.
    """
    unknown = sorted(set(spec.options) - {"examinee"})
    if unknown:
        raise SetupError(f"provider file has no option '{unknown[0]}'; it has examinee")


def create(spec: AgentSpec) -> Agent:
    """Build the agent of a file.

    Raises:
        SetupError: The file is missing, or cannot be used.
    """
    check(spec)
    path = Path(spec.model)
    if not path.is_file():
        raise SetupError(f"agent '{spec.name}': there is no file {path}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    whose = spec.options.get("examinee")
    fingerprint: dict[str, Json] = {"provider": "file", "model": path.name, "sha256": digest}
    entries = _entries(path)
    if whose is not None:
        fingerprint["examinee"] = whose
        entries = (
            (line, row) for line, row in entries if str(whose) in [row.get(key) for key in _WHOSE]
        )
    return RecordedAgent(spec.name, entries, str(path), fingerprint)


def _entries(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        start = file.read(1024).lstrip()[:1]
    if start != "[":
        yield from read_jsonl(path)
        return
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise SetupError(f"{path} is not JSON: {error}") from error
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise SetupError(f"{path}: entry {number} is not an object")
        yield number, row


def _read(row: Mapping[str, Any], line: int, source: str) -> _Entry:
    answer_key = next((key for key in _ANSWERS if key in row), "text")
    question = _first(row, _QUESTIONS if answer_key == "text" else (*_QUESTIONS, "text"))
    if question is not None and row.get("instruction") is not None:
        question = with_input(question, row.get("input"))
    question_id = _first(row, _IDS)
    if question_id is None and question is None:
        raise SetupError(f"{source}:{line}: no question_id and no question to match by")
    state = _state(row, line, source)
    if answer_key not in row and state in (None, "ok"):
        raise SetupError(f"{source}:{line}: no answer; it goes under {', '.join(_ANSWERS)}")
    text = row.get(answer_key)
    if text is not None and not isinstance(text, str):
        raise SetupError(f"{source}:{line}: the answer is not text")
    if state in (None, "ok"):
        state = "ok" if text and text.strip() else "empty"
    completion = Completion(text or "", state, model=_first(row, ("generator", "model")))
    return _Entry(line, question_id, question, completion)


def _state(row: Mapping[str, Any], line: int, source: str) -> State | None:
    state = row.get("state")
    for known in get_args(State):
        if state == known:
            found: State = known
            return found
    if state is None:
        return None
    raise SetupError(f"{source}:{line}: state '{state}' is none of {', '.join(get_args(State))}")


def _first(row: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    value = next((row[key] for key in keys if row.get(key) is not None), None)
    return None if value is None else str(value)


def _same(one: _Entry, other: _Entry) -> bool:
    a, b = one.completion, other.completion
    return (a.text, a.state) == (b.text, b.state)


def _check_same(one: _Entry, other: _Entry, what: str, source: str) -> None:
    if not _same(one, other):
        raise SetupError(
            f"{source}: lines {one.line} and {other.line} answer {_start(what)} differently; "
            "keep one, or pick one model's entries with ?examinee=NAME"
        )


def _even(text: str) -> str:
    return " ".join(text.split())


def _start(text: str | None) -> str:
    even = _even(text or "")
    return f"'{even[:80]}…'" if len(even) > 80 else f"'{even}'"
