"""Importing PRD's peer verdicts: our own small folder, then the public one with its figures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Answer, Question, Verdict
from peerexam.runfolder import RunFolder
from peerexam.tasks.importers.importing import import_run

SHARED = Path(__file__).resolve().parents[4] / ".." / "shared" / "data" / "prd_vicuna80"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")


def lines(path: Path, rows: list[dict[str, Any]], end: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")


def rating(question: int, first: str, second: str, score: object) -> dict[str, Any]:
    return {
        "question_id": question,
        "answer1_id": f"{first}-{question}",
        "answer2_id": f"{second}-{question}",
        "text": "because",
        "score": score,
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two examinees, of which one judges, an outside judge, humans, and every pitfall."""
    root = tmp_path / "peers"
    lines(
        root / "prompts" / "our_questions.jsonl",
        [
            {"question_id": 2, "text": "Why?", "category": "reasons"},
            {"question_id": 10, "text": "How?"},
        ],
    )
    for name, end in (("an-a", "\n"), ("b", "")):  # one file without a final newline
        lines(
            root / "generations" / f"answer_{name}.jsonl",
            [
                {"answer_id": f"{name}-{q}", "question_id": q, "text": f" {name} {q}\u2028"}
                for q in (2, 10)
            ],
            end,
        )
    ratings = root / "ratings-b"
    lines(
        ratings / "answer_an-a-vs-answer_b-b-reviewer_threeclass.jsonl",
        [rating(2, "an-a", "b", 1), rating(10, "an-a", "b", 3)],
    )
    lines(
        ratings / "answer-an-a-vs-answer-b-b-reviewer-threeclass.jsonl",
        [rating(2, "an-a", "b", 2), rating(10, "an-a", "b", 2)],
    )
    lines(
        ratings / "answer_b-vs-answer_an-a-b-reviewer-threeclass.jsonl",
        [rating(2, "b", "an-a", 2), rating(10, "b", "an-a", 1)],
    )
    lines(
        root / "ratings-out-side" / "answer_b-vs-answer_an-a-out-side-reviewer.jsonl",
        [rating(2, "b", "an-a", 7)],
    )
    lines(
        root / "ratings-human" / "answer_b-vs-answer_an-a-human-reviewer_threeclass.jsonl",
        [{"question_id": 2, "text": "", "score": 1}] * 3,
    )
    return root


def test_a_prd_folder_becomes_a_run(source: Path, tmp_path: Path) -> None:
    summary = import_run("prd", source, tmp_path / "out")
    folder = RunFolder(tmp_path / "out")
    assert list(folder.questions()) == [Question("2", "Why?", "reasons"),
                                        Question("10", "How?", "general")]  # fmt: skip
    assert list(folder.answers())[:2] == [Answer("2", "an-a", " an-a 2\u2028"),
                                          Answer("2", "b", " b 2\u2028")]  # fmt: skip
    assert list(folder.verdicts()) == [
        Verdict("2", "b", "an-a", "b", "first"),
        Verdict("2", "b", "b", "an-a", "second"),
        Verdict("2", "out-side", "b", "an-a", None, "unparsed", "score 7 is not 1, 2 or 3",
                "because"),
        Verdict("10", "b", "an-a", "b", "tie"),
        Verdict("10", "b", "b", "an-a", "first"),
    ]  # fmt: skip
    assert [verdict.is_self_judgement for verdict in folder.verdicts()] == [
        True, True, False, True, True,
    ]  # fmt: skip
    assert list(folder.rankings()) == []
    assert summary.agents == ("an-a", "b", "out-side")
    assert summary.counts["verdicts"] == 5
    assert len(summary.left_out) == 2
    assert "hyphen" not in summary.left_out[0]
    assert "answer-an-a-vs-answer-b-b-reviewer-threeclass.jsonl" in summary.left_out[0]


def test_the_manifest_says_what_was_imported(source: Path, tmp_path: Path) -> None:
    import_run("prd", source, tmp_path / "out")
    manifest = RunFolder(tmp_path / "out").read_manifest()
    assert (manifest["protocol"], manifest["source"]) == ("import", {"kind": "prd"})
    assert (manifest["status"], manifest["exam"]) == ("complete", "peers")
    assert manifest["agents"] == [
        {"name": "an-a", "roles": ["examinee"]},
        {"name": "b", "roles": ["examinee", "judge"]},
        {"name": "out-side", "roles": ["judge"]},
    ]
    verdicts = manifest["counts"]["verdicts"]
    assert (verdicts["planned"], verdicts["ok"], verdicts["unparsed"]) == (5, 4, 1)
    assert str(tmp_path) not in json.dumps(manifest), "no path of this machine"


