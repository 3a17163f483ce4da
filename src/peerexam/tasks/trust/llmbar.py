"""LLMBar's human labels, and the verdicts of its evaluators where they are shipped.

::

    LLMBar_Natural.json, LLMBar_Neighbor.json, …, Processed_MT-Bench.json, Processed_FairEval.json
        a list of {input, output_1, output_2, label}; label 1 or 2 says which output is better
    judgements_compact.csv
        dataset, evaluator, method, index, gold, winner_order1, winner_swapped

Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following". The winners
are outputs, whatever the order in which they were shown; an empty one could not be read.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Question, Verdict, Winner
from peerexam.tasks.trust.labels import HumanLabels, Preference

OUTPUTS = ("output 1", "output 2")
"""How the two answers are called."""

_JUDGEMENTS = "judgements_compact.csv"
_NAMES: Mapping[str, str] = {
    "LLMBar_Natural": "LLMBar/Natural",
    "LLMBar_Neighbor": "LLMBar/Adversarial/Neighbor",
    "LLMBar_GPTInst": "LLMBar/Adversarial/GPTInst",
    "LLMBar_GPTOut": "LLMBar/Adversarial/GPTOut",
    "LLMBar_Manual": "LLMBar/Adversarial/Manual",
    "Processed_FairEval": "Processed/FairEval",
    "Processed_LLMEval_2": "Processed/LLMEval^2",
    "Processed_MT-Bench": "Processed/MT-Bench",
}
"""A file's name to what the shipped judgements call the data set."""


def read_llmbar(path: Path, only: str | None = None) -> HumanLabels:
    """Read a folder, or one of its JSON files, with the shipped judgements beside it.

    Args:
        path: The folder or the file.
        only: Of a folder, only the data sets whose name holds this.

    Raises:
        SetupError: There are no such files, or they are of another layout.
        RecordFileError: A line of the judgements cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    wanted = [file for file in files if only is None or only in file.stem]
    reading = _Reading()
    for file in wanted:
        reading.items(_NAMES.get(file.stem, file.stem), file)
    if not reading.questions:
        raise SetupError(f"{path} holds no LLMBar data{f' named {only}' if only else ''} (*.json)")
    judgements = folder / _JUDGEMENTS
    whole = path.is_dir() and only is None
    if judgements.is_file():
        reading.judgements(judgements, whole)
    return reading.labels()


@dataclass
class _Reading:
    """Files becoming labels."""

    questions: dict[str, Question] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    without_text: set[str] = field(default_factory=set)

    def items(self, dataset: str, path: Path) -> None:
        """The items of one data set."""
        self.datasets.append(dataset)
        for index, item in enumerate(_items(path)):
            id_ = f"{dataset}/{index}"
            label = str(item.get("label"))
            texts = [item.get(key) for key in ("input", "output_1", "output_2")]
            if label not in ("1", "2") or not all(isinstance(text, str) for text in texts):
                raise SetupError(
                    f"{path}: item {index} needs input, output_1, output_2, and a label of 1 or 2"
                )
            question, one, two = map(str, texts)
            self.questions[id_] = Question(id_, question, dataset)
            for name, text in zip(OUTPUTS, (one, two), strict=True):
                answer = Answer(id_, name, text, "ok" if text.strip() else "empty")
                self.answers.append(answer)
            self.gold[id_] = label

    def judgements(self, path: Path, whole: bool) -> None:
        """The shipped verdicts; `whole` takes the data sets in, too, whose items are not there."""
        staged = set(self.datasets)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                dataset = row.get("dataset") or ""
                if dataset in staged or whole:
                    self._judgement(dataset, row, path, reader.line_num)

    def _judgement(self, dataset: str, row: Mapping[str, str], path: Path, line: int) -> None:
        id_, gold = f"{dataset}/{row.get('index')}", row.get("gold")
        if gold not in ("1", "2"):
            raise RecordFileError("no gold label of 1 or 2", path, line)
        if self.gold.setdefault(id_, gold) != gold:
            raise RecordFileError(f"the label of {id_} is {self.gold[id_]} in its file", path, line)
        if id_ not in self.questions:
            self.questions[id_] = Question(id_, "", dataset)
            self.without_text.add(dataset)
        judge = f"{row.get('evaluator')} {row.get('method')}"
        self.verdicts.extend(_verdicts(id_, judge, row))

    def labels(self) -> HumanLabels:
        """All of it."""
        notes = [
            f"{name}: its texts are not there, so that only shipped verdicts count"
            for name in sorted(self.without_text)
        ]
        unread = sum(verdict.winner is None for verdict in self.verdicts)
        if unread:
            notes.append(f"{unread} shipped verdicts are empty: they count as wrong order by order")
        return HumanLabels(
            "llmbar",
            tuple(self.questions.values()),
            tuple(self.answers),
            preferences=tuple(self._preferences()),
            verdicts=tuple(self.verdicts),
            by_domain=True,
            notes=tuple(notes),
        )

    def _preferences(self) -> Iterator[Preference]:
        for id_, gold in self.gold.items():
            yield Preference(id_, *OUTPUTS, "label", float(gold == "1"))


def _items(path: Path) -> Iterable[Mapping[str, Json]]:
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SetupError(f"there is no file or folder {path}") from error
    except ValueError as error:
        raise SetupError(f"{path} is no JSON: {error}") from error
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise SetupError(f"{path} must hold a list of items with input, output_1, output_2, label")
    return items


def _verdicts(id_: str, judge: str, row: Mapping[str, str]) -> Iterator[Verdict]:
    for column, first, second in (("winner_order1", 0, 1), ("winner_swapped", 1, 0)):
        won = row.get(column) or ""
        winner: Winner | None = None
        if won in ("1", "2"):
            winner = "first" if int(won) == first + 1 else "second"
        yield Verdict(
            id_,
            judge,
            OUTPUTS[first],
            OUTPUTS[second],
            winner,
            state="ok" if winner else "unparsed",
        )
