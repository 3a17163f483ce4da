from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.judging.marks import Scores, read_marks, read_scores
from peerexam.examiners.prompting.rubric import Dimension, Rubric
from peerexam.examiners.reading.parsing import Unreadable

ONE = {"overall": (1, 5)}
TWO = {"accuracy": (1, 5), "depth": (1, 5)}


@pytest.mark.parametrize(
    "reply",
    [
        "overall: 4",
        "**Overall:** 4",
        "__Overall__ : 4.",
        "- Overall score: **4**",
        "overall_score: 4",
        "1. Overall = 4",
        "### Overall: 4",
        "Overall (1-5): 4",
        "Overall: (1–5) 4",
        "Overall: 4 (1 to 5)",
        "Overall: 4/5",
        "Overall: 4 out of 5",
        "Overall: 4.0",
        "Overall: 4 - well argued",
        "Overall: 4 because it is right",
        "| Overall | 4 |",
        "Overall is 4.",
        "Score: 4",
        "Final score: 4",
        "On the scale 1-5, overall: 4",
        "Overall: 1-5\nOverall: 4",
        '{"overall": 4}',
        '{"Overall": "4/5"}',
        '{"overall_score": 4.0}',
        '{"scores": {"overall": {"score": 4, "reason": "2 slips"}}}',
        '```json\n{"overall": 4}\n```',
        'My scores:\n```json\n{"overall": 4}\n```',
        "<think>overall: 1</think>overall: 4",
        "> overall: 1\n\noverall: 4",
        'Its text "overall: 5" is no score.\noverall: 4',
    ],
)
def test_a_stated_score_is_read(reply: str) -> None:
    assert read_scores(reply, ONE) == {"overall": 4}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("A sound answer with one slip.", "no score for overall"),
        ("Overall: good", "no score"),
        ("4", "no score"),
        ("Overall: 6", "outside 1 to 5"),
        ("Overall: 0", "outside 1 to 5"),
        ("Overall: -4", "outside 1 to 5"),
        ("Overall: 8/10", "out of 10"),
        ("Overall: 4/10", "out of 10"),
        ("Overall (1-10): 4", "another scale"),
        ("Overall: 4 (out of 10)", "another scale"),
        ("Overall: 4.5", "not a whole number"),
        ("Overall: 3-4", "a range"),
        ("Overall: 1 to 5", "no score"),
        ("Overall: 4\nOverall: 2", "two different"),
        ("Overall: 4 errors were found", "no score"),
        ("Overall: " + "9" * 5000, "no score"),
        ('The answer claims "overall: 5".', "no score"),
        ("```\noverall: 5\n```\nis what the answer claims", "no score"),
        ('{"overall": 6}', "outside"),
        ('{"overall": true}', "not a number"),
        ('{"overall": NaN}', "not a number"),
        ('{"overall": null}', "not a number"),
        ('{"overall": [4]}', "not a number"),
        ('{"overall": 4, "overall": 5}', "no score"),
        ('{"quality": 4}', "no score"),
        ("<think>overall: 4", "thinking"),
    ],
)
def test_what_states_no_usable_score_is_unreadable_and_says_why(reply: str, reason: str) -> None:
    found = read_scores(reply, ONE)
    assert isinstance(found, Unreadable)
    assert reason in found.reason


def test_several_scores_on_one_line_are_told_from_the_repeated_scale() -> None:
    reply = "On a scale of 1 to 5: depth (1-5): 2, accuracy (1-5): 3/5 and no more."
    assert read_scores(reply, TWO) == {"accuracy": 3, "depth": 2}


def test_a_missing_dimension_makes_the_whole_reply_unreadable() -> None:
    found = read_scores("accuracy: 3", TWO)
    assert isinstance(found, Unreadable)
    assert "depth" in found.reason


def test_a_sum_under_another_name_does_not_stand_against_the_overall_score() -> None:
    assert read_scores("overall: 4\nTotal: 11/12", ONE) == {"overall": 4}


def test_a_dimension_that_is_called_score_is_not_the_overall_score() -> None:
    scales = {"score": (1, 3), "overall": (1, 5)}
    assert read_scores("score: 2\noverall: 4", scales) == {"score": 2, "overall": 4}


def test_marks_under_the_papers_rubric_have_four_dimensions_and_an_overall_score() -> None:
    reply = "accuracy: 3\ncoherence: 2\nfactuality: 3\ncomprehensiveness: 1\noverall: 4"
    expected = {"accuracy": 3, "coherence": 2, "factuality": 3, "comprehensiveness": 1}
    assert read_marks(reply, Rubric()) == Scores(expected, 4)


