"""LLMBar: items of a better and a worse output, and evaluators' verdicts in both orders.

::

    Dataset/LLMBar/Natural/dataset.json, …    input, output_1, output_2, label (1 | 2);
                                              or flat: LLMBar_Natural.json, Processed_FairEval.json
    judgements_compact.csv                    dataset, evaluator, method, index, gold,
                                              winner_order1, winner_swapped, score_1, score_2

The outputs have no authors, so the examinees are the two sides of the label: `gold`, the output
that people prefer, and `other`. A judge (an evaluator with a method) is accurate where `gold` wins,
and its swap consistency is LLMBar's agreement. The winners are numbered as in the item, in both
orders: in the swapped one output 2 stood first. An empty winner is unparsed. The rating methods
judged each output by itself, so their scores (1 to 10) become marks, not verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Mark, Question, Verdict, Winner
from peerexam.tasks.importers.collecting import Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.mark_scale import MarkScale
from peerexam.tasks.rows import Row, rows_of

GOLD, OTHER = "gold", "other"
FULL_MARK = 10
"""Of the rating prompts."""

_DATASET = ("LLMBar", "Processed", "CaseStudy")


def read_llmbar(source: Path) -> Imported:
    """Read a folder of items, of verdicts, or of both; or the file of verdicts alone.

    Raises:
        SetupError: There is neither.
        RecordFileError: A row cannot be read, or its gold is not the item's label.
    """
    folder = source if source.is_dir() else source.parent
    compact = source / "judgements_compact.csv" if source.is_dir() else source
    items = list(_item_files(folder))
    if not items and not compact.is_file():
        raise SetupError(f"{source} has neither LLMBar's items nor judgements_compact.csv")
    collected, labels = Collected(), dict[str, int]()
    for dataset, path in items:
        for index, row in enumerate(rows_of(path)):
            labels[f"{dataset}/{index}"] = _add_item(collected, row, dataset, index)
    scored: list[tuple[Row, Mark, float | None]] = []
    scale = MarkScale(FULL_MARK)
    if compact.is_file():
        for row in rows_of(compact):
            id_, gold = _gold(row, labels)
            if row.has("score_1") or row.has("score_2"):
                scored += _marks(row, id_, gold)
            else:
                for verdict in _verdicts(row, id_, gold):
                    collected.verdict(verdict, row)
    scale.add(collected, scored)
    collected.notes.append(
        f"'{GOLD}' is the output that people prefer, '{OTHER}' the other one: a judge's win rate "
        f"for '{GOLD}' is its accuracy."
    )
    return collected.imported(scale if scored else None)


def _item_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The data sets' names, as the verdicts have them, and their files."""
    for path in sorted(folder.glob("**/dataset.json")):
        parts = path.relative_to(folder).parts[:-1]
        start = next((n for n, part in enumerate(parts) if part in _DATASET), 0)
        yield "/".join(parts[start:]).replace("LLMEval_2", "LLMEval^2"), path
    for path in sorted(folder.glob("*_*.json")):
        kind, _, name = path.stem.partition("_")
        if kind == "LLMBar":
            yield f"LLMBar/{'' if name == 'Natural' else 'Adversarial/'}{name}", path
        elif kind in _DATASET:
            yield f"{kind}/{name.replace('LLMEval_2', 'LLMEval^2')}", path


def _add_item(collected: Collected, row: Row, dataset: str, index: int) -> int:
    label = row.whole("label", 0)
    if label not in (1, 2):
        raise row.wrong(f"label must be 1 or 2, found {label!r:.40}")
    id_ = f"{dataset}/{index}"
    collected.question(Question(id=id_, text=row.text("input"), domain=dataset), row)
    for number in (1, 2):
        text = row.text(f"output_{number}")
        collected.answer(answer_from(id_, _side(number, label), text), row)
    return label


def _gold(row: Row, labels: dict[str, int]) -> tuple[str, int]:
    id_, gold = f"{row.name('dataset')}/{row.name('index')}", row.whole("gold", 0)
    if gold not in (1, 2):
        raise row.wrong(f"gold must be 1 or 2, found {gold!r:.40}")
    if labels.get(id_, gold) != gold:
        raise row.wrong(f"gold is {gold}, and the item's label {labels[id_]}")
    return id_, gold


def _judge(row: Row) -> str:
    return f"{row.name('evaluator')} {row.name('method')}"


def _side(number: int, gold: int) -> str:
    return GOLD if number == gold else OTHER


def _verdicts(row: Row, id_: str, gold: int) -> Iterator[Verdict]:
    for column, first, second in (("winner_order1", 1, 2), ("winner_swapped", 2, 1)):
        winners: dict[str, Winner] = {str(first): "first", str(second): "second"}
        said = row.body.get(column)
        winner = winners.get(said.strip()) if isinstance(said, str) else None
        yield Verdict(
            id_,
            _judge(row),
            _side(first, gold),
            _side(second, gold),
            winner,
            state="ok" if winner else "unparsed",
            reason=None if winner else f"{column} is {said!r:.40}",
        )


def _marks(row: Row, id_: str, gold: int) -> Iterator[tuple[Row, Mark, float | None]]:
    for number in (1, 2):
        score = _score(row, f"score_{number}")
        mark = Mark(
            id_,
            _side(number, gold),
            _judge(row),
            state="ok" if score is not None else "unparsed",
            reason=None if score is not None else f"no score_{number}",
        )
        yield row, mark, score


def _score(row: Row, column: str) -> float | None:
    if not row.has(column):
        return None
    try:
        return float(row.name(column))
    except ValueError as error:
        raise row.wrong(f"{column} must be a number, found {row.body[column]!r:.40}") from error
