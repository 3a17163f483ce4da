"""Instruction rows with two outputs and who preferred which: AlpacaEval's and PandaLM's.

::

    annotations.json    instruction, input?, output_1, output_2, generator_1, generator_2,
                        annotator?, dataset?, preference (1 to 2, null where there is none)
    PandaLM             instruction, input?, response1, response2, cmp_key (MODEL_MODEL)?,
                        annotator1, annotator2, … (0 tie, 1 the first, 2 the second)

A preference between 1 and 2 is a probability of the second output: below 1½ the first wins, above
it the second, and how far is not kept; 1½ (and 0, as older files have it) is a tie. Neither source
says which output was shown first, so the first of the row counts as such, but where AlpacaEval's
`is_switched_output_1_output_2` says otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Answer, Question, Verdict, Winner, with_input
from peerexam.tasks.importers.collecting import Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.question_ids import QuestionIds
from peerexam.tasks.rows import Row, files_of, rows_of

ANNOTATOR = "annotator"
"""Who judged, where the source does not say."""

_SWITCHED = ("is_switched_output_1_output_2", "is_switched_outputs_1_2")
_VOTE = re.compile(r"annotator\d+")
_SAID: dict[int, Winner] = {0: "tie", 1: "first", 2: "second"}
_OTHER: dict[Winner, Winner] = {"first": "second", "second": "first", "tie": "tie"}


def read_alpaca_annotations(source: Path) -> Imported:
    """Read AlpacaEval's annotations.

    Raises:
        SetupError: There is no such file.
        RecordFileError: A row lacks what it needs, or an annotator's verdicts contradict each
            other.
    """
    collected, same, weighed = Collected(), 0, 0
    for row in _rows(source, "**/annotations.json", "*.json", "*.jsonl", "*.csv"):
        one, two = row.name("generator_1"), row.name("generator_2")
        same += one == two
        if one == two:
            continue
        id_ = _question(collected, row, "output_1", "output_2", one, two)
        preference = _number(row, "preference")
        weighed += preference is not None and not (preference * 2).is_integer()
        winner = _preferred(preference)
        first, second = one, two
        if any(row.body.get(key) in (True, "True", "true") for key in _SWITCHED):
            first, second, winner = two, one, _OTHER.get(winner) if winner else None
        judge = row.name(ANNOTATOR) if row.has(ANNOTATOR) else ANNOTATOR
        why = f"preference is {row.body.get('preference')!r:.40}, and not from 1 to 2"
        collected.verdict(_verdict(id_, judge, first, second, winner, why), row)
    if same:
        collected.left_out.append(f"{same} rows that compare a generator with itself")
    if weighed:
        collected.left_out.append(f"how far {weighed} preferences between 1 and 2 lean")
    return collected.imported()


def read_pandalm(source: Path) -> Imported:
    """Read PandaLM's rows: every column `annotator1`, `annotator2`, … is a judge.

    Raises:
        SetupError: There is no such file.
        RecordFileError: A row lacks what it needs, or an annotator's verdicts contradict each
            other.
    """
    collected, nameless = Collected(), 0
    for number, row in enumerate(_rows(source, "*.json", "*.jsonl", "*.csv"), start=1):
        pair = _models(row)
        nameless += pair is None
        one, two = pair or ("response1", "response2")
        own = None if pair else f"row-{number}"  # the same names are other models elsewhere
        id_ = _question(collected, row, "response1", "response2", one, two, own)
        votes = [key for key in row.body if _VOTE.fullmatch(key)]
        if not votes:
            raise row.wrong("no annotator1, annotator2, … here")
        for judge in votes:
            said = _number(row, judge)
            winner = _SAID.get(int(said)) if said is not None and said.is_integer() else None
            why = f"{judge} is {row.body.get(judge)!r:.40}, and not 0, 1 or 2"
            collected.verdict(_verdict(id_, judge, one, two, winner, why), row)
    if nameless:
        collected.left_out.append(
            f"which models answered in {nameless} rows: no cmp_key names two, so that they stand "
            "as response1 and response2"
        )
    return collected.imported()


def _rows(source: Path, *patterns: str) -> Iterator[Row]:
    files = files_of(source, *patterns)
    if not files:
        raise SetupError(f"{source} has no *.json: name a file of annotated pairs")
    for path in files:
        yield from rows_of(path)


def _models(row: Row) -> tuple[str, str] | None:
    key = row.body.get("cmp_key")
    parts = [part.strip() for part in key.split("_")] if isinstance(key, str) else []
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        return None
    return parts[0], parts[1]


def _question(
    collected: Collected,
    row: Row,
    first: str,
    second: str,
    one: str,
    two: str,
    own: str | None = None,
) -> str:
    """Add what was asked and both answers; the question's id."""
    text = with_input(row.text("instruction"), row.body.get("input"))
    domain = row.name("dataset") if row.has("dataset") else "general"
    id_ = place = QuestionIds("alpaca").next(domain, text, *filter(None, [own]))
    answers: list[Answer] = []
    for number in count(2):  # one id a text, and one more where a model answers it anew
        answers = [
            answer_from(place, name, row.text(key)) for name, key in ((one, first), (two, second))
        ]
        if all(collected.may_answer(answer) for answer in answers):
            break
        place = f"{id_}-{number}"
    if place not in collected.questions:
        collected.question(Question(id=place, text=text, domain=domain), row)
    for answer in answers:
        collected.answer(answer, row)
    return place


def _number(row: Row, key: str) -> float | None:
    value = row.body.get(key)
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _preferred(preference: float | None) -> Winner | None:
    if preference == 0:
        return "tie"
    if preference is None or not 1 <= preference <= 2:
        return None
    return "tie" if preference == 1.5 else "first" if preference < 1.5 else "second"


def _verdict(
    id_: str, judge: str, first: str, second: str, winner: Winner | None, why: str
) -> Verdict:
    return Verdict(
        id_,
        judge,
        first,
        second,
        winner,
        state="ok" if winner else "unparsed",
        reason=None if winner else why,
    )
