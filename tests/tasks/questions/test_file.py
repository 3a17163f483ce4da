"""The user's own questions, in every layout, and what is wrong with them by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Question
from peerexam.tasks.questions.file import load_questions


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


JSONL = """\
{"id": 7, "text": "Why is the sea salt?", "domain": "oceans", "level": "analysis"}

{"question": "What is a\\u2028tide?"}
{"instruction": "Name two oceans.", "output": "ignored"}
{"prompt": "How deep is the sea?"}
"""

JSON = """\
[
  {"id": "7", "text": "Why is the sea salt?", "domain": "oceans", "level": "analysis"},
  {"question": "What is a\u2028tide?"},
  "Name two oceans.",
  {"text": null, "prompt": "How deep is the sea?"}
]
"""

YAML = """\
# the sea
- id: 7
  text: Why is the sea salt?
  domain: oceans
  level: analysis
- question: "What is a\\u2028tide?"
- Name two oceans.
- prompt: How deep is the sea?
"""


@pytest.mark.parametrize(
    ("name", "text"), [("q.jsonl", JSONL), ("q.json", JSON), ("q.yaml", YAML), ("q.yml", YAML)]
)
def test_the_same_questions_are_read_from_every_layout(
    tmp_path: Path, name: str, text: str
) -> None:
    questions = load_questions(written(tmp_path, name, text), domain="sea")
    assert questions[0] == Question(
        "7", "Why is the sea salt?", "oceans", author=None, group="own", level="analysis"
    )
    assert [question.text for question in questions[1:]] == [
        "What is a\u2028tide?",
        "Name two oceans.",
        "How deep is the sea?",
    ]
    assert {question.domain for question in questions[1:]} == {"sea"}
    assert len({question.id for question in questions}) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why?\n\n  How?  \n", ["Why?", "How?"]),
        ("1. Why?\n2) How?\n- When?\n", ["Why?", "How?", "When?"]),
        ("1. Why?\nHow?\n", ["1. Why?", "How?"]),
        ("\ufeffWhy is\u2028it?\r\nHow?", ["Why is\u2028it?", "How?"]),
    ],
)
def test_a_plain_list_is_one_question_a_line(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    path = tmp_path / "questions.txt"
    path.write_bytes(text.encode())
    assert [question.text for question in load_questions(path)] == expected


def test_an_id_made_from_the_text_stays_when_others_are_added(tmp_path: Path) -> None:
    (before,) = load_questions(written(tmp_path, "q.txt", "Why?\n"))
    after = load_questions(written(tmp_path, "q.txt", "How?\nWhy?\n"))
    assert after[1] == before


@pytest.mark.parametrize(
    ("name", "text", "line", "complaint"),
    [
        ("q.txt", "Why?\n\nHow?\nwhy?\n", 4, "the same question stands in line 1"),
        ("q.jsonl", '{"text":"a","id":"x"}\n{"text":"b","id":"x"}\n', 2, "the same id stands in"),
        ("q.jsonl", '{"text":"a"}\n{"text":"  "}\n', 2, "the question is empty"),
        ("q.jsonl", '{"text":"a"}\n{"id":"x"}\n', 2, "no question here: write it under text"),
        ("q.jsonl", '{"text":"a"}\n{"text":\n{"text":"c"}\n', 2, "fix or remove the line"),
        ("q.jsonl", '{"text":"a","level":"hard"}\n', 1, "level must be one of memorization"),
        ("q.jsonl", '{"text":"a","id":[1]}\n', 1, "id must be a name or a whole number"),
        ("q.json", '[\n"a",\n{"text": 3}\n]', 3, "the question must be text, found 3"),
        ("q.json", '[\n"a",\n"b"\nbroken]', 4, "not JSON"),
        ("q.json", '[\n"a",\n"b"', 3, "not JSON"),
        ("q.json", '["a"]\n["b"]', 2, "not JSON: the list ended before"),
        ("q.json", '"a"', 1, "expected a JSON list"),
        ("q.yaml", "- a\n- text: b\n- {text: b}\n", 3, "the same question stands in line 2"),
        ("q.yaml", "- a\n- no\n", 2, "expected a question, found bool"),
        ("q.yaml", "- a\n- [b\n", 3, "expected"),
        ("q.yaml", "text: a\n", 1, "expected a YAML list"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(
    tmp_path: Path, name: str, text: str, line: int, complaint: str
) -> None:
    with pytest.raises(RecordFileError, match=complaint) as error:
        load_questions(written(tmp_path, name, text))
    assert error.value.line == line


def test_a_file_without_questions_or_no_file_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="holds no question"):
        load_questions(written(tmp_path, "q.json", "[]"))
    with pytest.raises(SetupError, match="name a file of questions"):
        load_questions(tmp_path / "missing.jsonl")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Qué?".encode("latin-1"))
    with pytest.raises(SetupError, match="save it as UTF-8"):
        load_questions(latin)


def test_a_yaml_file_cannot_run_code(tmp_path: Path) -> None:
    path = written(tmp_path, "q.yaml", "- !!python/object/apply:os.getcwd []\n")
    with pytest.raises(RecordFileError, match="could not determine a constructor"):
        load_questions(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "id;instruction;input\n1;Translate.;Bonjour\n"),
        ("q.tsv", "id\tinstruction\tinput\n1\tTranslate.\tBonjour\n"),
        ("q.json", '{"id": 1, "instruction": "Translate.", "input": "Bonjour"}\n'),
        ("q.json", '{"data": [{"id": 1, "instruction": "Translate.", "input": "Bonjour"}]}'),
    ],
)
def test_tables_and_rows_under_a_key_are_read_as_rows(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (question,) = load_questions(tmp_path / name)
    assert (question.id, question.text) == (
        "1",
        "### Instruction:\nTranslate.\n\n### Input:\nBonjour",
    )
