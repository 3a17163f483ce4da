"""peereval's files (0.1): answers and judgments, each a JSONL file.

::

    answers      dataset?, question_id, question, model, response
    judgments    dataset?, question_id, judge_model, response_a_model, response_b_model,
                 judgment {winner: A | B | tie}, error?, raw_response?

Response A stood first. `solver_left` and `solver_right` with `position` (AB, BA) do in place of the
models that were shown, as peereval has it; where both are there, those shown count. A judgment that
failed is unparsed, and gives way to the later attempt that peereval makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Question, Verdict, Winner
from peerexam.tasks.importers.collecting import UNKNOWN_DOMAIN, Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.rows import Row, files_of, rows_of

_WINNERS: Mapping[Json, Winner] = {"A": "first", "B": "second", "tie": "tie"}


def read_peereval(source: Path) -> Imported:
    """Read a file of answers or judgments, or the files of a folder and of the folders in it.

    Raises:
        SetupError: There is none.
        RecordFileError: A line cannot be read, or a judge's verdicts contradict each other.
    """
    files = files_of(source, "**/*.jsonl")
    if not files:
        raise SetupError(f"{source} has no *.jsonl: name peereval's judgments")
    collected = Collected()
    for path in files:
        for row in rows_of(path):
            id_ = _question(collected, row)
            if row.has("judge_model"):
                collected.verdict(_verdict(row, id_), row)
            elif row.has("model"):
                collected.answer(answer_from(id_, row.name("model"), row.text("response")), row)
            else:
                raise row.wrong("neither judge_model (a judgment) nor model (an answer) here")
    return collected.imported()


def _question(collected: Collected, row: Row) -> str:
    """The id, unique over data sets; the question is kept the first time that its text is there."""
    dataset = row.name("dataset") if row.has("dataset") else None
    id_ = row.name("question_id") if dataset is None else f"{dataset}/{row.name('question_id')}"
    if id_ not in collected.questions and row.has("question"):
        question = Question(id=id_, text=row.text("question"), domain=dataset or UNKNOWN_DOMAIN)
        collected.question(question, row)
    return id_


def _verdict(row: Row, id_: str) -> Verdict:
    judgment = row.body.get("judgment")
    said = (judgment if isinstance(judgment, dict) else row.body).get("winner")
    failed = row.body.get("error")
    winner = _WINNERS.get(said) if isinstance(said, str) and not failed else None
    reply = row.body.get("raw_response")
    first, second = _shown(row)
    return Verdict(
        id_,
        row.name("judge_model"),
        first,
        second,
        winner,
        state="ok" if winner else "unparsed",
        reason=None if winner else f"{failed or f'winner is {said!r}'!s:.200}",
        reply=None if winner or not isinstance(reply, str) else reply,
    )


def _shown(row: Row) -> tuple[str, str]:
    if row.has("response_a_model", "response_b_model"):
        return row.name("response_a_model"), row.name("response_b_model")
    left, right = row.name("solver_left"), row.name("solver_right")
    position = row.body.get("position")
    if position not in ("AB", "BA"):
        raise row.wrong(f"position must be AB or BA, found {position!r:.40}")
    return (left, right) if position == "AB" else (right, left)
