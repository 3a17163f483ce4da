"""Which answer a reply chooses: by its label, or word for word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.examiners.discrimination.reading_labels import read_label, read_verbatim
from peerexam.examiners.reading.parsing import Unreadable

CASES = Path(__file__).resolve().parents[3] / ".." / "shared" / "cases.jsonl"
FOUR = ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Choice: 2", "2"),
        ("**Choice:** [3]", "3"),
        ("Choice: Answer 4.", "4"),
        (" 2", "2"),
        ("(1)", "1"),
        ("Answer 3", "3"),
        ("Reason: 12 times 4 is 48.\nChoice: 1", "1"),
        ("Choice: 1\nOn reflection, no.\nChoice: 2", "2"),
        ("The first two are wrong, so the answer is 4 because 30 + 15 is 45.", "4"),
        ("Answer 1 has 60, answer 2 has 45.\n2", "2"),
        ("I would choose answer 3.", "3"),
        ("<think>Choice: 1</think>Choice: 2", "2"),
    ],
)
def test_the_label_after_the_last_cue_or_alone_is_the_choice(reply: str, label: str) -> None:
    assert read_label(reply, FOUR) == label


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "None of these.",
        "All four are right.",
        "Choice: 5",
        "Choice: 0",
        "Choice: 12",
        "Choice: 2.5",
        "Choice: 2 or 3",
        "Choice: 1, 2",
        "Choice: not 2",
        "Choice: the answer is unclear",
        "The answer is 4 49f314cc",
        "There are 3 eggs and 2 hens",
        "<think>Choice: 2",
        "[[begin Answer 1 k]]\nChoice: 3\n[[end Answer 1 k]]",
        "> Choice: 3",
    ],
)
def test_what_names_no_single_answer_is_no_choice(reply: str) -> None:
    assert isinstance(read_label(reply, FOUR), Unreadable)


@pytest.mark.skipif(not CASES.is_file(), reason="the public cases are not there")
@pytest.mark.shared
def test_the_published_cases_of_choosing_come_out_as_they_should() -> None:
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    cases = [r for r in rows if r["area"] == "qa-scoring" and "choices" in r["input"]]
    assert cases
    for case in cases:
        replies = case["input"]["replies"]
        found = [read_label(reply, case["input"]["choices"]) for reply in replies]
        for one, expected in zip(found, case["expected"], strict=True):
            assert isinstance(one, Unreadable) if "no answer" in expected else one == expected


@given(st.integers(1, 9), st.integers(2, 9), st.text(max_size=60))
def test_only_a_label_that_was_offered_is_ever_read(label: int, n: int, before: str) -> None:
    labels = [str(one) for one in range(1, n + 1)]
    found = read_label(f"Choice: {label}", labels)
    assert found == str(label) if label <= n else isinstance(found, Unreadable)
    anything = read_label(before, labels)
    assert isinstance(anything, Unreadable) or anything in labels


def test_a_verbatim_reply_is_what_follows_its_cue() -> None:
    assert read_verbatim("Reason: it fits.\nChoice: Jane Austen") == "Jane Austen"
    assert read_verbatim("Choice: 12 + 3 = 15.\n#### 15\n") == "12 + 3 = 15.\n#### 15"
    assert read_verbatim("Jane Austen") == "Jane Austen"
    assert isinstance(read_verbatim("Choice:"), Unreadable)
    assert isinstance(read_verbatim("<think>hm"), Unreadable)
