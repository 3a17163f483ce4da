"""Annotating Dyck traces by rule: words made by Hypothesis, and variants by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import SetupError
from peerexam.tasks.mistakes.dyck import PAIRS, closing, first_fault, standard_clauses, worded

BRACKETS = "()[]{}<>"


@st.composite
def words(draw: st.DrawFn) -> str:
    """Beginnings of Dyck words: at every place an opening bracket, or what closes the last."""
    stack: list[str] = []
    said: list[str] = []
    for _ in range(draw(st.integers(1, 30))):
        closes: bool = draw(st.booleans())
        if stack and closes:
            said.append(PAIRS[stack.pop()])
        else:
            stack.append(draw(st.sampled_from("([{<")))
            said.append(stack[-1])
    return " ".join(said)


def standard_steps(word: str) -> list[str]:
    """The steps of a faultless trace, as the data set divides them."""
    steps = [worded(clause) for clause in standard_clauses(word)]
    if not closing(word):  # nothing to pop
        return [*steps[:-3], steps[-1]]
    return [*steps[:-2], f"{steps[-2]} {steps[-1]}"]


def index(word: str, steps: list[str]) -> int | None:
    fault = first_fault(word, steps)
    return None if fault is None else fault.index


@given(words())
def test_the_standard_steps_have_no_fault(word: str) -> None:
    assert first_fault(word, standard_steps(word)) is None


@given(words())
def test_a_word_and_what_closes_it_leave_nothing_open(word: str) -> None:
    whole = f"{word} {closing(word)}".strip()
    assert closing(whole) == ""


@given(words(), st.data())
def test_any_bracket_changed_in_a_step_is_found_at_that_step(
    word: str, data: st.DataObject
) -> None:
    steps = standard_steps(word)
    places = [
        (at, place)
        for at, step in enumerate(steps)
        for place, c in enumerate(step)
        if c in BRACKETS
    ]
    at, place = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([c for c in BRACKETS if c != steps[at][place]]))
    steps[at] = steps[at][:place] + other + steps[at][place + 1 :]
    fault = first_fault(word, steps)
    assert fault is not None
    assert fault.index == at


@given(words(), st.data())
def test_a_symbol_left_out_or_read_twice_is_found(word: str, data: st.DataObject) -> None:
    steps = standard_steps(word)
    at = data.draw(st.integers(2, len(word.split()) + 1))
    without = [*steps[:at], *steps[at + 1 :]]
    # The next step then stands where it was; where it says the same, the one after shows it.
    found = index(word, without)
    assert found is not None
    assert found >= at
    twice = index(word, [*steps[: at + 1], *steps[at:]])
    assert twice is not None
    assert twice > at


@given(words())
def test_quotes_joined_and_split_endings_are_forgiven(word: str) -> None:
    steps = standard_steps(word)
    bare = [step.replace('"', "") for step in steps]
    assert first_fault(word, bare) is None
    joined = [*steps[:-2], f"{steps[-2]} {steps[-1]}"]
    assert first_fault(word, joined) is None
    split = [*steps[:-1], *steps[-1].replace(". So the", ".\nSo the").split("\n")]
    assert first_fault(word, split) is None
    only_answer = [*steps[: len(word.split()) + 2], f"So the answer is {closing(word)}"]
    assert first_fault(word, only_answer) is None


BEFORE = [
    "We should process each input one by one and keep track of the stack configuration.",
    "stack: empty",
    "[ ; stack: [",
    "[ ; stack: [ [",
    "( ; stack: [ [ (",
    'Now, we have reached the end. The final stack is "[ [ (".',
]


@pytest.mark.parametrize(
    "ending",
    [
        ['We will need to pop out "(", "[", "[" one by one in that order.'],
        ['We will need to pop out "(" ,"[" ,"[" one by one in that order.'],
        ['We will need to pop out "(", "[" and "[" one by one in that order.'],
        ['We will need to pop out "(" once and "[" twice in that order.'],
        ['We will need to pop out "(", then "[" twice.'],
        ['We will need to pop out "(", "[", "[". So the answer is ) ] ]'],
        ['So, we need ")", "]", "]"', "So the answer is ) ] ]"],
        ["So, we need ) ] ]", "So the answer is ) ] ]."],
    ],
)
def test_these_endings_say_the_right_thing(ending: list[str]) -> None:
    assert first_fault("[ [ (", [*BEFORE, *ending]) is None


@pytest.mark.parametrize(
    ("ending", "at"),
    [
        # The public labels call both a mistake.
        (['We will need to pop out "(", "[", "[", one by one in that order.'], 0),
        (["So the answer is )]]"], 0),
        (['We will need to pop out "[", "[", "(" one by one in that order.'], 0),
        (["We will need to pop out all the elements in the stack."], 0),
        (['So, we need ")", "]", "]". So the answer is ) ]'], 0),
        (["So the answer is ) ] ]", "So the answer is ) ] ]"], 1),
        (["Let us think again."], 0),
        ([""], 0),
    ],
)
def test_these_endings_do_not(ending: list[str], at: int) -> None:
    assert index("[ [ (", [*BEFORE, *ending]) == len(BEFORE) + at


def test_symbols_of_a_stack_that_run_together_are_no_stack() -> None:
    steps = [*BEFORE[:3], "[ ; stack: [["]
    assert index("[ [ (", steps) == 3


def test_a_fault_says_what_was_expected() -> None:
    fault = first_fault("[ [ (", [*BEFORE[:4], "( ; stack: [ ["])
    assert fault is not None
    assert (fault.index, fault.expected) == (4, "( ; stack: [ [ (")


def test_a_trace_that_breaks_off_without_a_fault_has_none() -> None:
    assert first_fault("[ [ (", BEFORE[:4]) is None


@pytest.mark.parametrize("word", ["[ x", "[ )", ")", "[(", "one two"])
def test_what_is_no_beginning_of_a_dyck_word_is_refused(word: str) -> None:
    with pytest.raises(SetupError, match="cannot stand there in a Dyck word"):
        first_fault(word, ["stack: empty"])
