"""The example plug-in, installed as a package is: found, asked, examined, and tested by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ROOT / "examples" / "plugin"
SOURCE = ROOT / "src"

CORPUS = """The capital of France is Paris.
The capital of Norway is Oslo.
A clear sky at noon is blue.
A horse has four legs.
"""

QUESTIONS = """{"id": "sky", "text": "What colour is a clear sky at noon?", "domain": "nature"}
{"id": "legs", "text": "How many legs does a horse have?", "domain": "nature"}
"""

EXAM = """
name: chains
agents:
  - {name: short, model: "markov/corpus.txt?order=2", roles: [examinee]}
  - {name: long, model: "markov/corpus.txt?order=6", roles: [examinee]}
  - {name: judge, model: "markov/corpus.txt?order=4", roles: [judge], judge: {by: likelihood}}
questions: {file: questions.jsonl}
answers: {max_tokens: 40, temperature: 0.5}
"""

Python = Callable[..., str]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """Runs this interpreter where the plug-in is installed beside everything else."""
    pytest.importorskip("pip")
    pytest.importorskip("hatchling")
    site = tmp_path_factory.mktemp("site")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(site), str(SOURCE))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }

    def run(*arguments: str, cwd: Path = site) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    run("-m", "pip", "install", *offline, "--target", str(site), str(PLUGIN))
    return run


def test_it_is_listed_with_the_package_that_it_comes_from(python: Python) -> None:
    listed = json.loads(python("-m", "peerexam", "agents", "--json"))
    found = {row["provider"]: row for row in listed["providers"]}
    assert found["markov"]["source"] == "peerexam-example-plugin"


def test_its_agents_sit_an_exam_and_judge_it(python: Python, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(CORPUS)
    (tmp_path / "questions.jsonl").write_text(QUESTIONS)
    (tmp_path / "EXAM.yaml").write_text(EXAM)
    python("-m", "peerexam", "run", "EXAM.yaml", "--out", "run", cwd=tmp_path)
    standings = json.loads((tmp_path / "run" / "standings.json").read_text())
    assert standings["status"] == "complete"
    assert {row["agent"] for row in standings["standings"]} == {"short", "long"}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    # Nobody knows what a plug-in's model costs unless the exam says so.
    assert [agent["price"] for agent in manifest["agents"]] == [None] * 3
    assert {agent["fingerprint"]["provider"] for agent in manifest["agents"]} == {"markov"}


@pytest.mark.parametrize("plug_ins", [("-p", "no:asyncio"), ()], ids=["without asyncio", "as is"])
@pytest.mark.parametrize(
    # The next test has it in the checkout, once.
    "place",
    [pytest.param("in the checkout", marks=pytest.mark.slow), "copied"],
)
def test_its_own_tests_pass_with_and_without_plug_ins_for_pytest(
    plug_ins: tuple[str, ...], place: str, python: Python, tmp_path: Path
) -> None:
    folder = PLUGIN
    if place == "copied":
        folder = Path(shutil.copytree(PLUGIN, tmp_path / "plugin"))
    said = python("-m", "pytest", "-q", *plug_ins, "-p", "no:cacheprovider", ".", cwd=folder)
    assert "passed" in said
    assert "failed" not in said


def test_its_own_tests_pass_from_the_root_of_the_checkout(python: Python) -> None:
    said = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/plugin", cwd=ROOT)
    assert "failed" not in said


def test_what_its_readme_says_to_install_is_what_it_is(python: Python) -> None:
    program = "from importlib.metadata import entry_points as e;"
    program += "print(*(p.value for p in e(group='peerexam.agents', name='markov')))"
    assert python("-c", program).strip() == "peerexam_example_plugin.agent:create"
