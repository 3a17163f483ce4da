"""Human scores and rankings in CSV, in the layout that the paper gave its annotators.

Examiner paper, appendix C.1. One row a question (and annotator, where a column names one)::

    question, GPT4 answer, GPT4 answer correctness,
    answer 1, answer 1 rating, answer 2, answer 2 rating, answer 3, answer 3 rating, answer ranking

Any number of answers from two on. A rating is the overall score, 1 to 5, or five numbers:
accuracy, coherence, factuality, comprehensiveness (1 to 3 each), overall. A ranking is
`2>3=1`: answer 2 is best, 3 and 1 are as good as each other. `NULL` or an empty cell is no
judgement. `verdict NAME` is what a judge said of two answers, the first shown first, in the same
words as a ranking (`1>2`, `1=2`), and `verdict NAME swapped` with the second shown first; one order
is enough. Several rows of one question may hold other answers each, as several pairs to one prompt.
The reference answer may be called `reference answer`; `annotator`, `domain` and
`answer N model` are columns of ours that may be left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations, count
from pathlib import Path

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Question, Verdict, Winner, with_input
from peerexam.tasks.rows import csv_lines
from peerexam.tasks.trust.cells import NOTHING, Order, is_wrong, parse_ranking, parse_rating
from peerexam.tasks.trust.labels import HumanLabels, Preference, Rating

_ANSWER = re.compile(r"(?:answer|response)(\d+)(rating|score|model)?|(rating|score|model)(\d+)")
_VERDICT = re.compile(r"verdict[\s_:\-]+(?P<judge>.*?\S)(?P<swapped>[\s_]+swapped)?", re.IGNORECASE)
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "instruction"),
    "input": ("input",),
    "correctness": ("gpt4answercorrectness", "referenceanswercorrectness", "correctness"),
    "reference": ("gpt4answer", "referenceanswer", "reference", "goldanswer"),
    "ranking": ("answerranking", "ranking", "rank"),
    "annotator": ("annotator", "annotatorid", "rater"),
    "domain": ("domain",),
}


def read_annotations(path: Path) -> HumanLabels:
    """Read a CSV file of annotations.

    Raises:
        SetupError: There is no such file, or a column is missing.
        RecordFileError: A row has a rating or a ranking that cannot be read.
    """
    reading = _Reading(path)
    for number, row in _rows(path):
        reading.add(number, row)
    return reading.labels()


@dataclass(frozen=True, slots=True)
class _Row:
    """One row by meaning: `answers`, `ratings` and `models` by the answer's number.

    `verdicts` are by judge, and whether the second answer was shown first.
    """

    cells: Mapping[str, str]
    answers: Mapping[int, str]
    ratings: Mapping[int, str]
    models: Mapping[int, str]
    verdicts: Mapping[tuple[str, bool], str]


def _rows(path: Path) -> Iterator[tuple[int, _Row]]:
    lines = csv_lines(path)
    _, head = next(lines, (0, []))
    columns = _columns(head, path)
    judges = _judges(head)
    for line, row in lines:
        cells = [*row, *[""] * (len(head) - len(row))]
        taken = {name: cells[place] for name, place in columns.items()}
        said = {key: cells[place] for key, place in judges.items()}
        texts, ratings, models = (_numbered(taken, kind) for kind in _KINDS)
        yield line, _Row(taken, texts, ratings, models, said)


def _judges(head: Sequence[str]) -> dict[tuple[str, bool], int]:
    """Judge, and whether the answers are swapped, to the column of its verdicts."""
    found = ((place, _VERDICT.fullmatch(name.strip())) for place, name in enumerate(head))
    return {(match["judge"], bool(match["swapped"])): at for at, match in found if match}


_KINDS = ("text", "rating", "model")


def _columns(head: Sequence[str], path: Path) -> dict[str, int]:
    """Meaning to place; answers' columns are `text 1`, `rating 1`, `model 1` and so on."""
    plain = [re.sub(r"[\s_\-.]+", "", name).lower() for name in head]
    found: dict[str, int] = {}
    for meaning, names in _COLUMNS.items():
        places = [plain.index(name) for name in names if name in plain]
        if places:
            found[meaning] = places[0]
    for place, name in enumerate(plain):
        match = _ANSWER.fullmatch(name)
        if match:
            kind = match[2] or match[3] or "text"
            kind = "rating" if kind == "score" else kind
            found[f"{kind} {int(match[1] or match[4])}"] = place
    numbers = sorted(int(name[5:]) for name in found if name.startswith("text "))
    if "question" not in found:
        raise SetupError(f"{path} has no column 'question'; its columns are {', '.join(head)}")
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):
        raise SetupError(f"{path} needs columns 'answer 1', 'answer 2', … (at least two)")
    return found


