"""Reading annotated traces: our own small files, then the public ones with their figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.tasks.mistakes.traces import TASKS, by_task, load_traces

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "bigbench_mistake"

GOOD: Mapping[str, Any] = {
    "input": "1 + 1 =",
    "steps": ["1 + 1 = 3.", "So the answer is 3"],
    "target": "2",
    "answer": "3",
    "mistake_index": 0,
}


def write(path: Path, *bodies: Mapping[str, Any], end: str = "") -> Path:
    # Like the public files, without a newline at the end.
    path.write_text("\n".join(json.dumps(body) for body in bodies) + end, encoding="utf-8")
    return path


def test_a_file_without_a_last_newline_is_read_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "sums.jsonl", GOOD, {**GOOD, "mistake_index": None})
    first, second = load_traces(path)
    assert (first.task, first.id, first.mistake_index) == ("sums", "sums:1", 0)
    assert (second.id, second.mistake_index) == ("sums:2", None)
    assert first.steps == ("1 + 1 = 3.", "So the answer is 3")


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        (" (C)", "(C)", True),
        ("(C)\n", " (C)", True),
        # The rule forgives no punctuation and no inner space: the paper's counts depend on it.
        ("))", ") )", False),
        (").", ")", False),
        (None, "2", False),
        (None, "", True),
        ("", "", True),
        ("  ", "", True),
    ],
)
def test_an_answer_is_right_where_it_matches_but_for_the_space_around_it(
    tmp_path: Path, answer: str | None, target: str, right: bool
) -> None:
    path = write(tmp_path / "t.jsonl", {**GOOD, "answer": answer, "target": target})
    assert load_traces(path)[0].correct_answer is right


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mistake_index": 2}, "mistake_index 2 is outside the 2 steps, which count from 0"),
        ({"mistake_index": -1}, "outside the 2 steps"),
        ({"mistake_index": True}, "must be a whole number or null"),
        ({"mistake_index": 1.0}, "must be a whole number or null"),
        ({"mistake_index": "1"}, "must be a whole number or null"),
        ({"steps": ["a", 3]}, "step 1 must be text, found 3"),
        ({"steps": "a"}, "steps must be a list"),
        ({"steps": []}, "steps must be a list of one text or more"),
        ({"answer": 3}, "answer must be text"),
        ({"target": None}, "target must be text"),
        ({"input": ["x"]}, "input must be text"),
        ({"input": "\ud800"}, "half a character"),
    ],
)
def test_a_damaged_line_is_named_by_file_and_number(
    tmp_path: Path, change: Mapping[str, Any], complaint: str
) -> None:
    path = write(tmp_path / "t.jsonl", GOOD, {**GOOD, **change}, GOOD)
    with pytest.raises(RecordFileError, match=complaint) as caught:
        load_traces(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


@pytest.mark.parametrize("key", ["input", "target", "mistake_index", "steps"])
def test_a_missing_key_is_no_default(tmp_path: Path, key: str) -> None:
    # Above all mistake_index: a line without it is not a line without a mistake.
    path = write(tmp_path / "t.jsonl", {k: v for k, v in GOOD.items() if k != key})
    with pytest.raises(RecordFileError, match=key):
        load_traces(path)


def test_a_line_that_was_cut_off_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", GOOD, GOOD)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordFileError) as caught:
        load_traces(path)
    assert caught.value.line == 2


def test_bom_blank_lines_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    line = json.dumps(GOOD).encode()
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line + b"\r\n")
    assert [trace.id for trace in load_traces(path)] == ["t:1", "t:3"]


def test_a_folder_gives_tasks_in_the_paper_s_order_then_others(tmp_path: Path) -> None:
    for name in ("zebra", "dyck_languages", "apple", "word_sorting"):
        write(tmp_path / f"{name}.jsonl", GOOD)
    (tmp_path / "LICENSE").write_text("no trace")
    found = list(by_task(load_traces(tmp_path)))
    assert found == ["word_sorting", "dyck_languages", "apple", "zebra"]
    chosen = load_traces(tmp_path, ["zebra", "word_sorting"])
    assert [trace.task for trace in chosen] == ["word_sorting", "zebra"]


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no file or folder"):
        load_traces(tmp_path / "nowhere")
    with pytest.raises(SetupError, match=r"no \.jsonl file here"):
        load_traces(tmp_path)
    path = write(tmp_path / "sums.jsonl", GOOD)
    with pytest.raises(SetupError, match="no task 'words': it holds sums"):
        load_traces(path, ["words"])
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(SetupError, match="holds no trace"):
        load_traces(tmp_path / "empty.jsonl")


@pytest.mark.shared
def test_the_public_files_are_read_whole() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data is not here")
    traces = by_task(load_traces(SHARED))
    assert {task: len(of) for task, of in traces.items()} == dict(
        zip(TASKS, (300, 300, 300, 300, 986), strict=True)
    )
    latest = {task: max(t.mistake_index or 0 for t in of) for task, of in traces.items()}
    assert list(latest.values()) == [14, 5, 8, 7, 36]
    unsaid = [t.id for of in traces.values() for t in of if t.answer is None]
    assert unsaid == ["logical_deduction:16"]
    assert sum(not (t.answer or "").strip() for t in traces["dyck_languages"]) == 50
    # Raw equality would give 43: two answers have a space before them.
    tracking = traces["tracking_shuffled_objects"]
    assert sum(t.answer == t.target for t in tracking) == 43
    assert sum(t.correct_answer for t in tracking) == 45
