"""A standstill is named, by a clock that the test turns and in real runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.base import Agent
from peerexam.agents.function import FunctionAgent, ScriptedAgent
from peerexam.calls import Completion, Request
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.protocols.session.progress import Lane, Progress
from peerexam.protocols.session.watchdog import Watchdog, watching


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_told_while_calls_end() -> None:
    clock = Clock()
    lane = Lane(clock)
    dog = Watchdog(lane, 60)
    lane.started("slow")
    for _ in range(10):
        ticket = lane.started("quick")
        clock.now += 59
        assert dog.check() is None
        lane.finished(ticket, Completion("x"))


def test_nothing_is_told_while_nothing_is_asked() -> None:
    clock = Clock()
    lane = Lane(clock)
    dog = Watchdog(lane, 60)
    lane.finished(lane.started("a"), Completion("x"))
    clock.now += 1000
    assert dog.check() is None
    lane.started("a")
    clock.now += 59
    assert dog.check() is None, "the call has been under way for a minute less"


def test_a_standstill_is_told_once_in_each_interval_and_names_the_oldest_call() -> None:
    clock = Clock()
    lane = Lane(clock)
    dog = Watchdog(lane, 60)
    lane.started("first", "judge")
    clock.now += 5
    lane.finished(lane.started("quick"), None)
    lane.started("late")
    told = []
    for _ in range(200):
        clock.now += 1
        if (stall := dog.check()) is not None:
            told.append(stall)
    assert [stall.quiet for stall in told] == [60, 120, 180]
    assert told[0].text == (
        "stalled: no call has ended for 60 s; the oldest, to 'first' as judge, has been under way "
        "for 65 s (2 calls in flight)"
    )
    assert "'first' as judge" in told[2].text


def test_the_next_standstill_is_told_anew() -> None:
    clock = Clock()
    lane = Lane(clock)
    dog = Watchdog(lane, 10)
    ticket = lane.started("a")
    clock.now += 25
    assert dog.check() is not None
    lane.finished(ticket, Completion("x"))
    lane.started("b")
    clock.now += 11
    stall = dog.check()
    assert stall is not None
    assert stall.text.startswith("stalled: no call has ended for 11 s; the oldest, to 'b', has")


def test_the_time_in_which_the_process_was_stopped_is_no_standstill() -> None:
    clock = Clock()
    lane = Lane(clock)
    dog = Watchdog(lane, 10)
    lane.started("a")
    clock.now += 3600
    dog.resumed()
    assert dog.check() is None
    clock.now += 11
    stall = dog.check()
    assert stall is not None
    assert stall.quiet == 11


def test_an_agent_that_blocks_everything_is_named_by_the_watching_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lane = Progress().paid
    lane.started("blocker")
    with watching(Watchdog(lane, 0.02)):
        for _ in range(500):
            if caplog.records:
                break
            time.sleep(0.01)  # the loop's own thread does nothing
    assert "'blocker'" in caplog.records[0].getMessage()
    assert caplog.records[0].levelno == logging.WARNING
    assert "peerexam watchdog" not in [thread.name for thread in threading.enumerate()]


def _exam(**limits: Any) -> ExamConfig:
    return ExamConfig.model_validate(
        {
            "name": "slow",
            "agents": [
                {
                    "name": name,
                    "model": f"openai/{name}@http://127.0.0.1:9/v1",
                    "roles": [role],
                    "limits": {"timeout": 0.3, "deadline": 0.6, "attempts": 1, **limits},
                }
                for name, role in (("setter", "examiner"), ("slow", "examinee"), ("j", "judge"))
            ],
            "questions": {"domains": ["rivers"], "per_domain": 1},
            "judging": {"ranking": "none"},
            "limits": {"stall_warning": 0.05},
        }
    )


async def test_a_run_without_a_display_warns_and_ends_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def never(request: Request) -> str:
        await asyncio.Event().wait()
        return "late"

    agents = {
        "setter": ScriptedAgent(lambda request: "1. Which river is the longest?", "setter"),
        "slow": ScriptedAgent(never, "slow"),
        "j": ScriptedAgent(lambda request: "overall: 3", "j"),
    }
    outcome = await run_exam(_exam(), tmp_path, agents=agents)
    assert outcome.status == "partial"
    assert "slow as examinee" in (outcome.reason or "")
    assert any("to 'slow' as examinee" in record.getMessage() for record in caplog.records)


def test_a_function_that_never_returns_holds_up_neither_its_run_nor_the_end_of_the_loop(
    tmp_path: Path,
) -> None:
    over = threading.Event()

    def stuck(messages: list[dict[str, str]]) -> str:
        over.wait()
        return "late"

    agents: dict[str, Agent] = {
        "setter": ScriptedAgent(lambda request: "1. Which river is the longest?", "setter"),
        "slow": FunctionAgent("slow", stuck),
        "j": ScriptedAgent(lambda request: "overall: 3", "j"),
    }
    try:
        # The end of `asyncio.run` waits for the threads of the loop's pool.
        outcome = asyncio.run(run_exam(_exam(), tmp_path, agents=agents))
    finally:
        over.set()
    assert outcome.status == "partial"
    assert "slow as examinee" in (outcome.reason or "")
