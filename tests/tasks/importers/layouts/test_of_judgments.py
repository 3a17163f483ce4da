"""arena-hard's, peereval's and LLMBar's judgments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.protocols.run.finishing import tally_folder
from peerexam.runfolder import RunFolder
from peerexam.tasks.importers.importing import import_run, read_source
from peerexam.tasks.importers.layouts.arena_hard import LABELS

LLMBAR = Path(__file__).resolve().parents[4] / ".." / "shared" / "data" / "llmbar"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# arena-hard

# arena-hard-auto's show_result.py: the model's points in the second game, and one less these in
# the first; a strong verdict counts there more often, but is worth the same points.
POINTS_OF_A = {
    **{"A>B": 1, "A>>B": 1, "A=B": 0.5, "A<<B": 0, "A<B": 0},
    **{"B>A": 0, "B>>A": 0, "B=A": 0.5, "B<<A": 1, "B<A": 1},
}


def judged(uid: str, one: str | None, two: str | None, **more: Any) -> dict[str, Any]:
    games = [None if s is None else {"score": s, "judgment": {"answer": "w"}} for s in (one, two)]
    return {"uid": uid, "model": "m", "judge": "j", "baseline": "base", "games": games, **more}


@pytest.mark.parametrize("label", sorted(POINTS_OF_A))
def test_every_label_is_worth_what_it_is_worth_to_arena_hard(tmp_path: Path, label: str) -> None:
    path = write(tmp_path / "model_judgment" / "j" / "m.jsonl", [judged("q", label, label)])
    found = read_source("arena-hard", tmp_path).verdicts
    assert {(v.first, v.second): v.points_of_first for v in found} == {
        ("base", "m"): POINTS_OF_A[label],
        ("m", "base"): POINTS_OF_A[label],
    }
    assert set(LABELS) == set(POINTS_OF_A)
    assert read_source("arena-hard", path).verdicts == found


def test_strong_verdicts_count_once_and_missing_labels_are_unparsed(tmp_path: Path) -> None:
    rows = [judged("q1", "B>>A", "A>B"), judged("q2", "A=B", None)]
    write(tmp_path / "model_judgment" / "j" / "m.jsonl", rows)
    found = read_source("arena-hard", tmp_path)
    assert [(v.question_id, v.first, v.winner) for v in found.verdicts] == [
        ("q1", "base", "second"),
        ("q1", "m", "first"),
        ("q2", "base", "tie"),
        ("q2", "m", None),
    ]
    assert found.left_out[0].startswith("the weight of 1 strong verdicts")
    assert found.notes == ()


def test_version_0_1_is_read_with_questions_and_answers(tmp_path: Path) -> None:
    write(
        tmp_path / "question.jsonl",
        [{"question_id": "q", "cluster": "ABC", "turns": [{"content": "Why?"}]}],
    )
    for model in ("m", "gpt-4-0314"):
        turns = [{"index": 0, "turns": [{"content": f"{model} says"}]}]
        write(
            tmp_path / "model_answer" / f"{model}.jsonl",
            [{"question_id": "q", "model_id": model, "choices": turns}],
        )
    games = [{"user_prompt": "p", "judgment": "x", "score": s} for s in ("A>>B", None)]
    row = {"question_id": "q", "model": "m", "judge": "gpt-4-1106-preview", "games": games}
    write(tmp_path / "model_judgment" / "gpt-4-1106-preview" / "m.jsonl", [row])
    found = read_source("arena-hard", tmp_path)
    assert [(q.text, q.domain) for q in found.questions] == [("Why?", "ABC")]
    assert [a.text for a in found.answers] == ["gpt-4-0314 says", "m says"]
    assert [(v.first, v.winner, v.reply) for v in found.verdicts] == [
        ("gpt-4-0314", "first", None),
        ("m", None, "x"),
    ]
    assert "taken to be 'gpt-4-0314'" in found.notes[0]  # the one that was not judged itself


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (judged("q", "A>B", "A>B", games=[]), "games must"),
        (judged("q", "A>B", "A>B", games="x"), "games must"),
        (judged("q", "A>B", "A>B", baseline="m"), "compared with itself"),
        (judged("", "A>B", "A>B"), "uid must be a name"),
    ],
)
def test_arena_hard_rows_that_cannot_be_are_told(
    tmp_path: Path, row: dict[str, Any], says: str
) -> None:
    path = write(tmp_path / "m.jsonl", [judged("other", "A>B", "A>B"), row])
    with pytest.raises(RecordFileError, match=says) as caught:
        read_source("arena-hard", path)
    assert caught.value.line == 2


# peereval


def peer(a: str, b: str, winner: object, judge: str, **more: Any) -> dict[str, Any]:
    left, right = sorted((a, b))
    return {
        **{"dataset": "d", "question_id": "1", "question": "Why?", "judge_model": judge},
        **{"solver_left": left, "solver_right": right, "response_a_model": a},
        **{"response_b_model": b, "position": "AB" if a == left else "BA"},
        **{"judgment": {"winner": winner}, "raw_response": "said", "error": None, **more},
    }


def test_peereval_s_judgments_and_answers_become_a_run(tmp_path: Path) -> None:
    write(
        tmp_path / "answers.jsonl",
        [
            {"dataset": "d", "question_id": 1, "question": "Why?", "model": m, "response": f"{m}."}
            for m in ("x", "y")
        ],
    )
    write(
        tmp_path / "judgments" / "z.jsonl",
        [
            peer("x", "y", None, "z", error="Timeout: slow"),  # tried again below
            peer("y", "x", "B", "z"),
            peer("x", "y", "A", "z"),
            peer("x", "y", "tie", "x"),
            peer("y", "x", "C", "x"),
        ],
    )
    found = read_source("peereval", tmp_path)
    assert [(q.id, q.text, q.domain) for q in found.questions] == [("d/1", "Why?", "d")]
    assert [(v.judge, v.first, v.winner, v.state) for v in found.verdicts] == [
        ("x", "x", "tie", "ok"),
        ("x", "y", None, "unparsed"),
        ("z", "x", "first", "ok"),
        ("z", "y", "second", "ok"),
    ]
    assert [a.text for a in found.answers] == ["x.", "y."]
    assert found.roles["x"] == ["examinee", "judge"]


def test_peereval_s_position_stands_in_for_the_models_shown(tmp_path: Path) -> None:
    rows = [peer("y", "x", "A", "z"), peer("x", "y", "A", "z")]
    for row in rows:
        del row["response_a_model"], row["response_b_model"]
    found = read_source("peereval", write(tmp_path / "j.jsonl", rows))
    assert [(v.first, v.second, v.winner) for v in found.verdicts] == [
        ("x", "y", "first"),
        ("y", "x", "first"),
    ]
    rows[0]["position"] = "AA"
    with pytest.raises(RecordFileError, match="position must be AB or BA"):
        read_source("peereval", write(tmp_path / "j.jsonl", rows))
    with pytest.raises(RecordFileError, match="neither judge_model"):
        read_source("peereval", write(tmp_path / "j.jsonl", [{"question_id": 1}]))
    with pytest.raises(SetupError, match="peereval"):
        read_source("peereval", _empty(tmp_path))


def _empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


# LLMBar

HEAD = "dataset,evaluator,method,index,gold,winner_order1,winner_swapped,score_1,score_2\n"


@pytest.fixture
def llmbar(tmp_path: Path) -> Path:
    root = tmp_path / "llmbar"
    items = [
        {"input": "Say hi", "output_1": "hi", "output_2": "no", "label": 1},
        {"input": "Say no", "output_1": "hi", "output_2": "no", "label": 2},
    ]
    path = root / "Dataset" / "LLMBar" / "Adversarial" / "Neighbor" / "dataset.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(items, indent=1))
    rows = [
        "LLMBar/Adversarial/Neighbor,GPT-4,Vanilla,0,1,1,1,,",
        "LLMBar/Adversarial/Neighbor,GPT-4,Vanilla,1,2,2,1,,",
        "LLMBar/Adversarial/Neighbor,PaLM2,Vanilla,0,1,,2,,",
        "LLMBar/Adversarial/Neighbor,GPT-4,Rating,0,1,1,1,9,4",
    ]
    (root / "judgements_compact.csv").write_text(HEAD + "\n".join(rows) + "\n")
    return root


def test_llmbar_s_winners_are_numbered_as_in_the_item_in_both_orders(llmbar: Path) -> None:
    found = read_source("llmbar", llmbar)
    said = [(v.question_id[-1], v.judge, v.first, v.winner, v.state) for v in found.verdicts]
    assert said == [
        ("0", "GPT-4 Vanilla", "gold", "first", "ok"),
        ("0", "GPT-4 Vanilla", "other", "second", "ok"),  # output 1 won, shown second
        ("0", "PaLM2 Vanilla", "gold", None, "unparsed"),
        ("0", "PaLM2 Vanilla", "other", "first", "ok"),
        ("1", "GPT-4 Vanilla", "gold", "second", "ok"),  # swapped: output 1 won, shown second
        ("1", "GPT-4 Vanilla", "other", "second", "ok"),  # first order: output 2 won
    ]
    assert [(a.examinee, a.text) for a in found.answers] == [
        ("gold", "hi"),
        ("other", "no"),
        ("gold", "no"),
        ("other", "hi"),
    ]
    assert [(m.examinee, m.judge, m.overall) for m in found.marks] == [
        ("gold", "GPT-4 Rating", 9),
        ("other", "GPT-4 Rating", 4),
    ]
    assert found.full_mark == 10


def test_llmbar_items_and_verdicts_must_agree(llmbar: Path) -> None:
    compact = llmbar / "judgements_compact.csv"
    compact.write_text(HEAD + "LLMBar/Adversarial/Neighbor,GPT-4,Vanilla,0,2,1,1,,\n")
    with pytest.raises(RecordFileError, match="gold is 2, and the item's label 1") as caught:
        read_source("llmbar", llmbar)
    assert caught.value.line == 2
    compact.unlink()
    assert len(read_source("llmbar", llmbar).answers) == 4
    with pytest.raises(SetupError, match="LLMBar's items"):
        read_source("llmbar", _empty(llmbar))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    if not LLMBAR.is_dir():
        pytest.skip("the public data are not there")
    out = tmp_path_factory.mktemp("llmbar")
    import_run("llmbar", LLMBAR, out)
    return RunFolder(out)


@pytest.mark.shared
def test_the_public_verdicts_are_all_there(public: RunFolder) -> None:
    # 40413 rows (shared data/README.md, section 9); the other numbers are counted in the file.
    verdicts = list(public.verdicts())
    marks = list(public.marks())
    assert (len(verdicts) + len(marks)) / 2 == 40413
    unparsed = [v for v in verdicts if v.winner is None]
    assert len(unparsed) == 2 * 121 + 40 + 35 + 18 + 13  # counted in the file, both orders
    # The first order's empty winners: 121 empty in both, 40 and 13 in the first alone.
    labels = {a.question_id: a.text for a in public.answers() if a.examinee == "gold"}
    assert len(labels) == 885  # items, section 9
    assert 121 + 40 + 13 == 174  # as section 9 has it


@pytest.mark.shared
def test_accuracy_and_agreement_are_those_that_llmbar_reports(public: RunFolder) -> None:
    # shared data/README.md, section 9: mean accuracy / agreement in %, recomputed from
    # statistics.json of the project.
    published = {
        ("GPT-4 Vanilla", "LLMBar/Natural"): (95.5, 95.0),
        ("GPT-4 Vanilla", "LLMBar/Adversarial/Neighbor"): (78.7, 93.3),
        ("GPT-4 Vanilla", "LLMBar/Adversarial/Manual"): (80.4, 82.6),
        ("ChatGPT Vanilla", "LLMBar/Natural"): (81.5, 71.0),
        ("ChatGPT Vanilla", "LLMBar/Adversarial/GPTOut"): (41.5, 59.6),
        ("PaLM2 Vanilla_NoRules", "Processed/MT-Bench"): (70.2, 73.5),
        ("GPT-4 Vanilla_NoRules", "Processed/FairEval"): (72.7, 69.7),
    }
    said: dict[tuple[str, str], dict[str, list[bool | None]]] = {key: {} for key in published}
    for verdict in public.verdicts():
        key = (verdict.judge, verdict.question_id.rpartition("/")[0])
        if key in said:
            gold = None
            if verdict.winner is not None:
                gold = (verdict.first == "gold") == (verdict.winner == "first")
            said[key].setdefault(verdict.question_id, []).append(gold)
    assert {key: _figures(items) for key, items in said.items()} == published


def _figures(items: Mapping[str, list[bool | None]]) -> tuple[float, float]:
    """As LLMBar counts: what could not be read is wrong, and unread twice is agreement."""
    right = [gold is True for both in items.values() for gold in both]
    same = [both[0] == both[1] for both in items.values()]
    return round(100 * sum(right) / len(right), 1), round(100 * sum(same) / len(same), 1)


@pytest.mark.shared
def test_the_report_s_win_rate_for_gold_is_a_judge_s_accuracy(public: RunFolder) -> None:
    standings = tally_folder(public.path)
    assert standings["standings"][0]["agent"] == "gold"
    rates = standings["win_rates"]
    at = rates["agents"].index("gold")
    verdicts = [v for v in public.verdicts() if v.judge == "GPT-4 Swap"]
    right = sum((v.first == "gold") == (v.winner == "first") for v in verdicts)
    assert all(v.winner for v in verdicts)  # none was unparsed, so that both orders count alike
    direct = rates["per_judge"]["GPT-4 Swap"]["direct"][at][1 - at]
    assert direct == pytest.approx(right / len(verdicts), abs=1e-6)
