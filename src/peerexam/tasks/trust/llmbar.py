"""LLMBar's human labels, and the verdicts of its evaluators where they are shipped.

Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following". The files are
those of `importers.layouts.llmbar`. The answers are called as the item numbers them, so that a
judge asked here sees them in that order first.
"""

from __future__ import annotations

from pathlib import Path

from peerexam.errors import SetupError
from peerexam.records import Question, Verdict
from peerexam.tasks.importers.collecting import answer_from
from peerexam.tasks.importers.layouts.llmbar import (
    COMPACT,
    item_files,
    items_of,
    judgements_of,
    verdicts_of,
)
from peerexam.tasks.trust.labels import HumanLabels, Preference

OUTPUTS = ("output 1", "output 2")
"""How the two answers are called."""


def read_llmbar(path: Path, only: str | None = None) -> HumanLabels:
    """Read a folder, or one of its JSON files, with the shipped judgements beside it.

    Args:
        path: The folder or the file.
        only: Of a folder, only the data sets whose name holds this.

    Raises:
        SetupError: There are no such files, or they are of another layout.
        RecordFileError: An item or a judgement cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    names = {file: name for name, file in item_files(folder)}
    files = sorted({*names, *path.glob("*.json")}) if path.is_dir() else [path]
    named = [(names.get(file, file.stem), file) for file in files]
    datasets = {name: file for name, file in named if only is None or only in name}
    items = [item for one in datasets.items() for item in items_of(*one)]
    if not items:
        raise SetupError(f"{path} holds no LLMBar data{f' named {only}' if only else ''} (*.json)")
    questions = {item.id: Question(item.id, item.text, item.dataset) for item in items}
    labels = {item.id: item.label for item in items}
    verdicts: list[Verdict] = []
    if (folder / COMPACT).is_file():
        whole = path.is_dir() and only is None  # then data sets without their items count, too
        for judged in judgements_of(folder / COMPACT, labels, None if whole else datasets):
            questions.setdefault(judged.id, Question(judged.id, "", judged.dataset))
            verdicts += verdicts_of(judged, OUTPUTS)
    without_text = sorted({one.domain for one in questions.values()} - set(datasets))
    notes = [
        f"{name}: its texts are not there, so that only shipped verdicts count"
        for name in without_text
    ]
    if unread := sum(verdict.winner is None for verdict in verdicts):
        notes.append(f"{unread} shipped verdicts are empty: they count as wrong order by order")
    return HumanLabels(
        "llmbar",
        tuple(questions.values()),
        tuple(
            answer_from(item.id, *output)
            for item in items
            for output in zip(OUTPUTS, item.outputs, strict=True)
        ),
        preferences=tuple(
            Preference(id_, *OUTPUTS, "label", float(label == 1)) for id_, label in labels.items()
        ),
        verdicts=tuple(verdicts),
        by_domain=True,
        notes=tuple(notes),
    )
