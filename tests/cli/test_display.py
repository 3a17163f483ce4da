"""What the progress says."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from peerexam.cli.display import describe, shown
from peerexam.cli.output import note, plain, redact, say
from peerexam.protocols.session.progress import Progress, Snapshot

NOW = Snapshot(
    planned=540,
    done=312,
    replayed=40,
    failed=2,
    in_flight=3,
    tokens=9000,
    cost=0.12,
    unpriced=7,
    rate=12.34,
    seconds_left=18.4,
    oldest_agent="slow",
    oldest_seconds=65.0,
    note="examining",
    oldest_is_unusual=True,
)


def test_a_line_says_calls_rate_cost_time_left_and_the_oldest_call() -> None:
    assert describe(NOW) == (
        "examining · 312/540 calls · 40 replayed · 2 failed · 12.3/s · $0.1200 + 7 unpriced · "
        "0:18 left · oldest: slow 65 s"
    )


def test_a_call_that_takes_as_long_as_others_is_not_named() -> None:
    assert "oldest" not in describe(dataclasses.replace(NOW, oldest_is_unusual=False))


def test_what_matters_least_gives_way_to_a_narrow_terminal() -> None:
    assert describe(NOW, 58) == "examining · 312/540 calls · 2 failed · 0:18 left"
    assert describe(NOW, 30) == "312/540 calls · 2 failed"
    assert describe(NOW, 5) == "312/540 calls"
    for room in range(13, 140):
        assert len(describe(NOW, room)) <= room


def test_unknown_things_are_not_said() -> None:
    empty = Progress().snapshot()
    assert describe(empty) == ""
    assert describe(dataclasses.replace(empty, done=3)) == "3 calls"


def test_quiet_says_nothing_but_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(planned=2)
    with shown(progress, quiet=True):
        progress.note = "examining"
    assert capsys.readouterr().err == ""
    with shown(progress, quiet=False):
        progress.note = "examining"
    assert capsys.readouterr().err == "examining · 0/2 calls\n"
    with shown(progress, quiet=True):
        logging.getLogger("peerexam").warning("stalled: \x1b[2J%s", "so it is")
    logging.getLogger("peerexam").info("afterwards")
    assert capsys.readouterr().err == "stalled: \ufffd[2Jso it is\n"


def test_no_key_reaches_the_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "not-to-be-seen")
    say("a not-to-be-seen b")
    note("c not-to-be-seen d")
    captured = capsys.readouterr()
    assert captured.out == "a [key] b\n"
    assert captured.err == "c [key] d\n"
    assert redact("nothing here") == "nothing here"


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    assert plain("\x1b]0;owned\x07name\r") == "\ufffd]0;owned\ufffdname\ufffd"
