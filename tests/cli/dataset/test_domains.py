"""`peerexam domains`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.cli import main


def test_all_domains_are_listed_with_id_and_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domains"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1131
    assert "1255\tScience > Ecology & Environment > Climate Change & Global Warming" in lines


def test_a_draw_repeats_itself_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for _ in range(2):
        assert main(["domains", "--sample", "5", "--seed", "7", "--stratified", "--json"]) == 0
        drawn.append(json.loads(capsys.readouterr().out))
    assert drawn[0] == drawn[1]
    assert (drawn[0]["sample"], drawn[0]["seed"], drawn[0]["size"]) == (5, 7, 1131)
    assert len({one["paths"][0][0] for one in drawn[0]["domains"]}) == 5


def test_more_than_there_are_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domains", "--sample", "5000"]) == 2
    assert "1131 domains, and 5000" in capsys.readouterr().err
    assert main(["domains", "--stratified"]) == 2
    assert "--sample" in capsys.readouterr().err


def test_no_name_of_a_file_steers_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.txt"
    path.write_text("\x1b]0;owned\x07Arts\n\u202eScience\n=1+1\n", encoding="utf-8")
    assert main(["domains", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["]0;ownedArts", "Science", "=1+1"]
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.out + shown.err)
    assert "own.txt:1" in shown.err


@pytest.mark.parametrize("seed", ["-1", "one", "1.5"])
@pytest.mark.parametrize("command", ["domains", "selftest"])
def test_a_seed_that_is_none_is_refused(
    command: str, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--seed", seed]) == 2
    assert "a seed is a whole number, 0 or more" in capsys.readouterr().err
