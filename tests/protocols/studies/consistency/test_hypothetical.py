"""What a model says it would answer against what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.calls import Request
from peerexam.errors import RecordFileError, SetupError
from peerexam.protocols.config.models import AgentConfig
from peerexam.protocols.studies.base import StudyRecords, ask_study, study_config
from peerexam.protocols.studies.consistency.hypothetical import (
    TEMPLATES,
    Asking,
    Hypothetical,
    Said,
    plain,
)
from peerexam.protocols.studies.consistency.hypothetical_measures import hypothetical_result
from peerexam.protocols.studies.consistency.own_choice import Hypothetically, read_letter
from peerexam.protocols.studies.consistency.plan import hypothetical_plan
from peerexam.protocols.studies.result import StudyResult
from peerexam.stats.core.estimate import Estimate
from peerexam.tasks.consistency.prompt_file import load_prompts

SUMS = Asking([f"{n}+{n + 1}" for n in range(1, 13)], sums=True)
TEXTS = Asking(["Name a river.", "Name a lake.", "Name a town.", "Name a sea."], sums=False)

Reply = Callable[[str, str], str]
"""From what kind of prompt it is and its text."""


def kind_of(prompt: str) -> str:
    if "four replies" in prompt:
        return "choice"
    return "template" if "[[begin" in prompt else "direct"


def agent(reply: Reply, name: str) -> ScriptedAgent:
    def answer(request: Request) -> str:
        prompt = request.messages[-1].content
        return reply(kind_of(prompt), prompt)

    return ScriptedAgent(answer, name)


def the_sum(prompt: str) -> int:
    one, other = map(int, re.findall(r"(\d+)\+(\d+) \?", prompt)[0])
    return one + other


def letter_of(prompt: str, said: str) -> str:
    blocks = re.findall(r"\[\[begin Reply (.) \w+\]\]\n(.*)\n", prompt)
    return str(next(letter for letter, text in blocks if text == said))


def knows_itself(kind: str, prompt: str) -> str:
    right = str(the_sum(prompt))
    return f"Choice: {letter_of(prompt, right)}" if kind == "choice" else f"{right}."


def other_in_templates(kind: str, prompt: str) -> str:
    if kind == "choice":
        return "Choice: A"
    if "Predict yourself" in prompt:
        return "I cannot tell."
    return str(the_sum(prompt) + (kind == "template"))


async def run(folder: Path, asking: Asking, **replies: Reply) -> StudyRecords[Hypothetical]:
    agents = {name: agent(reply, name) for name, reply in replies.items()}
    config = study_config(
        [AgentConfig(name=name, model="file/none.jsonl") for name in agents], "hypothetical"
    )
    return await ask_study(config, Hypothetically(asking), folder, agents=agents)


def estimate(result: StudyResult, agent: str, name: str, condition: str = "") -> Estimate:
    (found,) = [
        m for m in result.measures if (m.agent, m.name, m.condition) == (agent, name, condition)
    ]
    return found.estimate


async def test_who_knows_itself_and_who_does_not(tmp_path: Path) -> None:
    found = await run(tmp_path, SUMS, knows=knows_itself, other=other_in_templates)
    result = hypothetical_result(found, {}, sums=True)
    assert result.status == "complete"
    assert {m.name for m in result.measures if m.headline} == {"self_invariance"}
    assert estimate(result, "knows", "self_invariance").value == 1.0
    assert estimate(result, "knows", "own_choice").value == 1.0
    assert estimate(result, "other", "self_invariance").value == 0.0
    assert estimate(result, "other", "unreadable", "predict").value == 1.0
    assert estimate(result, "other", "self_invariance", "predict").reason is not None
    strict = estimate(result, "other", "self_invariance_strict")
    assert (strict.value, strict.n) == (0.0, 12 * len(TEMPLATES))


async def test_a_choice_is_among_four_that_differ_and_own_replies_fill_it(tmp_path: Path) -> None:
    found = await run(tmp_path, SUMS, knows=knows_itself, off=lambda *_: "5")
    chosen = [row for row in found.rows if row.kind == "choice" and row.agent == "knows"]
    assert len(chosen) == 12
    for row in chosen:
        assert len(row.rivals) == 3
        # The other agent's reply to the same prompt comes first, unless it is the same reply.
        assert ("off" in row.rivals) is (row.expected is not None and row.expected.text != "5")
    # One who says the same to everything has no four replies to choose from.
    states = {row.state for row in found.rows if row.kind == "choice" and row.agent == "off"}
    assert states == {"not_asked"}


async def test_texts_are_compared_as_texts(tmp_path: Path) -> None:
    def poet(kind: str, prompt: str) -> str:
        if kind == "choice":
            return "Choice: B"
        word = re.findall(r"Name a (\w+)", prompt)[0]
        return f"The {word}  of all" if kind == "direct" else f'"the {word} of all."'

    found = await run(tmp_path, TEXTS, poet=poet)
    result = hypothetical_result(found, {}, sums=False)
    assert estimate(result, "poet", "self_invariance").value == 1.0
    assert any("lower bound" in note for note in result.notes)
    direct = [row for row in found.rows if row.kind == "direct"]
    assert [row.prompt for row in direct] == list(TEXTS.texts)


async def test_the_plan_counts_every_call_and_a_second_run_makes_none(tmp_path: Path) -> None:
    config = study_config([AgentConfig(name="knows", model="openai/x@http://here")], "h")
    planned = hypothetical_plan(config, SUMS).to_json()
    solver = agent(knows_itself, "knows")
    for _ in range(2):
        await ask_study(config, Hypothetically(SUMS), tmp_path, agents={"knows": solver})
        assert solver.calls == planned["calls"]["expected"] == 12 * (1 + len(TEMPLATES) + 1)


def test_replies_that_differ_in_case_and_ends_are_the_same() -> None:
    assert Said("The  Danube.").is_like(Said('"the danube"'))
    assert not Said("The Rhine").is_like(Said("The Danube"))
    assert plain("  A b.\n") == "a b"


@pytest.mark.parametrize(
    ("reply", "letter"), [("Choice: B", "B"), ("c", "C"), ('{"choice":"D"}', "D")]
)
def test_the_chosen_letter_is_read(reply: str, letter: str) -> None:
    assert read_letter(reply) == letter


def test_a_row_of_a_prompt_itself_is_compared_with_nothing() -> None:
    said = Said("7")
    assert Hypothetical("p0001", "a", "direct", "3+4", said, said).consistent is None


def test_prompts_come_from_lines_or_jsonl(tmp_path: Path) -> None:
    lines, rows = tmp_path / "prompts.txt", tmp_path / "prompts.jsonl"
    lines.write_text("Name a lake.\n\nName a sea.\nName a lake.\n")
    assert load_prompts(lines) == ["Name a lake.", "Name a sea."]
    rows.write_text('{"prompt": "Name a\\nlake."}\n{"text": "Name a sea."}\n')
    assert load_prompts(rows) == ["Name a\nlake.", "Name a sea."]
    rows.write_text('{"prompt": "a"}\n{"other": 1}\n')
    with pytest.raises(RecordFileError, match="prompt, text, question"):
        load_prompts(rows)
    lines.write_text("\n")
    with pytest.raises(SetupError, match="no prompt"):
        load_prompts(lines)
    with pytest.raises(SetupError, match="cannot be read"):
        load_prompts(tmp_path / "none.txt")
