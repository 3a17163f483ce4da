"""What servers and models say cannot steer the terminal or the log."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.cli.display import shown
from peerexam.cli.output import note, say, say_json
from peerexam.printable import escaped_json, log, plain
from peerexam.protocols.session.progress import Progress
from peerexam.testing.faults.server import Asked, FaultServer, Reply, Scripted
from peerexam.testing.faults.wording import answer, error

STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200f\u061c\r\x08\x7f\u2028"
HARMFUL = [char for char in STEERING if plain(char) != char]
ANYTHING = st.text(st.characters(exclude_categories=()))

MARKS = "\n".join(
    f"{name}: 4" for name in ("accuracy", "coherence", "factuality", "comprehensiveness", "overall")
)


def test_each_of_them_is_taken_for_harmful() -> None:
    assert set(HARMFUL) == set(STEERING) - set("[2J]0;owned31mevil")


@given(text=ANYTHING)
def test_nothing_but_text_tabs_and_lines_is_left(text: str) -> None:
    found = plain(text)
    assert not any(char in found for char in HARMFUL)
    assert all(char in "\t\n" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in found)
    assert len(found) == len(text)


@given(
    value=st.recursive(ANYTHING, lambda inner: st.lists(inner) | st.dictionaries(ANYTHING, inner))
)
def test_json_is_the_same_value_with_its_escapes(value: Any) -> None:
    text = escaped_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert plain(text) == text


def test_every_way_to_the_screen_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(Progress(), quiet=True):
        log.warning("agent %s failed", STEERING)
    say(f"a {STEERING}")
    note(f"b {STEERING}")
    say_json({STEERING: [STEERING]})
    out, err = capsys.readouterr()
    assert not any(char in out + err for char in HARMFUL)
    assert json.loads(out[out.index("{") :]) == {STEERING: [STEERING]}


def test_a_record_of_the_log_holds_none(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log.info("it said %s", STEERING)
    assert not any(char in caplog.text for char in HARMFUL)


def spoken(asked: Asked) -> Scripted:
    """Bad names, bad answers, bad errors and bad finish reasons, by the model's name."""
    model = asked.body["model"]
    if model == "refused":
        return Reply(error("openai", STEERING, f"no {STEERING}", STEERING, STEERING), 401)
    text = json.dumps(asked.body["messages"])
    said = MARKS if "coherence" in text.lower() else f"Blue. {STEERING}"
    if "Response 1" in text:
        said = "Verdict: Response 1"
    body = answer("openai", said, f"odd{STEERING}")
    body["model"] = STEERING
    return Reply(body)


@pytest.mark.parametrize("on_terminal", [False, True])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_run_with_it_everywhere_steers_nothing(
    flags: list[str], on_terminal: bool, tmp_path: Path
) -> None:
    if on_terminal and os.name != "posix":
        pytest.skip("a pseudo-terminal is POSIX's")
    (tmp_path / "questions.jsonl").write_text(
        json.dumps({"id": "q", "text": f"Why? {STEERING}", "domain": "nature"}) + "\n"
    )
    with FaultServer(spoken) as server:
        names = ("one", "two", "three", "refused")
        exam = {
            "name": "steered",
            "agents": [
                {"name": name, "model": f"openai/{name}@{server.openai_url}"} for name in names
            ],
            "questions": {"file": "questions.jsonl"},
        }
        (tmp_path / "EXAM.json").write_text(json.dumps(exam))
        command = [sys.executable, "-m", "peerexam", "run", "EXAM.json", "--out", "run", *flags]
        status, out, err = _run(command, tmp_path, on_terminal)
    assert status == 3, err
    assert "refused" in err
    steering = set(HARMFUL) - ({"\x1b", "\r"} if on_terminal else set())  # the bar's own
    assert not any(char in out + err for char in steering)
    assert "\x1b[2J" not in out + err
    assert "\x1b]0" not in out + err
    if flags:
        json.loads(out)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert any("is unknown" in one and "'odd" in one for one in manifest["notes"])


def _run(command: list[str], folder: Path, on_terminal: bool) -> tuple[int, str, str]:
    environment = {**os.environ, "TERM": "xterm"}
    if not on_terminal:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=240, check=False)
        return ended.returncode, ended.stdout.decode(), ended.stderr.decode()
    import pty

    mine, its = pty.openpty()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=its, env=environment
    ) as running:
        os.close(its)
        seen = b""
        try:
            while piece := os.read(mine, 65536):
                seen += piece
        except OSError:
            pass  # how the end of a terminal is told
        out = running.communicate(timeout=240)[0]
    os.close(mine)
    return running.returncode, out.decode(), seen.decode("utf-8", "replace")
