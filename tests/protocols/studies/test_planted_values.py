"""Whether protocols' intervals hold what is planted, over seeds, at the rate they claim.

Each test runs a protocol from scripted agents to its measures, many times over, and counts how
often the 95 % interval of a measure holds the expectation that was planted. Where agents are
independent of each other, each of them is a draw, and one study holds many; where the items are
drawn too, each seed has a study of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.protocols.studies.base import ask_study
from peerexam.protocols.studies.discrimination.protocol import Discrimination
from peerexam.protocols.studies.discrimination.study import discrimination_result
from peerexam.protocols.studies.discrimination.variations import variations_of
from peerexam.protocols.studies.mistakes.backtracking.locators import locators_from
from peerexam.protocols.studies.mistakes.backtracking.measures import (
    backtracking_result,
    backtracking_rows,
)
from peerexam.protocols.studies.mistakes.backtracking.study import Backtracking
from peerexam.protocols.studies.mistakes.finding.measures import finding_result
from peerexam.protocols.studies.mistakes.finding.protocol import Finding
from peerexam.protocols.studies.self_bias.study import study_self_bias
from peerexam.stats.core.proportions import wilson
from peerexam.tasks.benchmarks.base import Item
from peerexam.tasks.benchmarks.gsm8k import GSM8K
from peerexam.tasks.mistakes.traces import Trace

pytestmark = pytest.mark.slow  # the values themselves are planted once in each study's own tests

Chance = Callable[..., float]
"""A number from 0 to 1 that hangs on what is named, and on the draw; see conftest.py."""


def last(request: Request) -> str:
    return request.messages[-1].content


# Discrimination: S_gen, S_disc and their difference


SHOWN = re.compile(r"\[\[begin Answer (\d+) [0-9a-f]{16}\]\]\n#### (\d+)\n")
ADDED = re.compile(r"What is (\d+) \+ 1\?")


def answers_and_chooses(chance: Chance, request: Request) -> str:
    """Right with 1/2; unreadable on one item of five; else it picks a right one with 3/5."""
    text = last(request)
    asked = int(ADDED.findall(text)[-1])
    if "[[begin Answer 1 example]]" not in text:
        return f"#### {asked + 1 + (chance(asked, request.draw) < 0.5)}"
    if chance(asked, "unreadable") < 0.2:
        return "They are all fine."
    shown = SHOWN.findall(text)
    right = [label for label, number in shown if int(number) == asked + 1]
    knows = chance(text, "knows") < 0.6
    among = right if right and knows else [label for label, _ in shown]
    return f"Choice: {among[int(chance(text, 'which') * len(among))]}"


async def test_discrimination(tmp_path: Path, planting: Any) -> None:
    # Of two candidates, each right with 1/2, one at least is right with 3/4, both with 1/4. Read
    # choices are right with 0.6·3/4 + 0.4·1/2 = 0.65; the others are credited with the worse
    # candidate, 1/4: S_disc = 0.8·0.65 + 0.2·0.25 = 0.57, and DG-Diff = 0.57 − 0.5. Unreadable is
    # an item as a whole, so that its rotations are no trials of their own.
    draws = 50
    items = tuple(Item(f"i{at}", f"What is {at} + 1?", (str(at + 1),)) for at in range(40))
    agents = planting.agents(draws, answers_and_chooses)
    what = Discrimination(
        GSM8K, items, tuple(agents), variations_of("plain,rotated", GSM8K), candidates=2
    )
    done = await ask_study(planting.config(agents), what, tmp_path, agents=agents)
    result = discrimination_result(what, done)
    truths = {("s_gen", ""): 0.5, ("s_gen_expected", ""): 0.5}
    for condition in ("", "rotated"):
        truths |= {
            ("s_disc", condition): 0.57,
            ("dg_diff", condition): 0.07,
            ("dg_diff_expected", condition): 0.07,
            ("invalid", condition): 0.2,
            ("label_1", condition): 0.5,
        }
    rates = planting.rates(
        {(name, "gsm8k", condition): one for (name, condition), one in truths.items()}
    )
    rates.see(result.measures)
    rates.are_nominal(draws)
    # Twice as many replies about as many items say no more.
    ends = {
        (m.agent, m.name, m.condition): (m.estimate.low, m.estimate.high) for m in result.measures
    }
    for agent in agents:
        assert ends[agent, "invalid", "rotated"] == pytest.approx(ends[agent, "invalid", ""])


# Mistakes: location and what it foretells


PROBLEM = re.compile(r"PROBLEM (\w+)\.")


def drawn_traces(chance: Chance, task: str, count: int) -> list[Trace]:
    """Two in three have a mistake; the answer is right of 15 % of these, of 90 % of the others."""
    found = []
    for number in range(count):
        wrong = chance(task, number, "wrong") < 2 / 3
        right = chance(task, number, "right") < (0.15 if wrong else 0.9)
        place = int(chance(task, number, "place") * 4) if wrong else None
        steps = tuple(f"thought {step}" for step in range(4))
        name = f"{task}{number}"
        found.append(
            Trace(task, name, f"PROBLEM {name}.", steps, "x", "x" if right else "y", place)
        )
    return found


def locating(chance: Chance, traces: Sequence[Trace]) -> ScriptedAgent:
    """Names the very place with 0.7 (of task b 0.5), else another, or none with 0.1."""
    gold = {trace.input: trace.mistake_index for trace in traces}

    def reply(request: Request) -> str:
        name = PROBLEM.findall(last(request))[-1]
        place, by = gold[f"PROBLEM {name}."], chance(name, "looks")
        if by < (0.5 if name.startswith("b") else 0.7):
            named = place
        elif place is None:
            named = 0
        else:
            named = None if by >= 0.9 else (place + 1) % 4
        return "Mistake: No" if named is None else f"Mistake: {named + 1}"

    return ScriptedAgent(reply, "looks")


async def test_mistake_finding(tmp_path: Path, planting: Any) -> None:
    # Of task a: a mistake is seen in 0.9 of the traces that have one, in 0.3 of the others. So the
    # answer is right and foretold right with 1/3·0.9·0.7 + 2/3·0.15·0.1 = 0.22, right and foretold
    # wrong with 1/3·0.9·0.3 + 2/3·0.15·0.9 = 0.18, wrong and foretold right with 1/3·0.1·0.7 +
    # 2/3·0.85·0.1 = 0.08, both wrong with 0.52. F1 is 2·0.22/(0.40 + 0.30) = 22/35 for right
    # answers, 2·0.52/(0.60 + 0.70) = 4/5 for wrong ones, weighted by 0.4 and 0.6.
    draws = 80
    rates = planting.rates(
        {
            ("location_accuracy", "", "trace"): 0.6,
            ("location_accuracy", "a", "trace"): 0.7,
            ("location_accuracy", "b", "trace"): 0.5,
            ("location_accuracy_mistake", "", "trace"): 0.6,
            ("location_accuracy_no_mistake", "", "trace"): 0.6,
            ("location_accuracy_mistake", "a", "trace"): 0.7,
            ("location_accuracy_no_mistake", "a", "trace"): 0.7,
            ("answer_f1", "a", "trace"): 0.4 * 22 / 35 + 0.6 * 4 / 5,
        }
    )
    for seed in range(draws):
        chance = planting.chance(seed)
        traces = [*drawn_traces(chance, "a", 40), *drawn_traces(chance, "b", 30)]
        agents = {"looks": locating(chance, traces)}
        finding = Finding(traces, ("trace",), seed)
        finds = await ask_study(
            planting.config(agents), finding, tmp_path / str(seed), agents=agents
        )
        rates.see(finding_result(finding, finds).measures)
    rates.are_nominal(draws)


# Backtracking: what is lost and gained, from true and from simulated locations


def mending(chance: Chance) -> ScriptedAgent:
    """Mends with 0.6 where the mistake is; whatever else it writes ends on a bad answer."""

    def reply(request: Request) -> str:
        text = last(request).rpartition("Q: ")[2]
        if request.sampling.temperature == 0.0:
            return f"So the answer is {'good' if ': mended' in text else 'bad'}"
        name = PROBLEM.findall(text)[0]
        there = re.findall(r"Thought (\d+):", text)[-1] == name[1]
        return "mended" if there and chance(name, "mends") < 0.6 else "spoilt"

    return ScriptedAgent(reply, "writes", features=())


def to_take_up(chance: Chance, task: str, count: int) -> list[Trace]:
    """Half of them with a right answer; all with a mistake, as second or third thought."""
    found = []
    for number in range(count):
        thought = 2 + (chance(task, number, "place") < 0.5)
        name, answer = f"{task}{thought}n{number}", "good" if number % 2 else "bad"
        steps = ("start", "go", "on", f"So the answer is {answer}")
        found.append(Trace(task, name, f"PROBLEM {name}.", steps, "good", answer, thought - 1))
    return found


async def test_backtracking(tmp_path: Path, planting: Any) -> None:
    # Of the right answers 0.4 are lost, of the wrong ones 0.6 gained, where the mistake is known.
    # A reward model of accuracy 0.6 else names the only other place that the data has, where all
    # is spoilt: 1 − 0.6·0.6 = 0.64 are lost, 0.36 gained.
    draws = 75
    truths = {("located", "a", "simulated:0.6"): 0.6}
    for task in ("a", "b", ""):
        truths |= {
            ("delta_correct", task, "gold"): -0.4,
            ("delta_incorrect", task, "gold"): 0.6,
            ("delta_correct", task, "simulated:0.6"): -0.64,
            ("delta_incorrect", task, "simulated:0.6"): 0.36,
        }
    rates = planting.rates(truths)
    for seed in range(draws):
        chance = planting.chance(seed)
        traces = [*to_take_up(chance, "a", 30), *to_take_up(chance, "b", 30)]
        work = Backtracking(traces, traces, locators_from("gold,simulated:0.6"), 1, seed)
        agents = {"writes": mending(chance)}
        done = await ask_study(planting.config(agents), work, tmp_path / str(seed), agents=agents)
        rates.see(backtracking_result(work, done).measures)
        (row,) = [
            one
            for one in backtracking_rows(done.rows)
            if (one.task, one.locator) == ("a", "simulated:0.6")
        ]
        low, high = wilson(row.located, row.traces) or (None, None)
        rates.count(("located", "a", "simulated:0.6"), low, high)
    rates.are_nominal(draws)


# Self-bias: from scores


MODELS = ("m0", "m1", "m2", "m3")


def scores_of(seed: int) -> Iterator[str]:
    """Every benchmark puts its own model first with 0.4; else, and behind it, all are alike."""
    rng = np.random.default_rng(seed)

    def rows(role: str, segment: int, own: str, order: Sequence[str]) -> Iterator[str]:
        ranked = [own, *(one for one in order if one != own)] if rng.random() < 0.4 else order
        for place, model in enumerate(ranked):
            yield f"{role[0]}{segment},{model},{own},{-place},{role}"

    yield "segment,target,benchmark,score,role"
    for segment in range(40):
        order = rng.permutation(MODELS).tolist()
        for own in MODELS:
            # Evaluators see the same outputs, and agree on half of them but for themselves.
            seen = order if segment % 2 else rng.permutation(MODELS).tolist()
            yield from rows("evaluator", segment, own, seen)
    for segment in range(160):
        order = rng.permutation(MODELS).tolist()
        yield from rows("testset", segment, MODELS[segment % 4], order)


def test_self_bias(tmp_path: Path, planting: Any) -> None:
    # By its own benchmark a model's mean rank is 0.4·1 + 0.6·2.5 = 1.9; by a peer's, which is
    # first itself with 0.4, it is 0.4·3 + 0.6·2.5 = 2.7: Eq. 1 is −0.8. A rival is ahead of it
    # with 0.6/2 by its own, with 1/2 by a third party's: 3·(0.3 − 0.5) = −0.6. A win rate is a
    # mean rank ÷ −3.
    planted = {
        "self_bias": -0.8,
        "self_bias_third_party": -0.6,
        "self_bias_win_rate": 0.8 / 3,
        "self_bias_win_rate_third_party": 0.6 / 3,
    }
    roles = ("evaluator", "test set")
    rates = planting.rates(
        {(name, "", role): one for name, one in planted.items() for role in roles}
    )
    draws = 50
    for seed in range(draws):
        file = tmp_path / f"{seed}.csv"
        file.write_text("\n".join(scores_of(seed)), encoding="utf-8")
        found = study_self_bias(file, rounds=400, seed=seed)
        # One model a draw: those of one table are not independent of each other.
        rates.see(one for one in found.measures if one.agent == MODELS[seed % 4])
    rates.are_nominal(draws)
