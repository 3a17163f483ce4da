"""Every reader of model text, on text made to slow it down.

A pattern that goes over a run once for each of its characters takes 5 * 10**9 steps on a hundred
thousand of them, and 5 * 10**11 on the longest reply that is read: minutes and hours, where a
linear one takes less than a second. What was quadratic once is read at full length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from peerexam.agents.function import ScriptedAgent
from peerexam.agents.thinking import split_thinking, without_end_tokens
from peerexam.calls import LONGEST_REPLY
from peerexam.examiners.discrimination.answer_judges import read_rating
from peerexam.examiners.discrimination.reading_labels import read_label, read_verbatim
from peerexam.examiners.judging.by_prompt import PromptJudge
from peerexam.examiners.judging.marks import read_marks
from peerexam.examiners.judging.verdicts import read_verdict
from peerexam.examiners.mistakes.reading_locations import read_location
from peerexam.examiners.mistakes.step_writing import answer_of, cleaned
from peerexam.examiners.prompting.delimiters import Fence
from peerexam.examiners.prompting.library import PromptLibrary
from peerexam.examiners.prompting.rubric import Rubric
from peerexam.examiners.questions.duplicates import wording_of
from peerexam.examiners.questions.levels import read_level
from peerexam.examiners.questions.reading import read_follow_up, read_questions
from peerexam.examiners.reading.parsing import Unreadable, answer_part
from peerexam.examiners.reading.thinking import without_thinking
from peerexam.examiners.style import read_rewriting
from peerexam.records import Answer, Question
from peerexam.tasks.benchmarks import gsm8k, triviaqa
from peerexam.tasks.consistency import funql, numerals
from peerexam.tasks.mistakes import dyck
from peerexam.tasks.mistakes.step_claims import equalities, orders
from peerexam.tasks.mistakes.step_course import Course

READERS: dict[str, Callable[[str], object]] = {
    "split_thinking": split_thinking,
    "without_thinking": without_thinking,
    "end tokens": without_end_tokens,
    "answer part": answer_part,
    "verdict": read_verdict,
    "marks": partial(read_marks, rubric=Rubric()),
    "label": partial(read_label, labels="1234"),
    "verbatim": read_verbatim,
    "location": partial(read_location, thoughts=9),
    "questions": read_questions,
    "follow-up": read_follow_up,
    "rewriting": read_rewriting,
    "level": read_level,
    "rating": read_rating,
    "fence": Fence("0a1b").neutralised,
    "wording": wording_of,
    "answer of a thought": answer_of,
    "thought": cleaned,
    "gsm8k": gsm8k.extract,
    "numeral": numerals.read_numeral,
    "program": funql.read_program,
    "triviaqa": triviaqa.extract,
    "equalities": lambda text: equalities(text, {}),
    "orders": orders,
    "course": lambda text: Course.of("a b").follow(text),
    "dyck list": dyck._listed,
}

FRAMES = {
    "underscores in a word": ("a", "_", "b"),
    "underscores behind a verdict": ("Verdict: Response 1", "_", "x"),
    "blanks in a code block": ("```\n", " ", "x"),
    "blanks behind a label": ("Verdict:", " ", "x"),
    "blanks behind a name": ("overall", " ", "x"),
    "blanks behind a number": ("#### -", " ", "1 x"),
    "blanks at the end": ("So, we need x", " ", "y"),
    "lines in a code block": ("```json\n", "\n", "x"),
    "lines in a section": ("[[begin a]]", "\n", "x"),
    "lines of an item": ("1. a", "\nb", ""),
    "items": ("", "1. Why is that so\n", ""),
    "backticks": ("a", "`", "b"),
    "code fences": ("", "```\nx\n", ""),
    "stars": ("a", "*", "b"),
    "quotes": ("", '"', "x"),
    "escaped quotes": ('{"a":"', '\\"', ""),
    "trailing commas": ('{"a":1', ",", "}"),
    "digits": ("= ", "1", ".x"),
    "groups of two": ("", "12,", "x"),
    "groups of three": ("#### ", "000,", ".1.1"),
    "dots": ("#### ", ".", "x"),
    "slashes": ("", "1/", "x"),
    "signs": ("", "- ", "x"),
    "smaller": ("", "1 < ", ""),
    "equal": ("", "1 = ", ""),
    "brackets": ("", "[", ""),
    "double brackets": ("", "[[ ", "]]"),
    "angles": ("", "<", ""),
    "opened thinking": ("", "<think>", ""),
    "closed thinking": ("", "</think>", ""),
    "quoted closings": ("", "<think>'</think>'", ""),
    "tags": ("", "<b>", ""),
    "unknown elements": ("", "<x>", "</x>"),
    "closed elements": ("", "<x></x>", ""),
    "special tokens": ("", "<|x|>", "a"),
    "channels": ("", "<|channel|>analysis<|message|>", ""),
    "boxes": ("", "\\boxed{", ""),
    "fractions": ("", "\\frac{1}{", ""),
    "words": ("", "the ", "x"),
    "verdicts": ("", "Verdict: Response 1\n", ""),
    "verdicts in a line": ("", "So. Verdict: ", ""),
    "scores": ("", "overall: ", ""),
    "letters": ("", "a", ""),
    "cues": ("", "answer is ", ""),
    "praise": ("Response 1 is", " better", " x"),
    "calculator marks": ("", "<<", ""),
}


LENGTH = 100_000
LONG = ("underscores in a word", "blanks in a code block", "lines of an item", "lines in a section")


def framed(frame: str, length: int) -> str:
    before, unit, after = FRAMES[frame]
    return before + unit * ((length - len(before) - len(after)) // len(unit)) + after


def read(reader: str, frame: str, length: int) -> None:
    """Where this takes too long, the traceback names reader and frame."""
    READERS[reader](framed(frame, length))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_goes_over_a_long_reply_in_linear_time(reader: str) -> None:
    for frame in FRAMES:
        read(reader, frame, LENGTH)


@pytest.mark.slow  # ten times the length: a quadratic pattern shows at a tenth of it already
@pytest.mark.timeout(240)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_goes_over_the_longest_reply_in_linear_time(reader: str) -> None:
    for frame in LONG:
        read(reader, frame, LONGEST_REPLY)


@pytest.mark.parametrize(
    "read", [read_verdict, READERS["marks"], read_questions, read_level, read_rating]
)
def test_a_longer_reply_is_unreadable_and_says_so(read: Callable[[str], object]) -> None:
    reply = "Verdict: Response 1".rjust(LONGEST_REPLY + 1)
    assert read(reply) == Unreadable("the reply is longer than 1,000,000 characters")
    assert isinstance(numerals.read_numeral(reply), str)
    assert gsm8k.extract("#### 1".rjust(LONGEST_REPLY + 1)) is None


async def test_a_verdict_from_too_long_a_reply_is_unparsed_and_the_text_is_kept() -> None:
    reply = "_" * (LONGEST_REPLY + 1)
    judge = ScriptedAgent(lambda _: reply)
    verdict = await PromptJudge(judge, PromptLibrary()).verdict(
        Question("q", "Who?", "law"), Answer("q", "a", "A."), Answer("q", "b", "B.")
    )
    assert (verdict.state, verdict.winner, verdict.reply) == ("unparsed", None, reply)
    assert verdict.reason == "the reply is longer than 1,000,000 characters"
