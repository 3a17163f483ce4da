from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from peerexam.errors import SetupError
from peerexam.records import LevelVote, Mark, Question, Reference
from peerexam.report.export.card import size_category
from peerexam.report.export.columns import columns_of
from peerexam.report.export.dataset import KINDS, export_dataset, finish_dataset
from peerexam.runfolder import RunFolder, record_line
from peerexam.runfolder.sealing import canary_of, seal_of

parquet = pytest.importorskip("pyarrow.parquet")


OF_EVERY_RUN = [kind for kind in KINDS if kind not in ("levels", "references")]


def head_of(out: Path) -> dict[str, Any]:
    head: dict[str, Any] = yaml.safe_load((out / "README.md").read_text("utf-8").split("---\n")[1])
    return head


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture
def out(make_run: Callable[..., Path], tmp_path: Path) -> Path:
    return export_dataset(make_run(), tmp_path / "dataset")


def test_jsonl_has_the_run_byte_for_byte(make_run: Callable[..., Path], tmp_path: Path) -> None:
    texts = {"answer": "=1+1\r\n\u2028 \x00 <b> \ud83d é", "reply": "\t'quoted'"}
    folder = make_run(texts=texts)
    out = export_dataset(folder, tmp_path / "dataset")
    for kind in OF_EVERY_RUN:
        name = f"{kind}.jsonl"
        assert (out / "data" / name).read_bytes() == (folder / name).read_bytes()
    assert rows_of(out / "data" / "answers.jsonl")[0]["text"] == texts["answer"]


def test_parquet_has_the_same_rows_with_its_declared_columns(out: Path) -> None:
    for kind in OF_EVERY_RUN:
        table = parquet.read_table(out / "data" / f"{kind}.parquet")
        assert table.column_names == [column.name for column in columns_of(kind)]
        wanted = rows_of(out / "data" / f"{kind}.jsonl")
        # A failed mark has no key for a dimension in JSONL and a null in Parquet.
        padded = [{**dict.fromkeys(table.column_names), **row} for row in wanted]
        assert table.to_pylist() == padded


