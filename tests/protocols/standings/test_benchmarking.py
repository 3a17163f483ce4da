"""The benchmark's tables in `standings.json`, held against hand counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from peerexam.protocols.config.few_shot_pairs import few_shot_pairs
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.run.runner import run_exam
from peerexam.protocols.standings.benchmarking import MOST_DOMAINS
from peerexam.protocols.standings.settings import BenchmarkInfo, ExamInfo, JudgeInfo, TallySettings
from peerexam.protocols.standings.voting import tally
from peerexam.records import Level, Mark, Question

SCALES = {"wit": (1, 3)}


def benchmark(
    questions: Sequence[Question],
    marks: Iterable[Mark],
    agents: Sequence[str],
    judges: Sequence[str] = ("j",),
    few_shot: tuple[tuple[str, str], ...] = (),
) -> dict[str, Any]:
    content = tally(
        exam=ExamInfo("trial"),
        questions=questions,
        answers=(),
        marks=iter(marks),
        verdicts=(),
        rankings=(),
        agents=agents,
        judges={name: JudgeInfo() for name in judges},
        settings=TallySettings(
            rounds=50, benchmark=BenchmarkInfo(SCALES, few_shot=few_shot, rounds=1, share=0.5)
        ),
    )
    json.dumps(content, allow_nan=False)
    found: dict[str, Any] = content["benchmark"]
    for cell, name in zip(found["single"]["all"], agents, strict=True):
        means = [row["avg"] for row in content["standings"] if row["agent"] == name]
        assert means in ([], [cell["percent"]]), "as the standings have it"
    return found


def mark(question: str, who: str, overall: int | None, wit: int | None = None) -> Mark:
    return Mark(question, who, "j", {"wit": wit}, overall, "ok" if overall else "error")


LEVELS: tuple[Level, ...] = ("memorization", "memorization", "analysis", "analysis")
QUESTIONS = [
    Question(f"q{n}", "Why?" if n else "Name it.", "d", ("Top", "d") if n < 3 else (), level=level)
    for n, level in enumerate(LEVELS)
]


def percents(cells: list[dict[str, Any]]) -> list[float | None]:
    return [cell["percent"] for cell in cells]


def test_full_marks_are_counted_by_level_domain_and_round() -> None:
    follow_up = Question("q0-2", "And?", "d", ("Top", "d"), round=2, parent_id="q0", examinee="a")
    marks = [
        *(mark(f"q{n}", "a", 5 if n in (0, 1, 3) else 4) for n in range(4)),
        *(mark(f"q{n}", "b", [5, 4, 1, None][n]) for n in range(4)),
        mark("q0-2", "a", 3),
    ]
    found = benchmark([*QUESTIONS, follow_up], marks, ["a", "b"])
    single = found["single"]
    assert percents(single["all"]) == [75.0, pytest.approx(33.333333)]
    assert [(c["n"], c["planned"]) for c in single["all"]] == [(4, 4), (3, 4)]
    assert [(row["level"], row["questions"]) for row in single["levels"]] == [
        ("memorization", 2),
        ("analysis", 2),
    ]
    assert [percents(row["cells"]) for row in single["levels"]] == [[100.0, 50.0], [50.0, 0.0]]
    domains = {row["domain"]: percents(row["cells"]) for row in single["domains"]}
    assert domains == {
        "Top": [pytest.approx(66.666667), pytest.approx(33.333333)],
        "d": [100, None],
    }
    assert [(row["round"], row["questions"]) for row in found["multi"]] == [(2, 1)]
    (second,) = found["multi"]
    assert [(c["percent"], c["n"]) for c in second["cells"]] == [(0.0, 1), (None, 0)]
    assert found["follow_ups"] == {"rounds": 1, "sample": None, "share": 0.5}
    made_of = found["questions"]
    assert made_of["total"] == 4, "follow-ups are no part of the paper"
    assert {row["word"]: row["count"] for row in made_of["words"] if row["count"]} == {
        "why": 3,
        "other": 1,
    }
    assert [(row["level"], row["count"]) for row in made_of["levels"]] == [
        ("memorization", 2),
        ("comprehension", 0),
        ("analysis", 2),
    ]


def test_aspects_are_scaled_by_their_best_score() -> None:
    marks = [mark("q0", "a", 5, 3), mark("q1", "a", 1, 1), mark("q2", "a", 3)]
    aspects = {row["aspect"]: row for row in benchmark(QUESTIONS, marks, ["a"])["aspects"]}
    # (3 + 1) / 2 of 3, and (5 + 1 + 3) / 3 of 5; the missing score is no score of 0.
    assert percents(aspects["wit"]["cells"]) == [pytest.approx(66.666667)]
    assert percents(aspects["overall"]["cells"]) == [60.0]
    assert (aspects["overall"]["low"], aspects["overall"]["high"]) == (1, 5)


def test_a_pair_of_variants_shows_what_examples_bring() -> None:
    # memorization 1 of 2 and 2 of 2; analysis 1 of 2 and 1 of 2; all 2 of 4 and 3 of 4.
    marks = [
        *(mark(f"q{n}", "zero", 5 if n in (0, 2) else 4) for n in range(4)),
        *(mark(f"q{n}", "five", 5 if n in (0, 1, 2) else 4) for n in range(4)),
    ]
    few_shot = benchmark(QUESTIONS, marks, ["five", "zero"], few_shot=(("zero", "five"),))[
        "few_shot"
    ]
    (pair,) = few_shot["pairs"]
    assert (pair["zero"], pair["five"]) == ("zero", "five")
    gains = {gain["level"]: gain for gain in pair["gains"]}
    assert {level: gain["value"] for level, gain in gains.items()} == {
        "all": 50.0,
        "memorization": 100.0,
        "comprehension": None,
        "analysis": 0.0,
    }
    assert gains["comprehension"]["reason"]
    assert gains["all"]["n"] == 4
    assert [gain["value"] for gain in few_shot["mean"]] == [50.0, 100.0, None, 0.0]


def test_only_the_largest_domains_have_a_row() -> None:
    many = MOST_DOMAINS + 7
    questions = [Question(f"q{n}", "?", f"d{n}") for n in range(many)]
    questions.append(Question("more", "?", "d5"))
    single = benchmark(questions, [mark("q5", "a", 5)], ["a"])["single"]
    assert len(single["domains"]) == MOST_DOMAINS
    assert (single["domains"][0]["domain"], single["domains_left_out"]) == ("d5", 7)


def test_marks_of_questions_that_are_not_listed_count_in_the_whole() -> None:
    found = benchmark([], [mark("q0", "a", 5), mark("q1", "a", 4)], ["a"])
    assert percents(found["single"]["all"]) == [50.0]
    assert found["single"]["levels"] == found["single"]["domains"] == found["multi"] == []


def test_without_a_mark_there_are_tables_without_values() -> None:
    found = benchmark(QUESTIONS, [], ["a", "b"])
    assert percents(found["single"]["all"]) == [None, None]
    assert found["few_shot"] == {"pairs": [], "mean": []}


def agent(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "model": "openai/m", **more}


@pytest.mark.parametrize(
    ("agents", "pairs"),
    [
        ([agent("z", shots=0), agent("f", shots=5)], (("z", "f"),)),
        ([agent("z", shots=0), agent("f", shots=5, temperature=1)], ()),
        (
            [agent("z", shots=0), agent("f", shots=5, temperature=1, variant_of="z")],
            (("z", "f"),),
        ),
        ([agent("z", shots=0), agent("f", shots=5), agent("g", shots=5, variant_of="z")],
         (("z", "g"),)),
        ([agent("m"), agent("z", shots=0, variant_of="m", system="x"),
          agent("f", shots=5, variant_of="m")], (("z", "f"),)),
        ([agent("z", model="sim/x", shots=0), agent("f", model="sim/x", shots=5)], ()),
        ([agent("z", shots=0), agent("f")], ()),
        ([agent("z", shots=0), agent("f", shots=5, roles=["judge"])], ()),
    ],
)  # fmt: skip
def test_variants_are_paired_by_what_they_are_of(
    agents: list[dict[str, Any]], pairs: tuple[tuple[str, str], ...]
) -> None:
    config = ExamConfig.model_validate({"agents": agents, "questions": {"domains": ["x"]}})
    assert few_shot_pairs(config) == pairs


async def test_an_exam_by_one_examiner_has_the_papers_tables(tmp_path: Path) -> None:
    lines = [
        {"text": f"What is {n}?", "domain": "sums", "level": ["memorization", "analysis"][n % 2]}
        for n in range(8)
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = ExamConfig.model_validate(
        {
            "protocol": "exam",
            "examiner": "chief",
            "agents": [
                {"name": "chief", "model": "sim/chief"},
                {"name": "plain", "model": "sim/plain", "shots": 0},
                {"name": "shown", "model": "sim/shown", "shots": 5, "variant_of": "plain"},
            ],
            "questions": {"file": str(file)},
            "follow_ups": {"rounds": 1, "share": 0.5},
            "voting": {"rounds": 20},
        }
    )
    found = (await run_exam(config, tmp_path / "run")).standings["benchmark"]
    assert found["judges"] == ["chief"]
    assert found["examinees"] == ["plain", "shown"]
    assert [row["level"] for row in found["single"]["levels"]] == ["memorization", "analysis"]
    assert [pair["five"] for pair in found["few_shot"]["pairs"]] == ["shown"]
    # Simulated judges give every dimension of the rubric.
    assert all(cell["percent"] for row in found["aspects"] for cell in row["cells"])