def _numbered(taken: Mapping[str, str], kind: str) -> dict[int, str]:
    start = f"{kind} "
    return {int(n[len(start) :]): cell for n, cell in taken.items() if n.startswith(start)}


@dataclass
class _Reading:
    """Rows becoming labels."""

    path: Path
    questions: dict[str, Question] = field(default_factory=dict)
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    texts: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    judged: set[tuple[str, str]] = field(default_factory=set)
    references: dict[str, str] = field(default_factory=dict)
    ratings: list[Rating] = field(default_factory=list)
    preferences: list[Preference] = field(default_factory=list)
    seen: dict[tuple[str, str, frozenset[str]], int] = field(default_factory=dict)
    verdicts: dict[tuple[str, str, str, str], Verdict] = field(default_factory=dict)
    no_rating: int = 0
    no_ranking: int = 0
    wrong: set[str] = field(default_factory=set)

    def add(self, number: int, row: _Row) -> None:
        """Take one row.

        Raises:
            RecordFileError: It cannot be read.
        """
        question = self._question(number, row)
        annotator = row.cells.get("annotator", "").strip() or "annotator"
        names = self._answers(number, question.id, annotator, row)
        labelled = (question.id, annotator, frozenset(names.values()))
        self.judged.add((question.id, annotator))
        before = self.seen.setdefault(labelled, number)
        if before != number:
            raise RecordFileError(
                f"{annotator} judged these answers to the question in line {before}; an "
                "'annotator' column distinguishes several people",
                self.path,
                number,
            )
        try:
            self._rate(question.id, annotator, names, row.ratings)
            order = parse_ranking(row.cells.get("ranking", ""), len(names))
            self._add_verdicts(question.id, names, row.verdicts)
        except ValueError as error:
            raise RecordFileError(str(error), self.path, number) from error
        if order is None:
            self.no_ranking += 1
        else:
            self.preferences.extend(_preferences(question.id, annotator, names, order))

    def _question(self, number: int, row: _Row) -> Question:
        text = row.cells["question"].strip()
        if not text:
            raise RecordFileError("there is no question", self.path, number)
        text = with_input(text, row.cells.get("input"))
        # By the content, so that rows of several annotators meet whatever their order.
        key = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        domain = row.cells.get("domain", "").strip() or "general"
        question = self.questions.setdefault(key, Question(key, text, domain))
        reference = row.cells.get("reference", "").strip()
        if reference.lower() not in NOTHING:
            self.references.setdefault(key, reference)
        if is_wrong(row.cells.get("correctness", "")):
            self.wrong.add(key)
        return question

    def _answers(self, number: int, question_id: str, annotator: str, row: _Row) -> dict[int, str]:
        """The examinees' names by the answers' numbers."""
        further = not any(row.models.values()) and self._is_further(question_id, annotator, row)
        names = {
            place: row.models.get(place, "").strip() or f"answer {place}" for place in row.answers
        }
        if len(set(names.values())) < len(names):
            raise RecordFileError("two answers are of the same model", self.path, number)
        for place, name in names.items():
            text = row.answers[place]
            if further:
                taken = {names[other] for other in names if other < place}
                name = names[place] = self._name_of(question_id, name, text, taken)
            answer = Answer(question_id, name, text, "ok" if text.strip() else "empty")
            known = self.answers.setdefault((question_id, name), answer)
            self.texts[question_id].setdefault(name, text)
            if known.text != text:
                raise RecordFileError(
                    f"the text of {name} differs from an earlier row of the same question",
                    self.path,
                    number,
                )
        return names

    def _is_further(self, question_id: str, annotator: str, row: _Row) -> bool:
        """Whether a row without models' names has other answers to a question that came before.

        So it is where this annotator judged the question before, or where no answer is known: an
        answer that differs while the others are the same would be a slip.
        """
        known = set(self.texts[question_id].values())
        if not known or all(text in known for text in row.answers.values()):
            return bool(known)
        return (question_id, annotator) in self.judged or known.isdisjoint(row.answers.values())

    def _name_of(self, question_id: str, name: str, text: str, taken: set[str]) -> str:
        """The name that the text goes by; a new text is `answer 1`, `answer 1 (2)` and so on."""
        held = self.texts[question_id]
        if held.get(name, text) == text and name not in taken:
            return name
        same = [who for who, said in held.items() if said == text and who not in taken]
        new = (f"{name} ({at})" for at in count(2))
        return same[0] if same else next(one for one in new if one not in held)

    def _rate(
        self, question_id: str, annotator: str, names: Mapping[int, str], cells: Mapping[int, str]
    ) -> None:
        for place, name in names.items():
            rating = parse_rating(cells.get(place, ""))
            if rating is None:
                self.no_rating += 1
            else:
                self.ratings.append(Rating(question_id, name, annotator, *rating))

    def _add_verdicts(
        self, question_id: str, names: Mapping[int, str], cells: Mapping[tuple[str, bool], str]
    ) -> None:
        """Take what judges said; rows of several annotators repeat it."""
        for (judge, swapped), cell in cells.items():
            order = parse_ranking(cell, len(names))
            if order is None:
                continue
            if len(names) != 2:
                raise ValueError(f"a verdict is on two answers, and here are {len(names)}")
            first, second = (2, 1) if swapped else (1, 2)
            winner: Winner = "tie" if len(order) == 1 else "first"
            if order[0] == (second,):
                winner = "second"
            key = (question_id, judge, names[first], names[second])
            verdict = self.verdicts.setdefault(key, Verdict(*key, winner))
            if verdict.winner != winner:
                raise ValueError(f"the verdict of '{judge}' differs from that of an earlier row")

    def labels(self) -> HumanLabels:
        """All of it.

        Raises:
            SetupError: There is no row.
        """
        if not self.questions:
            raise SetupError(f"{self.path} has no row with a question")
        return HumanLabels(
            "annotations",
            tuple(self.questions.values()),
            tuple(self.answers.values()),
            self.references,
            tuple(self.ratings),
            tuple(self.preferences),
            tuple(self.verdicts.values()),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.no_rating:
            yield f"{self.no_rating} answers have no rating (empty or NULL)"
        if self.no_ranking:
            yield f"{self.no_ranking} rows have no ranking (empty or NULL)"
        if self.wrong:
            yield (
                f"{len(self.wrong)} reference answers were found wrong by an annotator; metrics "
                "score against them all the same"
            )
        without = len(self.questions) - len(self.references)
        if without:
            yield f"{without} questions have no reference answer, so that no metric scores them"


def _preferences(
    question_id: str, annotator: str, names: Mapping[int, str], order: Order
) -> Iterator[Preference]:
    place = {number: rank for rank, group in enumerate(order) for number in group}
    for a, b in combinations(sorted(names), 2):
        points = 0.5 if place[a] == place[b] else float(place[a] < place[b])
        yield Preference(question_id, names[a], names[b], annotator, points)
