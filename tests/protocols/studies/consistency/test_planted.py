"""Whether intervals of consistency hold what is planted, over seeds, at the rate they claim.

Each test runs a protocol from scripted agents to its measures, many times over, and counts how
often the 95 % interval of a measure holds the expectation that was planted. Where agents are
independent of each other, each of them is a draw, and one study holds many; where the items are
drawn too, each seed has a study of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peerexam.calls import Request
from peerexam.protocols.studies.base import ask_study
from peerexam.protocols.studies.consistency.hypothetical import Asking
from peerexam.protocols.studies.consistency.hypothetical_measures import hypothetical_result
from peerexam.protocols.studies.consistency.own_choice import Hypothetically
from peerexam.protocols.studies.consistency.program_measures import programs_result
from peerexam.protocols.studies.consistency.programs import EXAMPLES, GeoItem, Programs
from peerexam.protocols.studies.consistency.sum_measures import sums_result
from peerexam.protocols.studies.consistency.sums import Sums
from peerexam.tasks.consistency.arithmetic import graph_of
from peerexam.tasks.consistency.funql import parse_funql
from peerexam.tasks.consistency.geoquery import GeoQuestion
from peerexam.tasks.consistency.geoquery_parts import parts_of

pytestmark = pytest.mark.slow  # the values themselves are planted once in each study's own tests

Chance = Callable[..., float]
"""A number from 0 to 1 that hangs on what is named, and on the draw; see conftest.py."""


def last(request: Request) -> str:
    return request.messages[-1].content


# Sums


def marker_in(expression: str) -> int:
    """The number of a graph, which stands in every part of its sums."""
    (found,) = {int(one) for one in re.findall(r"\d+", expression) if int(one) % 10_000 == 0}
    return found


def expression_in(request: Request) -> str:
    return str(re.findall(r"value of (\S+) \?", last(request))[0])


def sum_of(expression: str) -> int:
    """Of numbers, `+`, `-` and brackets, which is all that is asked here."""
    inner = re.sub(r"\(([^()]*)\)", lambda part: str(sum_of(part[1])), expression)
    if inner != expression:
        return sum_of(inner)
    return sum(int(one) for one in re.findall(r"-?\d+", expression.replace("--", "+")))


def errs_by_graph(chance: Chance, request: Request) -> str:
    """Right throughout in half of the graphs, wrong with 1/2 and never twice alike in the rest."""
    expression = expression_in(request)
    hard = chance(marker_in(expression), "hard") < 0.5
    if hard and chance(expression, "errs") < 0.5:
        return str(10**9 + 10 * int(chance(expression) * 10**9) + 7)
    return str(sum_of(expression))


async def test_consistency_of_sums(tmp_path: Path, planting: Any) -> None:
    # With e = 0 in half of the graphs and 1/2 in the others: right 1 − e, 0.75 on average; a pair
    # agrees where whole, part and the sum with the part put in are right, (1 − e)³; that sum has
    # the value of the whole where part and sum are right, (1 − e)²; so has the sum the other way
    # round together with the whole. The parts that are right are of an easy graph with 2/3; what
    # they are put into is wrong with 1/2 in the others.
    graphs = [
        graph_of(f"g{at}", ("+", ("-", 10_000 * at, 3), ("-", 10_000 * at, 5)))
        for at in range(1, 31)
    ]
    truths = {
        ("consistency", "arithmetic", ""): (1 + 0.5**3) / 2,
        ("consistency", "arithmetic", "part right"): 2 / 3 + 0.5**2 / 3,
        ("correctness", "arithmetic", "initial"): 0.75,
        ("correctness", "arithmetic", "self-knowledge"): (1 + 0.5**2) / 2,
        ("correctness_gain", "arithmetic", ""): (1 + 0.5**2) / 2 - 0.75,
        ("error_propagation", "arithmetic", "part right"): 0.5 / 3,
        ("follows", "arithmetic", "part wrong"): 0.5,
        ("invariance", "arithmetic", "order"): (1 + 0.5**2) / 2,
    }
    draws = 60
    rates = planting.rates(truths)
    agents = planting.agents(draws, errs_by_graph)
    asked = await ask_study(planting.config(agents), Sums(graphs), tmp_path, agents=agents)
    rates.see(sums_result(asked, {}, 0).measures)
    rates.are_nominal(draws)


# Chance


async def test_consistency_by_chance(tmp_path: Path, planting: Any) -> None:
    # Says the same to all about one graph: 1, 2 or 3 with 0.8, 0.1 and 0.1. It stands by what it
    # says, and two graphs have the same answer with 0.64 + 0.01 + 0.01 = 0.66.
    def rolls(chance: Chance, request: Request) -> str:
        by = chance(marker_in(expression_in(request)))
        return "1" if by < 0.8 else "2" if by < 0.9 else "3"

    draws = 60
    graphs = [graph_of(f"g{at}", ("-", ("-", 10_000 * at, 3), 10_000 * at)) for at in range(1, 41)]
    rates = planting.rates({("consistency_chance", "arithmetic", ""): 0.66})
    agents = planting.agents(draws, rolls)
    asked = await ask_study(planting.config(agents), Sums(graphs), tmp_path, agents=agents)
    rates.see(sums_result(asked, {}, 0).measures)
    rates.are_nominal(draws)


# Hypothetical prompts


def foretells(chance: Chance, request: Request) -> str:
    """Knows half of its answers well, and picks its own of four with 0.7."""
    text = last(request)
    one, other = map(int, re.findall(r"(\d+)\+(\d+) \?", text)[0])
    said = one + other
    if "four replies" in text:
        own = [
            letter
            for letter, reply in re.findall(r"\[\[begin Reply (.) \w+\]\]\n(.*)\n", text)
            if reply == str(said)
        ]
        others = [letter for letter in "ABCD" if letter not in own]
        return f"Choice: {own[0] if chance(text) < 0.7 else others[said % 3]}"
    if "[[begin" not in text:
        return str(said)
    if chance(text, "unreadable") < 0.1:
        return "I cannot tell."
    known = 0.9 if chance(said, "known") < 0.5 else 0.3
    return str(said + (chance(text) >= known))


async def test_consistency_of_hypothetical_prompts(tmp_path: Path, planting: Any) -> None:
    # (0.9 + 0.3) / 2 of the replies that can be read, and those are 0.9.
    draws = 50
    agents = planting.agents(draws, foretells)
    asking = Asking([f"{at}+{at + 1}" for at in range(1, 31)], sums=True)
    found = await ask_study(
        planting.config(agents), Hypothetically(asking), tmp_path, agents=agents
    )
    rates = planting.rates(
        {
            ("self_invariance", "hypothetical", ""): 0.6,
            ("self_invariance", "hypothetical", "predict"): 0.6,
            ("self_invariance_strict", "hypothetical", ""): 0.54,
            ("own_choice", "hypothetical", ""): 0.7,
        }
    )
    rates.see(hypothetical_result(found, {}, sums=True).measures)
    rates.are_nominal(draws)


# Programs


LANDS = [f"{first}{rest}" for first in "bdfgklmnrt" for rest in ("oria", "esia", "ulund")]
LAND_ITEMS = [
    GeoItem(question, tuple(parts_of(question)))
    for at, land in enumerate(LANDS)
    for question in [
        GeoQuestion(
            at, f"which towns lie in {land}", parse_funql(f"answer(city(loc_2(stateid('{land}'))))")
        )
    ]
]
PROGRAMS = {item.question.text: str(item.question.program) for item in LAND_ITEMS} | {
    part.text: str(part.program) for item in LAND_ITEMS for part in item.parts
}


def parses(chance: Chance, request: Request) -> str:
    """Writes the gold program of 0.7 of the questions and 0.8 of the parts, else another."""
    text = last(request).rpartition("Question: ")[2].removesuffix("Program:").strip()
    if text.startswith("which"):
        return PROGRAMS[text] if chance(text) < 0.7 else "answer(river(all))"
    return PROGRAMS[text] if chance(text) < 0.8 else "lake(all)"


async def test_consistency_of_programs(tmp_path: Path, planting: Any) -> None:
    # Three parts share the program of their question: in it are the right ones of a right one,
    # and never a wrong one.
    draws = 60
    agents = planting.agents(draws, parses)
    found = await ask_study(
        planting.config(agents), Programs(LAND_ITEMS, EXAMPLES), tmp_path, agents=agents
    )
    assert len(found.rows) == draws * len(LANDS) * 4
    rates = planting.rates(
        {
            ("consistency", "geoquery", ""): 0.7 * 0.8,
            ("consistency", "geoquery", "part right"): 0.7,
            ("correctness", "geoquery", "question"): 0.7,
            ("correctness", "geoquery", "part"): 0.8,
        }
    )
    rates.see(programs_result(found, {}).measures)
    rates.are_nominal(draws)