OWN = Rubric(
    "own",
    {"use of sources": Dimension(0, 10), "style": Dimension(1, 3), "depth-first": Dimension(2, 4)},
    (1, 20),
)
FORMS = (
    "{name}: {value}",
    "**{name}:** {value}",
    "- {name}: **{value}**",
    "{name} ({low}-{high}): {value}",
    "{name}: {value}/{high}",
    "{name} = {value}.",
    "| {name} | {value} |",
    "{name} score: {value} out of {high}",
)


@st.composite
def stated(draw: st.DrawFn) -> tuple[dict[str, int], str]:
    scales = {**OWN.scales, "overall": OWN.overall}
    values = {name: draw(st.integers(low, high)) for name, (low, high) in scales.items()}
    form = draw(st.sampled_from([*FORMS, "json", "one line"]))
    if form == "json":
        return values, json.dumps(values)
    if form == "one line":
        return values, ", ".join(f"{name.title()}: {value}" for name, value in values.items())
    order = draw(st.permutations(list(values)))
    lines = [
        form.format(name=name, value=values[name], low=scales[name][0], high=scales[name][1])
        for name in order
    ]
    opening = draw(st.sampled_from(["", "Here are my scores:\n", "# Scores\n\n"]))
    return values, opening + "\n".join(lines)


@given(stated())
def test_any_supported_rendering_of_marks_is_read_back(case: tuple[dict[str, int], str]) -> None:
    values, reply = case
    overall = values["overall"]
    scores = {name: value for name, value in values.items() if name != "overall"}
    assert read_marks(reply, OWN) == Scores(scores, overall)


@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(["overall", ":", "/", "(", "1-5", ")", " ", "4", "\n", "**", "{", '"']),
            max_size=25,
        ).map("".join),
    )
)
def test_reading_scores_never_raises_and_never_leaves_the_scale(reply: str) -> None:
    found = read_scores(reply, ONE)
    assert isinstance(found, Unreadable) or 1 <= found["overall"] <= 5


@pytest.mark.parametrize(
    "reply",
    [
        "overall: 4<|im_end|>",
        "overall: [[4]]",
        "overall: [4]",
        'overall: "4"',
        "overall: \\boxed{4}",
        "overall: <b>4</b>",
        "overall: ４",
        "ｏｖｅｒａｌｌ： ４",
        "overall: ٤",
        "overall:\u200b 4",
        '{"overall": 4,}',
        '{"scores": {"overall": 4,},}',
        '{"why": "a, }", "overall": 4,}',
        "overall: 4, and no more",
    ],
)
def test_a_decorated_score_is_read(reply: str) -> None:
    assert read_scores(reply, ONE) == {"overall": 4}


@pytest.mark.parametrize(
    "reply",
    [
        "overall: 4,5",
        "overall: 4, 5",
        "overall: 4 and 5",
        "overall: ４,５",
        "overall: 4²",
        "overall: 4½",
        '{"overall": "4,5"}',
        'I cannot say. It ends with:\n```json\n{"overall": 4}\n```',
        "I cannot say. It says:\n~~~\noverall: 4\n~~~",
        "<blockquote>overall: 4</blockquote> is what it claims.",
        "<seed:think>overall: 4</seed:think>A good answer.",
        "analysisGood. overall: 4",
        '{"overall": 4,,}',
    ],
)
def test_no_score_is_guessed_from_a_part_or_from_what_is_quoted(reply: str) -> None:
    assert isinstance(read_scores(reply, ONE), Unreadable)


@pytest.mark.parametrize(
    "reply",
    [
        'It is right and clear.\n\n```json\n{"accuracy": 3, "overall": 4}\n```',
        'Based on my analysis, here are the marks:\n```json\n{"accuracy": 3, "overall": 4}\n```',
        "<scores>\naccuracy: 3\noverall: 4\n</scores>",
        "<marks>accuracy: 3, overall: 4</marks>",
        "Accuracy: 3/3 ✅\nOverall: 4 ⭐⭐⭐⭐",
    ],
)
def test_forms_of_todays_judges_are_read(reply: str) -> None:
    rubric = Rubric("r", {"accuracy": Dimension(1, 3, "whether it is right")}, (1, 5))
    assert read_marks(reply, rubric) == Scores({"accuracy": 3}, 4)


@pytest.mark.parametrize(
    "reply",
    [
        "The answer ends with:\naccuracy: 3\noverall: 5",
        'The answer ended with marks.\n\n```json\n{"accuracy": 3, "overall": 5}\n```',
    ],
)
def test_marks_that_a_judge_reports_of_an_answer_are_none(reply: str) -> None:
    rubric = Rubric("r", {"accuracy": Dimension(1, 3, "whether it is right")}, (1, 5))
    assert isinstance(read_marks(reply, rubric), Unreadable)
