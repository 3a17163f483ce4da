"""A run that is begun again: what it takes over as it stands, and what it goes over again."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.calls import Request
from peerexam.errors import PermanentError
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.protocols.session.progress import Progress
from peerexam.runfolder import TornTailWarning
from peerexam.runfolder.checkpoint import Checkpoint, read_checkpoint

NAMES = ("ann", "bob", "cy")
RECORDS = ("questions", "answers", "marks", "verdicts", "rankings")
MARKS = '{"accuracy": 3, "coherence": 3, "factuality": 3, "comprehensiveness": 2, "overall": 4}'


def reply(name: str, request: Request) -> Reply:
    text = request.messages[-1].content
    if "Verdict:" in text:
        return "Verdict: Response 1"
    return MARKS if "overall" in text else f"{name} answers in {len(text)} letters."


def exam(folder: Path, **changes: Any) -> ExamConfig:
    file = folder / "paper.txt"
    file.write_text("".join(f"What is number {at}?\n" for at in range(5)))
    agents = [
        {"name": name, "model": f"openai/{name}", "roles": ["examinee", "judge"]} for name in NAMES
    ]
    body: dict[str, Any] = {"agents": agents, "questions": {"file": str(file)}}
    return ExamConfig.model_validate(body | {"voting": {"rounds": 20}} | changes)


async def hold(
    folder: Path, config: ExamConfig, answers: Callable[[str, Request], Reply] = reply
) -> tuple[int, int]:
    """Hold the exam in `folder/run`; calls that were asked for, and those of them paid for."""
    progress = Progress()
    agents = {name: ScriptedAgent(partial(answers, name), name) for name in NAMES}
    await run_exam(
        config, folder / "run", agents=agents, progress=progress, pilot=False, replace=True
    )
    seen = progress.snapshot()
    return seen.done, seen.done - seen.replayed


def left_by(folder: Path) -> dict[str, bytes]:
    names = [*(f"{kind}.jsonl" for kind in RECORDS), "standings.json", ".checkpoint.json"]
    return {name: (folder / "run" / name).read_bytes() for name in names}


async def test_a_finished_run_is_taken_over_whole(tmp_path: Path) -> None:
    asked, paid = await hold(tmp_path, exam(tmp_path))
    before = left_by(tmp_path)
    # By hand: 5 questions × 3 answers + 3 judges × (2 marks + 1 pair × 2 + own 2 pairs × 2).
    assert asked == paid == 5 * (3 + 3 * (2 + 2 + 4))
    assert await hold(tmp_path, exam(tmp_path)) == (0, 0)
    assert left_by(tmp_path) == before


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("harm", ["edited", "torn", "gone"])
async def test_records_that_were_harmed_are_made_again_from_the_ledger(
    tmp_path: Path, kind: str, harm: str
) -> None:
    asked, _ = await hold(tmp_path, exam(tmp_path))
    before = left_by(tmp_path)
    path = tmp_path / "run" / f"{kind}.jsonl"
    if harm == "gone":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes(whole[:-9] if harm == "torn" else whole.replace(b"a", b"e", 1))
    with pytest.warns(TornTailWarning) if harm == "torn" else contextlib.nullcontext():
        assert await hold(tmp_path, exam(tmp_path)) == (asked, 0)
    assert left_by(tmp_path) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"judging": {"reasks": 2}},
        {"judging": {"ranking": "rank_merge"}},
        {"answers": {"truncated": "fail"}},
    ],
)
async def test_another_set_up_goes_over_everything(tmp_path: Path, changes: dict[str, Any]) -> None:
    asked, _ = await hold(tmp_path, exam(tmp_path))
    assert (await hold(tmp_path, exam(tmp_path, **changes)))[0] == asked


async def test_limits_and_voting_may_change(tmp_path: Path) -> None:
    await hold(tmp_path, exam(tmp_path))
    other = exam(tmp_path, limits={"concurrency": 2}, voting={"method": "copeland", "rounds": 20})
    assert await hold(tmp_path, other) == (0, 0)


async def test_without_the_ledger_behind_them_records_are_not_believed(tmp_path: Path) -> None:
    asked, _ = await hold(tmp_path, exam(tmp_path))
    for path in (tmp_path / "run").glob("ledger.sqlite*"):
        path.unlink()
    assert await hold(tmp_path, exam(tmp_path)) == (asked, asked)


async def test_a_failed_call_is_asked_again_and_what_stands_before_it_is_not(
    tmp_path: Path,
) -> None:
    def failing(name: str, request: Request) -> Reply:
        text = request.messages[-1].content
        if text == "What is number 3?":
            return PermanentError("it is down")
        return reply(name, request)

    undisturbed = tmp_path / "other"
    undisturbed.mkdir()
    asked, _ = await hold(undisturbed, exam(undisturbed))
    await hold(tmp_path, exam(tmp_path), failing)
    # Three questions stand; the two from the failed one on are gone over, and of the failed one
    # everything is new.
    assert await hold(tmp_path, exam(tmp_path)) == (2 * asked // 5, asked // 5)
    assert left_by(tmp_path)["verdicts.jsonl"] == left_by(undisturbed)["verdicts.jsonl"]
    assert await hold(tmp_path, exam(tmp_path)) == (0, 0)


async def test_a_run_that_was_stopped_goes_on_behind_what_stands(tmp_path: Path) -> None:
    undisturbed = tmp_path / "other"
    undisturbed.mkdir()
    asked, _ = await hold(undisturbed, exam(undisturbed))
    budget = {"budget": {"calls": 3 * asked // 5 + 1}}
    await hold(tmp_path, exam(tmp_path, limits=budget | {"window": 1}))
    assert await hold(tmp_path, exam(tmp_path)) == (2 * asked // 5, 2 * asked // 5)
    assert left_by(tmp_path) == left_by(undisturbed)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"setup": "s"}', '{"setup": "s", "x": 1}']
)
def test_a_checkpoint_that_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    assert read_checkpoint(path, "s").whole == 0
    assert read_checkpoint(tmp_path / "none.json", "s") == Checkpoint("s")


@pytest.mark.parametrize(
    ("name", "value"),
    [("whole", -1), ("whole", 3), ("whole", "5"), ("calls", 5), ("calls", [5]), ("marks", [])],
)
async def test_a_checkpoint_that_someone_wrote_in_is_not_believed(
    tmp_path: Path, name: str, value: Any
) -> None:
    asked, _ = await hold(tmp_path, exam(tmp_path))
    before = left_by(tmp_path)
    path = tmp_path / "run" / ".checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    assert await hold(tmp_path, exam(tmp_path)) == (asked, 0)
    assert left_by(tmp_path) == before


@given(st.integers(0, 2000))
def test_the_sample_of_calls_stays_small_and_spreads_over_all_questions(questions: int) -> None:
    checkpoint = Checkpoint("s")
    for at in range(questions):
        checkpoint.count(str(at), 0, 0)
    places = [int(call) for call in checkpoint.sample()]
    assert len(places) <= 130
    assert checkpoint.whole == questions
    if questions:
        assert places[0] == 0
        assert places[-1] == questions - 1
        gaps = [b - a for a, b in itertools.pairwise(places)]
        assert max(gaps, default=0) <= max(1, questions // 32)
    assert json.loads(json.dumps(checkpoint.calls)) == checkpoint.calls
