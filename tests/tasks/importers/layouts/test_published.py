"""Files as people have them: published layouts, by their kinds or by the name of the right one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import SetupError
from peerexam.tasks.importers.importing import read_source
from peerexam.tasks.rows import rows_of

V01 = {
    "question_id": "q1",
    "answer_id": "x",
    "model_id": "m",
    "choices": [{"index": 0, "turns": [{"content": "Paris", "token_len": 1}]}],
    "tstamp": 1.0,
}
V20 = {
    "uid": "q1",
    "ans_id": "x",
    "model": "m",
    "messages": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": {"answer": "Paris"}},
    ],
    "metadata": {},
}
ANNOTATED = {
    "instruction": "Translate.",
    "input": "Bonjour",
    "output_1": "Hello",
    "output_2": "Bye",
    "generator_1": "base",
    "generator_2": "new",
    "annotator": "gpt4",
    "preference": 1.0,
}
PANDALM = {
    "idx": 0,
    "cmp_key": "opt-7b_pythia-6.9b",
    "instruction": "Translate.",
    "input": "Bonjour",
    "response1": "Hello",
    "response2": "Bye",
    "annotator1": 1,
    "annotator2": 0,
    "annotator3": 2,
}
BATTLE = {"model_a": "x", "model_b": "y", "winner": "model_a", "question_id": "1", "judge": "j"}


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("row", [V01, V20])
def test_arena_hard_s_answers_are_read_in_both_versions(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    lines(tmp_path / "model_answer" / "m.jsonl", row)
    found = read_source("fastchat-answers", tmp_path)
    assert [(a.question_id, a.examinee, a.text) for a in found.answers] == [("q1", "m", "Paris")]


def test_alpaca_eval_s_annotations_are_verdicts_answers_and_questions(tmp_path: Path) -> None:
    preferences: list[float | None] = [1.0, 2.0, 1.5, 0, 1.03, 1.97, None, 7]
    rows = [
        {**ANNOTATED, "instruction": f"{n}", "preference": said}
        for n, said in enumerate(preferences)
    ]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows))
    found = read_source("alpaca-annotations", path)
    assert [v.winner for v in found.verdicts] == [
        *("first", "second", "tie", "tie", "first", "second", None, None)
    ]
    assert {(v.judge, v.first, v.second) for v in found.verdicts} == {("gpt4", "base", "new")}
    assert len(found.answers) == 2 * len(rows)
    assert found.questions[0].text == "### Instruction:\n0\n\n### Input:\nBonjour"
    assert "how far 2 preferences between 1 and 2 lean" in found.left_out
    assert found.verdicts[-1].reason == "preference is 7, and not from 1 to 2"


def test_outputs_that_were_switched_stand_as_they_were_shown(tmp_path: Path) -> None:
    row = {**ANNOTATED, "is_switched_output_1_output_2": True}
    found = read_source("alpaca-annotations", lines(tmp_path / "a.jsonl", row))
    assert [(v.first, v.second, v.winner) for v in found.verdicts] == [("new", "base", "second")]


def test_each_of_pandalm_s_annotators_is_a_judge(tmp_path: Path) -> None:
    other = {**PANDALM, "cmp_key": "opt-7b_llama-7b", "response2": "Ciao"}
    path = tmp_path / "testset-v1.json"
    path.write_text(json.dumps([PANDALM, other]))
    found = read_source("pandalm", path)
    assert {(v.judge, v.second, v.winner) for v in found.verdicts} == {
        (judge, second, said)
        for second in ("pythia-6.9b", "llama-7b")
        for judge, said in (
            ("annotator1", "first"),
            ("annotator2", "tie"),
            ("annotator3", "second"),
        )
    }
    assert len(found.questions) == 1  # several pairs of one question
    assert len(found.answers) == 3


def test_pandalm_s_rows_without_models_are_questions_of_their_own(tmp_path: Path) -> None:
    row = {key: value for key, value in PANDALM.items() if key != "cmp_key"}
    path = lines(tmp_path / "p.jsonl", row, {**row, "response1": "Hi"})
    found = read_source("pandalm", path)
    assert len(found.questions) == 2
    assert any("no cmp_key names two" in line for line in found.left_out)


@pytest.mark.parametrize("row", [ANNOTATED, PANDALM])
def test_pairs_that_are_read_as_questions_alone_are_said_to_be_left_out(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    found = read_source("alpaca-eval", lines(tmp_path / "rows.jsonl", row))
    (said,) = found.left_out
    assert said.startswith("1 pairs of outputs with their judgements (kind alpaca-annotations")


def test_a_winner_may_be_the_model_s_name(tmp_path: Path) -> None:
    said = ["x", "y", "tie", "z"]
    rows = [{**BATTLE, "question_id": n, "winner": name} for n, name in enumerate(said)]
    found = read_source("arena-rank", lines(tmp_path / "b.jsonl", *rows))
    assert [v.winner for v in found.verdicts] == ["first", "second", "tie", None]


def table(delimiter: str, end: str) -> str:
    head = ("question_id", "model_a", "model_b", "winner", "judge")
    rows = [head, tuple(BATTLE[key] for key in head)]
    return "".join(delimiter.join(row) + end for row in rows)


WRITTEN: dict[str, tuple[str, Callable[[], bytes]]] = {
    "semicolons": ("b.csv", lambda: table(";", "\r\n").encode()),
    "tabs": ("b.tsv", lambda: table("\t", "\n").encode()),
    "tabs in .csv": ("b.csv", lambda: table("\t", "\n").encode()),
    "a BOM": ("b.csv", lambda: table(";", "\n").encode("utf-8-sig")),
    "CR line ends": ("b.csv", lambda: table(",", "\r").encode()),
    "UTF-16": ("b.csv", lambda: table(";", "\r\n").encode("utf-16")),
    "UTF-16 big end first": ("b.csv", lambda: table(",", "\n").encode("utf-16-be")),
    "gzip": ("b.csv.gz", lambda: gzip.compress(table(",", "\n").encode())),
    "JSON lines in .json": ("b.json", lambda: f"{json.dumps(BATTLE)}\n\n".encode()),
    "two JSON lines": ("b.json", lambda: (json.dumps(BATTLE) + "\r\n").encode() * 2),
    "rows under a key": ("b.json", lambda: json.dumps({"v": 1, "data": [BATTLE]}).encode()),
    "rows under any one key": ("b.json", lambda: json.dumps({"mine": [BATTLE]}).encode()),
    "JSON lines, gzip": ("b.jsonl.gz", lambda: gzip.compress(json.dumps(BATTLE).encode())),
    "JSON, gzip": ("b.json.gz", lambda: gzip.compress(json.dumps([BATTLE]).encode())),
    "JSON lines, UTF-16": ("b.jsonl", lambda: json.dumps(BATTLE).encode("utf-16")),
    "JSON, UTF-16": ("b.json", lambda: json.dumps([BATTLE]).encode("utf-16")),
}


@pytest.mark.parametrize("how", list(WRITTEN))
@pytest.mark.parametrize("as_folder", [False, True])
def test_rows_are_read_however_they_were_written(tmp_path: Path, how: str, as_folder: bool) -> None:
    name, content = WRITTEN[how]
    (tmp_path / name).write_bytes(content())
    found = read_source("arena-rank", tmp_path if as_folder else tmp_path / name)
    said = [(v.question_id, v.judge, v.first, v.second, v.winner) for v in found.verdicts]
    assert said == [("1", "j", "x", "y", "first")]


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).map(
    lambda text: f"x{text}"
)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.sampled_from(",;\t"))
def test_any_delimiter_gives_back_the_cells(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("cells") / "rows.csv"
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in rows]
    body = [f"one{delimiter}two", *(delimiter.join(row) for row in quoted)]
    path.write_text("\n".join(body), encoding="utf-8", newline="")
    assert [(row.body["one"], row.body["two"]) for row in rows_of(path)] == rows


RIGHT: dict[str, dict[str, Any]] = {
    "fastchat-answers": V20,
    "alpaca-annotations": ANNOTATED,
    "pandalm": PANDALM,
    "arena-rank": BATTLE,
    "llmbar": {"input": "?", "output_1": "a", "output_2": "b", "label": 1},
    "fastchat-questions": {"question_id": 1, "category": "c", "turns": ["?"]},
    "arena-hard": {"question_id": 1, "model": "m", "judge": "j", "games": []},
    "peereval": {"question_id": 1, "judge_model": "j", "response_a_model": "a"},
    "alpaca-outputs": {"instruction": "?", "output": "!", "generator": "g"},
}


@pytest.mark.parametrize("kind", ["arena-hard", "evalica", "fastchat-judgments"])
@pytest.mark.parametrize("right", list(RIGHT))
@pytest.mark.parametrize("as_folder", [False, True])
def test_a_file_of_another_kind_is_refused_by_the_kind_that_fits(
    tmp_path: Path, kind: str, right: str, as_folder: bool
) -> None:
    if kind == right:
        return
    path = lines(tmp_path / "deep" / "rows.jsonl", RIGHT[right])
    with pytest.raises(SetupError, match=f"peerexam import {right} ") as caught:
        read_source(kind, tmp_path if as_folder else path)
    assert "games must be a list" not in str(caught.value)


def test_a_folder_is_known_by_what_is_special_in_it(tmp_path: Path) -> None:
    # Its questions alone would be questions of any kind.
    lines(tmp_path / "generations.jsonl", {"question_id": 1, "text": "!"})
    lines(tmp_path / "ratings.jsonl", {"answer1_id": "a", "answer2_id": "b", "score": 1})
    with pytest.raises(SetupError, match="peerexam import prd "):
        read_source("fastchat-answers", tmp_path)


def test_a_folder_of_plain_questions_is_told_which_file_to_name(tmp_path: Path) -> None:
    path = lines(tmp_path / "test.jsonl", {"question": "Why?"})
    with pytest.raises(SetupError) as caught:
        read_source("questions", tmp_path)
    assert str(caught.value).endswith(f"peerexam import questions {path}")
    assert len(read_source("questions", path).questions) == 1


def test_a_file_that_no_kind_knows_is_refused_with_its_fields(tmp_path: Path) -> None:
    path = lines(tmp_path / "rows.jsonl", {"alpha": 1, "beta": 2})
    with pytest.raises(SetupError, match="fields alpha, beta, which no kind knows"):
        read_source("arena-hard", path)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv", "rows.jsonl.gz"])
@pytest.mark.parametrize("kind", ["arena-rank", "alpaca-annotations", "pandalm", "arena-hard"])
def test_an_empty_file_is_refused_in_words(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(SetupError, match=r"holds nothing|expected a JSON|no games|is empty"):
        read_source(kind, tmp_path / name)


def test_a_broken_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n")[:-6])
    with pytest.raises(SetupError, match="no sound gzip file"):
        read_source("arena-rank", path)