def test_importing_again_leaves_the_same_bytes(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    import_run("prd", source, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    import_run("prd", source, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_another_run_is_not_written_over(source: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    folder.write_manifest({"protocol": "peer_exam"})
    with pytest.raises(SetupError, match="holds another run"):
        import_run("prd", source, folder.path)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "answers.jsonl").write_text("{}\n")
    with pytest.raises(SetupError, match="holds another run"):
        import_run("prd", source, tmp_path / "bare")


@pytest.mark.parametrize(
    ("name", "row", "complaint"),
    [
        ("answer_b-vs-answer_an-a-b-reviewer.jsonl", None, "holds the same comparisons as"),
        ("notes.jsonl", None, "expected a name like answer_A-vs-answer_B-b-reviewer"),
        ("answer_b-vs-answer_b-b-reviewer.jsonl", rating(3, "b", "b", 1), "no answer 'b-3'"),
        ("answer_b-vs-answer_b-b-reviewer.jsonl", rating(2, "b", "an-a", 1), "no answer 'an-a-2'"),
    ],
)
def test_files_that_do_not_fit_are_named(
    source: Path, tmp_path: Path, name: str, row: dict[str, Any] | None, complaint: str
) -> None:
    lines(source / "ratings-b" / name, [] if row is None else [row])
    with pytest.raises(SetupError, match=complaint) as error:
        import_run("prd", source, tmp_path / "out")
    assert name.removesuffix(".jsonl") in str(error.value)
    assert isinstance(error.value, RecordFileError) == (row is not None)


def test_a_folder_of_another_layout_and_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is this PRD data"):
        import_run("prd", tmp_path, tmp_path / "out")
    with pytest.raises(SetupError, match="cannot import 'csv': there is\n  questions"):
        import_run("csv", tmp_path, tmp_path / "out")


# --- the public data ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    out = tmp_path_factory.mktemp("prd")
    import_run("prd", SHARED, out)
    return list(RunFolder(out).verdicts())


def win_rates(verdicts: list[Verdict]) -> dict[str, float]:
    """Mean points of each agent over all its comparisons, ties half."""
    points: Mapping[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        first = verdict.points_of_first
        assert first is not None
        points[verdict.first].append(first)
        points[verdict.second].append(1 - first)
    return {agent: sum(values) / len(values) for agent, values in points.items()}


@pytest.mark.shared
@needs_shared
def test_the_public_verdicts_are_all_there_once(verdicts: list[Verdict], tmp_path: Path) -> None:
    # 5 reviewers × 20 ordered pairs × 80 questions; 2 of 5 contestants make a pair a self-judgement
    assert len(verdicts) == 8000
    assert sum(verdict.is_self_judgement for verdict in verdicts) == 5 * 8 * 80
    assert {verdict.state for verdict in verdicts} == {"ok"}
    keys = {(v.question_id, v.judge, v.first, v.second) for v in verdicts}
    assert len(keys) == 8000
    summary = import_run("prd", SHARED, tmp_path)
    assert (summary.counts["questions"], summary.counts["answers"]) == (80, 400)
    assert len({question.domain for question in RunFolder(tmp_path).questions()}) == 9


@pytest.mark.shared
@needs_shared
def test_the_public_win_rates_are_those_of_the_authors(verdicts: list[Verdict]) -> None:
    # Output of the authors' notebook, unweighted over all reviewers, self-judgements included.
    assert win_rates(verdicts) == pytest.approx(
        {
            "gpt4": 0.74984375,
            "claude": 0.66171875,
            "vicuna-13b": 0.39343750,
            "gpt35": 0.37546875,
            "bard": 0.31953125,
        },
        abs=1e-12,
    )
    assert win_rates([v for v in verdicts if v.judge == "gpt4"]) == pytest.approx(
        {
            "gpt4": 0.85625,
            "claude": 0.70859375,
            "vicuna-13b": 0.3484375,
            "gpt35": 0.3421875,
            "bard": 0.24453125,
        },
        abs=1e-12,
    )


@pytest.mark.shared
@needs_shared
@pytest.mark.parametrize(
    ("judge", "consistent", "first_preferred"),
    # README §8 of the public data, recomputed there from the same files.
    [
        ("gpt35", 0.6913, 0.396),
        ("gpt4", 0.6887, 0.530),
        ("claude", 0.5487, 0.333),
        ("vicuna-13b", 0.3738, 0.394),
        ("bard", 0.3688, 0.783),
    ],
)
def test_the_public_order_effects_are_reproduced(
    verdicts: list[Verdict], judge: str, consistent: float, first_preferred: float
) -> None:
    own = [v for v in verdicts if v.judge == judge]
    winner = {
        (v.question_id, v.first, v.second): {"first": v.first, "second": v.second}.get(
            v.winner or "", "tie"
        )
        for v in own
    }
    same = [winner[q, a, b] == winner[q, b, a] for q, a, b in winner]
    assert sum(same) / len(same) == pytest.approx(consistent, abs=5.1e-5)
    assert sum(v.winner == "first" for v in own) / len(own) == pytest.approx(
        first_preferred, abs=5.1e-4
    )
