"""Votes of people in PRD's two data sets: Vicuna-80 (with its reviewers' verdicts), and LFQA.

Li et al., "PRD: Peer Rank and Discussion". In the first,
`ratings-human/answer_A-vs-answer_B-human-reviewer_threeclass.jsonl` has a line a vote,
`{question_id, score}` with 1 for A, 2 for B and 3 for a tie; the voters have no names. The second
is one file of experts' choices between two answers, human or machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Question
from peerexam.runfolder import read_jsonl
from peerexam.tasks.importers.layouts.prd import read_prd
from peerexam.tasks.trust.labels import HumanLabels, Preference

_PAIR = re.compile(r"answer_(.+)-vs-answer_(.+)-human-reviewer(?:[_-]threeclass)?\.jsonl")
_POINTS: Mapping[Json, float] = {1: 1.0, 2: 0.0, 3: 0.5}
_CHOICE: Mapping[Json, float] = {-1: 1.0, 0: 0.5, 1: 0.0}
_LFQA = "experts_pairwise_human_preferences.jsonl"


def read_prd_human(source: Path) -> HumanLabels:
    """Read a PRD folder with its human votes; pairs with answers that are not there stay out.

    Raises:
        SetupError: The folder is of another layout, or has no human votes.
        RecordFileError: A line cannot be read.
    """
    imported = read_prd(source)
    cells = {(answer.question_id, answer.examinee) for answer in imported.answers}
    examinees = {examinee for _, examinee in cells}
    preferences: list[Preference] = []
    unknown: set[str] = set()
    for path in sorted(source.glob("ratings-human/*.jsonl")):
        found = _PAIR.fullmatch(path.name)
        if found is None:
            raise SetupError(
                f"{path}: expected a name like answer_A-vs-answer_B-human-reviewer_threeclass.jsonl"
            )
        if {found[1], found[2]} <= examinees:
            preferences.extend(_votes(path, found[1], found[2], cells))
        else:
            unknown |= {found[1], found[2]} - examinees
    if not preferences:
        raise SetupError(f"{source} has no votes of people: ratings-human/*.jsonl")
    notes = [
        f"voters have no names; {len(preferences)} votes; how far any two people agree is not known"
    ]
    if unknown:
        notes.append(f"votes on {', '.join(sorted(unknown))} are left out: no answers are there")
    return HumanLabels(
        "prd",
        tuple(imported.questions),
        tuple(imported.answers),
        preferences=tuple(preferences),
        verdicts=tuple(imported.verdicts),
        notes=tuple(notes),
        people_named=False,
    )


def _votes(path: Path, a: str, b: str, cells: set[tuple[str, str]]) -> Iterator[Preference]:
    voters: Counter[str] = Counter()
    for number, body in read_jsonl(path):
        question, score = str(body.get("question_id")), body.get("score")
        points = _POINTS.get(score) if type(score) is int else None
        if points is None or (question, a) not in cells or (question, b) not in cells:
            raise RecordFileError("no score of 1, 2 or 3, or no such question", path, number)
        voters[question] += 1
        yield Preference(question, a, b, f"voter {voters[question]}", points)


def read_prd_lfqa(path: Path) -> HumanLabels:
    """Read the experts' choices between long answers: the file, or the folder that holds it.

    -1 means the first answer and 1 the second, as the justifications beside them have it; the
    source says so nowhere.

    Raises:
        SetupError: There is no such file, or nothing in it.
        RecordFileError: A line cannot be read.
    """
    file = path / _LFQA if path.is_dir() else path
    if not file.is_file():
        raise SetupError(f"there is no file {file}")
    questions: dict[str, Question] = {}
    answers: list[Answer] = []
    preferences: list[Preference] = []
    for number, body in read_jsonl(file):
        texts = [body.get(key) for key in ("question", "answer_a", "answer_b")]
        choice = body.get("overall_preference")
        points = _CHOICE.get(choice) if type(choice) is int else None
        if points is None or not all(isinstance(text, str) for text in texts):
            raise RecordFileError(
                "expected question, answer_a, answer_b, and overall_preference -1 or 1",
                file,
                number,
            )
        text = str(texts[0])
        key = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        questions.setdefault(key, Question(key, text, str(body.get("domain") or "general")))
        names = [f"{side} of line {number}" for side in ("A", "B")]
        for name, answer in zip(names, texts[1:], strict=True):
            answers.append(Answer(key, name, str(answer), "ok" if str(answer).strip() else "empty"))
        preferences.append(Preference(key, names[0], names[1], "expert", points))
    if not preferences:
        raise SetupError(f"{file} holds no choices")
    return HumanLabels(
        "prd-lfqa",
        tuple(questions.values()),
        tuple(answers),
        preferences=tuple(preferences),
        notes=("-1 is read as the first answer; the source has no code book",),
    )
