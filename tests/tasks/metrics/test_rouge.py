"""ROUGE in any script; on ASCII text exactly what rouge-score gives."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.tasks.metrics.rouge import Rouge, rouge, words

pytest.importorskip("rouge_score")

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
ASCII = st.text(st.characters(max_codepoint=127), max_size=60)


def original(reference: str, candidate: str) -> Rouge:
    """By rouge-score's own tokenizer, without stemming."""
    from rouge_score.rouge_scorer import RougeScorer

    scores = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(reference, candidate)
    return Rouge(*(scores[kind].fmeasure for kind in ("rouge1", "rouge2", "rougeL")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop_me 2day", ["don", "t", "stop", "me", "2day"]),
        ("Привет, мир", ["привет", "мир"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("今天下雨", ["今", "天", "下", "雨"]),
        ("GPT-4は3回", ["gpt", "4", "は", "3", "回"]),
        ("ガ", ["ガ"]),
        ("Straße cafe\u0301 naïve", ["strasse", "café", "naïve"]),
        ("\uff21\uff22 \ufb01n", ["ab", "fin"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("ไป มา", ["ไ", "ป", "ม", "า"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("\u0301 …—!", []),
        ("", []),
    ],
)
def test_words_of_every_script_are_found(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_pairs_of_hand_counted_words() -> None:
    """The cat / a cat sat: 1 of 2 and 1 of 3 in common, so F = 2 * 1 / 5."""
    score = rouge("the cat", "a cat sat")
    assert (score.r1, score.r2, score.rl) == pytest.approx((0.4, 0.0, 0.4))


@pytest.mark.parametrize(("reference", "candidate"), [("", ""), ("a", ""), ("", "a"), ("!", "!")])
def test_texts_without_a_word_score_nothing(reference: str, candidate: str) -> None:
    assert rouge(reference, candidate) == Rouge(0.0, 0.0, 0.0)


@given(ASCII, ASCII)
def test_on_ascii_it_is_rouge_score(reference: str, candidate: str) -> None:
    assert words(reference) == original_words(reference)
    assert rouge(reference, candidate) == original(reference, candidate)


def original_words(text: str) -> list[str]:
    from rouge_score.tokenize import tokenize

    return list(tokenize(text, None))


@given(st.text(max_size=60))
def test_identical_text_is_perfect_in_any_script(text: str) -> None:
    found = words(text)
    score = rouge(text, text)
    assert (score.r1, score.rl) == ((1.0, 1.0) if found else (0.0, 0.0))
    assert score.r2 == (1.0 if len(found) > 1 else 0.0)


@given(st.text(max_size=60), st.text(max_size=60))
def test_swapping_the_texts_keeps_the_score(one: str, other: str) -> None:
    there, back = rouge(one, other), rouge(other, one)
    assert (there.r1, there.r2, there.rl) == pytest.approx((back.r1, back.r2, back.rl))
    assert 0 <= there.r2 <= there.r1 <= 1 + 1e-12


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")
def test_every_reported_case_of_text_metrics() -> None:
    cases = map(json.loads, (SHARED / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    rows = [row for case in cases if case["area"] == "text-metrics" for row in case["input"]]
    assert len(rows) >= 3
    for row in rows:
        score = rouge(row["reference"], row["candidate"])
        assert (score.r1, score.rl) == (1.0, 1.0)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not there")
def test_public_english_texts_are_cut_like_rouge_score_cuts_them() -> None:
    pairs = []
    with (SHARED / "data" / "gsm8k" / "test.jsonl").open(encoding="utf-8") as file:
        pairs += [(row["question"], row["answer"]) for row in map(json.loads, file)]
    with (SHARED / "data" / "truthfulqa" / "TruthfulQA.csv").open(encoding="utf-8-sig") as file:
        pairs += [(row["Best Answer"], row["Correct Answers"]) for row in csv.DictReader(file)]
    pairs = [pair for pair in pairs if all(text.isascii() for text in pair)]
    assert len(pairs) > 1500
    for pair in pairs:
        assert [words(text) for text in pair] == [original_words(text) for text in pair]
    for pair in pairs[::40]:
        assert rouge(*pair) == original(*pair)
