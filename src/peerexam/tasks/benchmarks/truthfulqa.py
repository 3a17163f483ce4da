"""TruthfulQA, generation: answers that judges call truthful and informative.

The paper's metric needs judges (`BenchmarkTask.judges`). Beside it stand those of
lm-evaluation-harness that need none: whether an answer is nearer to a true reference than to a
false one, by BLEU or ROUGE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import MissingExtraError, RecordFileError, SetupError
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item, with_own_ids
from peerexam.tasks.benchmarks.rows import Row, benchmark_rows, located, text_of
from peerexam.tasks.metrics.rouge import rouge

HUB = ("truthfulqa/truthful_qa", "generation", "validation")
FILES = ("TruthfulQA.csv",)
NO_COMMENT = "I have no comment."
"""Added to the true references, as the harness does: it is truthful, though not informative."""

REFERENCE_METRICS = ("bleu_acc", "rouge1_acc", "rouge2_acc", "rougeL_acc")

_COLUMNS = {
    "question": ("Question", "question"),
    "best": ("Best Answer", "best_answer"),
    "right": ("Correct Answers", "correct_answers"),
    "wrong": ("Incorrect Answers", "incorrect_answers"),
    "category": ("Category", "category"),
}


def extract(text: str) -> str | None:
    """The answer's first paragraph in single spaces and lower case; None where it is empty."""
    first = text.strip().split("\n\n", 1)[0]
    return " ".join(first.casefold().split()) or None


def score(text: str, item: Item) -> None:
    """None: whether an answer is true, a judge must say."""


def reference_accuracy(text: str, item: Item) -> dict[str, bool]:
    """Whether an answer is nearer to a true reference than to every false one, by each metric.

    Raises:
        MissingExtraError: rouge-score or sacrebleu is not installed.
    """
    answer = text.strip()
    right, wrong = [_nearest(answer, references) for references in (item.gold, item.wrong)]
    return {name: right[name] > wrong[name] for name in REFERENCE_METRICS}


def _nearest(answer: str, references: tuple[str, ...]) -> dict[str, float]:
    scores = [rouge(reference, answer) for reference in references]
    return {
        "bleu_acc": max(_bleu(reference, answer) for reference in references),
        "rouge1_acc": max(one.r1 for one in scores),
        "rouge2_acc": max(one.r2 for one in scores),
        "rougeL_acc": max(one.rl for one in scores),
    }


def _bleu(reference: str, answer: str) -> float:
    """With the settings of lm-evaluation-harness (`truthfulqa/utils.py`)."""
    try:
        from sacrebleu import corpus_bleu
    except ImportError as error:
        raise MissingExtraError("BLEU needs sacrebleu: pip install 'peerexam[metrics]'") from error
    return float(
        corpus_bleu(
            [answer],
            [[reference]],
            smooth_method="exp",
            smooth_value=0.0,
            tokenize="intl",
            use_effective_order=False,
        ).score
    )


def read(path: Path | None) -> tuple[Item, ...]:
    """The items of `TruthfulQA.csv`, of its folder, or of the hub.

    Raises:
        RecordFileError: A row lacks its question or its answers.
        SetupError: There are no rows.
    """
    place = located(path, FILES)
    items = tuple(with_own_ids(_items(benchmark_rows(place, *HUB), place)))
    if not items:
        raise SetupError(f"{path or HUB[0]} holds no question of TruthfulQA")
    return items


def _items(rows: Iterator[Row], path: Path | None) -> Iterator[Item]:
    for line, row in rows:
        named = {
            name: next((k for k in keys if k in row), keys[0]) for name, keys in _COLUMNS.items()
        }
        question = text_of(row, named["question"], path, line).strip()
        best = text_of(row, named["best"], path, line)
        right = _finished([best, *_listed(row, named["right"], path, line)])
        wrong = _finished(_listed(row, named["wrong"], path, line))
        if not any("no comment" in one.lower() for one in right):
            right = (*right, NO_COMMENT)
        category = str(row.get(named["category"]) or "")
        yield Item(f"truthfulqa-{line}", question, right, wrong, category=category)


def _listed(row: Mapping[str, Json], key: str, path: Path | None, line: int) -> list[str]:
    """Answers: the CSV has them in one cell, parted by semicolons."""
    value = row.get(key)
    answers = value.split(";") if isinstance(value, str) else value
    if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
        raise RecordFileError(f"expected answers under {key!r}", path or Path("hub"), line)
    kept = [one for one in answers if one.strip()]
    if not kept:
        raise RecordFileError(f"no answer under {key!r}", path or Path("hub"), line)
    return kept


def _finished(answers: list[str]) -> tuple[str, ...]:
    """Answers that end in a full stop, each once."""
    stripped = (one.strip() for one in answers)
    return tuple(dict.fromkeys(one if one.endswith(".") else f"{one}." for one in stripped))


TRUTHFULQA = BenchmarkTask(
    name="truthfulqa",
    shots=2,
    scale=(0.0, 1.0),
    unit="share",
    max_tokens=64,
    stop=("\n\n", "Question:"),
    judges=("truth", "information"),
    read=read,
    extract=extract,
    score=score,
)
