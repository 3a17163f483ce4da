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

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Mark, Question, Verdict, Winner
from peerexam.tasks.importers.collecting import Collected, answer_from
from peerexam.tasks.importers.imported import Imported
from peerexam.tasks.importers.mark_scale import MarkScale
from peerexam.tasks.rows import Row, rows_of

GOLD, OTHER = "gold", "other"
COMPACT = "judgements_compact.csv"
FULL_MARK = 10
"""Of the rating prompts."""

_DATASET = ("LLMBar", "Processed", "CaseStudy")


@dataclass(frozen=True, slots=True)
class Item:
    """An instruction with two outputs; the label, 1 or 2, is the better one's number."""

    id: str
    dataset: str
    text: str
    outputs: tuple[str, str]
    label: int
    row: Row


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one evaluator said of an item in both orders; gold as an item's label."""

    id: str
    dataset: str
    judge: str
    gold: int
    row: Row


def read_llmbar(source: Path) -> Imported:
    """Read a folder of items, of verdicts, or of both; or the file of verdicts alone.

    Raises:
        SetupError: There is neither.
        RecordFileError: A row cannot be read, or its gold is not the item's label.
    """
    folder = source if source.is_dir() else source.parent
    compact = source / COMPACT if source.is_dir() else source
    files = list(item_files(folder))
    if not files and not compact.is_file():
        raise SetupError(f"{source} has neither LLMBar's items nor {COMPACT}")
    collected, labels = Collected(), dict[str, int]()
    for item in (item for file in files for item in items_of(*file)):
        labels[item.id] = item.label
        collected.question(Question(id=item.id, text=item.text, domain=item.dataset), item.row)
        for side, text in zip(_sides(item.label), item.outputs, strict=True):
            collected.answer(answer_from(item.id, side, text), item.row)
    scored: list[tuple[Row, Mark, float | None]] = []
    scale = MarkScale(FULL_MARK)
    for judged in judgements_of(compact, labels) if compact.is_file() else ():
        if judged.row.has("score_1") or judged.row.has("score_2"):
            scored += _marks(judged)
        else:
            for verdict in verdicts_of(judged, _sides(judged.gold)):
                collected.verdict(verdict, judged.row)
    scale.add(collected, scored)
    collected.notes.append(
        f"'{GOLD}' is the output that people prefer, '{OTHER}' the other one: a judge's win rate "
        f"for '{GOLD}' is its accuracy."
    )
    return collected.imported(scale if scored else None)


def item_files(folder: Path) -> Iterator[tuple[str, Path]]:
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


def items_of(dataset: str, path: Path) -> Iterator[Item]:
    """The items of one data set.

    Raises:
        RecordFileError: One lacks a text or its label.
    """
    for index, row in enumerate(rows_of(path)):
        outputs = (row.text("output_1"), row.text("output_2"))
        id_ = f"{dataset}/{index}"
        yield Item(id_, dataset, row.text("input"), outputs, _number(row, "label"), row)


def judgements_of(
    path: Path, labels: dict[str, int], datasets: Container[str] | None = None
) -> Iterator[Judgement]:
    """What evaluators said.

    Args:
        path: The file.
        labels: Of items by id; those of items that are not there are added.
        datasets: The only ones to read; None reads all.

    Raises:
        RecordFileError: A row cannot be read, or its gold is not the item's label.
    """
    for row in rows_of(path):
        dataset = row.name("dataset")
        if datasets is not None and dataset not in datasets:
            continue
        id_, gold = f"{dataset}/{row.name('index')}", _number(row, "gold")
        if labels.setdefault(id_, gold) != gold:
            raise row.wrong(f"gold is {gold}, and the item's label {labels[id_]}")
        yield Judgement(id_, dataset, f"{row.name('evaluator')} {row.name('method')}", gold, row)


def _number(row: Row, key: str) -> int:
    number = row.whole(key, 0)
    if number not in (1, 2):
        raise row.wrong(f"{key} must be 1 or 2, found {number!r:.40}")
    return number


def _sides(gold: int) -> tuple[str, str]:
    return (GOLD, OTHER) if gold == 1 else (OTHER, GOLD)


def verdicts_of(judged: Judgement, names: tuple[str, str]) -> Iterator[Verdict]:
    """One an order, by what output 1 and output 2 are called."""
    for column, first, second in (("winner_order1", 1, 2), ("winner_swapped", 2, 1)):
        winners: dict[str, Winner] = {str(first): "first", str(second): "second"}
        said = judged.row.body.get(column)
        winner = winners.get(said.strip()) if isinstance(said, str) else None
        yield Verdict(
            judged.id,
            judged.judge,
            names[first - 1],
            names[second - 1],
            winner,
            state="ok" if winner else "unparsed",
            reason=None if winner else f"{column} is {said!r:.40}",
        )


def _marks(judged: Judgement) -> Iterator[tuple[Row, Mark, float | None]]:
    for number, side in enumerate(_sides(judged.gold), start=1):
        score = _score(judged.row, f"score_{number}")
        mark = Mark(
            judged.id,
            side,
            judged.judge,
            state="ok" if score is not None else "unparsed",
            reason=None if score is not None else f"no score_{number}",
        )
        yield judged.row, mark, score


def _score(row: Row, column: str) -> float | None:
    if not row.has(column):
        return None
    try:
        return float(row.name(column))
    except ValueError as error:
        raise row.wrong(f"{column} must be a number, found {row.body[column]!r:.40}") from error
