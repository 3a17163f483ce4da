"""FastChat's judgments: `model_judgment/JUDGE_pair.jsonl` and `JUDGE_single.jsonl`.

A pair row holds two games: in the first model_1 stood first, in the second model_2. Both become
verdicts; a game that ended in `error` is unparsed. A single row's score (1 to 10) becomes a mark
with the full mark 10, and -1, FastChat's sign for a reply without a rating, is unparsed. Scores
such as 8.5 are kept in tenths (85 of 100), and the import says so. Marks that peerexam exported
have their own full mark in the prompt's name (`peerexam-single-5`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Mark, Verdict, Winner
from peerexam.tasks.importers.collecting import Collected
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.layouts.fastchat import add_answers, add_questions, question_file
from peerexam.tasks.importers.mark_scale import MarkScale
from peerexam.tasks.rows import Row, files_of, rows_of

FULL_MARK = 10
"""Of FastChat's rating prompts."""

FAILED = -1
"""The score of a reply that holds no rating."""

_OUR_PROMPT = re.compile(r"peerexam-single-(\d{1,4})")
_FILES = ("model_judgment/*.jsonl", "*_pair.jsonl", "*.jsonl")
_FIRST_GAME: Mapping[Json, Winner] = {"model_1": "first", "model_2": "second", "tie": "tie"}
_SECOND_GAME: Mapping[Json, Winner] = {"model_1": "second", "model_2": "first", "tie": "tie"}


def read_fastchat_judgments(source: Path) -> Imported:
    """Read the judgments of a folder with its questions and answers, or one file of judgments.

    Raises:
        SetupError: There is none.
        RecordFileError: A line cannot be read, or a judge's verdicts contradict each other.
    """
    files = [path for path in files_of(source, *_FILES) if path.name != "question.jsonl"]
    if not files:
        raise SetupError(f"{source} has no model_judgment/*.jsonl: name a FastChat folder")
    collected = Collected()
    _add_what_was_judged(source, collected)
    later = 0
    scored: list[tuple[Row, Mark, float | None]] = []
    for path in files:
        for row in rows_of(path):
            if row.whole("turn", 1) > 1:
                later += 1
            elif "g1_winner" in row.body and "m1_score" not in row.body:
                for verdict in _games(row):
                    collected.verdict(verdict, row)
            else:
                scored += _scores(row)
    if later:
        collected.left_out.append(f"{later} judgments of later turns")
    scale = MarkScale(_full_mark(scored))
    scale.add(collected, scored)
    return collected.imported(scale if scored else None)


def _full_mark(scored: Sequence[tuple[Row, Mark, float | None]]) -> int:
    """The source's: its own prompts' unless all marks are ours.

    Raises:
        RecordFileError: Marks of several scales stand together.
    """
    found: dict[int, Row] = {}
    for row, _, _ in scored:
        found.setdefault(_full_mark_of(row), row)
    if len(found) > 1:
        scales = " and ".join(map(str, sorted(found)))
        raise list(found.values())[1].wrong(
            f"marks with the full marks {scales} stand together: import them one by one"
        )
    return next(iter(found), FULL_MARK)


def _full_mark_of(row: Row) -> int:
    judge = row.body.get("judge")
    prompt = judge[1] if isinstance(judge, list) and len(judge) > 1 else None
    ours = _OUR_PROMPT.fullmatch(prompt) if isinstance(prompt, str) else None
    return int(ours.group(1)) if ours else FULL_MARK


def _add_what_was_judged(source: Path, collected: Collected) -> None:
    questions = question_file(source)
    if questions is not None:
        add_questions(questions, collected)
        for path in files_of(questions.parent, "model_answer/*.jsonl"):
            add_answers(path, collected)


def _games(row: Row) -> Iterator[Verdict]:
    one, two = row.name("model_1"), row.name("model_2")
    games = (
        (one, two, "g1", _FIRST_GAME),
        (two, one, "g2", _SECOND_GAME),
    )
    for first, second, game, winners in games:
        said = row.body.get(f"{game}_winner")
        winner = winners.get(said) if isinstance(said, str) else None
        reply = row.body.get(f"{game}_judgment")
        yield Verdict(
            row.name("question_id"),
            _judge(row),
            first,
            second,
            winner,
            state="ok" if winner else "unparsed",
            reason=None if winner else f"{game}_winner is {said!r:.40}",
            reply=None if winner or not isinstance(reply, str) else reply,
        )


def _scores(row: Row) -> list[tuple[Row, Mark, float | None]]:
    """Marks without their score, and the score: of one answer, or of both answers of a pair."""
    sides: tuple[tuple[str, str, str], ...]
    if "m1_score" in row.body:
        sides = (("model_1", "m1_score", "g1_judgment"), ("model_2", "m2_score", "g2_judgment"))
    else:
        sides = (("model", "score", "judgment"),)
    found = []
    for who, key, words in sides:
        if key not in row.body:
            raise row.wrong("neither games (g1_winner, g2_winner) nor a score here")
        score = row.body[key]
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise row.wrong(f"{key} must be a number, found {score!r:.60}")
        given = None if score == FAILED or not math.isfinite(score) else float(score)
        reply = row.body.get(words)
        mark = Mark(
            row.name("question_id"),
            row.name(who),
            _judge(row),
            state="ok" if given is not None else "unparsed",
            reason=None if given is not None else f"{key} is {score!r:.40}",
            reply=reply if given is None and isinstance(reply, str) else None,
        )
        found.append((row, mark, given))
    return found


def _judge(row: Row) -> str:
    """FastChat names the model and the prompt; the prompt differs by the question's category."""
    judge = row.body.get("judge")
    if isinstance(judge, list) and judge and isinstance(judge[0], str) and judge[0].strip():
        return judge[0]
    return row.name("judge")
