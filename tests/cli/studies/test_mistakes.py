"""`peerexam mistakes stats`, `dyck` and `find`, through `main` as a user's arguments reach it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from peerexam.cli import main

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "bigbench_mistake"

SUM: Mapping[str, Any] = {
    "input": "1 + 1 =",
    "steps": ["1 + 1 = 3.", "So the answer is 3"],
    "target": "2",
    "answer": "3",
    "mistake_index": 0,
}
RIGHT: Mapping[str, Any] = {
    "input": "2 + 2 =",
    "steps": ["2 + 2 = 4.", "So the answer is 4"],
    "target": "4",
    "answer": " 4",
    "mistake_index": None,
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEEREXAM_DB", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def write(path: Path, *bodies: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(body) for body in bodies), encoding="utf-8")
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert main(["mistakes", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_stats_counts_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "data" / "sums.jsonl", SUM, RIGHT, {**SUM, "answer": "2"})
    body = said(capsys, "stats", "data")
    assert body["tasks"] == [
        {
            "task": "sums",
            "traces": 3,
            "correct_ans": 2,
            "incorrect_ans": 1,
            "correct_mis": 1,
            "incorrect_mis": 2,
            "mean_steps": 2.0,
        }
    ]
    # A right answer at the end of a wrong trace, and one of each other kind.
    assert body["cross"][0]["correct_ans_incorrect_mis"] == 1
    assert main(["mistakes", "stats", "data"]) == 0
    assert "correct_ans" in capsys.readouterr().out


def test_stats_says_how_far_annotators_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "data" / "sums.jsonl", SUM, RIGHT)
    votes = tmp_path / "votes.csv"
    votes.write_text(
        "trace,annotator,location\n"
        "sums:1,ann,1\nsums:1,ben,1\nsums:1,cid,2\nsums:2,ann,none\nsums:2,ben,None\n"
    )
    (found,) = said(capsys, "stats", "data", "--annotations", "votes.csv")["annotators"]
    # By hand (Krippendorff 2011): of the pairs within traces 4 x 1/2 disagree; labels 2, 1, 2 of 5
    # make 16 disagreeing pairs of 20; alpha = 1 - 4 x 2 / 16.
    assert found["alpha"]["value"] == pytest.approx(0.5)
    assert (found["majority_is_label"]["value"], found["majority_is_label"]["n"]) == (1.0, 2)
    assert main(["mistakes", "stats", "data", "--annotations", "votes.csv"]) == 0
    assert "0.500" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("sums:9,ann,1", "no trace 'sums:9'"),
        ("sums:1,ann,3", "neither none nor a step from 1 to 2"),
        ("sums:1,ann,0", "neither none nor a step from 1 to 2"),
        ("sums:1,ann,", "neither none nor a step"),
        ("sums:1,zoe,1", "for the second time"),
    ],
)
def test_a_vote_that_cannot_stand_is_named_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, complaint: str
) -> None:
    write(tmp_path / "data" / "sums.jsonl", SUM)
    (tmp_path / "votes.csv").write_text(f"trace,annotator,location\nsums:1,zoe,1\n{row}\n")
    assert main(["mistakes", "stats", "data", "--annotations", "votes.csv"]) == 2
    error = capsys.readouterr().err
    assert "votes.csv:3" in error
    assert complaint in error


def test_dyck_shows_every_trace_on_which_rule_and_label_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        "We should process each input one by one and keep track of the stack configuration.",
        "stack: empty",
        "( ; stack: (",
        "[ ; stack: ( [",
        "] ; stack: (",
        'Now, we have reached the end. The final stack is "(".',
        'We will need to pop out "(" one by one in that order.',
        'So, we need ")". So the answer is )',
    ]
    good = {"input": "( [ ]", "steps": steps, "target": ")", "answer": ")", "mistake_index": None}
    write(tmp_path / "dyck.jsonl", good, {**good, "mistake_index": 3})
    body = said(capsys, "dyck", "dyck.jsonl")
    assert (body["traces"], body["agreeing"], body["agreement"]["value"]) == (2, 1, 0.5)
    assert body["differences"] == [{"id": "dyck:2", "label": 3, "rule": None, "expected": None}]
    assert main(["mistakes", "dyck", "dyck.jsonl"]) == 0
    assert "dyck:2" in capsys.readouterr().out


def test_dyck_refuses_what_is_no_dyck_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "sums.jsonl", SUM)
    assert main(["mistakes", "dyck", "sums.jsonl"]) == 2
    assert "trace sums:1 is no Dyck trace" in capsys.readouterr().err


def test_find_asks_a_served_model_and_goes_on_from_its_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    def script(request: Any) -> str:
        text = request.last_user_text.rpartition("[[begin Problem")[2]
        if "Verdict" in request.last_user_text:
            return "Verdict: No" if "1 + 1 = 3" in text else "Verdict: Yes"
        return "Mistake: 1" if "1 + 1 = 3" in text else "Mistake: No"

    server = chat_server(script)
    write(tmp_path / "data" / "sums.jsonl", SUM, RIGHT)
    arguments = ("find", "data", "--agents", f"openai/m@{server.url}", "--methods", "trace,step")
    body = said(capsys, *arguments, "--quiet", "--out", "out")
    assert body["status"] == "complete"
    overall = [m for m in body["measures"] if not m["task"] and m["name"] == "location_accuracy"]
    assert [(m["value"], m["n"]) for m in overall] == [(1.0, 2), (1.0, 2)]
    # By method trace 2 calls; by step 1 for the wrong trace and 2 for the right one.
    assert len(server.requests) == 5
    assert said(capsys, *arguments, "--quiet", "--out", "out")["measures"] == body["measures"]
    assert len(server.requests) == 5
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "finds.jsonl").read_text().split("\n")[:-1]
    ]
    assert {(row["trace"], row["location"]) for row in rows} == {("sums:1", 0), ("sums:2", None)}


def test_find_is_partial_where_calls_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    server = chat_server([chat_server.error(400, "no")])
    write(tmp_path / "data" / "sums.jsonl", SUM)
    arguments = ("find", "data", "--agents", f"openai/m@{server.url}", "--quiet")
    body = said(capsys, *arguments, status=3)
    assert body["status"] == "partial"
    assert "calls failed" in body["status_reason"]
    (accuracy,) = [m for m in body["measures"] if m["headline"]]
    assert (accuracy["value"], accuracy["left_out"]) == (None, 1)


def test_find_plans_without_asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    server = chat_server(["never"])
    write(tmp_path / "data" / "sums.jsonl", SUM, RIGHT)
    arguments = (
        "find",
        "data",
        "--agents",
        f"openai/m@{server.url}",
        "--methods",
        "step",
        "--plan",
    )
    assert said(capsys, *arguments)["calls"] == {"least": 2, "expected": 3, "most": 4}
    assert server.requests == []


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--methods", "guess"), "--methods takes trace, step, cot: 'guess' is none"),
        (("--methods", ","), "it names none"),
        (("--tasks", "words"), "holds no task 'words': it holds sums"),
        (("--tasks", ","), "--tasks names no task"),
        (("--limit", "0"), "--limit is a number of items"),
        (("--seed", "-1"), "a seed is a whole number"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_model_is_asked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    chat_server: Any,
    flags: tuple[str, str],
    complaint: str,
) -> None:
    server = chat_server(["never"])
    write(tmp_path / "data" / "sums.jsonl", SUM)
    assert main(["mistakes", "find", "data", "--agents", f"openai/m@{server.url}", *flags]) == 2
    assert complaint in capsys.readouterr().err
    assert server.requests == []


def test_an_agent_that_is_barred_is_named_and_the_result_is_partial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chat_server: Any
) -> None:
    barred = chat_server(lambda served: chat_server.error(401, "Who?"))
    able = chat_server(["Mistake: No"])
    write(tmp_path / "data" / "sums.jsonl", SUM)
    (tmp_path / "two.yaml").write_text(
        f"agents:\n  - {{name: able, model: 'openai/m@{able.url}'}}\n"
        f"  - {{name: barred, model: 'openai/n@{barred.url}'}}\n"
    )
    asked = ["mistakes", "find", "data", "--agents", "two.yaml", "--json", "--quiet"]
    assert main(asked) == 3
    body = json.loads(capsys.readouterr().out)
    assert body["status"] == "partial"
    assert "barred was given up: BadKeyError" in body["status_reason"]
    values = {one["agent"]: one["value"] for one in body["measures"] if one["headline"]}
    assert values["barred"] is None
    assert values["able"] is not None


@pytest.mark.shared
def test_stats_of_the_public_data_is_the_paper_s_table(capsys: pytest.CaptureFixture[str]) -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data is not here")
    rows = said(capsys, "stats", str(SHARED))["tasks"]
    keys = ("traces", "correct_ans", "incorrect_ans", "correct_mis", "incorrect_mis")
    assert {row["task"]: tuple(row[key] for key in keys) for row in rows} == {
        "word_sorting": (300, 45, 255, 34, 266),
        "tracking_shuffled_objects": (300, 45, 255, 40, 260),
        "logical_deduction": (300, 45, 255, 6, 294),
        "multistep_arithmetic": (300, 45, 255, 62, 238),
        "dyck_languages": (986, 482, 504, 336, 650),
    }
    means = [round(row["mean_steps"], 3) for row in rows]
    assert means == [11.693, 5.39, 8.323, 5.02, 24.521]
