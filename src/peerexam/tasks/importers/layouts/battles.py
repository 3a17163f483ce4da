"""Rows of battles: arena-rank's (model_a, model_b, winner) and evalica's (left, right, winner).

JSONL, a JSON list, CSV or Parquet. Model a (left) stood first. Optional columns:

- `question_id` (or `prompt_id`), `question` (the text): what was asked. Without them every row is a
  question of its own, so that intervals take rows as independent.
- `judge` (or `judge_model`, `judge_name`): who judged. Without it all rows are votes of one
  `judge`, and several votes on the same answers in the same order count with their mean.
- `category`: the domain of a question whose text is there.
- `turn`: how many turns a talk had before the vote, which was on the whole of it; not used.

The winner may be named, too. `tie`, `both_bad` and `tie (bothbad)` are ties. Any other winner is an
unparsed verdict, never a tie (arena-rank itself counts it as one, evalica drops it), and is named
with the line where it stands first; rows without a single winner that is known are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Question, Verdict, Winner
from peerexam.tasks.importers.collecting import UNKNOWN_DOMAIN, Collected
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.question_ids import QuestionIds
from peerexam.tasks.rows import Row, files_of, rows_of

_QUESTION = ("question_id", "prompt_id")
_JUDGE = ("judge", "judge_model", "judge_name")
_READ = {*_QUESTION, *_JUDGE, "winner", "question", "category"}

_MOST_WINNERS = 5

_FILES = ("verdicts.jsonl", "*.jsonl", "*.csv", "*.tsv", "*.parquet", "*.json", "*.gz")

NOBODY = "judge"
"""Who judged, where the source does not say."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """One tool's columns.

    Attributes:
        first: Column of who stood first.
        second: Column of who stood second.
        winners: What the winner column may say, in lower case.
    """

    first: str
    second: str
    winners: Mapping[str, Winner]


_TIE_WORDS = ("tie", "draw", "both_bad", "bothbad", "tie (bothbad)")
_TIES: dict[str, Winner] = dict.fromkeys(_TIE_WORDS, "tie")
_ARENA = _Layout("model_a", "model_b", {"model_a": "first", "model_b": "second", **_TIES})
_EVALICA = _Layout("left", "right", {"left": "first", "right": "second", **_TIES})


def read_arena_rank(source: Path) -> Imported:
    """Read arena-rank's rows from a file, or from the folder that our export left.

    Raises:
        SetupError: There is no such file.
        RecordFileError: A row names no models, or one judge's verdicts contradict each other.
    """
    return _read(source, _ARENA)


def read_evalica(source: Path) -> Imported:
    """Read evalica's rows; arguments and errors as in `read_arena_rank`."""
    return _read(source, _EVALICA)


def _read(source: Path, layout: _Layout) -> Imported:
    files = files_of(source, *_FILES)
    if not files:
        raise SetupError(f"{source} has no rows in .jsonl, .csv, .parquet or .json")
    collected = Collected()
    anonymous, unread, unknown, some_known = 0, set[str](), dict[str, list[Row]](), False
    for path in files:
        for number, row in enumerate(rows_of(path), start=1):
            unread |= set(row.body) - _READ - {layout.first, layout.second}
            known = any(row.has(key) for key in _JUDGE)
            anonymous += not known
            verdict = _verdict(row, layout, f"{path.stem}-{number}")
            if verdict.winner is None:
                unknown.setdefault(f"{row.body.get('winner')!r:.40}", []).append(row)
            _add_question(collected, row, verdict.question_id)
            collected.verdict(verdict, row, repeatable=not known)
            some_known = some_known or verdict.winner is not None
    _tell(collected, anonymous, unread)
    if unknown:
        _name_unknown(collected, unknown, layout, some_known)
    return collected.imported()


def _name_unknown(
    collected: Collected, unknown: Mapping[str, Sequence[Row]], layout: _Layout, some_known: bool
) -> None:
    """Say what winners are none, each with the line where it stands first.

    Raises:
        RecordFileError: No row has a winner.
    """
    known = f"{', '.join(layout.winners)}, or the winner's name"
    if not some_known:
        winner, rows = next(iter(unknown.items()))
        raise rows[0].wrong(f"winner {winner} is none that this layout knows ({known})")
    named = [
        f"{winner} ({len(rows)}, first {rows[0].path.name}:{rows[0].line})"
        for winner, rows in list(unknown.items())[:_MOST_WINNERS]
    ]
    if len(unknown) > _MOST_WINNERS:
        named.append(f"{len(unknown) - _MOST_WINNERS} more")
    total = sum(map(len, unknown.values()))
    collected.left_out.append(
        f"the winner of {total} rows, counted as unparsed: {', '.join(named)}; known are {known}"
    )


def _verdict(row: Row, layout: _Layout, own_id: str) -> Verdict:
    said = row.body.get("winner")
    first, second = row.name(layout.first), row.name(layout.second)
    by_name: dict[str, Winner] = {first: "first", second: "second"}
    winner = None
    if isinstance(said, str):
        winner = layout.winners.get(said.strip().lower()) or by_name.get(said.strip())
    return Verdict(
        _question_id(row) or own_id,
        row.name(*_JUDGE) if any(row.has(key) for key in _JUDGE) else NOBODY,
        first,
        second,
        winner,
        state="ok" if winner else "unparsed",
        reason=None if winner else f"winner {said!r:.40} is none that this layout knows",
    )


def _question_id(row: Row) -> str | None:
    if any(row.has(key) for key in _QUESTION):
        return row.name(*_QUESTION)
    text = row.body.get("question")
    return QuestionIds("q").next(text) if isinstance(text, str) and text.strip() else None


def _add_question(collected: Collected, row: Row, id_: str) -> None:
    text, category = row.body.get("question"), row.body.get("category")
    if id_ in collected.questions or not isinstance(text, str):
        return
    domain = category if isinstance(category, str) and category.strip() else UNKNOWN_DOMAIN
    collected.question(Question(id=id_, text=text, domain=domain), row)


def _tell(collected: Collected, anonymous: int, unread: set[str]) -> None:
    if unread:
        collected.left_out.append(f"the columns {', '.join(sorted(unread))}")
    if anonymous:
        collected.left_out.append(
            f"who judged: {anonymous} rows do not say, and stand under the name '{NOBODY}'"
        )
