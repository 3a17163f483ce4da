"""The questions with everything that was said about them, compact enough to stand in one page.

Names become numbers once and records become short lists, because a question can have hundreds of
verdicts. `templates/report.js` reads exactly this layout.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from peerexam.calls import Json
from peerexam.ledger.reading import CallReader
from peerexam.records import Answer, Mark, Question, Ranking
from peerexam.report.run.exchanges import ROOM, Behind, embed
from peerexam.runfolder import RunFolder
from peerexam.runfolder.columns import RecordStream

T = TypeVar("T")

QUESTION_LIMIT = 2000
"""A page holds at most so many questions; of more, a seeded sample."""

_VERDICT = ("judge", "first", "second", "state", "winner", "reason", "reply", "call")
_WINNERS = {"first": 0, "second": 1, "tie": 2, None: None}


@dataclass(frozen=True, slots=True)
class Tally:
    """How many questions there are of each sort, over the whole run."""

    domains: dict[str, int] = field(default_factory=dict)
    authors: dict[str, int] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)

    def add(self, question: Question) -> None:
        """Count one question."""
        author = question.author or "the user"
        self.domains[question.domain] = self.domains.get(question.domain, 0) + 1
        self.authors[author] = self.authors.get(author, 0) + 1
        self.rounds[question.round] = self.rounds.get(question.round, 0) + 1


@dataclass(frozen=True, slots=True)
class Browsable:
    """What the question browser shows.

    Attributes:
        body: `{"names": [NAME], "questions": [...]}` for the page's script, and `exchanges` where
            there is a ledger.
        total: Questions of the run.
        shown: Questions in the body.
        tally: Counts over all questions of the run.
        asked: Of the questions in the body, those behind whose records there is a call.
        opened: Of these, those whose prompts and replies are in the body.
    """

    body: dict[str, Json]
    total: int
    shown: int
    tally: Tally
    asked: int = 0
    opened: int = 0


def browsable(
    folder: RunFolder,
    seed: int = 0,
    limit: int = QUESTION_LIMIT,
    reader: CallReader | None = None,
    room: int = ROOM,
) -> Browsable:
    """Gather what is shown, reading the records as a stream.

    Args:
        folder: The run.
        seed: Of the sample, where there are more questions than `limit`.
        limit: At most so many questions; a question and its follow-ups stay together.
        reader: The ledger with the prompts and replies; None leaves them out.
        room: Characters of prompts and replies at most.

    Raises:
        LedgerFileError: The ledger cannot be read.
    """
    tally = Tally()
    families: dict[str, list[str]] = {}
    root_of: dict[str, str] = {}
    for question in folder.questions():
        tally.add(question)
        parent = question.parent_id
        root = root_of.get(parent, parent) if parent is not None else question.id
        root_of[question.id] = root
        families.setdefault(root, []).append(question.id)
    kept = sample_families(families, seed, limit)
    sheet = _Sheet()
    _fill(sheet, folder, _Chosen(kept, everything=len(kept) == len(root_of)))
    body, opened = sheet.body(), 0
    asked = sum(any(any(kind) for kind in behind) for behind in sheet.behind.values())
    if reader is not None and asked:
        body["exchanges"], opened = embed(body["questions"], sheet.behind, reader, room)
    return Browsable(body, len(root_of), len(sheet.questions), tally, asked, opened)


def sample_families(families: dict[str, list[str]], seed: int, limit: int) -> set[str]:
    """Ids of the questions to show: all, or whole families drawn at random up to the limit."""
    total = sum(map(len, families.values()))
    if total <= limit:
        return {member for members in families.values() for member in members}
    roots = list(families)
    random.Random(f"report-sample:{seed}").shuffle(roots)
    kept: set[str] = set()
    for root in roots:
        if len(kept) + len(families[root]) <= limit:
            kept.update(families[root])
    return kept


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The questions to show; of a sample only its own lines are read: there may be millions."""

    ids: set[str]
    everything: bool

    def records(self, stream: RecordStream[T], key: str = "question_id") -> Iterator[T]:
        return (record for record in self._read(stream) if getattr(record, key) in self.ids)

    def rows(self, stream: RecordStream[Any], *names: str) -> Iterator[tuple[Any, ...]]:
        """The same by the column; the question's id comes first."""
        for block in self._read(stream).columns("question_id", *names):
            yield from (row for row in zip(*block, strict=True) if row[0] in self.ids)

    def _read(self, stream: RecordStream[T]) -> RecordStream[T]:
        return stream if self.everything else stream.about(self.ids)


