"""A run in FastChat's layout, and the way back from every layout that we write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerexam.cli import main
from peerexam.protocols.export import counted_results
from peerexam.records import Answer, Mark, Question, Verdict, Winner
from peerexam.report.export.battles import export_battles
from peerexam.report.export.fastchat import export_fastchat, file_name
from peerexam.runfolder import RunFolder
from peerexam.stats.ranking.results import rate_results
from peerexam.tasks.importers.imported import Imported, write_imported
from peerexam.tasks.importers.importing import read_source

NAMES = ("a", "../b", "=c", "org/d e")
JUDGES = ("a", "=c", "outside")
QUESTIONS = ("1", "2", "../3")

ANSWERS = ('=HYPERLINK("x","y")', "-5 degrees", "@home", "\t=1+1", "a\u2028b\r\n\x00 é \ud800")
"""The answers of the shared case pub-28, and one with everything that JSONL must survive."""


def run_of(
    folder: Path,
    verdicts: Sequence[Verdict] = (),
    marks: Sequence[Mark] = (),
    answers: Sequence[Answer] = (),
) -> Path:
    roles: dict[str, list[str]] = {name: ["examinee"] for name in NAMES}
    for judge in JUDGES:
        roles.setdefault(judge, []).append("judge")
    questions = [Question(id_, f"What is {id_}?", "numbers") for id_ in QUESTIONS]
    imported = Imported(roles, questions, answers, marks, verdicts)
    write_imported("made", "made", imported, folder)
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def points(verdicts: Iterable[Verdict]) -> Counter[tuple[str, ...]]:
    """Verdicts that say something, on others' answers."""
    return Counter(
        (v.question_id, v.judge, v.first, v.second, str(v.winner))
        for v in verdicts
        if v.winner is not None and not v.is_self_judgement
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gpt-4o_mini.1", "gpt-4o_mini.1"),
        ("org/model", "org%2Fmodel"),
        ("../../x", "%2E.%2F..%2Fx"),
        (".", "%2E"),
        ("", ""),
        ("a\x00b\nc", "a%00b%0Ac"),
        ("C:\\x", "C%3A%5Cx"),
    ],
)
def test_a_name_becomes_a_file_s_name_and_no_path(name: str, file: str) -> None:
    assert file_name(name) == file


def test_long_names_stay_apart_as_files() -> None:
    one, two = file_name("x" * 500), file_name("x" * 499 + "y")
    assert one != two
    assert max(len(one), len(two)) < 150


def test_answers_keep_their_text_byte_for_byte(tmp_path: Path) -> None:
    given_answers = [
        Answer(question, name, text)
        for question, text in zip(QUESTIONS, ANSWERS, strict=False)
        for name in NAMES
    ]
    run = run_of(tmp_path / "run", answers=given_answers)
    written = export_fastchat(run, tmp_path / "out")
    assert written.answers == len(given_answers)
    assert {path.split("/")[-1] for path in written.files if "model_answer" in path} == {
        "a.jsonl",
        "%2E.%2Fb.jsonl",
        "=c.jsonl",
        "org%2Fd e.jsonl",
    }
    found = read_source("fastchat-answers", tmp_path / "out").answers
    assert sorted(found, key=str) == sorted(given_answers, key=str)


