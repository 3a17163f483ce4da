from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from peerexam.cli import main
from peerexam.errors import SetupError
from peerexam.records import to_json
from peerexam.report.export.place import check_export_place
from peerexam.runfolder import RunFolder
from peerexam.runfolder.sealing import seal_of


def sealed(run: Path) -> Path:
    """The run with the seal of its own questions, which its hand-written manifest has not."""
    folder = RunFolder(run)
    seal = seal_of(map(to_json, folder.questions()))
    folder.write_manifest({**folder.read_manifest(), "questions_hash": seal})
    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("layout", ["dataset", "arena-rank", "evalica", "fastchat"])
def test_no_layout_is_written_over_a_run(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    run = sealed(make_run())
    assert main(["report", str(run)]) == 0
    before = contents(run)
    assert main(["export", str(run), "--no-parquet", "--to", layout, "--out", str(run)]) == 2
    assert "choose another folder with --out" in capsys.readouterr().err
    assert contents(run) == before


@pytest.mark.parametrize("name", ["exam.yaml", "questions.jsonl", ".checkpoint.json"])
def test_what_a_run_has_and_an_export_has_not_keeps_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(SetupError, match="holds a run or a generated data set"):
        check_export_place(tmp_path)


def test_an_export_goes_over_an_earlier_one(make_run: Callable[..., Path], tmp_path: Path) -> None:
    run, out = sealed(make_run()), tmp_path / "out"
    for _ in range(2):
        assert main(["export", str(run), "--no-parquet", "--out", str(out)]) == 0
