"""FastChat's questions, answers and judgments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.protocols.run.finishing import tally_folder
from peerexam.records import Answer, Question
from peerexam.runfolder import RunFolder
from peerexam.tasks.importers.importing import import_run, read_source

SHARED = Path(__file__).resolve().parents[4] / ".." / "shared" / "data"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answer(question: int, model: str, *turns: str, **more: Any) -> dict[str, Any]:
    return {
        "question_id": question,
        "answer_id": f"{model}{question}",
        "model_id": model,
        "choices": [{"index": 0, "turns": list(turns)}],
        "tstamp": 1.0,
        **more,
    }


def game(question: int, g1: str, g2: str, judge: str = "gpt-4", turn: int = 1) -> dict[str, Any]:
    return {
        "question_id": question,
        "model_1": "a",
        "model_2": "b",
        "g1_winner": g1,
        "g2_winner": g2,
        "judge": [judge, "pair-v2"],
        "g1_user_prompt": "p",
        "g1_judgment": "one",
        "g2_user_prompt": "p",
        "g2_judgment": "two",
        "turn": turn,
        "tstamp": 1.0,
    }


def single(question: int, model: str, score: object, turn: int = 1) -> dict[str, Any]:
    return {
        "question_id": question,
        "model": model,
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": "p",
        "judgment": "words",
        "score": score,
        "turn": turn,
        "tstamp": 1.0,
    }


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A benchmark's folder: two questions, two models, a judge."""
    root = tmp_path / "mt_bench"
    write(
        root / "question.jsonl",
        [
            {
                "question_id": 81,
                "category": "math",
                "turns": ["How many?", "And now?"],
                "reference": ["7", "8"],
            },
            {"question_id": 82, "turns": ["Why?"]},
        ],
    )
    for model in ("a", "b"):
        write(
            root / "model_answer" / f"{model}.jsonl",
            [answer(81, model, f"{model} one", "two"), answer(82, model, "$ERROR$")],
        )
    return root


def test_questions_are_first_turns(bench: Path) -> None:
    found = read_source("fastchat-questions", bench)
    assert found.questions == (
        Question("81", "How many?", "math", reference="7"),
        Question("82", "Why?", "general"),
    )
    assert found.left_out == (
        "the later turns of 1 questions, which go on from each model's own answer",
    )
    assert read_source("fastchat-questions", bench / "question.jsonl") == found


@pytest.mark.parametrize("where", [".", "model_answer"])
def test_answers_are_first_turns_of_first_choices(bench: Path, where: str) -> None:
    found = read_source("fastchat-answers", bench / where)
    assert found.answers == [
        Answer("81", "a", "a one"),
        Answer("81", "b", "b one"),
        Answer("82", "a", "", "error", "no answer in the source"),
        Answer("82", "b", "", "error", "no answer in the source"),
    ]
    assert [question.text for question in found.questions] == ["How many?", "Why?"]
    assert "the later turns of 2 answers" in found.left_out


def test_a_model_is_known_by_its_file_s_name_as_in_fastchat(tmp_path: Path) -> None:
    write(tmp_path / "model_answer" / "short.jsonl", [answer(1, "org/long-name", "x")])
    write(tmp_path / "model_answer" / "org%2Fother.jsonl", [answer(1, "org/other", "x")])
    found = read_source("fastchat-answers", tmp_path)
    assert [a.examinee for a in found.answers] == ["org/other", "short"]