def test_an_answer_that_could_not_be_had_is_fastchat_s_error(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", answers=[Answer("1", "a", "", "error", "down")])
    export_fastchat(run, tmp_path / "out")
    row = lines(tmp_path / "out" / "model_answer" / "a.jsonl")[0]
    assert row["choices"] == [{"index": 0, "turns": ["$ERROR$"]}]
    assert read_source("fastchat-answers", tmp_path / "out").answers[0].state == "error"


def test_win_rates_of_show_result_are_ours(tmp_path: Path) -> None:
    said = [
        *(
            Verdict("1", "outside", "a", "=c", "first"),
            Verdict("1", "outside", "=c", "a", "second"),
        ),
        *(Verdict("2", "outside", "a", "=c", "first"), Verdict("2", "outside", "=c", "a", "first")),
        *(
            Verdict("../3", "outside", "a", "=c", "tie"),
            Verdict("../3", "outside", "=c", "a", None),
        ),
    ]
    run = run_of(tmp_path / "run", said)
    export_fastchat(run, tmp_path / "out")
    rows = lines(tmp_path / "out" / "model_judgment" / "outside_pair.jsonl")
    assert [(row["g1_winner"], row["g2_winner"]) for row in rows] == [
        ("model_2", "model_2"),  # model_1 is '=c'
        ("model_1", "model_2"),
        ("error", "tie"),
    ]
    # As FastChat's show_result.py computes win_rate_adjusted: rows with an error dropped, games
    # that disagree ties, ties half.
    whole = [row for row in rows if "error" not in (row["g1_winner"], row["g2_winner"])]
    wins = sum(1.0 if row["g1_winner"] == row["g2_winner"] == "model_2" else 0.5 for row in whole)
    ours = {r.agent: r.win_rate for r in rate_results(counted_results(run).results)}
    assert ours["a"] == pytest.approx(wins / len(whole))


def test_follow_ups_are_left_out_and_counted(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    folder = RunFolder(run)
    manifest = folder.read_manifest()  # which a change of the records removes
    with folder.writer("questions") as writer:
        writer.emit(Question("1", "Why?", "x"))
        writer.emit(Question("1+", "And?", "x", round=2, parent_id="1", examinee="a"))
    folder.write_manifest(manifest)
    written = export_fastchat(run, tmp_path / "out")
    assert (written.questions, written.follow_ups) == (1, 1)
    assert lines(tmp_path / "out" / "question.jsonl") == [
        {"question_id": 1, "category": "x", "turns": ["Why?"]}
    ]


WINNERS: list[Winner | None] = ["first", "second", "tie", None]
VERDICTS = st.lists(
    st.tuples(
        st.sampled_from(QUESTIONS),
        st.sampled_from(JUDGES),
        st.permutations(NAMES).map(lambda names: names[:2]),
        st.sampled_from(WINNERS),
    ),
    unique_by=lambda said: (said[0], said[1], tuple(said[2])),
    min_size=1,
).map(
    lambda rows: [
        Verdict(q, judge, first, second, winner, "ok" if winner else "unparsed")
        for q, judge, (first, second), winner in rows
    ]
)
MARKS = st.lists(
    st.tuples(
        st.sampled_from(QUESTIONS),
        st.sampled_from(JUDGES),
        st.sampled_from(NAMES),
        st.one_of(st.none(), st.integers(1, 5)),
    ),
    unique_by=lambda given_mark: given_mark[:3],
    min_size=1,
).map(
    lambda rows: [
        Mark(q, who, judge, overall=n, state="unparsed" if n is None else "ok")
        for q, judge, who, n in rows
    ]
)
every = settings(max_examples=25)


@every
@given(VERDICTS)
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("arena-rank", "verdicts.jsonl"),
        ("arena-rank", "verdicts.csv"),
        ("evalica", "verdicts.csv"),
        ("evalica", "verdicts.jsonl"),
    ],
)
def test_verdicts_come_back_from_rows_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, tool: Any, name: str, said: list[Verdict]
) -> None:
    root = tmp_path_factory.mktemp("trip")
    run = run_of(root / "run", said)
    counted = counted_results(run)
    export_battles(run, root / "out", tool, counted.results, [], {}, parquet=False)
    expected = points(said)
    if expected:
        assert points(read_source(tool, root / "out" / name).verdicts) == expected


