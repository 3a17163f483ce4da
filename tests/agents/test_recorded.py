from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peerexam.agents.recorded import RecordedAgent, create
from peerexam.agents.spec import AgentSpec
from peerexam.calls import Message, Request
from peerexam.errors import PermanentError, RecordFileError, SetupError


def _agent(path: Path, *rows: dict[str, Any], **options: Any) -> RecordedAgent:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return _created(path, **options)


def _created(path: Path, **options: Any) -> RecordedAgent:
    agent = create(AgentSpec("old", "file", str(path), options=options))
    assert isinstance(agent, RecordedAgent)
    return agent


def _ask(text: str) -> Request:
    return Request((Message("system", "Answer."), Message("user", text)))


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Why?", "answer": "So."},
        {"instruction": "Why?", "output": "So."},
        {"prompt": "Why?", "response": "So."},
        {"text": "Why?", "answer": "So."},
        {"question": "Why?", "text": "So."},
    ],
)
async def test_answers_are_found_by_the_questions_text(tmp_path: Path, row: dict[str, Any]) -> None:
    agent = _agent(tmp_path / "a.jsonl", row)
    assert (await agent.complete(_ask("Why?"))).text == "So."
    assert (await agent.complete(_ask(" Why? \n"))).text == "So.", "spaces do not matter"


def test_answers_are_found_by_the_questions_id_first(tmp_path: Path) -> None:
    agent = _agent(
        tmp_path / "a.jsonl",
        {"question_id": "q1", "text": "one"},
        {"id": 2, "text": "two"},
        {"question": "Why?", "answer": "by text"},
    )
    assert agent.answer_for("q1", "Why?").text == "one"
    assert agent.answer_for("2", None).text == "two"
    assert agent.answer_for("q9", "Why?").text == "by text"
    assert agent.lookup("q9", "What?") is None


async def test_a_missing_answer_names_the_question(tmp_path: Path) -> None:
    agent = _agent(tmp_path / "a.jsonl", {"question": "Why?", "answer": "So."})
    with pytest.raises(PermanentError, match=r"q7.*'What\?'"):
        agent.answer_for("q7", "What?")
    with pytest.raises(PermanentError, match=r"'What\?'"):
        await agent.complete(_ask("What?"))
    with pytest.raises(PermanentError):
        await agent.complete(Request((Message("user", "Why?"),), continuation="So."))


def test_an_alpaca_eval_list_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = [{"instruction": "Why?", "output": "So.", "generator": "gpt", "dataset": "x"}]
    path.write_text("\ufeff" + json.dumps(rows, indent=1), encoding="utf-8")
    found = _created(path).answer_for(None, "Why?")
    assert (found.text, found.model) == ("So.", "gpt")


def test_states_are_kept_and_an_answer_without_text_is_empty(tmp_path: Path) -> None:
    agent = _agent(
        tmp_path / "a.jsonl",
        {"id": "1", "answer": "I will not.", "state": "refused"},
        {"id": "2", "answer": None},
        {"id": "3", "answer": " ", "state": "ok"},
        {"id": "4", "state": "error"},
    )
    states = [agent.answer_for(str(number), None).state for number in (1, 2, 3, 4)]
    assert states == ["refused", "empty", "empty", "error"]


def test_one_question_answered_twice_differently_names_both_lines(tmp_path: Path) -> None:
    one, other = {"question_id": "q", "answer": "a"}, {"question_id": "q", "answer": "b"}
    with pytest.raises(SetupError, match="lines 2 and 3"):
        _agent(tmp_path / "a.jsonl", {"id": "p", "answer": "x"}, one, other)
    one, other = {"question": "Why?", "answer": "a"}, {"question": "Why?", "answer": "b"}
    with pytest.raises(SetupError, match="lines 1 and 2"):
        _agent(tmp_path / "a.jsonl", one, other)
    assert _agent(tmp_path / "a.jsonl", one, one).answer_for(None, "Why?").text == "a"


def test_two_questions_with_one_text_are_told_apart_by_id_only(tmp_path: Path) -> None:
    agent = _agent(
        tmp_path / "a.jsonl",
        {"id": "1", "question": "Why?", "answer": "a"},
        {"id": "2", "question": "Why?", "answer": "b"},
        {"id": "3", "question": "Why?", "answer": "c"},
    )
    assert agent.answer_for("2", "Why?").text == "b"
    assert agent.lookup(None, "Why?") is None


def test_one_models_answers_are_picked_out_of_several(tmp_path: Path) -> None:
    rows = [
        {"question_id": "q", "examinee": "a", "text": "from a"},
        {"question_id": "q", "examinee": "b", "text": "from b"},
    ]
    agent = _agent(tmp_path / "a.jsonl", *rows, examinee="b")
    assert agent.answer_for("q", None).text == "from b"
    with pytest.raises(SetupError, match="holds no answers"):
        _created(tmp_path / "a.jsonl", examinee="c")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"answer": "a"}, "1: no question_id"),
        ({"id": "q"}, "1: no answer"),
        ({"id": "q", "answer": 5}, "1: the answer is not text"),
        ({"id": "q", "answer": "a", "state": "good"}, "1: state 'good'"),
    ],
)
def test_an_entry_that_cannot_be_used_names_its_line(
    tmp_path: Path, row: dict[str, Any], words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        _agent(tmp_path / "a.jsonl", row)


def test_broken_files_are_setup_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "q", "answer": "a"}\n{"id": \n{"id": "r", "answer": "a"}\n')
    with pytest.raises(RecordFileError) as caught:
        _created(path)
    assert caught.value.line == 2
    for text in ("", "[1]", "[{]"):
        path.write_text(text)
        with pytest.raises(SetupError):
            _created(path)
    with pytest.raises(SetupError, match="no file"):
        _created(tmp_path / "absent.jsonl")
    with pytest.raises(SetupError, match="examinee"):
        _created(path, model="x")


def test_the_fingerprint_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    row = {"id": "q", "answer": "a"}
    (tmp_path / "elsewhere").mkdir()
    here = _agent(tmp_path / "a.jsonl", row).fingerprint
    there = _agent(tmp_path / "elsewhere" / "a.jsonl", row).fingerprint
    assert here == there
    assert _agent(tmp_path / "a.jsonl", row | {"answer": "b"}).fingerprint != here
    assert str(tmp_path) not in json.dumps(dict(here))
