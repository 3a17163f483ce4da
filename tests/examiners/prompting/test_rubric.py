from __future__ import annotations

import json
from pathlib import Path

import pytest

from peerexam.agents.base import Feature
from peerexam.errors import SetupError
from peerexam.examiners.judging.marks import read_marks
from peerexam.examiners.prompting.forms import marks_form, verdict_form
from peerexam.examiners.prompting.rubric import Dimension, Rubric, load_rubric, rubric_from_json
from peerexam.records import DIMENSIONS, Mark, to_json


def test_the_default_is_the_papers_rubric() -> None:
    # Examiner paper, §3.2: four dimensions from 1 to 3, overall from 1 to 5.
    rubric = Rubric()
    assert rubric.scales == dict.fromkeys(DIMENSIONS, (1, 3))
    assert rubric.overall == (1, 5)
    assert rubric.full_mark == 5


def test_a_rubric_survives_being_written_and_read() -> None:
    assert rubric_from_json(Rubric().to_json()) == Rubric()


def test_a_yaml_file_is_read_in_both_spellings(tmp_path: Path) -> None:
    path = tmp_path / "kindness.yaml"
    path.write_text(
        "dimensions:\n  tact: [0, 4, is it kind]\n"
        "  wit:\n    low: 1\n    high: 2\noverall: [1, 7]\n",
        encoding="utf-8",
    )
    expected = {"tact": Dimension(0, 4, "is it kind"), "wit": Dimension(1, 2)}
    assert load_rubric(path) == Rubric("kindness", expected, (1, 7))


def test_a_json_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(Rubric().to_json()), encoding="utf-8")
    assert load_rubric(path) == Rubric()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dimensions: [tact]", "needs a mapping 'dimensions'"),
        ("just words", "needs a mapping 'dimensions'"),
        ("dimensions: {tact: good}", "'tact' needs"),
        ("dimensions: {tact: [1.5, 3]}", "whole numbers"),
        ("dimensions: {tact: {low: true, high: 3}}", "whole numbers"),
        ("dimensions: {tact: {low: 1, high: 3, weight: 2}}", "'tact' needs"),
        ("dimensions: {tact: [3, 1]}", "runs from 3 to 1"),
        ("dimensions: {tact: [-1, 1]}", "runs from -1 to 1"),
        ("dimensions: {tact: [1, 1000]}", "by 100 at most"),
        ("dimensions: {judge: [1, 3]}", "cannot be a dimension's name"),
        ("dimensions: {overall: [1, 3]}", "cannot be a dimension's name"),
        ("dimensions: {'a:b': [1, 3]}", "cannot be a dimension's name"),
        ("dimensions: {Tact: [1, 3], tact: [1, 3]}", "stands twice"),
        ("dimensions: {}\nscales: 3", "no key 'scales'"),
        ("dimensions: {tact: [1, 3]}\noverall: 5", "'overall' needs"),
        ("dimensions: {tact: [1, 3", "r.yaml"),
    ],
)
def test_a_broken_rubric_file_is_refused_and_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=message) as caught:
        load_rubric(path)
    assert "r.yaml" in str(caught.value)


def test_a_missing_rubric_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"gone\.yaml cannot be read"):
        load_rubric(tmp_path / "gone.yaml")


def test_no_dimension_can_overwrite_a_field_of_a_marks_record() -> None:
    fields = set(to_json(Mark("q", "a", "j")))
    for name in fields - {"scores"}:
        with pytest.raises(SetupError):
            Rubric("own", {name: Dimension(1, 3)})


def test_a_schema_holds_exactly_the_scores_of_the_rubric() -> None:
    form = marks_form(Rubric("own", {"tact": Dimension(0, 2)}, (1, 3)), {"json_schema"})
    assert form is not None
    assert form.kind == "json_schema"
    schema = json.loads(form.body)
    assert schema["properties"]["tact"]["enum"] == [0, 1, 2]
    assert schema["properties"]["overall"]["enum"] == [1, 2, 3]
    assert schema["required"] == ["tact", "overall"]
    assert schema["additionalProperties"] is False


def test_a_grammar_yields_the_lines_that_the_reader_reads() -> None:
    rubric = Rubric("own", {"tact": Dimension(0, 1)}, (9, 10))
    form = marks_form(rubric, {"grammar", "json_schema"})
    assert form is not None
    assert form.kind == "grammar"
    assert form.body == 'root ::= "tact: " ("0" | "1") "\\n" "overall: " ("9" | "10")'
    read = read_marks("tact: 0\noverall: 10", rubric)
    assert read == read_marks('{"tact": 0, "overall": 10}', rubric)


def test_a_verdict_form_offers_a_tie_only_where_ties_are_allowed() -> None:
    kinds: tuple[Feature, ...] = ("grammar", "json_schema")
    for kind in kinds:
        features = {kind}
        with_tie, without = verdict_form(True, features), verdict_form(False, features)
        assert with_tie is not None
        assert without is not None
        assert "Tie" in with_tie.body
        assert "Tie" not in without.body


def test_an_agent_that_cannot_be_held_to_a_form_gets_none() -> None:
    assert marks_form(Rubric(), {"chat"}) is None
    assert verdict_form(True, {"chat"}) is None