def _fill(sheet: _Sheet, folder: RunFolder, chosen: _Chosen) -> None:
    for question in chosen.records(folder.questions(), "id"):
        sheet.add_question(question)
    for answer in chosen.records(folder.answers()):
        sheet.add_answer(answer)
    for mark in chosen.records(folder.marks()):
        sheet.add_mark(mark)
    for verdict in chosen.rows(folder.verdicts(), *_VERDICT):
        sheet.add_verdict(*verdict)
    for ranking in chosen.records(folder.rankings()):
        sheet.add_ranking(ranking)


def _trimmed(row: list[Json]) -> list[Json]:
    """Without the trailing nulls, which most rows end in."""
    while row and row[-1] is None:
        row.pop()
    return row


class _Sheet:
    def __init__(self) -> None:
        self.questions: dict[str, dict[str, Any]] = {}
        self.behind: dict[str, Behind] = {}
        self._numbers: dict[str, int] = {}

    def body(self) -> dict[str, Json]:
        return {"names": list(self._numbers), "questions": list(self.questions.values())}

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def add_question(self, question: Question) -> None:
        sheet: dict[str, Any] = {
            "id": question.id,
            "text": question.text,
            "domain": question.domain,
            "group": question.group,
            "round": question.round,
            "answers": [],
            "marks": [],
            "verdicts": [],
            "rankings": [],
        }
        if len(question.domain_path) > 1:
            sheet["path"] = list(question.domain_path)
        if question.author is not None:
            sheet["author"] = self._number(question.author)
        if question.examinee is not None:
            sheet["asked"] = self._number(question.examinee)
        for key in ("parent_id", "level"):
            if getattr(question, key) is not None:
                sheet[key] = getattr(question, key)
        self.questions[question.id] = sheet
        self.behind[question.id] = [[question.call], [], [], []]

    def add_answer(self, answer: Answer) -> None:
        row = [self._number(answer.examinee), answer.state, answer.text, answer.reason]
        self.questions[answer.question_id]["answers"].append(_trimmed(row))
        self.behind[answer.question_id][1].append(answer.call)

    def add_mark(self, mark: Mark) -> None:
        row: list[Json] = [
            self._number(mark.examinee),
            self._number(mark.judge),
            mark.state,
            mark.overall,
            {name: score for name, score in mark.scores.items() if score is not None} or None,
            mark.reason,
            mark.reply,
        ]
        self.questions[mark.question_id]["marks"].append(_trimmed(row))
        self.behind[mark.question_id][2].append(mark.call)

    def add_verdict(
        self,
        question_id: str,
        judge: str,
        first: str,
        second: str,
        state: str,
        winner: str | None,
        reason: str | None,
        reply: str | None,
        call: str | None,
    ) -> None:
        number = self._number
        row: list[Json] = [number(judge), number(first), number(second), state, _WINNERS[winner]]
        self.questions[question_id]["verdicts"].append(_trimmed([*row, reason, reply]))
        self.behind[question_id][3].append(call)

    def add_ranking(self, ranking: Ranking) -> None:
        row: list[Json] = [
            self._number(ranking.judge),
            [[self._number(name) for name in group] for group in ranking.order],
            [self._number(name) for name in ranking.unranked] or None,
        ]
        self.questions[ranking.question_id]["rankings"].append(_trimmed(row))
