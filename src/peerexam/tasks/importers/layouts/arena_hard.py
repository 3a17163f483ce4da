"""arena-hard-auto's folders, v0.1 and v2.0.

::

    question.jsonl                      question_id | uid, category, turns [{content}] | prompt
    model_answer/MODEL.jsonl            question_id | uid, model_id | model, choices | messages
    model_judgment/JUDGE/MODEL.jsonl    question_id | uid, model, judge, baseline?, games [two]

Every model met the baseline twice: in the first game the baseline was assistant A, in the second
the model. The labels A>>B, A>B, A=B, B>A, B>>A become win, win, tie, loss, loss: arena-hard counts
a strong win three times, which makes three verdicts of one and intervals too narrow; we do not. A
game without a label is unparsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import SetupError
from peerexam.records import Answer, Question, Verdict, Winner
from peerexam.tasks.importers.collecting import Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.layouts.fastchat import (
    answer_text,
    model_name,
    question_file,
    turn_text,
)
from peerexam.tasks.rows import Row, files_of, rows_of

LABELS: Mapping[str, Winner] = {
    **dict.fromkeys(("A>>B", "A>B", "B<<A", "B<A"), "first"),
    **dict.fromkeys(("B>>A", "B>A", "A<<B", "A<B"), "second"),
    **dict.fromkeys(("A=B", "B=A"), "tie"),
}
"""A judge's label to the winner by position, assistant A first."""

BASELINE = "baseline"
"""Who the models met, where the source does not say."""

_FILES = ("model_judgment/*/*.jsonl", "*/*.jsonl", "*.jsonl")


def read_arena_hard(source: Path) -> Imported:
    """Read a benchmark's folder, a judge's folder, or one model's file of judgments.

    Raises:
        SetupError: There is none.
        RecordFileError: A line cannot be read, or a judge's verdicts contradict each other.
    """
    files = [path for path in files_of(source, *_FILES) if path.name != "question.jsonl"]
    if not files:
        raise SetupError(f"{source} has no model_judgment/JUDGE/MODEL.jsonl: is it arena-hard's?")
    collected = Collected()
    answered = _add_what_was_judged(source, collected)
    baseline = _baseline(answered, {path.stem for path in files})
    strong, unsaid = 0, 0
    for path in files:
        for row in rows_of(path):
            unsaid += not row.has("baseline")
            for verdict, label in _games(row, path, baseline):
                strong += ">>" in label or "<<" in label
                collected.verdict(verdict, row)
    _tell(collected, strong, unsaid, baseline)
    return collected.imported()


def _add_what_was_judged(source: Path, collected: Collected) -> set[str]:
    """Add questions and answers where they are there; the names of the files of answers."""
    questions = question_file(source)
    if questions is None:
        return set()
    for row in rows_of(questions):
        collected.question(_question(row), row)
    answered = files_of(questions.parent, "model_answer/*.jsonl")
    for path in answered:
        for row in rows_of(path):
            collected.answer(_answer(row, path), row)
    return {path.stem for path in answered}


def _id(row: Row) -> str:
    return row.name("uid", "question_id")


def _question(row: Row) -> Question:
    turns = row.body.get("turns")
    text = turn_text(turns[0]) if isinstance(turns, list) and turns else row.body.get("prompt")
    if isinstance(text, list) and text:  # text and images
        text = text[0]
    if not isinstance(text, str):
        raise row.wrong("no prompt and no turns with content here")
    domain = next((k for k in ("subcategory", "cluster", "category") if row.has(k)), None)
    return Question(id=_id(row), text=text, domain=row.name(domain) if domain else "general")


def _answer(row: Row, path: Path) -> Answer:
    name = model_name(path, row.body.get("model") or row.body.get("model_id"))
    return answer_from(_id(row), name, answer_text(row))


def _baseline(answered: set[str], judged: set[str]) -> str:
    """The one model that has answers and was not judged itself; v0.1 does not say who it was."""
    left = sorted(answered - judged)
    return left[0] if len(left) == 1 else BASELINE


def _games(row: Row, path: Path, baseline: str) -> Iterator[tuple[Verdict, str]]:
    games = row.body.get("games")
    if games is None:
        raise row.wrong("no games here, so this is no judgment of arena-hard's")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        raise row.wrong("games must be a list of one or two games")
    model = row.name("model") if row.has("model") else path.stem
    other = row.name("baseline") if row.has("baseline") else baseline
    judge = row.name("judge") if row.has("judge") else path.parent.name
    for game, (first, second) in zip(games, ((other, model), (model, other)), strict=False):
        label = game.get("score") if isinstance(game, dict) else None
        label = label.strip() if isinstance(label, str) else ""
        winner = LABELS.get(label)
        yield (
            Verdict(
                _id(row),
                judge,
                first,
                second,
                winner,
                state="ok" if winner else "unparsed",
                reason=None if winner else f"label {label!r:.40} is none of arena-hard's",
                reply=None if winner else _reply(game),
            ),
            label,
        )


def _reply(game: Json) -> str | None:
    said = game.get("judgment") if isinstance(game, dict) else None
    said = said.get("answer") if isinstance(said, dict) else said
    return said if isinstance(said, str) else None


def _tell(collected: Collected, strong: int, unsaid: int, baseline: str) -> None:
    if strong:
        collected.left_out.append(
            f"the weight of {strong} strong verdicts (A>>B), which count once like others"
        )
    if unsaid:
        collected.notes.append(
            f"The source does not say whom the models met; it is taken to be '{baseline}'."
        )
