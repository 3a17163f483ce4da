"""Peer verdicts in the layout of PRD (Li et al., "PRD: Peer Rank and Discussion").

::

    prompts/vicuna_questions.jsonl     question_id, text, category
    generations/answer_A.jsonl         answer_id, question_id, text
    ratings-J/answer_A-vs-answer_B-J-reviewer_threeclass.jsonl
                                       question_id, answer1_id, answer2_id, text, score

`score` is 1 where the first answer is better, 2 where the second is, 3 for a tie. Every reviewer
judged every ordered pair, pairs with its own answer included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Question, Verdict, Winner
from peerexam.runfolder import read_jsonl
from peerexam.tasks.importers.imported import Imported

_WINNERS: Mapping[Json, Winner] = {1: "first", 2: "second", 3: "tie"}
_HUMANS = "human"
_PAIR = re.compile(r"answer([_-])(.+)-vs-answer[_-](.+)-reviewer(?:[_-]threeclass)?\.jsonl")


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer with the id under which the ratings know it."""

    id: str
    order: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class _Ratings:
    """One file: a reviewer's verdicts on two examinees in one order."""

    judge: str
    first: str
    second: str
    path: Path


def read_prd(source: Path) -> Imported:
    """Read a PRD folder: questions, answers, and the verdicts of its model reviewers.

    Votes of humans are left out: they have several voters an item, other contestants and uneven
    coverage, and are no agent's. So is a second file for a reviewer and pair, which the layout has
    with hyphens in place of underscores; the authors read those with underscores.

    Raises:
        SetupError: A part is missing or is named in another way.
        RecordFileError: A line cannot be read, or speaks of a question or answer that is not there.
    """
    questions = {question.id: question for question in _read_questions(source)}
    answers = _read_answers(source, questions)
    files, left_out = _rating_files(source)
    places = {id_: place for place, id_ in enumerate(questions)}
    verdicts = [verdict for ratings in files for verdict in _read_verdicts(ratings, answers)]
    verdicts.sort(key=lambda v: (places[v.question_id], v.judge, v.first, v.second))
    roles: dict[str, list[str]] = {examinee: ["examinee"] for examinee, _ in answers}
    for judge in sorted({ratings.judge for ratings in files}):
        roles.setdefault(judge, []).append("judge")
    in_order = sorted(answers.values(), key=lambda known: (known.order, known.answer.examinee))
    return Imported(
        roles=roles,
        questions=tuple(questions.values()),
        answers=tuple(known.answer for known in in_order),
        verdicts=tuple(verdicts),
        left_out=left_out,
    )


def _read_questions(source: Path) -> Iterator[Question]:
    found = sorted(source.glob("prompts/*questions.jsonl"))
    if len(found) != 1:
        raise SetupError(f"{source}: expected one file prompts/*questions.jsonl: is this PRD data?")
    for number, body in read_jsonl(found[0]):
        try:
            domain = body.get("category") or "general"
            yield Question(id=str(body["question_id"]), text=body["text"], domain=str(domain))
        except KeyError as error:
            raise RecordFileError(f"no {error}", found[0], number) from error


def _read_answers(
    source: Path, questions: Mapping[str, Question]
) -> dict[tuple[str, str], _Answered]:
    """Answers by examinee and question id."""
    places = {id_: place for place, id_ in enumerate(questions)}
    answers: dict[tuple[str, str], _Answered] = {}
    for path in sorted(source.glob("generations/answer_*.jsonl")):
        examinee = path.stem.removeprefix("answer_")
        for number, body in read_jsonl(path):
            id_ = str(body.get("question_id"))
            text = body.get("text")
            if id_ not in places or not isinstance(text, str):
                raise RecordFileError(f"no text, or no question '{id_}'", path, number)
            answer = Answer(id_, examinee, text, "ok" if text.strip() else "empty")
            answers[examinee, id_] = _Answered(str(body.get("answer_id")), places[id_], answer)
    if not answers:
        raise SetupError(f"{source}: there is no file generations/answer_*.jsonl")
    return answers


def _rating_files(source: Path) -> tuple[list[_Ratings], tuple[str, ...]]:
    """The files to read, and what is left out."""
    chosen: dict[tuple[str, str, str], _Ratings] = {}
    left_out: list[str] = []
    for folder in sorted(source.glob("ratings-*")):
        judge = folder.name.removeprefix("ratings-")
        if judge == _HUMANS:
            left_out.append(f"{folder.name}: votes of humans, who are no agent of the exam")
            continue
        # "_" after "-" in ASCII: the spelling with underscores comes last and is kept.
        for path in sorted(folder.glob("*.jsonl")):
            ratings = _ratings(judge, path)
            key = (judge, ratings.first, ratings.second)
            if key in chosen:
                same = chosen[key].path
                if not same.name.startswith("answer-"):
                    raise SetupError(f"{path} holds the same comparisons as {same.name}")
                left_out.append(f"{folder.name}/{same.name}: the same comparisons as {path.name}")
            chosen[key] = ratings
    if not chosen:
        raise SetupError(f"{source}: there is no file ratings-*/answer_A-vs-answer_B-*.jsonl")
    return list(chosen.values()), tuple(left_out)


def _ratings(judge: str, path: Path) -> _Ratings:
    found = _PAIR.fullmatch(path.name)
    if found is None or not found.group(3).endswith(f"-{judge}"):
        raise SetupError(
            f"{path}: expected a name like answer_A-vs-answer_B-{judge}-reviewer_threeclass.jsonl"
        )
    return _Ratings(judge, found.group(2), found.group(3).removesuffix(f"-{judge}"), path)


def _read_verdicts(
    ratings: _Ratings, answers: Mapping[tuple[str, str], _Answered]
) -> Iterator[Verdict]:
    seen: dict[str, int] = {}
    for number, body in read_jsonl(ratings.path):
        id_ = str(body.get("question_id"))
        if id_ in seen:
            raise RecordFileError(
                f"question {id_} was judged in line {seen[id_]}", ratings.path, number
            )
        seen[id_] = number
        for examinee, named in (
            (ratings.first, body.get("answer1_id")),
            (ratings.second, body.get("answer2_id")),
        ):
            known = answers.get((examinee, id_))
            if known is None or named not in (None, known.id):
                raise RecordFileError(
                    f"{examinee} has no answer '{named}' to question {id_}", ratings.path, number
                )
        yield _verdict(ratings, id_, body)


def _verdict(ratings: _Ratings, question_id: str, body: Mapping[str, Json]) -> Verdict:
    score = body.get("score")
    winner = _WINNERS.get(score) if type(score) is int else None  # true is no score
    return Verdict(
        question_id,
        ratings.judge,
        ratings.first,
        ratings.second,
        winner,
        state="ok" if winner else "unparsed",
        reason=None if winner else f"score {score!r:.40} is not 1, 2 or 3",
        reply=None if winner else str(body.get("text", "")),
    )
