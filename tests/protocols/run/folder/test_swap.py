from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.protocols.run.folder.swap import adopt, finish_adoption, workshop_of
from peerexam.runfolder import RunFolder

NAMES = ("answers.jsonl", "exam.yaml", "manifest.json", "questions.jsonl", "standings.json")


def prepared(path: Path) -> RunFolder:
    folder = RunFolder(path)
    workshop_of(folder).path.mkdir(parents=True)
    for name in NAMES:
        (path / name).write_text("old")
        (workshop_of(folder).path / name).write_text("new")
    return folder


def contents(folder: RunFolder) -> set[str]:
    return {(folder.path / name).read_text() for name in NAMES}


def test_all_files_are_replaced_and_the_workshop_is_gone(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    adopt(folder)
    assert contents(folder) == {"new"}
    assert not workshop_of(folder).path.exists()


def test_a_workshop_that_is_not_ready_replaces_nothing(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    finish_adoption(folder)
    assert contents(folder) == {"old"}


@pytest.mark.parametrize("moves", range(len(NAMES) + 1))
def test_a_kill_between_two_moves_is_made_good_by_the_next_who_comes(
    tmp_path: Path, moves: int
) -> None:
    folder = prepared(tmp_path)
    workshop = workshop_of(folder).path
    (workshop / "READY").touch()
    for name in NAMES[:moves]:
        (workshop / name).replace(tmp_path / name)
    finish_adoption(folder)
    assert contents(folder) == {"new"}
    assert not workshop.exists()


def test_there_need_be_no_workshop(tmp_path: Path) -> None:
    finish_adoption(RunFolder(tmp_path))
    assert list(tmp_path.iterdir()) == []
