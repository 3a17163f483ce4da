"""A run in FastChat's layout: question.jsonl, model_answer/, model_judgment/.

FastChat's `show_result.py` and browser read it. Both orders of a pair are the two games of one row;
what could not be read is `error` there, and a mark that could not be read is -1, as FastChat has
it. Judges' verdicts and marks on their own answers are left out, as they are in the standings.
Follow-ups are asked of one examinee each, which FastChat's second turns are not, and are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Answer, Mark, Question, Verdict, Winner
from peerexam.report.export.place import check_export_place
from peerexam.runfolder import RunFolder

T = TypeVar("T")

FAILED = "$ERROR$"
"""FastChat's text of an answer that could not be had."""

PAIR_PROMPT = "peerexam-pair"
"""Where FastChat names the judge's prompt."""

SINGLE_PROMPT = "peerexam-single-{full_mark}"
"""The same for marks; its number is the full mark, which FastChat's layout has no field for."""

_FIRST_GAME: Mapping[Winner | None, str] = {
    "first": "model_1",
    "second": "model_2",
    "tie": "tie",
    None: "error",
}
_SECOND_GAME: Mapping[Winner | None, str] = {
    "first": "model_2",
    "second": "model_1",
    "tie": "tie",
    None: "error",
}
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class FastChatWritten:
    """What was written.

    Attributes:
        folder: Where to.
        files: Their paths below it, sorted.
        questions: How many questions.
        answers: How many answers.
        pairs: How many rows of two games.
        singles: How many marks.
        follow_ups: Questions left out.
        own_answers: Verdicts and marks left out.
    """

    folder: Path
    files: tuple[str, ...]
    questions: int
    answers: int
    pairs: int
    singles: int
    follow_ups: int
    own_answers: int


def export_fastchat(run: Path, out: Path, *, full_mark: int = 5) -> FastChatWritten:
    """Write a run in FastChat's layout.

    Args:
        run: The run's folder.
        out: The folder to write to; files of an earlier export there are replaced.
        full_mark: Of the run's marks.

    Raises:
        SetupError: `out` cannot be a folder or holds a run, or the folder holds no run.
    """
    folder = RunFolder(run)
    folder.read_manifest()
    check_export_place(out)
    _make_folders(out)
    asked, later = _questions(folder.questions())
    ids = _ids(asked)
    _write(out / "question.jsonl", (_question(question, ids) for question in asked.values()))
    answers = _grouped(
        (a for a in folder.answers() if a.question_id in asked), lambda a: a.examinee
    )
    for name, given in answers.items():
        path = out / "model_answer" / f"{file_name(name)}.jsonl"
        _write(path, (_answer(answer, ids) for answer in given))
    verdicts, own = _peers(folder.verdicts(), lambda v: v.is_self_judgement)
    marks, own_marks = _peers(folder.marks(), lambda m: m.judge == m.examinee)
    pairs, singles, prompt = 0, 0, SINGLE_PROMPT.format(full_mark=full_mark)
    for judge, said in _grouped(verdicts, lambda v: v.judge).items():
        path = out / "model_judgment" / f"{file_name(judge)}_pair.jsonl"
        pairs += _write(path, _games(said, ids))
    first_round = (mark for mark in marks if mark.question_id in asked)
    for judge, given_marks in _grouped(first_round, lambda m: m.judge).items():
        path = out / "model_judgment" / f"{file_name(judge)}_single.jsonl"
        singles += _write(path, (_single(mark, ids, prompt) for mark in given_marks))
    files = tuple(sorted(str(p.relative_to(out)) for p in out.rglob("*.jsonl")))
    number = sum(map(len, answers.values()))
    return FastChatWritten(out, files, len(asked), number, pairs, singles, later, own + own_marks)


def file_name(name: str) -> str:
    """A name as a file's name, by which FastChat knows a model: anything odd percent-encoded.

    >>> file_name("gpt-4"), file_name("../x"), file_name("a/b")
    ('gpt-4', '%2E.%2Fx', 'a%2Fb')
    """
    safe = quote(name, safe=" @+,=()!", errors="backslashreplace")
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if len(safe) > _LONGEST_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        safe = f"{safe[:_LONGEST_NAME]}-{digest}"
    return safe


