"""What we write is loaded by the library that others load it with, from disk alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peerexam.records import LevelVote, Question, Reference
from peerexam.report.export.dataset import export_dataset, finish_dataset
from peerexam.runfolder import RunFolder

pytest.importorskip("datasets")
pytest.importorskip("pyarrow")

PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import datasets
datasets.disable_progress_bars()
folder, cache = sys.argv[1:]
found = {}
for kind in datasets.get_dataset_config_names(folder):
    loaded = datasets.load_dataset(folder, kind, split="test", cache_dir=cache)
    found[kind] = {"rows": loaded.num_rows, "features": sorted(loaded.features),
                   "first": loaded[0], "last": loaded[-1]}
found["default"] = datasets.load_dataset(folder, split="test", cache_dir=cache).num_rows
print(json.dumps(found))
"""


def loaded(folder: Path, cache: Path) -> dict[str, Any]:
    """Load every config in a fresh interpreter: the library reads its settings when imported."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(cache / "cache")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **offline},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("parquet", [False, True])
def test_every_config_of_an_exported_run_is_loaded(
    make_run: Callable[..., Path], tmp_path: Path, parquet: bool
) -> None:
    folder = make_run()
    data = RunFolder(folder)
    manifest = data.read_manifest()  # which a change of the records removes
    with data.writer("levels") as writer:
        writer.emit(LevelVote("q000", "alder", "analysis"))
    data.write_manifest(manifest)
    out = export_dataset(folder, tmp_path / "set", parquet=parquet)
    found = loaded(out, tmp_path)
    assert found.pop("default") == 13
    rows = {kind: one["rows"] for kind, one in found.items()}
    assert rows == {
        "questions": 13, "levels": 1, "answers": 48, "marks": 108, "verdicts": 84, "rankings": 12,
    }  # fmt: skip
    # The third judge's marks cannot be read, and have no score at all.
    assert found["marks"]["features"][:2] == ["accuracy", "call"]
    assert found["rankings"]["first"]["order"] == [["alder", "birch"], ["birch-warm"]]


@pytest.mark.parametrize("parquet", [False, True])
def test_every_config_of_a_generated_set_is_loaded(tmp_path: Path, parquet: bool) -> None:
    out = tmp_path / "set"
    data = RunFolder(out / "data")
    asked = Question("q1", "Why “so”?\u2028", "x", ("y", "x"), "alder", level="analysis",
                     reference="No.", reference_agreement=0.5)  # fmt: skip
    with data.writer("questions") as writer:
        writer.emit(asked)
        writer.emit(Question("q2", "And why not?", "x"))
    with data.writer("references") as writer:
        writer.emit(Reference("q1", "alder", 0, "No."))
        writer.emit(Reference("q1", "alder", 1, "Yes.", agrees=False))
    RunFolder(out).write_manifest(
        {"exam": "e", "questions_hash": "0", "status": "complete", "versions": {}, "seed": 1}
    )
    # The ledger lies in the same folder, and is no part of what is loaded.
    (out / "ledger.sqlite").write_bytes(b"SQLite format 3\x00")
    found = loaded(finish_dataset(out, parquet=parquet), tmp_path)
    assert set(found) == {"questions", "references", "default"}
    first = found["questions"]["first"]
    assert (first["text"], first["domain_path"]) == (asked.text, ["y", "x"])
    assert (first["reference"], first["reference_agreement"]) == ("No.", 0.5)
    assert found["questions"]["last"]["reference_agreement"] is None
    assert found["references"]["last"]["agrees"] is False
    assert found["references"]["first"]["agrees"] is None