def test_both_games_become_verdicts(bench: Path) -> None:
    rows = [
        game(81, "model_1", "model_1"),
        game(82, "model_2", "error"),
        game(81, "tie", "model_2", judge="b"),
        game(81, "model_2", "model_2", turn=2),
    ]
    write(bench / "model_judgment" / "gpt-4_pair.jsonl", rows)
    found = read_source("fastchat-judgments", bench)
    said = [
        (v.question_id, v.judge, v.first, v.second, v.winner, v.state, v.reply)
        for v in found.verdicts
    ]
    assert said == [
        ("81", "b", "a", "b", "tie", "ok", None),
        ("81", "b", "b", "a", "first", "ok", None),  # model_2 is b, which stood first
        ("81", "gpt-4", "a", "b", "first", "ok", None),
        ("81", "gpt-4", "b", "a", "second", "ok", None),
        ("82", "gpt-4", "a", "b", "second", "ok", None),
        ("82", "gpt-4", "b", "a", None, "unparsed", "two"),
    ]
    assert "1 judgments of later turns" in found.left_out
    assert found.roles["b"] == ["examinee", "judge"]
    assert found.full_mark is None
    assert found.one_order == ()


def test_scores_become_marks_on_the_source_s_scale(bench: Path, tmp_path: Path) -> None:
    rows = [single(81, "a", 10), single(81, "b", 7), single(82, "a", 9), single(82, "b", -1)]
    write(bench / "model_judgment" / "gpt-4_single.jsonl", rows)
    import_run("fastchat-judgments", bench, tmp_path / "run")
    standings = tally_folder(tmp_path / "run")
    full = {row["agent"]: row["full_mark"] for row in standings["standings"]}
    assert full == {"a": 50.0, "b": 0.0}  # one of a's two marks is the full 10
    assert standings["counts"]["marks"] == {
        **{"planned": 4, "ok": 3, "unparsed": 1},
        **dict.fromkeys(("refused", "filtered", "truncated", "empty", "error"), 0),
    }
    assert standings["voting"]["ballots"] == "marks"


def test_scores_with_decimals_are_kept_in_tenths_and_said(bench: Path) -> None:
    rows = [single(81, "a", 8.5), single(81, "b", 10)]
    write(bench / "model_judgment" / "gpt-4_single.jsonl", rows)
    found = read_source("fastchat-judgments", bench)
    assert [mark.overall for mark in found.marks] == [85, 100]
    assert found.full_mark == 100
    assert found.notes == (
        "Marks have decimals and are kept in steps of 1/10: the full mark 10 stands as 100.",
    )


def test_a_pair_that_was_made_of_two_scores_is_marks(tmp_path: Path) -> None:
    row = {**game(1, "model_1", "model_1"), "m1_score": 8, "m2_score": 3}
    found = read_source("fastchat-judgments", write(tmp_path / "x.jsonl", [row]))
    assert [(m.examinee, m.overall) for m in found.marks] == [("a", 8), ("b", 3)]
    assert not found.verdicts  # no order was ever judged


@pytest.mark.parametrize("scores", list(permutations([-1, -1, 10])))
def test_of_several_attempts_at_a_mark_the_one_that_succeeded_counts(
    tmp_path: Path, scores: Sequence[int]
) -> None:
    rows = [{**single(81, "a", score), "tstamp": at} for at, score in enumerate(scores)]
    found = read_source("fastchat-judgments", write(tmp_path / "gpt-4_single.jsonl", rows))
    assert [(mark.overall, mark.state) for mark in found.marks] == [(10, "ok")]
    assert "2 judgements that failed and were asked for again" in found.left_out


@pytest.mark.parametrize("games", list(permutations(["error", "error", "model_1"])))
def test_of_several_attempts_at_a_verdict_the_one_that_succeeded_counts(
    tmp_path: Path, games: Sequence[str]
) -> None:
    rows = [game(81, said, "model_1") for said in games]
    found = read_source("fastchat-judgments", write(tmp_path / "gpt-4_pair.jsonl", rows))
    assert [(v.first, v.winner, v.state) for v in found.verdicts] == [
        ("a", "first", "ok"),
        ("b", "second", "ok"),
    ]
    assert "2 judgements that failed and were asked for again" in found.left_out


def test_attempts_that_all_failed_are_one_failure(tmp_path: Path) -> None:
    rows = [single(81, "a", -1), single(81, "a", -1), single(82, "a", 3)]
    found = read_source("fastchat-judgments", write(tmp_path / "gpt-4_single.jsonl", rows))
    assert [(mark.overall, mark.state) for mark in found.marks] == [(None, "unparsed"), (3, "ok")]