def _questions(questions: Iterable[Question]) -> tuple[dict[str, Question], int]:
    """Questions of the first round by id, and how many follow-ups there are."""
    every = list(questions)
    asked = {question.id: question for question in every if question.round == 1}
    return asked, len(every) - len(asked)


def _ids(asked: Iterable[str]) -> Mapping[str, Json]:
    """Ids as FastChat has them: whole numbers where all of them are."""
    names = list(asked)
    if all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in names):
        return {name: int(name) for name in names}
    return {name: name for name in names}


def _question(question: Question, ids: Mapping[str, Json]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "question_id": ids[question.id],
        "category": question.domain,
        "turns": [question.text],
    }
    return body if question.reference is None else {**body, "reference": [question.reference]}


def _answer(answer: Answer, ids: Mapping[str, Json]) -> dict[str, Json]:
    had = answer.text or answer.state in ("ok", "empty", "truncated")
    digest = hashlib.sha256(f"{answer.question_id}\x1f{answer.examinee}".encode("utf-8", "replace"))
    return {
        "question_id": ids[answer.question_id],
        "answer_id": digest.hexdigest()[:22],
        "model_id": answer.examinee,
        "choices": [{"index": 0, "turns": [answer.text if had else FAILED]}],
        "tstamp": 0.0,
    }


def _games(verdicts: Iterable[Verdict], ids: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """One row a question and pair, model_1 the one whose name sorts first."""
    games: dict[tuple[str, str, str], dict[bool, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        one, two = sorted((verdict.first, verdict.second))
        games[verdict.question_id, one, two][verdict.first == one] = verdict
    for (id_, one, two), held in games.items():
        first, second = held.get(True), held.get(False)
        judge = next(iter(held.values())).judge
        yield {
            "question_id": ids.get(id_, id_),
            "model_1": one,
            "model_2": two,
            "g1_winner": _FIRST_GAME[None if first is None else first.winner],
            "g2_winner": _SECOND_GAME[None if second is None else second.winner],
            "judge": [judge, PAIR_PROMPT],
            "g1_user_prompt": "",
            "g1_judgment": _words(first),
            "g2_user_prompt": "",
            "g2_judgment": _words(second),
            "turn": 1,
            "tstamp": 0.0,
        }


def _single(mark: Mark, ids: Mapping[str, Json], prompt: str) -> dict[str, Json]:
    return {
        "question_id": ids[mark.question_id],
        "model": mark.examinee,
        "judge": [mark.judge, prompt],
        "user_prompt": "",
        "judgment": mark.reply or "",
        "score": -1 if mark.overall is None else mark.overall,
        "turn": 1,
        "tstamp": 0.0,
    }


def _words(verdict: Verdict | None) -> str:
    """The judge's words where they were kept, which is where they could not be read."""
    return "" if verdict is None else verdict.reply or verdict.reason or ""


def _peers(records: Iterable[T], is_own: Callable[[T], bool]) -> tuple[list[T], int]:
    every = list(records)
    peers = [record for record in every if not is_own(record)]
    return peers, len(every) - len(peers)


def _grouped(records: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return dict(sorted(groups.items()))


def _make_folders(out: Path) -> None:
    """The folders, without what an earlier export left in them."""
    try:
        for name in ("model_answer", "model_judgment"):
            (out / name).mkdir(parents=True, exist_ok=True)
            for path in (out / name).glob("*.jsonl"):
                path.unlink()
    except (FileExistsError, NotADirectoryError) as error:
        raise SetupError(f"{out} is a file: name a folder to export to") from error


def _write(path: Path, bodies: Iterable[Mapping[str, Json]]) -> int:
    rows = 0
    with path.open("wb") as file:
        for body in bodies:
            text = json.dumps(body, ensure_ascii=False, allow_nan=False)
            file.write(text.encode("utf-8", "backslashreplace") + b"\n")
            rows += 1
    return rows