def test_lone_surrogates_are_replaced_in_parquet_alone(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    names = ("al\ud800der", "birch", "cedar", "warm")
    out = export_dataset(make_run(agents=names, texts={"answer": "a\udc00b"}), tmp_path / "dataset")
    answers = parquet.read_table(out / "data" / "answers.parquet").to_pylist()
    assert answers[0]["text"] == "a\ufffdb"
    rankings = parquet.read_table(out / "data" / "rankings.parquet").to_pylist()
    assert rankings[0]["order"][0][0] == "al\ufffdder"
    assert rows_of(out / "data" / "answers.jsonl")[0]["text"] == "a\udc00b"
    assert "U+FFFD" in (out / "README.md").read_text("utf-8")


def test_the_head_declares_every_config_with_its_rows(out: Path) -> None:
    head = head_of(out)
    assert head["license"] == "other"
    assert head["task_categories"] == ["question-answering", "text-generation"]
    assert head["size_categories"] == ["n<1K"]
    assert "synthetic" in head["tags"]
    assert [config["config_name"] for config in head["configs"]] == OF_EVERY_RUN
    for config, info in zip(head["configs"], head["dataset_info"], strict=True):
        (files,) = config["data_files"]
        (split,) = info["splits"]
        table = parquet.read_table(out / files["path"])
        assert files["split"] == split["name"]
        assert split["num_examples"] == table.num_rows
        assert [feature["name"] for feature in info["features"]] == table.column_names


def test_the_card_says_who_made_it_and_what_missing_means(out: Path) -> None:
    text = (out / "README.md").read_text("utf-8")
    assert "| birch-warm | sim/3 | examinee, judge | birch | Apache-2.0 |" in text
    assert "p" * 64 in text
    assert "| `answers` | 47 | 0 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| `marks` | 72 | 36 | 0 | 0 | 0 | 0 | 0 |" in text
    assert 'load_dataset("PATH/OF/THIS/FOLDER", "questions"' in text
    assert "self-preference" in text


def test_the_canary_belongs_to_the_questions(out: Path) -> None:
    canary = canary_of("ab" * 32)
    assert str(UUID(canary)) == canary
    assert canary in (out / "README.md").read_text("utf-8")
    assert canary in (out / "canary.txt").read_text("utf-8").splitlines()[1]
    assert canary != canary_of("cd" * 32)
    note = parquet.read_schema(out / "data" / "questions.parquet").metadata
    assert note[b"canary"].decode() == canary


def test_without_a_sealed_hash_the_questions_themselves_give_the_canary(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    def change(manifest: dict[str, Any], _: dict[str, Any]) -> None:
        manifest["questions_hash"] = None

    cards = []
    for name, texts in (("a", None), ("b", None), ("c", {"question": "other?"})):
        folder = make_run(texts=texts, change=change, name=name)
        card = export_dataset(folder, tmp_path / f"{name}-out", parquet=False) / "README.md"
        cards.append(card.read_text("utf-8").rpartition("GUID ")[2])
    assert cards[0] == cards[1] != cards[2]


def test_jsonl_alone_points_the_configs_at_jsonl(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_run()
    export_dataset(folder, tmp_path / "dataset")
    out = export_dataset(folder, tmp_path / "dataset", parquet=False)
    assert list((out / "data").glob("*.parquet")) == []
    assert head_of(out)["configs"][0]["data_files"][0]["path"] == "data/questions.jsonl"


def test_a_rubric_of_ones_own_gives_its_own_columns(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_run()
    mark = Mark("q000", "alder", "birch", {"tone": 4, "depth": 2}, 7)
    RunFolder(folder).records_path("marks").write_bytes(record_line(mark))
    out = export_dataset(folder, tmp_path / "dataset")
    (row,) = parquet.read_table(out / "data" / "marks.parquet").to_pylist()
    assert (row["tone"], row["depth"], row["overall"]) == (4, 2, 7)
    assert "accuracy" not in row


def test_a_kind_without_rows_has_files_but_no_config(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_run()
    (folder / "marks.jsonl").unlink()
    out = export_dataset(folder, tmp_path / "dataset")
    assert parquet.read_table(out / "data" / "marks.parquet").num_rows == 0
    assert "marks" not in [config["config_name"] for config in head_of(out)["configs"]]


def test_hostile_names_stay_in_their_cells_and_their_yaml(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    names = ("<script>x</script>", "a|b", "cedar", "---\nlicense: mit")

    def change(manifest: dict[str, Any], _: dict[str, Any]) -> None:
        manifest["exam"] = "---\nlicense: mit\n---\n<b>"

    out = export_dataset(make_run(agents=names, change=change), tmp_path / "dataset")
    text = (out / "README.md").read_text("utf-8")
    assert yaml.safe_load(text.split("\n---\n\n")[0].removeprefix("---\n"))["license"] == "other"
    assert "<script>" not in text
    assert "| a\\|b |" in text


def test_the_same_run_gives_the_same_bytes(make_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_run()
    one, other = (export_dataset(folder, tmp_path / name) for name in ("one", "other"))
    for path in sorted(one.rglob("*.*")):
        assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()


def test_more_rows_than_a_batch_all_arrive(make_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_run()
    line = record_line(Mark("q000", "alder", "birch", {"accuracy": 3}, 5))
    (folder / "marks.jsonl").write_bytes(line * 10_001)
    out = export_dataset(folder, tmp_path / "dataset")
    assert parquet.read_table(out / "data" / "marks.parquet").num_rows == 10_001
    assert head_of(out)["size_categories"] == ["10K<n<100K"]


def test_a_file_in_the_way_is_named(make_run: Callable[..., Path], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(SetupError, match="is a file"):
        export_dataset(make_run(), blocked)


def test_without_pyarrow_the_error_names_the_mend_and_nothing_is_written(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    # A fresh interpreter in which pyarrow cannot be imported.
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\n"
        "from peerexam.errors import MissingExtraError\n"
        "from peerexam.report.export.dataset import export_dataset\n"
        "folder, out = map(Path, sys.argv[1:])\n"
        "try:\n    export_dataset(folder, out)\n"
        "except MissingExtraError as error:\n    print(error, out.exists())\n"
        "export_dataset(folder, out, parquet=False)\n"
        "print(sorted(path.name for path in out.iterdir()))\n"
    )
    command = [sys.executable, "-c", program, str(make_run()), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert "pip install 'peerexam[parquet]'" in first
    assert first.endswith("False")
    assert second == "['README.md', 'canary.txt', 'data', 'manifest.json']"


NOTED = (
    Question("q1", "Why does yeast rise?", "bread", ("Food", "bread"), "alder", "complex",
             level="analysis", reference="It makes gas.", reference_agreement=1 / 3),
    Question("q2", "Whose oven is hotter?", "bread", ("Food", "bread"), "birch", "concise",
             level="memorization", reference="Mine.", reference_agreement=1.0),
    Question("q3", "Compare spring and neap tides.", "tides", ("Sea", "tides"), "birch", "complex"),
)  # fmt: skip
VOTES = (
    LevelVote("q1", "alder", "analysis"),
    LevelVote("q1", "cedar", "comprehension"),
    LevelVote("q2", "alder", "memorization"),
    LevelVote("q2", "cedar", "memorization"),
    LevelVote("q3", "alder", None, "unparsed", "no level", "Hm."),
)
REFERENCES = (
    Reference("q1", "alder", 0, "It makes gas."),
    Reference("q1", "alder", 1, "It is warm.", agrees=False),
    Reference("q2", "birch", 1, "Mine.", agrees=True),
)


def generated(folder: Path, **manifest: Any) -> Path:
    """A data set's folder as `peerexam generate` leaves it before its card is written."""
    data = RunFolder(folder / "data")
    for kind, records in (("questions", NOTED), ("levels", VOTES), ("references", REFERENCES)):
        with data.writer(kind) as writer:  # type: ignore[arg-type]
            for record in records:
                writer.emit(record)
    RunFolder(folder).write_manifest(
        {
            "exam": "Bread",
            "questions_hash": "ab" * 32,
            "status": "complete",
            "versions": {},
            **manifest,
        }
    )
    return folder


def test_levels_and_references_are_exported_with_their_types(tmp_path: Path) -> None:
    out = finish_dataset(generated(tmp_path / "set"))
    votes = parquet.read_table(out / "data" / "levels.parquet").to_pylist()
    assert [vote["level"] for vote in votes][:2] == ["analysis", "comprehension"]
    references = parquet.read_table(out / "data" / "references.parquet").to_pylist()
    assert [(row["draw"], row["agrees"]) for row in references] == [
        (0, None),
        (1, False),
        (1, True),
    ]
    questions = parquet.read_table(out / "data" / "questions.parquet").to_pylist()
    assert [row["reference_agreement"] for row in questions] == [1 / 3, 1.0, None]
    assert [row["reference"] for row in questions] == ["It makes gas.", "Mine.", None]
    names = [config["config_name"] for config in head_of(out)["configs"]]
    assert names == ["questions", "levels", "references"]
    for kind in names:
        note = parquet.read_schema(out / "data" / f"{kind}.parquet").metadata
        assert note[b"canary"].decode() == canary_of("ab" * 32)


def test_levels_of_a_run_are_exported_too(make_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_run()
    data = RunFolder(folder)
    manifest = data.read_manifest()  # which a change of the records removes
    with data.writer("levels") as writer:
        writer.emit(VOTES[0])
    data.write_manifest(manifest)
    out = export_dataset(folder, tmp_path / "dataset")
    assert rows_of(out / "data" / "levels.jsonl")[0]["classifier"] == "alder"
    assert "levels" in [config["config_name"] for config in head_of(out)["configs"]]
    assert not (out / "data" / "references.jsonl").exists()


def test_the_card_counts_words_levels_agreement_and_references(tmp_path: Path) -> None:
    folder = generated(
        tmp_path / "set",
        shortfalls=[
            {"examiner": "alder", "domain": "x|y", "found": 1, "wanted": 5, "reasons": ["empty"]}
        ],
        repeated={"birch": {"alder": 2, "birch": 1}},
        generated="2024-05-17",
        status="partial",
        status_reason="the budget was reached",
    )
    text = (finish_dataset(folder, parquet=False) / "README.md").read_text("utf-8")
    for row in ("why | 1", "who | 1", "other | 1", "Food | 2", "Sea | 1", "analysis | 1"):
        assert f"| {row} |" in text
    assert "| complex | 2 |" in text
    # One of two questions that both classified: a share of 0.5.
    assert "alder and cedar agree on 0.50" in text
    assert "of 2 questions, Cohen's kappa" in text
    assert "2 questions have their author's own answer" in text
    assert "1 (50.0 %, 95 % interval 9.5 to 90.5)" in text  # Wilson's interval of 1 in 2
    assert "| alder | x\\|y | 1 | 5 | empty |" in text
    assert "2 of birch (of alder), 1 of birch (its own)" in text
    assert "Generated on 2024-05-17" in text
    assert "This data set is partial" in text
    assert "Judges may favour" not in text


def test_finishing_twice_leaves_the_same_bytes(tmp_path: Path) -> None:
    folder = finish_dataset(generated(tmp_path / "set"))
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    finish_dataset(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_an_export_keeps_the_runs_manifest_and_with_it_the_seal(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    out = export_dataset(make_run(), tmp_path / "dataset")
    manifest = RunFolder(out).read_manifest()
    assert (manifest["kind"], manifest["questions_hash"]) == ("dataset", "ab" * 32)
    assert seal_of(rows_of(out / "data" / "questions.jsonl")) != "ab" * 32  # as the fixture says


@pytest.mark.parametrize(
    ("rows", "word"), [(0, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (10**7, "n>10M")]
)
def test_sizes_are_named_as_the_hub_names_them(rows: int, word: str) -> None:
    assert size_category(rows) == word