@pytest.mark.parametrize(("score", "kept"), [(10.5, None), (31, None), (-0.5, None), (0, 0)])
def test_a_score_outside_the_scale_is_named_and_not_moved_to_its_end(
    tmp_path: Path, score: float, kept: int | None
) -> None:
    rows = [single(81, "a", score), single(81, "b", 10)]
    out = tmp_path / "run"
    source = write(tmp_path / "gpt-4_single.jsonl", rows)
    summary = import_run("fastchat-judgments", source, out)
    marks = {mark.examinee: mark for mark in RunFolder(out).marks()}
    assert (marks["a"].overall, marks["b"].overall) == (kept, 10)
    said = "1 marks outside the scale of 0 to 10, which are unparsed"
    assert (said in summary.left_out) == (kept is None)
    if kept is None:
        assert marks["a"].reason == f"{score:g} is outside the scale of 0 to 10"
    else:  # 0 of 10 is 0 per cent of the best, and not the 10 per cent of a 1
        aspects = tally_folder(out)["benchmark"]["aspects"]
        aspect = next(one for one in aspects if one["aspect"] == "overall")
        assert (aspect["low"], [cell["percent"] for cell in aspect["cells"]]) == (0, [0.0, 100.0])


@pytest.mark.parametrize(
    ("kind", "name", "rows", "says"),
    [
        ("fastchat-questions", "question.jsonl", [{"question_id": 1, "turns": []}], "turns must"),
        ("fastchat-questions", "question.jsonl", [{"turns": ["x"]}], "no question_id"),
        (
            "fastchat-questions",
            "question.jsonl",
            [{"question_id": 1, "turns": ["x"]}, {"question_id": "1", "turns": ["y"]}],
            "question '1' stands differently",
        ),
        ("fastchat-answers", "m.jsonl", [{"question_id": 1, "choices": []}], "choices must"),
        ("fastchat-answers", "m.jsonl", [answer(1, "m", "x"), answer(1, "m", "y")], "differently"),
        ("fastchat-judgments", "j.jsonl", [{**game(1, "tie", "tie"), "model_2": "a"}], "itself"),
        ("fastchat-judgments", "j.jsonl", [single(1, "a", "9")], "score must be a number"),
        ("fastchat-judgments", "j.jsonl", [single(1, "a", True)], "score must be a number"),
        ("fastchat-judgments", "j.jsonl", [single(1, "a", 9), single(1, "a", 8)], "differently"),
        ("fastchat-judgments", "j.jsonl", [{"question_id": 1}], "neither games"),
        (
            "fastchat-judgments",
            "j.jsonl",
            [single(1, "a", 9), {**single(1, "b", 4), "judge": ["gpt-4", "peerexam-single-5"]}],
            "full marks 5 and 10",
        ),
    ],
)
def test_rows_that_cannot_be_are_told_with_their_line(
    tmp_path: Path, kind: str, name: str, rows: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(RecordFileError, match=says) as caught:
        read_source(kind, write(tmp_path / name, rows))
    assert caught.value.line == len(rows)


@pytest.mark.parametrize("kind", ["fastchat-questions", "fastchat-answers", "fastchat-judgments"])
def test_a_folder_of_another_layout_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(SetupError, match="FastChat"):
        read_source(kind, tmp_path)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["mt_bench", "vicuna_bench"])
def test_the_public_questions_are_all_there(name: str) -> None:
    if not (SHARED / name).is_dir():
        pytest.skip("the public data are not there")
    found = read_source("fastchat-questions", SHARED / name)
    assert len(found.questions) == 80  # shared data/README.md, section 5
    assert len({question.domain for question in found.questions}) in (8, 9)
    references = sum(question.reference is not None for question in found.questions)
    # 39 carry a reference; that of question 133 is empty for the first turn.
    assert references == (38 if name == "mt_bench" else 0)
