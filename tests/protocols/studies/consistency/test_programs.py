"""Whether the program of a question holds the programs of its sub-questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Completion, Request
from peerexam.protocols.config.models import AgentConfig
from peerexam.protocols.studies.base import StudyRecords, ask_study, study_config
from peerexam.protocols.studies.consistency.plan import programs_plan
from peerexam.protocols.studies.consistency.program_measures import programs_result
from peerexam.protocols.studies.consistency.programs import (
    EXAMPLES,
    GeoItem,
    Parse,
    Programs,
    shots,
)
from peerexam.protocols.studies.result import StudyResult
from peerexam.stats.core.estimate import Estimate
from peerexam.tasks.consistency.funql import parse_funql
from peerexam.tasks.consistency.geoquery import GeoQuestion
from peerexam.tasks.consistency.geoquery_parts import parts_of

GOLD = {
    "which towns lie in ohio": "answer(city(loc_2(stateid('ohio'))))",
    "name the longest river in utah": "answer(longest(river(loc_2(stateid('utah')))))",
    "how many lakes are in texas": "answer(count(lake(loc_2(stateid('texas')))))",
}
QUESTIONS = [
    GeoQuestion(row, text, parse_funql(program)) for row, (text, program) in enumerate(GOLD.items())
]
ITEMS = [GeoItem(question, tuple(parts_of(question))) for question in QUESTIONS]
PROGRAMS = {
    **GOLD,
    **{part.text: str(part.program) for item in ITEMS for part in item.parts},
}
PARTS = sum(len(item.parts) for item in ITEMS)

Write = Callable[[str], str | Completion]


def writer(write: Write) -> ScriptedAgent:
    def reply(request: Request) -> str | Completion:
        last = request.messages[-1].content.rpartition("Question: ")[2]
        return write(last.removesuffix("Program:").strip())

    return ScriptedAgent(reply, "writer")


async def run(folder: Path, agent: ScriptedAgent) -> StudyRecords[Parse]:
    config = study_config([AgentConfig(name="writer", model="file/none.jsonl")], "geo")
    return await ask_study(config, Programs(ITEMS, EXAMPLES), folder, agents={"writer": agent})


async def result_of(folder: Path, write: Write) -> StudyResult:
    return programs_result(await run(folder, writer(write)), {})


def estimate(result: StudyResult, name: str, condition: str = "") -> Estimate:
    (found,) = [m for m in result.measures if (m.name, m.condition) == (name, condition)]
    return found.estimate


async def test_the_gold_programs_are_consistent_and_right(tmp_path: Path) -> None:
    result = await result_of(tmp_path, lambda text: PROGRAMS[text])
    assert result.status == "complete"
    assert (estimate(result, "consistency").value, estimate(result, "consistency").n) == (1, PARTS)
    for condition in ("question", "part"):
        assert estimate(result, "correctness", condition).value == 1.0
        assert estimate(result, "unreadable", condition).value == 0.0


async def test_answer_round_a_parts_program_makes_no_difference(tmp_path: Path) -> None:
    def wrapped(text: str) -> str:
        return PROGRAMS[text] if text in GOLD else f"answer ( {PROGRAMS[text]} )"

    result = await result_of(tmp_path, wrapped)
    assert estimate(result, "consistency").value == 1.0
    assert estimate(result, "correctness", "part").value == 1.0


async def test_who_is_wrong_in_the_same_way_is_consistent(tmp_path: Path) -> None:
    result = await result_of(tmp_path, lambda text: PROGRAMS[text].replace("loc_2", "loc_1"))
    assert estimate(result, "consistency").value == 1.0
    assert estimate(result, "correctness", "question").value == 0.0
    assert estimate(result, "consistency", "part wrong").value == 1.0


async def test_who_forgets_a_part_is_not(tmp_path: Path) -> None:
    def forgets(text: str) -> str:
        return "answer(state(all))" if text in GOLD else PROGRAMS[text]

    result = await result_of(tmp_path, forgets)
    assert estimate(result, "consistency").value == 0.0
    assert estimate(result, "correctness", "part").value == 1.0


async def test_what_does_not_parse_is_a_state_of_its_own(tmp_path: Path) -> None:
    def mumbles(text: str) -> str:
        return PROGRAMS[text] if text in GOLD or "loc_2" in PROGRAMS[text] else "ohio"

    parses = await run(tmp_path, writer(mumbles))
    result = programs_result(parses, {})
    # The name of the state alone, of each of the three, is a word and no program.
    unread = [row for row in parses.rows if row.state == "unparsed"]
    assert len(unread) == 3
    assert estimate(result, "consistency").left_out == 3
    assert estimate(result, "consistency").value == 1.0
    assert estimate(result, "consistency_strict").value == (PARTS - 3) / PARTS
    assert estimate(result, "unreadable", "part").value == 3 / PARTS


async def test_a_reply_cut_after_its_program_counts(tmp_path: Path) -> None:
    def rambles(text: str) -> Completion:
        return Completion(f"{PROGRAMS[text]}\n\nThis program asks", "truncated")

    result = await result_of(tmp_path, rambles)
    assert estimate(result, "correctness", "question").value == 1.0


async def test_the_plan_is_exact_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    config = study_config([AgentConfig(name="writer", model="openai/x@http://here")], "geo")
    planned = programs_plan(config, ITEMS, EXAMPLES).to_json()
    assert planned["calls"] == dict.fromkeys(("least", "expected", "most"), 3 + PARTS)
    agent = writer(lambda text: PROGRAMS[text])
    first = await run(tmp_path, agent)
    assert len(first.rows) == 3 + PARTS
    asked = agent.calls
    # Every example stands in every prompt.
    for example in EXAMPLES:
        assert all(
            f"Program: {example.program}" in request.messages[0].content
            for request in agent.requests
        )
    assert (await run(tmp_path, agent)).rows == first.rows
    assert agent.calls == asked


def test_our_own_examples_are_programs() -> None:
    assert all(parse_funql(example.program).name == "answer" for example in EXAMPLES)


def test_shots_are_drawn_from_the_train_split_and_differ() -> None:
    train = [*QUESTIONS, GeoQuestion(9, "list the towns of ohio", QUESTIONS[0].program)]
    three = shots(train, 3, seed=4)
    assert len({example.program for example in three}) == 3
    assert shots(train, 3, seed=4) == three
    assert len(shots(train, 9, seed=4)) == 4
    assert shots([], 2, seed=4) == list(EXAMPLES[:2])
    assert not shots(train, 0, seed=4)
