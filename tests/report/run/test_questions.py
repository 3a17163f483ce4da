from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from peerexam.records import Answer, Question
from peerexam.report.run.questions import Browsable, browsable, sample_families
from peerexam.runfolder import RunFolder

families = st.dictionaries(st.text(max_size=3), st.integers(1, 4), max_size=20).map(
    lambda sizes: {root: [f"{root}/{i}" for i in range(size)] for root, size in sizes.items()}
)


@given(families, st.integers(0, 9), st.integers(0, 30))
def test_a_sample_holds_whole_families_within_its_limit(
    members: dict[str, list[str]], seed: int, limit: int
) -> None:
    kept = sample_families(members, seed, limit)
    assert len(kept) <= limit
    for family in members.values():
        assert len(kept.intersection(family)) in (0, len(family))
    if sum(map(len, members.values())) <= limit:
        assert kept == {member for family in members.values() for member in family}


def test_records_stand_with_their_question(make_run: Callable[..., Path]) -> None:
    found = browsable(RunFolder(make_run()))
    names, first = found.body["names"], found.body["questions"][0]
    assert found.total == found.shown == 13
    assert [names[row[0]] for row in first["answers"]] == ["alder", "birch", "cedar", "birch-warm"]
    # Alder's answer is marked by the two other judges; cedar's mark could not be read.
    marks = {names[row[1]]: row[2:] for row in first["marks"] if names[row[0]] == "alder"}
    assert marks["birch"][:2] == ["ok", 5]
    assert marks["cedar"] == ["unparsed", None, None, None, "Nice answer!"]
    assert [names[number] for number in first["rankings"][0][1][0]] == ["alder", "birch"]


def test_the_tally_counts_all_questions_even_where_few_are_shown(
    make_run: Callable[..., Path],
) -> None:
    found = browsable(RunFolder(make_run(count=30)), limit=5)
    assert sum(found.tally.domains.values()) == found.total == 31
    assert found.tally.rounds == {1: 30, 2: 1}
    assert found.shown <= 5


def test_a_follow_up_stays_with_the_question_it_goes_back_to(
    make_run: Callable[..., Path],
) -> None:
    for seed in range(8):
        found = browsable(RunFolder(make_run(count=6, name=f"run{seed}")), seed, limit=3)
        ids = {question["id"] for question in found.body["questions"]}
        assert ("q000" in ids) == ("q000-2" in ids)


def test_a_sample_is_what_reading_everything_would_show_of_it(
    make_run: Callable[..., Path],
) -> None:
    folder = RunFolder(make_run(count=40))
    everything = {question["id"]: question for question in _shown(browsable(folder))}
    for seed in range(4):
        sample = _shown(browsable(folder, seed, limit=7))
        assert 0 < len(sample) <= 7
        assert sample == [everything[question["id"]] for question in sample]


def test_a_question_whose_id_is_escaped_in_the_files_is_found(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    ids = [f'q"{number}\\\n\u00e9' for number in range(6)]
    with folder.writer("questions") as questions, folder.writer("answers") as answers:
        for name in ids:
            questions.emit(Question(name, "What?", "things"))
            answers.emit(Answer(name, "alder", f"about {name}"))
    # Another program's spelling of the same id, its keys in another order.
    with folder.records_path("answers").open("a") as file:
        for name in ids:
            file.write(json.dumps({"examinee": "birch", "text": "x", "question_id": name}) + "\n")
    for question in _shown(browsable(folder, limit=3)):
        assert [row[2] for row in question["answers"]] == [f"about {question['id']}", "x"]


def _shown(found: Browsable) -> list[dict[str, Any]]:
    """The questions of a page, numbers turned back into names."""
    names = found.body["names"]
    shown = json.loads(json.dumps(found.body["questions"]))
    for question in shown:
        for key, places in {"answers": (0,), "marks": (0, 1), "verdicts": (0, 1, 2)}.items():
            for row in question[key]:
                for place in places:
                    row[place] = names[row[place]]
        for row in question["rankings"]:
            row[0] = names[row[0]]
            row[1] = [[names[number] for number in group] for group in row[1]]
            row[2:] = [[names[number] for number in group] for group in row[2:]]
        for key in ("author", "asked"):
            if key in question:
                question[key] = names[question[key]]
    return list(shown)
