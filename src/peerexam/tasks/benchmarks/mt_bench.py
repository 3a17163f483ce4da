"""MT-bench: 80 instructions of two turns each, 160 items, marked by a judge from 1 to 10.

An item of the second turn has the first before it: the model's answer to that is part of what is
asked. Both turns of a question are one cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from peerexam.calls import Json
from peerexam.errors import RecordFileError, SetupError
from peerexam.runfolder import read_jsonl
from peerexam.tasks.benchmarks.base import BenchmarkTask, Item, with_own_ids
from peerexam.tasks.benchmarks.rows import Row, benchmark_rows, located

HUB = ("HuggingFaceH4/mt_bench_prompts", None, "train")
QUESTIONS = "question.jsonl"
REFERENCES = ("reference_answer/gpt-4.jsonl", "reference_answer_gpt-4.jsonl")
WITH_REFERENCE = frozenset(("math", "reasoning", "coding"))
"""Categories whose judge sees a reference."""


def extract(text: str) -> None:
    """None: two answers to an instruction are hardly ever the same."""


def score(text: str, item: Item) -> None:
    """None: a judge must say."""


def read(path: Path | None) -> tuple[Item, ...]:
    """The items of `question.jsonl`, of its folder, or of the hub.

    References are taken from FastChat's file of them, where it lies beside the questions; else from
    the questions.

    Raises:
        RecordFileError: A row lacks its turns.
        SetupError: There are no rows.
    """
    file = located(path, (QUESTIONS,))
    rows = benchmark_rows(file, *HUB)
    answers = {} if file is None else _references(file.parent)
    items = tuple(with_own_ids(_items(rows, file, answers)))
    if not items:
        raise SetupError(f"{path or HUB[0]} holds no question of MT-bench")
    return items


def _references(folder: Path) -> dict[str, tuple[str, ...]]:
    """Reference answers by the question's id, one a turn."""
    path = next((folder / name for name in REFERENCES if (folder / name).is_file()), None)
    found: dict[str, tuple[str, ...]] = {}
    for line, row in read_jsonl(path) if path else ():
        try:
            found[str(row["question_id"])] = tuple(map(str, row["choices"][0]["turns"]))
        except (KeyError, IndexError, TypeError) as error:
            raise RecordFileError(
                "expected question_id and choices[0].turns", path or folder, line
            ) from error
    return found


def _items(
    rows: Iterator[Row], path: Path | None, answers: Mapping[str, tuple[str, ...]]
) -> Iterator[Item]:
    for line, row in rows:
        turns = row.get("turns", row.get("prompt"))
        if not isinstance(turns, list) or not turns or not all(isinstance(t, str) for t in turns):
            raise RecordFileError(
                "expected a list of texts under 'turns'", path or Path("hub"), line
            )
        id_ = str(row.get("question_id", row.get("prompt_id", line)))
        category = str(row.get("category") or "")
        gold = _gold(row, category, answers.get(id_, ()), len(turns))
        for turn, question in enumerate(turns):
            yield Item(
                f"{id_}-{turn + 1}",
                question,
                gold[turn : turn + 1],
                earlier=tuple(turns[:turn]),
                earlier_gold=gold[:turn],
                category=category,
                cluster=id_,
            )


def _gold(
    row: Mapping[str, Json], category: str, answers: tuple[str, ...], turns: int
) -> tuple[str, ...]:
    """One reference a turn, or none at all; only some categories have any."""
    if category not in WITH_REFERENCE:
        return ()
    own = row.get("reference")
    held = answers or (tuple(map(str, own)) if isinstance(own, list) else ())
    return held if len(held) == turns and all(one.strip() for one in held) else ()


MT_BENCH = BenchmarkTask(
    name="mt-bench",
    shots=3,
    scale=(1.0, 10.0),
    unit="points",
    max_tokens=1024,
    stop=("\n\n### ", "[[end"),
    judges=("rating",),
    read=read,
    extract=extract,
    score=score,
)
