"""Questions and outputs of LMExamQA-style sets and AlpacaEval, and the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.recorded import create
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Message, Request
from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Question
from peerexam.tasks.importers.importing import import_run, read_source


def output(instruction: str, text: str, generator: str = "g", **more: Any) -> dict[str, Any]:
    body = {"instruction": instruction, "output": text, "generator": generator}
    return {**body, "dataset": "helpful_base", **more}


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def test_the_user_s_own_questions_become_a_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("- Why?\n- How?\n")
    summary = import_run("questions", path, tmp_path / "run")
    assert summary.counts["questions"] == 2
    again = read_source("questions", tmp_path / "run")
    assert [question.text for question in again.questions] == ["Why?", "How?"]


def test_lmexamqa_rows_are_read_with_all_that_the_paper_says_of_them(tmp_path: Path) -> None:
    row = {
        "id": "q1",
        "question": " Why is the sky blue? ",
        "domain": "Science/Physics",
        "category": "Analysis",
        "type": "Compound",
        "round": 2,
        "parent_id": "q0",
        "author": "gpt-4",
        "answer": "Scattering.",
    }
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({"text": "How?"}) + "\n")
    first, second = read_source("lmexamqa", path).questions
    assert first == Question(
        "q1",
        "Why is the sky blue?",
        "Physics",
        ("Science", "Physics"),
        author="gpt-4",
        group="compound",
        round=2,
        parent_id="q0",
        level="analysis",
        reference="Scattering.",
    )
    assert (second.text, second.domain, second.group, second.level) == (
        "How?",
        "unknown",
        "own",
        None,
    )


def test_an_object_from_domain_to_questions_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "set.json", {"Chess": ["Why?", {"question": "How?"}], "Go": ["Why?"]})
    found = read_source("lmexamqa", path)
    assert [(q.domain, q.text) for q in found.questions] == [
        ("Chess", "Why?"),
        ("Chess", "How?"),
        ("Go", "Why?"),
    ]
    assert len({q.id for q in found.questions}) == 3
    for body in ({"Chess": "Why?"}, {"Chess": [""]}, {"Chess": [{"q": "?"}]}):
        with pytest.raises(RecordFileError):
            read_source("lmexamqa", write(path, body))


def test_a_data_set_that_we_exported_is_read(tmp_path: Path) -> None:
    import_run("lmexamqa", write(tmp_path / "s.json", {"Chess": ["Why?"]}), tmp_path / "run")
    (tmp_path / "set" / "data").mkdir(parents=True)
    (tmp_path / "run" / "questions.jsonl").rename(tmp_path / "set" / "data" / "questions.jsonl")
    assert [q.domain for q in read_source("lmexamqa", tmp_path / "set").questions] == ["Chess"]


def test_alpaca_eval_s_instructions_are_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "o.json", [output("Why?", "So."), output("How?", "Thus.")])
    found = read_source("alpaca-eval", path)
    assert [(q.text, q.domain) for q in found.questions] == [
        ("Why?", "helpful_base"),
        ("How?", "helpful_base"),
    ]
    assert found.roles == {}
    assert found.left_out == ("2 outputs (kind alpaca-outputs reads them)",)
    assert read_source("alpaca-outputs", path).questions == found.questions


ALPACA = [
    {"instruction": "Translate into French.", "input": given, "output": said, "generator": "a"}
    for given, said in [
        ("The sky is blue.", "Le ciel est bleu."),
        ("A cat.", "Un chat."),
        ("", "?"),
    ]
]
WHOLE = [
    "### Instruction:\nTranslate into French.\n\n### Input:\nThe sky is blue.",
    "### Instruction:\nTranslate into French.\n\n### Input:\nA cat.",
    "Translate into French.",
]
"""PROMPT_DICT of Stanford Alpaca's train.py, without its first sentence and `### Response:`."""


@pytest.mark.parametrize("kind", ["alpaca-eval", "alpaca-outputs", "questions"])
def test_an_instruction_s_input_is_part_of_the_question(tmp_path: Path, kind: str) -> None:
    found = read_source(kind, write(tmp_path / "rows.json", ALPACA))
    assert [question.text for question in found.questions] == WHOLE
    assert len({question.id for question in found.questions}) == 3
    assert len(found.answers) == (3 if kind == "alpaca-outputs" else 0)


async def test_recorded_answers_are_found_by_instruction_and_input(tmp_path: Path) -> None:
    agent = create(AgentSpec("a", "file", str(write(tmp_path / "rows.json", ALPACA)), options={}))
    for question, row in zip(WHOLE, ALPACA, strict=True):
        request = Request((Message("user", question),))
        assert (await agent.complete(request)).text == row["output"]


def test_outputs_of_several_generators_meet_at_their_instructions(tmp_path: Path) -> None:
    write(tmp_path / "one.json", [output("Why?", "a1"), output("Why?", "a2"), output("How?", "")])
    write(tmp_path / "two.json", [output("How?", "b3", "h"), output("Why?", "b1", "h")])
    found = read_source("alpaca-outputs", tmp_path)
    texts = {q.id: q.text for q in found.questions}
    assert [(texts[a.question_id], a.examinee, a.text, a.state) for a in found.answers] == [
        ("Why?", "g", "a1", "ok"),
        ("Why?", "h", "b1", "ok"),
        ("Why?", "g", "a2", "ok"),  # the second time that g was asked it
        ("How?", "g", "", "empty"),
        ("How?", "h", "b3", "ok"),
    ]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([output("", "x")], 2),
        ([output("Why?", "x"), {"instruction": "How?", "output": "y"}], 8),
        ([output("Why?", "x"), output("How?", None)], 8),  # type: ignore[arg-type]
    ],
)
def test_outputs_that_cannot_be_are_told(
    tmp_path: Path, rows: list[dict[str, Any]], line: int
) -> None:
    with pytest.raises(RecordFileError) as caught:
        read_source("alpaca-outputs", write(tmp_path / "o.json", rows))
    assert caught.value.line == line


def test_a_folder_without_outputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="AlpacaEval"):
        read_source("alpaca-outputs", tmp_path)