@every
@given(VERDICTS, MARKS)
def test_verdicts_and_marks_come_back_from_fastchat_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, said: list[Verdict], marks: list[Mark]
) -> None:
    root = tmp_path_factory.mktemp("trip")
    export_fastchat(run_of(root / "run", said, marks), root / "out")
    peers = [m for m in marks if m.judge != m.examinee]
    if not peers and all(v.is_self_judgement for v in said):
        return  # nothing to bring back
    found = read_source("fastchat-judgments", root / "out")
    assert points(found.verdicts) == points(said)
    assert {(m.question_id, m.judge, m.examinee, m.overall, m.state) for m in found.marks} == {
        (m.question_id, m.judge, m.examinee, m.overall, m.state) for m in peers
    }
    assert found.full_mark in (None, 5)
    # A game that was not judged is an error there; what was asked and unread stays unparsed.
    unread = {v for v in said if v.winner is None and not v.is_self_judgement}
    keys = {(v.question_id, v.judge, v.first, v.second) for v in found.verdicts if not v.winner}
    assert {(v.question_id, v.judge, v.first, v.second) for v in unread} <= keys


def test_a_run_goes_out_and_comes_back_by_commands_with_the_same_standings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        Verdict(question, "outside", first, second, "first" if (first == "a") else "second")
        for question in QUESTIONS
        for first in NAMES[:3]
        for second in NAMES[:3]
        if first != second
    ]
    run = str(run_of(tmp_path / "run", said))
    assert main(["report", run, "--json"]) == 0
    before = json.loads(capsys.readouterr().out)["standings"]
    for tool, kind in (
        ("arena-rank", "arena-rank"),
        ("evalica", "evalica"),
        ("fastchat", "fastchat-judgments"),
    ):
        out, back = str(tmp_path / tool), str(tmp_path / f"{tool}-back")
        assert main(["export", run, "--to", tool, "--out", out]) == 0
        assert main(["import", kind, out, "--out", back]) == 0
        capsys.readouterr()
        assert main(["report", back, "--json"]) == 0
        after = json.loads(capsys.readouterr().out)["standings"]
        assert _said_by(after) == _said_by(before)


def _said_by(standings: dict[str, Any]) -> tuple[Any, ...]:
    """Scores with their intervals, and what stands beside the judge that gave verdicts."""
    scores = [
        tuple(row[key] for key in ("agent", "rank", "score", "score_low", "score_high", "win_rate"))
        for row in standings["standings"]
    ]
    judge = next(row for row in standings["judges"] if row["agent"] == "outside")
    return scores, judge["swap_consistency"], judge["first_preference"], judge["verdicts"]


def test_results_that_nobody_counts_are_not_exported_as_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of the three judges are unfit, so the quorum of two is not met."""
    body = {
        "name": "unmet",
        "agents": [
            {"name": "a", "model": "sim/a?ability=1"},
            {"name": "b", "model": "sim/b?first_preference=1"},
            {"name": "c", "model": "sim/c?first_preference=1"},
        ],
        "questions": {"domains": ["tides"], "per_domain": 4},
        "judging": {"quorum": 2, "fitness": {"min_swap_consistency": 0.9}},
        "voting": {"rounds": 20},
    }
    (tmp_path / "EXAM.yaml").write_text(json.dumps(body))
    run = str(tmp_path / "run")
    assert main(["run", str(tmp_path / "EXAM.yaml"), "--out", run, "--quiet"]) == 4
    standings = json.loads((tmp_path / "run" / "standings.json").read_text())
    assert standings["no_standings"].startswith("only ")
    capsys.readouterr()
    for tool in ("arena-rank", "evalica"):
        assert main(["export", run, "--to", tool, "--no-parquet", "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        assert (body["battles"], body["judges"]) == (0, [])
        assert [rating["rating"] for rating in body["ratings"]] == [None] * 3
        assert body["verdicts"] > 0, "what each judge said is written all the same"
        assert main(["export", run, "--to", tool, "--no-parquet"]) == 0
        assert standings["no_standings"] in " ".join(capsys.readouterr().out.split())
