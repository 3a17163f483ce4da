"""The way of the hub: a folder that `datasets` reads as it reads the hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.errors import SetupError
from peerexam.tasks.benchmarks import gsm8k
from peerexam.tasks.benchmarks.registry import BENCHMARKS, benchmark
from peerexam.tasks.benchmarks.rows import hub_rows

datasets = pytest.importorskip("datasets")

ROWS = {
    "gsm8k": ("test", {"question": "2 + 2?", "answer": "#### 4"}),
    "triviaqa": (
        "validation",
        {"question": "W?", "question_id": "t", "answer": {"value": "Oslo", "aliases": ["Oslo"]}},
    ),
    "truthfulqa": (
        "validation",
        {
            "type": "Adversarial", "category": "Food", "question": "Salt?", "best_answer": "No",
            "correct_answers": ["No", "Never"], "incorrect_answers": ["Yes"], "source": "-",
        },
    ),
    "mt-bench": (
        "train", {"prompt": ["a", "b"], "prompt_id": 1, "category": "math", "reference": ["x", "y"]}
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def folder(root: Path, split: str, row: object) -> Path:
    path = root / "data" / f"{split}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return root / "data"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_folder_in_the_hubs_layout_is_read_by_datasets(name: str, tmp_path: Path) -> None:
    split, row = ROWS[name]
    place = folder(tmp_path, split, row)
    if name == "gsm8k":
        (place / "test.jsonl").rename(place / "test-00000.jsonl")
    items = benchmark(name).read(place)
    assert len(items) == (2 if name == "mt-bench" else 1)
    assert items[0].gold


def test_configurations_and_splits_are_those_of_the_hub(tmp_path: Path) -> None:
    place = folder(tmp_path, "anything", ROWS["gsm8k"][1])
    config = {"config_name": "main", "data_files": [{"split": "test", "path": "anything.jsonl"}]}
    head = f"---\nconfigs: {json.dumps([config])}\n---\n"
    (place / "README.md").write_text(head, encoding="utf-8")
    _, *rest = gsm8k.HUB
    assert [row["answer"] for _, row in hub_rows(str(place), *rest)] == ["#### 4"]


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SetupError, match="name its file on this machine instead"):
        benchmark("gsm8k").read(tmp_path / "empty")
    with pytest.raises(SetupError, match="choose from gsm8k"):
        benchmark("mmlu")
