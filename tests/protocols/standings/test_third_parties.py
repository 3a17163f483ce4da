"""Judges that are the same model as an agent, from a run's set-up to its standings and report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from peerexam.calls import Json
from peerexam.cli import main
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.finishing import tally_folder
from peerexam.protocols.run.runner import run_exam
from peerexam.runfolder import RunFolder

PLAYERS = ("ann", "ann-warm", "bea", "cat")


async def held(folder: Path, variant_of: str | None) -> Mapping[str, Json]:
    config = ExamConfig.model_validate(
        {
            "agents": [
                {
                    "name": name,
                    "model": f"sim/{name}",
                    "variant_of": variant_of if name == "ann-warm" else None,
                }
                for name in PLAYERS
            ],
            "questions": {"domains": ["geography"], "per_domain": 4},
            "judging": {"ranking": "round_robin"},
            "voting": {"rounds": 20},
        }
    )
    return (await run_exam(config, folder)).standings


async def test_a_variant_is_left_out_as_third_party_when_the_votes_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    standings = await held(folder, "ann")
    assert standings["same_model"] == [["ann", "ann-warm"]]
    left = {
        judge["agent"]: judge["self_preference"]["third_parties"] for judge in standings["judges"]
    }
    assert left == {
        "ann": {"count": 2, "left_out": ["ann-warm"]},
        "ann-warm": {"count": 2, "left_out": ["ann"]},
        "bea": {"count": 3, "left_out": []},
        "cat": {"count": 3, "left_out": []},
    }
    assert tally_folder(folder) == standings  # counted anew, by the manifest
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    assert "ann and ann-warm are one model" in capsys.readouterr().out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "no third party, being the same model: <bdi>ann-warm</bdi>; 2 left" in page


async def test_standings_of_older_versions_are_still_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    old = dict(await held(folder, None))
    assert old.pop("same_model") == []
    for judge in old["judges"]:
        del judge["self_preference"]["third_parties"]
    for row in old["home_advantage"]:
        del row["third_parties"]
    RunFolder(folder).write_standings(old)
    assert main(["report", str(folder)]) == 0
    assert json.loads(RunFolder(folder).standings_path.read_text(encoding="utf-8")) == old
    assert "one model" not in capsys.readouterr().out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Self-preference" in page
    assert "being the same model" not in page
    assert main(["profile", str(folder)]) == 0
